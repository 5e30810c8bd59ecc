/** Judged gaps per row, a row being one (model key, phase): counts in fixed buckets, their sum and the largest. */

import { wider } from './columns.ts'

/** Upper bounds in seconds; as in Prometheus a gap on a bound belongs to that bucket. */
export const GAP_BOUNDS_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600, 7200,
] as const

const BOUNDS_MS = Float64Array.from(GAP_BOUNDS_SECONDS, (s) => s * 1000)
const LAST = BOUNDS_MS.length
const BUCKETS = LAST + 1

export class GapHistogram {
  #counts = new Float64Array(0)
  #sums = new Float64Array(0)
  #largest = new Float64Array(0)
  #rows = 0

  /** Makes room for rows 0 to `rows` - 1. */
  grow(rows: number): void {
    if (rows <= this.#rows) return
    const capacity = Math.max(rows, this.#rows * 2, 6)
    this.#counts = wider(this.#counts, capacity * BUCKETS)
    this.#sums = wider(this.#sums, capacity)
    this.#largest = wider(this.#largest, capacity)
    this.#rows = capacity
  }

  record(row: number, gapMs: number): void {
    // From below, because almost every gap is that between two tokens.
    let bucket = 0
    while (bucket < LAST && gapMs > (BOUNDS_MS[bucket] as number)) bucket++
    const at = row * BUCKETS + bucket
    this.#counts[at] = (this.#counts[at] as number) + 1
    this.#sums[row] = (this.#sums[row] as number) + gapMs
    if (gapMs > (this.#largest[row] as number)) this.#largest[row] = gapMs
  }

  /** Gaps per bucket, not cumulative; the last one is beyond every bound. */
  counts(row: number): Float64Array {
    return this.#counts.subarray(row * BUCKETS, (row + 1) * BUCKETS)
  }

  sumMs(row: number): number {
    return this.#sums[row] ?? 0
  }

  largestMs(row: number): number {
    return this.#largest[row] ?? 0
  }

  /** The gap in ms that a share `q` (0 to 1) of all gaps does not exceed, interpolated within its bucket; 0 without gaps. */
  quantileMs(row: number, q: number): number {
    const counts = this.counts(row)
    const total = counts.reduce((sum, n) => sum + n, 0)
    let rank = q * total
    for (let i = 0; i < counts.length; i++) {
      const inBucket = counts[i] as number
      if (inBucket > 0 && rank <= inBucket) {
        const from = i === 0 ? 0 : (BOUNDS_MS[i - 1] as number)
        const to = Math.min(BOUNDS_MS[i] ?? Number.POSITIVE_INFINITY, this.largestMs(row))
        return from + (to - from) * (rank / inBucket)
      }
      rank -= inBucket
    }
    return this.largestMs(row)
  }
}

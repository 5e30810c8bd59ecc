/** A histogram with fixed upper bounds, as Prometheus has them: a value on a bound belongs to that bucket. */
export class Histogram {
  readonly bounds: readonly number[]
  /** Values per bucket, not cumulative; the last one is beyond every bound. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const found = this.bounds.findIndex((bound) => value <= bound)
    const bucket = found === -1 ? this.bounds.length : found
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
  }
}

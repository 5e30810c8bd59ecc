/**
 * What was learned of one (provider, model, phase): the largest healthy silences in a window of turns, one sample a
 * turn. A silence that was flagged waits in quarantine for a second one: a stall that recovered by chance must not
 * raise the threshold for good.
 */

import type { Measured } from './thresholds.ts'

const BLOCKS = 8
const BLOCK_TURNS = 500
/** A quarantined silence is confirmed by a second one within this many turns of the key. */
const QUARANTINE_TURNS = 200
/** A confirmed silence counts at most this multiple of the threshold of that moment. */
const QUARANTINE_CAP = 1.5

/** What survives a restart besides the samples themselves. */
export interface HistoryExtras {
  readonly largestEverMs: number
  readonly censored: number
  readonly quarantineMs: number | null
  readonly quarantineTurnsLeft: number
}

export class History implements Measured {
  readonly #counts = new Uint16Array(BLOCKS)
  readonly #maxima = new Float64Array(BLOCKS)
  #block = 0
  #largestEver = 0
  #censored = 0
  #quarantineMs: number | null = null
  #quarantineTurnsLeft = 0
  #own = 0
  #legacy = 0

  /** Samples that a detector of ours has measured. */
  get own(): number {
    return this.#own
  }

  /** Samples taken from records of v1b, which measured something else. */
  get legacy(): number {
    return this.#legacy
  }

  /** Samples in the window. */
  get count(): number {
    let count = 0
    for (const n of this.#counts) count += n
    return count
  }

  get largestMs(): number {
    let largest = 0
    for (const ms of this.#maxima) if (ms > largest) largest = ms
    return largest
  }

  get largestEverMs(): number {
    return this.#largestEver
  }

  /** Turns that were killed while stale: whether they would have gone on is unknown, so they are no samples. */
  get censored(): number {
    return this.#censored
  }

  /** Takes a healthy turn's longest silence. */
  add(silenceMs: number, legacy = false): void {
    if (legacy) this.#legacy++
    else this.#own++
    if (this.#counts[this.#block] === BLOCK_TURNS) {
      this.#block = (this.#block + 1) % BLOCKS
      this.#counts[this.#block] = 0
      this.#maxima[this.#block] = 0
    }
    this.#counts[this.#block] = (this.#counts[this.#block] as number) + 1
    this.#maxima[this.#block] = Math.max(this.#maxima[this.#block] as number, silenceMs)
    this.#largestEver = Math.max(this.#largestEver, silenceMs)
    this.#turnPassed()
  }

  /**
   * A turn that was stale went on and completed. Returns the sample that its silence and an earlier one confirm
   * together, which the caller adds; null while it stays in quarantine.
   */
  quarantine(silenceMs: number, thresholdMs: number): number | null {
    const first = this.#quarantineMs
    if (first === null) {
      this.#quarantineMs = silenceMs
      this.#quarantineTurnsLeft = QUARANTINE_TURNS
      return null
    }
    this.#quarantineMs = null
    this.#quarantineTurnsLeft = 0
    return Math.min(first, silenceMs, QUARANTINE_CAP * thresholdMs)
  }

  censor(): void {
    this.#censored++
    this.#turnPassed()
  }

  get extras(): HistoryExtras {
    return {
      largestEverMs: this.#largestEver,
      censored: this.#censored,
      quarantineMs: this.#quarantineMs,
      quarantineTurnsLeft: this.#quarantineTurnsLeft,
    }
  }

  /** Takes what was stored; the store may answer late, when something has been learned already. */
  restore(extras: HistoryExtras): void {
    if (extras.largestEverMs > this.#largestEver) this.#largestEver = extras.largestEverMs
    if (extras.censored > 0) this.#censored += extras.censored
    if (this.#quarantineMs !== null || extras.quarantineMs === null || !(extras.quarantineTurnsLeft > 0)) return
    this.#quarantineMs = extras.quarantineMs
    this.#quarantineTurnsLeft = extras.quarantineTurnsLeft
  }

  #turnPassed(): void {
    if (this.#quarantineMs === null) return
    this.#quarantineTurnsLeft--
    if (this.#quarantineTurnsLeft <= 0) this.#quarantineMs = null
  }
}

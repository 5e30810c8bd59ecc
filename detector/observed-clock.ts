/**
 * Observed time: the clock that silence is measured on. It advances only while this process could have read events, and
 * it tells sleep, pauses and late ticks apart, the same way on every platform.
 */

import type { StampClock } from '../instrumentation/stamp-clock.ts'

/** The clocks of the host. Everything in the detector takes time from here. */
export interface Clock {
  /** Monotonic ms, as `performance.now()`. May or may not stand still while the machine sleeps. */
  monoMs(): number
  /** Epoch ms, as `Date.now()`. Display only. */
  wallMs(): number
  /** Ms since boot, sleep included, where that clock differs from `monoMs` in sleep (Linux); null elsewhere. */
  uptimeMs(): number | null
}

export const TICK_MS = 1000
/** A tick later than this is late: 1 s of its own and 2 s that still count as on time. */
const LATE_MS = 3000
/** A gap on the monotonic clock that only sleep or a stopped process explains. */
const SLEEP_MS = 30_000
/** Uptime that ran ahead of the monotonic clock by more than this: the machine slept. */
const SLEEP_DRIFT_MS = 1500
/** A power event this soon after a wake that was noticed already is the same wake. */
const SAME_WAKE_MS = 5000

export type Pause = 'none' | 'late' | 'suspend'

export interface Tick {
  /** `late`: the loop was blocked or the process stopped. `suspend`: the machine slept. */
  readonly pause: Pause
  /** Ms since the tick before, sleep included. */
  readonly gapMs: number
  /** A turn that is silent for less had progress after the pause, as far as can be told; 0: only one not silent at all. */
  readonly sincePauseMs: number
  /** Whether this tick and the one before were on time, so that what was there to read has been read. */
  readonly settled: boolean
}

export class ObservedClock implements StampClock {
  now = 0
  elapsedMs = 0
  pauseEpoch = 0

  /** Observed ms at the last tick. */
  #observed = 0
  #lastMono: number
  #lastUptime: number | null
  /** Real ms at the last tick. */
  #elapsed = 0
  #onTime = 0
  #pauseNoticed = false
  #powerEvent = false
  #wokeAt = Number.NEGATIVE_INFINITY
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastMono = clock.monoMs()
    this.#lastUptime = clock.uptimeMs()
    this.read()
  }

  read(): void {
    const mono = this.#clock.monoMs()
    const sinceTick = mono - this.#lastMono
    this.elapsedMs = this.#elapsed + sinceTick
    if (sinceTick < LATE_MS) {
      this.now = this.#observed + sinceTick
      return
    }
    this.now = this.#observed + LATE_MS
    if (!this.#pauseNoticed) {
      this.#pauseNoticed = true
      this.pauseEpoch++
    }
  }

  get wallMs(): number {
    return this.#clock.wallMs()
  }

  /** Epoch ms, on the wall clock as it is now, of a moment in real ms: steps of that clock move it too. */
  wallAt(elapsedMs: number): number {
    return this.wallMs - (this.elapsedMs - elapsedMs)
  }

  /** Observed ms since the last wake, infinite before the first. */
  get sinceWakeMs(): number {
    return this.now - this.#wokeAt
  }

  /** Observed ms of the last wake. */
  get wokeAt(): number {
    return this.#wokeAt
  }

  /** The host says that the machine slept; the next tick acts on it. */
  powerEvent(): void {
    if (this.now - this.#wokeAt > SAME_WAKE_MS) this.#powerEvent = true
  }

  tick(): Tick {
    const mono = this.#clock.monoMs()
    const uptime = this.#clock.uptimeMs()
    const delta = Math.max(0, mono - this.#lastMono)
    const drift = uptime === null || this.#lastUptime === null ? 0 : uptime - this.#lastUptime - delta
    const slept = drift > SLEEP_DRIFT_MS
    const late = delta >= LATE_MS
    const suspended = slept || delta >= SLEEP_MS || this.#powerEvent
    const gapMs = delta + (slept ? drift : 0)
    this.#lastMono = mono
    this.#lastUptime = uptime
    this.#observed += Math.min(delta, LATE_MS)
    this.#elapsed += gapMs
    this.#onTime = late ? 0 : this.#onTime + 1
    if ((late && !this.#pauseNoticed) || (suspended && !late)) this.pauseEpoch++
    this.#pauseNoticed = false
    this.#powerEvent = false
    this.now = this.#observed
    this.elapsedMs = this.#elapsed
    if (suspended) this.#wokeAt = this.#observed
    return {
      pause: suspended ? 'suspend' : late ? 'late' : 'none',
      gapMs,
      // Within a late tick's cap every event after the pause has the time of the tick.
      sincePauseMs: late ? 0 : delta,
      settled: this.#onTime >= 2,
    }
  }
}

/**
 * The clock and the timers of watched streams, one for all of a process: time is observed time, as in the detector, which
 * stands still while the process could not have read. It ticks only while a timer runs, and the only timers are here.
 */

import { type Clock, ObservedClock, TICK_MS } from '../observed-clock.ts'
import { systemClock } from '../system-clock.ts'

/** Clock and timers of a runtime. Tests may give their own. */
export interface StreamClock extends Pick<Clock, 'monoMs'> {
  /** Ms since boot, sleep included, where that clock differs from `monoMs` in sleep; null elsewhere. @default none */
  uptimeMs?(): number | null
  /** Runs work after some ms; returns what takes that back. `keepAlive`: whether the process may not end before. */
  later(work: () => void, ms: number, keepAlive: boolean): () => void
  /** Runs work after what can be read now has been read: a turn of the event loop. */
  nextTurn(work: () => void): void
}

/** What a timer of any runtime takes; longer waits are made of several. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** An object in Node and Bun, a number elsewhere. */
type Timer = { unref?: () => void } | number

/** Globals are looked up when they are called, so that a test may have put its own in their place. */
const runtime: StreamClock = {
  ...systemClock(),
  monoMs: () => performance.now(),
  later(work, ms, keepAlive) {
    const timer = setTimeout(work, ms) as unknown as Timer
    if (!keepAlive) unref(timer)
    return () => clearTimeout(timer as never)
  },
  nextTurn(work) {
    if (typeof setImmediate === 'function') setImmediate(work)
    else setTimeout(work, 0)
  },
}

function unref(timer: Timer): void {
  if (typeof timer === 'object') return timer.unref?.()
  const { Deno } = globalThis as { Deno?: { unrefTimer?: (timer: number) => void } }
  Deno?.unrefTimer?.(timer)
}

export class ObservedTime {
  readonly #clock: StreamClock
  readonly #observed: ObservedClock
  /** Timers that run. */
  #timers = 0
  #stopTicks: (() => void) | null = null

  constructor(clock: StreamClock) {
    this.#clock = clock
    this.#observed = new ObservedClock({
      monoMs: () => clock.monoMs(),
      wallMs: () => 0,
      uptimeMs: () => clock.uptimeMs?.() ?? null,
    })
  }

  /** Monotonic ms now. */
  monoMs(): number {
    return this.#clock.monoMs()
  }

  /** Observed ms now. */
  now(): number {
    const before = this.#observed.now
    this.#observed.read()
    // Fake timers of tests put the clock back.
    if (this.#observed.now < before) this.#observed.tick()
    return this.#observed.now
  }

  /** Observed ms of the last time that the machine woke. */
  get wokeAt(): number {
    return this.#observed.wokeAt
  }

  /** Runs work after some ms of the monotonic clock, and tells it how late that was; returns what takes it back. */
  later(ms: number, keepAlive: boolean, work: (lateMs: number) => void): () => void {
    // Whole µs: what is left of a ms by rounding would never pass.
    const wait = Math.min(Math.max(0, Math.ceil(ms * 1000) / 1000), MAX_TIMER_MS)
    const due = this.#clock.monoMs() + wait
    this.#timers++
    if (this.#stopTicks === null) this.#tick()
    let runs = true
    const ended = () => {
      if (!runs) return false
      runs = false
      if (--this.#timers === 0) this.#stopTicks?.()
      return true
    }
    const stop = this.#clock.later(
      () => {
        if (!ended()) return
        this.#observed.tick()
        work(this.#clock.monoMs() - due)
      },
      wait,
      keepAlive,
    )
    return () => {
      if (ended()) stop()
    }
  }

  nextTurn(work: () => void): void {
    this.#clock.nextTurn(work)
  }

  /** A silence that runs over seconds is seen in steps, each of which shows whether the process slept in it. */
  #tick(): void {
    this.#observed.tick()
    const stop = this.#clock.later(() => this.#tick(), TICK_MS, false)
    this.#stopTicks = () => {
      this.#stopTicks = null
      stop()
    }
  }
}

const shared = new ObservedTime(runtime)
const others = new WeakMap<StreamClock, ObservedTime>()

/** The time of all streams of a clock; without one, of this process. */
export function observedTime(clock: StreamClock | undefined): ObservedTime {
  // There a timer belongs to the request that set it, and ends with that: each stream needs ticks of its own.
  if (clock === undefined) return isCloudflareWorker() ? new ObservedTime(runtime) : shared
  let time = others.get(clock)
  if (time === undefined) {
    time = new ObservedTime(clock)
    others.set(clock, time)
  }
  return time
}

function isCloudflareWorker(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers'
}

/** A clock that tests move: timers fire when it passes them, and everything that follows has been done when it stands. */

import type { StreamClock } from '../../detector/watchdog/observed-time.ts'

interface Timer {
  readonly at: number
  readonly work: () => void
  keepAlive: boolean
}

/** Turns of the event loop in which everything that a timer sets off is done. */
const TURNS = 12
/** Longer waits are over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export class VirtualClock implements StreamClock {
  readonly timers = new Set<Timer>()
  #mono = 1000
  #uptime = 5000

  monoMs(): number {
    return this.#mono
  }

  uptimeMs(): number {
    return this.#uptime
  }

  later(work: () => void, ms: number, keepAlive: boolean): () => void {
    const timer = { at: this.#mono + ms, work, keepAlive }
    this.timers.add(timer)
    return () => this.timers.delete(timer)
  }

  nextTurn(work: () => void): void {
    setImmediate(work)
  }

  /** Takes the place of this process's timers and clock; returns what gives them back. For what takes no clock. */
  install(): () => void {
    const names = ['setTimeout', 'clearTimeout', 'performance'] as const
    const own = names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor)
    const put = (name: (typeof names)[number], value: unknown) =>
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    put('setTimeout', (work: () => void, ms: number) => {
      const timer = { at: this.#mono + (ms > MAX_TIMER_MS ? 1 : ms), work, keepAlive: true }
      this.timers.add(timer)
      return {
        unref: () => {
          timer.keepAlive = false
        },
        stop: () => this.timers.delete(timer),
      }
    })
    put('clearTimeout', ({ stop }: { stop: () => void }) => stop())
    put('performance', { now: () => this.#mono })
    return () => {
      for (const [at, name] of names.entries()) Object.defineProperty(globalThis, name, own[at] as PropertyDescriptor)
    }
  }

  /** Lets time pass as it does in a process that has nothing else to do. */
  async advance(ms: number): Promise<void> {
    const end = this.#mono + ms
    await settle()
    for (;;) {
      const next = this.#due(end)
      if (next === undefined) break
      this.#move(Math.max(0, next.at - this.#mono))
      this.timers.delete(next)
      next.work()
      await settle()
    }
    this.#move(end - this.#mono)
    await settle()
  }

  /** Time in which the event loop is held up: what is due fires afterwards, late. */
  async block(ms: number): Promise<void> {
    this.#move(ms)
    await this.advance(0)
  }

  /** The machine sleeps: on Linux the monotonic clock stands meanwhile. */
  async sleep(ms: number): Promise<void> {
    this.#uptime += ms
    await this.advance(0)
  }

  /** Real promises, in virtual time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.later(resolve, ms, true))
  }

  #due(end: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.timers) {
      if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer
    }
    return next
  }

  #move(ms: number): void {
    this.#mono += ms
    this.#uptime += ms
  }
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
}

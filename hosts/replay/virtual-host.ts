/**
 * A host on a virtual clock: the same watch, fed from an agenda, with pauses of both kinds of clock, late timers and
 * steps of the wall clock. A day passes in well under a second.
 */

import { type Clock, TICK_MS } from '../../detector/observed-clock.ts'

export type Act = () => void

interface Entry {
  readonly due: number
  readonly act: Act
}

export interface VirtualHostOptions {
  /** True ms at which the host starts. @default 0 */
  readonly startMs?: number
  /** Epoch ms that its wall clock shows at true time 0. @default 0 */
  readonly wallBaseMs?: number
  /** Every timer fires that late. @default 0 */
  readonly timersLateMs?: number
  /** Which goes first when a tick and an event share an instant, or are both due after a pause. @default 'event' */
  readonly first?: 'event' | 'tick'
}

export class VirtualHost {
  /** True elapsed ms, sleep included. */
  now: number
  #mono = 0
  #wallOffset: number
  #nextTick: number
  #entries: Entry[] = []
  #next = 0
  /** Entries added while it runs, by due time. */
  readonly #added: Entry[] = []
  readonly #lateMs: number
  readonly #tickFirst: boolean

  constructor(options: VirtualHostOptions = {}) {
    this.now = options.startMs ?? 0
    this.#wallOffset = options.wallBaseMs ?? 0
    this.#lateMs = options.timersLateMs ?? 0
    this.#tickFirst = options.first === 'tick'
    this.#nextTick = TICK_MS
  }

  readonly clock: Clock = {
    monoMs: () => this.#mono,
    wallMs: () => this.now + this.#wallOffset,
    uptimeMs: () => this.now,
  }

  /** Sets what happens, in order of time. */
  schedule(entries: readonly Entry[]): void {
    this.#entries = [...entries].sort((a, b) => a.due - b.due)
    this.#next = 0
  }

  /** Adds one thing that happens later. */
  after(delayMs: number, act: Act): void {
    const due = this.now + delayMs
    const at = this.#added.findIndex((entry) => entry.due > due)
    this.#added.splice(at === -1 ? this.#added.length : at, 0, { due, act })
  }

  /** The event loop is blocked, or the process stopped: all clocks go on, nothing runs. */
  block(ms: number): void {
    this.now += ms
    this.#mono += ms
  }

  /** The machine sleeps until `until`; its monotonic clock stops, or goes on. */
  sleep(until: number, monoStops: boolean): void {
    const ms = Math.max(0, until - this.now)
    this.now += ms
    if (!monoStops) this.#mono += ms
  }

  stepWallClock(ms: number): void {
    this.#wallOffset += ms
  }

  /** Runs until `until`, calling `tick` once a second as a timer of the host would. */
  run(until: number, tick: Act): void {
    for (;;) {
      const entry = this.#peek()
      const entryAt = entry === undefined ? Number.POSITIVE_INFINITY : Math.max(entry.due, this.now)
      const tickAt = Math.max(this.now, this.now + this.#nextTick + this.#lateMs - this.#mono)
      const at = Math.min(entryAt, tickAt)
      if (at > until) break
      this.#mono += at - this.now
      this.now = at
      if (tickAt < entryAt || (tickAt === entryAt && this.#tickFirst)) {
        this.#nextTick = this.#mono + TICK_MS
        tick()
      } else this.#take()
    }
    this.#mono += Math.max(0, until - this.now)
    this.now = Math.max(this.now, until)
  }

  #peek(): Entry | undefined {
    const planned = this.#entries[this.#next]
    const [added] = this.#added
    return added !== undefined && (planned === undefined || added.due < planned.due) ? added : planned
  }

  #take(): void {
    const entry = this.#peek() as Entry
    if (entry === this.#added[0]) this.#added.shift()
    else this.#next++
    entry.act()
  }
}

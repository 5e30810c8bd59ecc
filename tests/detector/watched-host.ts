/** A watch on a virtual host: an agenda of events and pauses goes in, every verdict and end with its time comes out. */

import type { Verdict } from '../../detector/verdict.ts'
import { VirtualHost, type VirtualHostOptions } from '../../hosts/replay/virtual-host.ts'
import type { TurnEvent } from '../../instrumentation/events.ts'
import { createTurnwatch, type TurnEnded, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'

export const token: TurnEvent = { kind: 'token', stream: 'text' }
export const side: TurnEvent = { kind: 'side', what: 'ping' }
export const progress: TurnEvent = { kind: 'progress', what: 'plan' }
export const unknown: TurnEvent = { kind: 'progress', what: 'unknown' }
export const completed: TurnEvent = { kind: 'turn.ended', outcome: 'completed' }
export const attempt: TurnEvent = { kind: 'attempt.started' }
export const exit: TurnEvent = { kind: 'exit' }
export const failure: TurnEvent = { kind: 'error', message: 'overloaded' }
export const interrupt: TurnEvent = { kind: 'interrupt.requested' }
export const modelCall = (edge: 'start' | 'end'): TurnEvent => ({ kind: 'progress', what: `model-call-${edge}` })
export const started = (fields: Partial<Extract<TurnEvent, { kind: 'turn.started' }>> = {}): TurnEvent => ({
  kind: 'turn.started',
  provider: 'codex',
  model: 'm',
  ...fields,
})
export const toolStarts = (id = 'call'): TurnEvent => ({ kind: 'tool.started', id })
export const toolEnds = (id = 'call'): TurnEvent => ({ kind: 'tool.ended', id })
export const waitStarts = (
  reason: Extract<TurnEvent, { kind: 'wait.started' }>['reason'],
  id: string = reason,
  until?: number,
): TurnEvent => ({ kind: 'wait.started', id, reason, ...(until === undefined ? {} : { until }) })
export const waitEnds = (id: string): TurnEvent => ({ kind: 'wait.ended', id })

interface Due {
  readonly due: number
  readonly act: () => void
  done: boolean
}

export interface WatchedHostOptions extends TurnwatchOptions {
  readonly host?: VirtualHostOptions
}

/** The thread of every event that names no other. */
export const THREAD = 't'

export class WatchedHost {
  readonly host: VirtualHost
  readonly watch: Turnwatch
  /** Every verdict and end in order: `<ms> <turn> <suspect | stale reason | recovered reason | outcome>`. */
  readonly log: string[] = []
  readonly verdicts: Verdict[] = []
  readonly ended: TurnEnded[] = []
  readonly faults: string[] = []
  /** Ms that the host could have read events, counted apart from the detector: each tick adds 3 s at most. */
  observedMs = 0
  /** Hears of each tick before the watch does: ms since the last on the monotonic clock, and ms of sleep it left out. */
  onTick: (gapMs: number, sleptMs: number) => void = () => {}
  #lastTickMono = 0
  #lastTickTrue = 0
  #agenda: Due[] = []

  constructor({ host, ...options }: WatchedHostOptions = {}) {
    this.host = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1), ...host })
    this.watch = createTurnwatch({
      clock: this.host.clock,
      onError: (fault) => this.faults.push(fault.message),
      ...options,
    })
    for (const name of ['suspect', 'stale', 'recovered'] as const) {
      this.watch.on(name, (verdict) => {
        this.verdicts.push(verdict)
        const reason = verdict.verdict === 'suspect' ? '' : ` ${verdict.reason}`
        this.log.push(`${Math.round(this.now)} ${verdict.turnId} ${verdict.verdict}${reason}`)
      })
    }
    this.watch.on('turn-ended', (ended) => {
      this.ended.push(ended)
      this.log.push(`${Math.round(this.now)} ${ended.stats.turnId} ${ended.outcome}`)
    })
  }

  get now(): number {
    return this.host.now
  }

  /** Something that happens at `due`, before anything planned later for the same instant. */
  at(due: number, act: () => void): this {
    this.#agenda.push({ due, act, done: false })
    return this
  }

  /** Events that arrive at `due`. */
  send(due: number, ...events: TurnEvent[]): this {
    return this.sendTo(THREAD, due, ...events)
  }

  sendTo(thread: string, due: number, ...events: TurnEvent[]): this {
    return this.at(due, () => {
      for (const event of events) this.watch.observe(thread, event)
    })
  }

  /** The same events at `from`, `from + every`, … up to and including `to`. */
  every(every: number, from: number, to: number, ...events: TurnEvent[]): this {
    for (let due = from; due <= to; due += every) this.send(due, ...events)
    return this
  }

  blockAt(due: number, ms: number): this {
    return this.at(due, () => this.host.block(ms))
  }

  sleepAt(due: number, ms: number, clocks: 'mono-stops' | 'both-advance' = 'mono-stops'): this {
    return this.at(due, () => this.host.sleep(this.host.now + ms, clocks === 'mono-stops'))
  }

  stepWallAt(due: number, ms: number): this {
    return this.at(due, () => this.host.stepWallClock(ms))
  }

  /** Ticks late for good: the loop is blocked `ms` of every period, from `from` to `to`. */
  choke(from: number, to: number, everyMs: number, ms: number): this {
    for (let due = from; due < to; due += everyMs) this.blockAt(due, ms)
    return this
  }

  run(until: number): this {
    const due = this.#agenda.filter((entry) => entry.due <= until)
    this.#agenda = this.#agenda.filter((entry) => entry.due > until)
    this.host.schedule(
      due.map((entry) => ({
        due: entry.due,
        act: () => {
          entry.done = true
          entry.act()
        },
      })),
    )
    this.host.run(until, () => this.tick())
    this.#agenda.unshift(...due.filter((entry) => !entry.done))
    return this
  }

  /** A look outside the host's own timer. */
  tick(): void {
    const mono = this.host.clock.monoMs()
    const gapMs = mono - this.#lastTickMono
    const sleptMs = this.now - this.#lastTickTrue - gapMs
    this.observedMs += Math.min(gapMs, 3000)
    this.#lastTickMono = mono
    this.#lastTickTrue = this.now
    this.onTick(gapMs, sleptMs)
    this.watch.tick()
  }

  /** Observed ms now, between ticks too. */
  get observedNow(): number {
    return this.observedMs + Math.min(this.host.clock.monoMs() - this.#lastTickMono, 3000)
  }

  state(thread: string = THREAD): string {
    return this.watch.liveness(thread).state
  }

  /** Value of a counter or gauge, summed over the points that have these labels. */
  metric(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const family = this.watch.metrics().find((one) => one.name.endsWith(name))
    if (family === undefined || family.type === 'histogram') throw new Error(`no counter or gauge ${name}`)
    const points = family.points.filter((point) =>
      Object.entries(labels).every(([key, is]) => point.labels[key] === is),
    )
    return points.reduce((sum, { value }) => sum + value, 0)
  }

  silence(thread: string = THREAD): number | null {
    return this.watch.liveness(thread).progressSilenceMs
  }
}

/** A turn `t` that started at 0 and got its first token at 1 s: mid-stream, with the threshold 90 s and the limit 112.5 s. */
export function midStream(options: WatchedHostOptions = {}): WatchedHost {
  return new WatchedHost(options).send(0, started({ turn: 't' })).send(1000, token)
}

/** The mid-stream threshold of the first model that the host knows. */
export function midStreamRow(host: WatchedHost) {
  return host.watch.thresholds().find(({ phase }) => phase === 'mid-stream')
}

/** `count` records of healthy turns whose longest silence was `ms` in every phase. */
export function healthyRecords(count: number, ms: number, prefix = 'past', model: string | null = 'm'): unknown[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `stats/${prefix}/${i}`,
    provider: 'codex',
    model,
    outcome: 'completed',
    timeToFirstTokenMs: ms,
    maxGapMs: ms,
  }))
}

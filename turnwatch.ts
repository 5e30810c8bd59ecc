/// <reference lib="esnext.disposable" preserve="true" />

/** The facade: what a host embeds. Joins the detector with threads, listeners, storage and the notifier. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ClosedEpisode, Detector, type DetectorSink, type LearnOptions } from './detector/detector.ts'
import type { EndedTurn } from './detector/ended-turn.ts'
import type { ThresholdRow } from './detector/learning.ts'
import { type MeasuredDeadlines, measuredDeadlines } from './detector/measured-deadlines.ts'
import { type Clock, TICK_MS } from './detector/observed-clock.ts'
import { ProcessWatch } from './detector/process-watch.ts'
import { SampleWriter } from './detector/sample-writer.ts'
import type { FaultPlace, SelfCounters } from './detector/self-counters.ts'
import { StoreFaults } from './detector/store-faults.ts'
import { StreamCounters } from './detector/stream-counters.ts'
import { systemClock } from './detector/system-clock.ts'
import { Threads, type TurnStart } from './detector/threads.ts'
import type { Verdict } from './detector/verdict.ts'
import type { RetryResult, StallPhase, StreamBook } from './detector/watchdog/stream-book.ts'
import { dropOldest } from './instrumentation/drop-oldest.ts'
import { type Outcome, PHASES, type Phase, parentOfThread, type TurnEvent } from './instrumentation/events.ts'
import { collectMetrics, type PerThreadSeries } from './instrumentation/metrics/collect.ts'
import type { Family } from './instrumentation/metrics/family.ts'
import { risk } from './instrumentation/risk.ts'
import type { Turn } from './instrumentation/turn.ts'
import { isoTime, type TurnStats, turnStats } from './instrumentation/turn-stats.ts'
import { livenessOfThread, livenessOfTurn } from './liveness/describe.ts'
import type { PrismLiveness } from './liveness/prism.ts'
import { NotifierCounters } from './notifier/counters.ts'
import type { Message } from './notifier/message.ts'
import { Notifier } from './notifier/notifier.ts'
import { notifierOptions, type ReadyOptions } from './notifier/notifier-options.ts'
import { NOTHING_UNDELIVERED, type NotifierView } from './notifier/view.ts'
import { packageVersion } from './package-root.ts'
import { refuseBadOptions, type TurnwatchOptions } from './turnwatch-options.ts'

export interface TurnOptions extends TurnStart {
  /** The provider's process: when it is gone, the turn is `provider-dead`. */
  readonly pid?: number | undefined
}

/** A turn as its host holds it. */
export interface TurnHandle {
  readonly threadId: string
  readonly turnId: string
  /** Takes an event: no lookup, no allocation on a token, never throws. After the end it is counted and ignored. */
  observe(event: TurnEvent): void
}

/** A turn that has ended. */
export interface TurnEnded {
  readonly stats: TurnStats
  readonly outcome: Outcome
  /** Whether the host or the wire gave the turn its id; otherwise it was made up here. */
  readonly named: boolean
}

export interface Listeners {
  suspect: (verdict: Verdict) => void
  stale: (verdict: Verdict) => void
  recovered: (verdict: Verdict) => void
  'turn-ended': (ended: TurnEnded) => void
}

/** Judged gaps of one (provider, model, phase); quantiles are interpolated within the buckets that are exported. */
export interface GapSummary {
  readonly provider: string
  readonly model: string | null
  readonly phase: Phase
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly largestMs: number
}

export type MetricsOptions = {
  /** Series per running thread: all (at most 500), only stale ones, or none. @default 'all' */
  readonly perThread?: PerThreadSeries
}

/** Messages a parent thread keeps, and parents that are kept. */
const KEEP_MESSAGES = 10
const KEEP_PARENTS = 1000
/** Between two tries of a store that is locked when the watch stops. */
const STORE_PAUSE_MS = 100

/** A class, so that a handle is two references and no closure: 1e5 of them are alive at once. */
class Handle implements TurnHandle {
  readonly #turn: Turn
  readonly #take: (turn: Turn, event: TurnEvent) => void

  constructor(turn: Turn, take: (turn: Turn, event: TurnEvent) => void) {
    this.#turn = turn
    this.#take = take
  }

  observe(event: TurnEvent): void {
    this.#take(this.#turn, event)
  }

  get threadId(): string {
    return this.#turn.threadId
  }

  get turnId(): string {
    return this.#turn.turnId
  }
}

export class Turnwatch implements AsyncDisposable, StreamBook {
  readonly #options: TurnwatchOptions
  readonly #clock: Clock
  readonly #detector: Detector
  readonly #threads: Threads
  readonly #writer: SampleWriter | null
  readonly #notifier: Notifier | null
  readonly #processes: ProcessWatch
  readonly #streams = new StreamCounters()
  readonly #listeners: { [K in keyof Listeners]: Set<Listeners[K]> } = {
    suspect: new Set(),
    stale: new Set(),
    recovered: new Set(),
    'turn-ended': new Set(),
  }
  readonly #messages = new Map<string, PrismLiveness['messages']>()
  #timer: NodeJS.Timeout | null = null
  #closed: Promise<void> | null = null
  /** Monotonic ms of the last tick that went through; at first, of the start. */
  #tickedAt: number

  constructor(options: TurnwatchOptions) {
    refuseBadOptions(options)
    // Before a store is opened, so that a bad one leaves nothing behind.
    const notify = options.notify === undefined ? null : notifierOptions(options.notify)
    this.#options = options
    const sink: DetectorSink = {
      verdict: (verdict) => this.#emit(verdict),
      worsened: (verdict) => this.#notifier?.worsened(verdict),
      closed: (episode: ClosedEpisode) => this.#notifier?.closed(episode),
      ended: (turn, ended) => this.#ended(turn, ended),
      learned: (samples) => this.#writer?.add(samples),
      fault: (where, error) => this.#report(where, error),
    }
    this.#clock = options.clock ?? systemClock()
    this.#tickedAt = this.#clock.monoMs()
    const earlierEpisode = (threadId: string, turnId: string) => this.#notifier?.earlier(threadId, turnId)
    this.#detector = new Detector({ ...options, clock: this.#clock, earlierEpisode }, sink)
    this.#threads = new Threads(
      this.#detector,
      { keepThreads: options.keepThreads ?? 10_000, keepThreadsMs: options.keepThreadsMs ?? 86_400_000 },
      options.parentOf ?? parentOfThread,
    )
    this.#processes = new ProcessWatch((error) => this.#detector.fault('clock', error))
    const faults = new StoreFaults(this.#detector.self, (where, error) => this.#detector.fault(where, error))
    this.#writer = options.store ? new SampleWriter(options.store, this.#detector, faults) : null
    this.#notifier = notify && this.#makeNotifier(notify, faults)
  }

  /** Starts a turn that the host knows of. Ends the one that still ran in its thread as `aborted`. */
  startTurn(start: TurnOptions): TurnHandle {
    if (start.title != null) this.#notifier?.titled(start.threadId, start.title)
    const turn = this.#threads.start(start)
    if (start.pid !== undefined) {
      this.#processes.watch(
        start.pid,
        () => this.#observe(turn, { kind: 'exit' }),
        () => turn.slot < 0,
      )
    }
    return new Handle(turn, this.#take)
  }

  /** Takes an event by thread id, for hosts that hold no handle. Starts and ends turns as the event says. Never throws. */
  observe = (threadId: string, event: TurnEvent): void => {
    try {
      this.#threads.observe(threadId, event)
    } catch (error) {
      this.#detector.fault('clock', error)
    }
  }

  /** Takes an event that another tap has seen and counted already: it stamps the turn and counts nothing. */
  observeEcho = (threadId: string, event: TurnEvent): void => {
    try {
      this.#threads.observe(threadId, event, 0)
    } catch (error) {
      this.#detector.fault('clock', error)
    }
  }

  /** The real id of a thread became known only now. */
  renameThread(from: string, to: string): void {
    this.#notifier?.renamed(from, to)
    this.#threads.rename(from, to)
  }

  /** Takes stored statistics (`prism.stream-stats` records with an `id`), each id once. Returns how many gave a sample. */
  learn(records: Iterable<unknown>, options?: LearnOptions): number {
    return this.#detector.learn(records, options)
  }

  /** Subscribes; returns its undo. One broken listener stops neither the detector nor the others. */
  on<K extends keyof Listeners>(event: K, listener: Listeners[K]): () => void {
    this.#listeners[event].add(listener)
    return () => {
      this.#listeners[event].delete(listener)
    }
  }

  /** Begins to tick, once a second. The timer does not keep the process alive. */
  start(): this {
    if (this.#timer === null) {
      this.#timer = setInterval(() => this.tick(), TICK_MS)
      this.#timer.unref()
    }
    return this
  }

  /** Stops ticking, waits some seconds for messages under way, writes what is not written yet. Turns are left as they are. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#processes.stop()
    this.#closed ??= this.#close()
    await this.#closed
  }

  async #close(): Promise<void> {
    await this.#notifier?.stop((ms) => sleep(ms))
    await this.#writer?.close(() => sleep(STORE_PAUSE_MS))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** One look at every running turn, for hosts with a timer of their own. */
  tick(): void {
    try {
      this.#detector.tick()
      this.#tickedAt = this.#clock.monoMs()
      this.#threads.evictOld()
      this.#processes.check()
      this.#writer?.flush()
      this.#notifier?.tick()
    } catch (error) {
      this.#detector.fault('tick', error)
    }
  }

  /** The host's own power event says that the machine woke: the next tick restarts every silence. */
  hostResumed(): void {
    this.#detector.powerEvent()
  }

  /** How late the next tick is, in ms of the monotonic clock; 0 while ticks come as they should. */
  tickLateMs(): number {
    return Math.max(0, this.#clock.monoMs() - this.#tickedAt - TICK_MS)
  }

  /** The time that the watch shows beside its answers, ISO 8601. */
  now(): string {
    this.#detector.time.read()
    return isoTime(this.#detector.time.wallMs)
  }

  /** The Prism liveness object of a thread; an unknown one has nulls. */
  liveness(threadId: string): PrismLiveness {
    this.#detector.time.read()
    const turn = this.#threads.running.get(threadId)
    if (turn) return livenessOfTurn(this.#detector, this.#threads, turn, this.#told(threadId))
    return livenessOfThread(this.#detector, this.#threads, threadId, this.#told(threadId))
  }

  /** The liveness of every thread that has a running turn or waits for one, riskiest first. */
  threads(): PrismLiveness[] {
    this.#detector.time.read()
    const { running, past } = this.#threads
    const rows = [...running.values()].map((turn) =>
      livenessOfTurn(this.#detector, this.#threads, turn, this.#told(turn.threadId)),
    )
    for (const { threadId, requestedAtWallMs } of past.values()) {
      if (requestedAtWallMs === null || running.has(threadId)) continue
      rows.push(livenessOfThread(this.#detector, this.#threads, threadId, this.#told(threadId)))
    }
    const riskOf = (row: PrismLiveness) => risk(row.state, row.progressSilenceMs ?? 0, row.thresholdMs)
    return rows.sort((a, b) => riskOf(b) - riskOf(a))
  }

  /** A source met an event of a type it does not know; counted under a bounded number of names. */
  unclassified = (source: string, type: string): void => {
    this.#detector.self.unknownEvent(source, type)
  }

  /** A source met an event that it could not read; counted and passed to `onError`. */
  unreadable = (_source: string, error: unknown): void => {
    this.#detector.fault('source', error)
  }

  /** A watchdog began to watch a stream. Counted, as the next two, under at most 100 sources; never throws. */
  streamStarted = (source: string): void => {
    this.#streams.streamStarted(source)
  }

  /** A watched stream stalled. */
  streamStalled = (source: string, phase: StallPhase): void => {
    this.#streams.streamStalled(source, phase)
  }

  /** A stream was issued again after a stall. */
  streamRetried = (source: string, result: RetryResult): void => {
    this.#streams.streamRetried(source, result)
  }

  /**
   * Deadlines, in ms, for one stream of a model, from the thresholds of its turns by the rule of the stale verdict:
   * threshold x 1.25, to the first content that of `first-token`, between contents the larger one of `mid-stream` and
   * `after-tool`. Below 20 samples of a phase, or for a model that no turn or sample has named, that is its default.
   * Infinite where a threshold is switched off. Asking leaves no trace in the metrics.
   */
  deadlinesFor(provider: string, model: string | null = null): MeasuredDeadlines {
    const { learning, turns } = this.#detector
    return measuredDeadlines({ learning, keys: turns.keys, options: this.#options.thresholds ?? {} }, provider, model)
  }

  /** Every threshold in force, and what it was measured from. */
  thresholds(): ThresholdRow[] {
    const { keys } = this.#detector.turns
    return Array.from({ length: keys.size * 3 }, (_, row) => {
      const key = Math.floor(row / 3)
      return this.#detector.learning.rowOf(key, keys.at(key), row % 3)
    })
  }

  /** How long judged gaps have been in this process, per (provider, model, phase) that has any. */
  gaps(): GapSummary[] {
    const { keys, gaps } = this.#detector.turns
    const rows = Array.from({ length: keys.size * PHASES.length }, (_, row) => row)
    return rows.flatMap((row) => {
      const count = gaps.counts(row).reduce((sum, n) => sum + n, 0)
      if (count === 0) return []
      const { provider, model } = keys.at(Math.floor(row / PHASES.length))
      const phase = PHASES[row % PHASES.length] as Phase
      const [p50Ms, p99Ms] = [gaps.quantileMs(row, 0.5), gaps.quantileMs(row, 0.99)]
      return [{ provider, model, phase, count, p50Ms, p99Ms, largestMs: gaps.largestMs(row) }]
    })
  }

  /** The messages that have not arrived, and how their channels do. */
  notifications(): NotifierView {
    return this.#notifier?.view() ?? NOTHING_UNDELIVERED
  }

  /** What is recorded so far of every running turn, as if each was aborted now. */
  running(): TurnStats[] {
    this.#detector.time.read()
    return [...this.#threads.running.values()].map((turn) =>
      turnStats(this.#detector.turns, turn, 'aborted', this.#detector.episodes(turn) > 0),
    )
  }

  /** Something of the host's failed on our behalf: counted, and passed to `onError`. */
  hostFault(error: unknown): void {
    this.#detector.fault('listener', error)
  }

  /** What the detector counts of itself. */
  get self(): Readonly<SelfCounters> {
    return this.#detector.self
  }

  /** Every metric of the catalogue, as of now. A fault in the collection is counted, reported and thrown. */
  metrics(options: MetricsOptions = {}): Family[] {
    const { past, running } = this.#threads
    let notStarted = 0
    for (const thread of past.values()) if (thread.requestedAtWallMs !== null) notStarted++
    const unsettled = this.#guard('collector', 0, () => {
      let count = 0
      for (const id of this.#options.runningThreads?.() ?? []) if (!running.has(id) && past.get(id)?.last) count++
      return count
    })
    try {
      return collectMetrics(this.#detector, {
        notStarted,
        unsettled,
        notifier: this.#notifier?.measure() ?? new NotifierCounters([]),
        streams: this.#streams.all(),
        perThread: options.perThread ?? 'all',
        version: packageVersion(),
      })
    } catch (error) {
      this.#detector.fault('collector', error)
      throw error
    }
  }

  #observe(turn: Turn, event: TurnEvent): void {
    try {
      if (turn.slot < 0) {
        this.#detector.turns.countAfterEnd(this.#detector.turns.keys.indexOf(turn.provider, turn.model))
        this.#threads.heard(turn.threadId)
      } else if (event.turn === undefined || event.turn === turn.turnId) this.#detector.observe(turn, event)
      else this.#threads.observe(turn.threadId, event)
    } catch (error) {
      this.#detector.fault('clock', error)
    }
  }

  readonly #take = (turn: Turn, event: TurnEvent): void => this.#observe(turn, event)

  #emit(verdict: Verdict): void {
    // First, because a listener may end the turn.
    if (verdict.verdict === 'stale') this.#notifier?.opened(verdict)
    this.#tell(this.#listeners[verdict.verdict], verdict)
  }

  #makeNotifier(options: ReadyOptions, faults: StoreFaults): Notifier {
    return new Notifier(options, this.#options.store?.outbox ?? null, {
      clock: this.#clock,
      owner: crypto.randomUUID(),
      random: Math.random,
      defer: setImmediate,
      later: (ms, work) => void setTimeout(work, ms).unref(),
      told: (message) => this.#remember(message),
      fault: (error) => this.#detector.fault('notifier', error),
      countFault: () => this.#detector.self.fault('notifier'),
      report: (line, cause) => this.#report('notifier', new Error(line), cause),
      storeFailed: (op, error) => faults.failed(op, error),
      storeWorked: (op) => faults.worked(op),
    })
  }

  /** What a parent was told is shown with its thread. */
  #remember({ parent, key, text }: Message): void {
    if (parent === null) return
    const told = this.#messages.get(parent) ?? []
    // Another channel has told it already.
    if (told.some((message) => message.key === key)) return
    told.push({ key, at: isoTime(this.#clock.wallMs()), text })
    if (told.length > KEEP_MESSAGES) told.shift()
    this.#messages.delete(parent)
    this.#messages.set(parent, told)
    dropOldest(this.#messages, KEEP_PARENTS)
  }

  #ended(turn: Turn, ended: EndedTurn): void {
    this.#threads.ended(turn, ended)
    this.#tell(this.#listeners['turn-ended'], {
      stats: ended.stats,
      outcome: ended.outcome,
      named: turn.named,
    })
  }

  #tell<T>(listeners: Set<(value: T) => void>, value: T): void {
    for (const listener of listeners) {
      try {
        const result: unknown = listener(value)
        if (result instanceof Promise) result.catch((error: unknown) => this.#detector.fault('listener', error))
      } catch (error) {
        this.#detector.fault('listener', error)
      }
    }
  }

  #report(where: FaultPlace, error: unknown, cause: unknown = error): void {
    const fault = new Error(`turnwatch: ${where}: ${messageOf(error)}`, { cause })
    try {
      if (this.#options.onError) this.#options.onError(fault)
      else process.stderr.write(`${fault.message}\n`)
    } catch {
      // A broken onError has nobody left to tell.
    }
  }

  #guard<T>(where: FaultPlace, fallback: T, work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.#detector.fault(where, error)
      return fallback
    }
  }

  #told(threadId: string): PrismLiveness['messages'] {
    return [...(this.#messages.get(threadId) ?? [])]
  }
}

/**
 * Makes a watch. Every option has a default; a bad one is refused with its name and value (RangeError or TypeError).
 * Call `start()` to let it tick.
 */
export function createTurnwatch(options: TurnwatchOptions = {}): Turnwatch {
  return new Turnwatch(options)
}

/** What an error says in a line; its kind where it says nothing, as errors of Effect may. */
function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  const { message, _tag, name } = error as { message?: unknown; _tag?: unknown; name?: unknown }
  for (const one of [message, _tag, name]) if (typeof one === 'string' && one !== '') return one
  return 'an error without a message'
}

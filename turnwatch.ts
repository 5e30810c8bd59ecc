/// <reference lib="esnext.disposable" preserve="true" />

/** The facade: what a host embeds. Joins the detector with threads, listeners, storage and the notifier. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Detector, type DetectorSink, type VerifyAnswer } from './detector/detector.ts'
import type { EndedTurn } from './detector/ended-turn.ts'
import type { ThresholdRow } from './detector/learning.ts'
import { type Clock, type ObservedClock, TICK_MS } from './detector/observed-clock.ts'
import { ProcessWatch } from './detector/process-watch.ts'
import type { SampleStore } from './detector/sample-store.ts'
import { SampleWriter } from './detector/sample-writer.ts'
import type { FaultPlace, SelfCounters } from './detector/self-counters.ts'
import { type ThreadPast, Threads, type TurnStart } from './detector/threads.ts'
import { CONFIRM, PRESETS, type ThresholdOptions } from './detector/thresholds.ts'
import type { Verdict } from './detector/verdict.ts'
import { type Outcome, PHASES, type Phase, parentOfThread, type TurnEvent } from './instrumentation/events.ts'
import { collectMetrics, type PerThreadSeries } from './instrumentation/metrics/collect.ts'
import type { Family } from './instrumentation/metrics/family.ts'
import type { Turn } from './instrumentation/turn.ts'
import { isoTime, type TurnStats, turnStats } from './instrumentation/turn-stats.ts'
import type { PrismLiveness, ThreadState } from './liveness/prism.ts'
import { type StaleMessage, staleMessage } from './notifier/message.ts'
import { packageVersion } from './package-root.ts'
import { systemClock } from './system-clock.ts'

export interface TurnwatchOptions {
  /** Hears of every fault of ours, of a listener, a callback or the store, in one line. @default prints to stderr */
  readonly onError?: (fault: Error) => void
  /** Where samples survive a restart, see `sqliteStore`. @default memory only */
  readonly store?: SampleStore
  /** Preset and defaults. @default the preset `standard` with 120 s to the first token, 90 s afterwards */
  readonly thresholds?: ThresholdOptions
  /** Told of each stale episode once. A throw or rejection is counted and reported. */
  readonly notify?: (message: StaleMessage) => void | Promise<void>
  /** Asked once when a turn becomes suspect; `no` restarts its silence. No answer within 1 s counts as `still`. */
  readonly verify?: (suspicion: Verdict) => VerifyAnswer | Promise<VerifyAnswer>
  /** The thread that started another. @default `sub.<parent>.<suffix>` */
  readonly parentOf?: (threadId: string) => string | null
  /** Threads that the host shows as running; those whose turn has ended are counted as unsettled. */
  readonly runningThreads?: () => Iterable<string>
  /** Threads without a running turn that are remembered. @default 10000 */
  readonly keepThreads?: number
  /** How long they are. @default 86400000 (24 h) */
  readonly keepThreadsMs?: number
  /** A turn without any event for this long ends `lost`. @default 86400000 (24 h) */
  readonly lostAfterMs?: number
  /** A turn whose provider is gone ends `lost` after this long without an end. @default 60000 */
  readonly lostAfterExitMs?: number
  /** @default the clocks of this machine */
  readonly clock?: Clock
}

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

export class Turnwatch implements AsyncDisposable {
  readonly #options: TurnwatchOptions
  readonly #clock: Clock
  readonly #detector: Detector
  readonly #threads: Threads
  readonly #writer: SampleWriter | null
  readonly #processes: ProcessWatch
  readonly #listeners: { [K in keyof Listeners]: Set<Listeners[K]> } = {
    suspect: new Set(),
    stale: new Set(),
    recovered: new Set(),
    'turn-ended': new Set(),
  }
  readonly #messages = new Map<string, PrismLiveness['messages']>()
  #timer: NodeJS.Timeout | null = null
  /** Monotonic ms of the last tick that went through; at first, of the start. */
  #tickedAt: number

  constructor(options: TurnwatchOptions) {
    refuseBadOptions(options)
    this.#options = options
    const sink: DetectorSink = {
      verdict: (verdict) => this.#emit(verdict),
      ended: (turn, ended) => this.#ended(turn, ended),
      learned: (samples) => this.#writer?.add(samples),
      fault: (where, error) => this.#report(where, error),
    }
    this.#clock = options.clock ?? systemClock()
    this.#tickedAt = this.#clock.monoMs()
    this.#detector = new Detector({ ...options, clock: this.#clock }, sink)
    this.#threads = new Threads(
      this.#detector,
      { keepThreads: options.keepThreads ?? 10_000, keepThreadsMs: options.keepThreadsMs ?? 86_400_000 },
      options.parentOf ?? parentOfThread,
    )
    this.#processes = new ProcessWatch((error) => this.#detector.fault('clock', error))
    this.#writer = options.store ? new SampleWriter(options.store, this.#detector) : null
  }

  /** Starts a turn that the host knows of. Ends the one that still ran in its thread as `aborted`. */
  startTurn(start: TurnOptions): TurnHandle {
    const turn = this.#threads.start(start)
    if (start.pid !== undefined) {
      this.#processes.watch(
        start.pid,
        () => this.#observe(turn, { kind: 'exit' }),
        () => turn.slot < 0,
      )
    }
    return this.#handle(turn)
  }

  /** Takes an event by thread id, for hosts that hold no handle. Starts and ends turns as the event says. Never throws. */
  observe = (threadId: string, event: TurnEvent): void => {
    try {
      this.#threads.observe(threadId, event)
    } catch (error) {
      this.#detector.fault('clock', error)
    }
  }

  /** The real id of a thread became known only now. */
  renameThread(from: string, to: string): void {
    this.#threads.rename(from, to)
  }

  /** Takes stored statistics (`prism.stream-stats` records with an `id`), each id once. Returns how many gave a sample. */
  learn(records: Iterable<unknown>): number {
    return this.#detector.learn(records)
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

  /** Stops ticking and writes what is not written yet. Turns are left as they are. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#processes.stop()
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
    const past = this.#threads.past.get(threadId)
    return turn ? this.#livenessOfRunning(turn) : this.#livenessOfPast(threadId, past)
  }

  /** The liveness of every thread that has a running turn or waits for one, riskiest first. */
  threads(): PrismLiveness[] {
    this.#detector.time.read()
    const rows = [...this.#threads.running.values()].map((turn) => this.#livenessOfRunning(turn))
    for (const past of this.#threads.past.values()) {
      if (past.requestedAtWallMs !== null && !this.#threads.running.has(past.threadId)) {
        rows.push(this.#livenessOfPast(past.threadId, past))
      }
    }
    return rows.sort((a, b) => risk(b) - risk(a))
  }

  /** A source met an event of a type it does not know; counted under a bounded number of names. */
  unclassified = (source: string, type: string): void => {
    this.#detector.self.unknownEvent(source, type)
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

  /** What is recorded so far of every running turn, as if each was aborted now. */
  running(): TurnStats[] {
    this.#detector.time.read()
    return [...this.#threads.running.values()].map((turn) =>
      turnStats(this.#detector.turns, turn, 'aborted', this.#detector.episodes(turn) > 0),
    )
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
      if (turn.slot < 0)
        this.#detector.turns.countAfterEnd(this.#detector.turns.keys.indexOf(turn.provider, turn.model))
      else if (event.turn === undefined || event.turn === turn.turnId) this.#detector.observe(turn, event)
      else this.#threads.observe(turn.threadId, event)
    } catch (error) {
      this.#detector.fault('clock', error)
    }
  }

  #handle(turn: Turn): TurnHandle {
    return new Handle(turn, this.#take)
  }

  readonly #take = (turn: Turn, event: TurnEvent): void => this.#observe(turn, event)

  #emit(verdict: Verdict): void {
    this.#tell(this.#listeners[verdict.verdict], verdict)
    if (verdict.verdict === 'stale') this.#notify(staleMessage(verdict))
  }

  #notify(message: StaleMessage): void {
    const { notify } = this.#options
    if (notify === undefined) return
    const told = () => {
      if (message.parent !== null) this.#remember(message.parent, message)
    }
    try {
      const delivery = notify(message)
      if (delivery === undefined) told()
      else Promise.resolve(delivery).then(told, (error: unknown) => this.#detector.fault('notifier', error))
    } catch (error) {
      this.#detector.fault('notifier', error)
    }
  }

  #remember(parent: string, message: StaleMessage): void {
    const told = this.#messages.get(parent) ?? []
    told.push({ key: message.key, at: isoTime(this.#detector.time.wallMs), text: message.text })
    if (told.length > KEEP_MESSAGES) told.shift()
    this.#messages.delete(parent)
    this.#messages.set(parent, told)
    if (this.#messages.size > KEEP_PARENTS) this.#messages.delete(this.#messages.keys().next().value as string)
  }

  #ended(turn: Turn, ended: EndedTurn): void {
    this.#threads.ended(turn, ended)
    this.#tell(this.#listeners['turn-ended'], { stats: ended.stats, outcome: ended.outcome })
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

  #report(where: FaultPlace, error: unknown): void {
    const fault = new Error(`turnwatch: ${where}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
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

  #livenessOfRunning(turn: Turn): PrismLiveness {
    const { turns, time } = this.#detector
    const facts = turns.read(turn)
    const threshold = this.#detector.thresholdOf(turn)
    const episode = this.#detector.episodeOf(turn)
    const tool = turn.oldestTool()
    const wait = turn.oldestWait()
    return {
      threadId: turn.threadId,
      now: isoTime(time.wallMs),
      ...lastStreamFields(time, facts.lastEventElapsedMs),
      openTool: tool
        ? { itemId: tool.id, itemType: tool.name ?? 'tool', title: tool.name, startedAt: isoTime(tool.startedWallMs) }
        : null,
      turn: {
        turnId: turn.turnId,
        provider: turn.provider,
        model: turn.model,
        startedAt: isoTime(facts.startedWallMs),
        eventCount: facts.eventCount,
      },
      stale: episode !== null,
      staleSince: episode ? isoTime(episode.staleSinceWallMs) : null,
      ...thresholdFields(threshold),
      reason: episode?.reason ?? null,
      state: this.#stateOf(turn),
      phase: threshold.phase,
      waiting: wait ? { reason: wait.reason, id: wait.id, since: isoTime(wait.sinceWallMs) } : null,
      lastProgressAt: timeOf(time, facts.lastProgressElapsedMs),
      progressSilenceMs: Math.round(turns.silenceMs(turn.slot)),
      episode: this.#detector.episodes(turn),
      parentThreadId: turn.parentThreadId,
      messages: [...(this.#messages.get(turn.threadId) ?? [])],
    }
  }

  #stateOf(turn: Turn): ThreadState {
    const state = this.#detector.stateOf(turn)
    if (state !== 'running') return state
    if (!this.#detector.turns.isCovered(turn.slot)) return 'running'
    return turn.oldestTool() === null ? 'waiting' : 'tool'
  }

  #livenessOfPast(threadId: string, past: ThreadPast | undefined): PrismLiveness {
    const { time, learning } = this.#detector
    const last = past?.last ?? null
    const requested = past?.requestedAtWallMs ?? null
    const thresholdMs = learning.unknownThresholdMs()
    return {
      threadId,
      now: isoTime(time.wallMs),
      ...(last ? lastStreamFields(time, last.lastEventElapsedMs) : { lastStreamAt: null, silenceMs: null }),
      openTool: null,
      turn: null,
      stale: last?.failed != null,
      staleSince: last?.staleSinceWallMs == null ? null : isoTime(last.staleSinceWallMs),
      ...thresholdFields(last?.threshold ?? { thresholdMs, thresholdSource: 'default', samples: 0 }),
      reason: last?.failed ?? null,
      state: requested !== null ? 'requested' : last ? 'ended' : 'idle',
      phase: null,
      waiting: null,
      lastProgressAt: timeOf(time, last?.lastProgressElapsedMs ?? null),
      progressSilenceMs: null,
      episode: last?.episode ?? 0,
      parentThreadId: last?.stats.parentThreadId ?? this.#threads.parentOf(threadId),
      messages: [...(this.#messages.get(threadId) ?? [])],
    }
  }
}

/** From real time, so that a step of the wall clock is no silence. */
function lastStreamFields(time: ObservedClock, elapsedMs: number) {
  return { lastStreamAt: timeOf(time, elapsedMs), silenceMs: Math.max(0, Math.round(time.elapsedMs - elapsedMs)) }
}

function timeOf(time: ObservedClock, elapsedMs: number | null): string | null {
  return elapsedMs === null ? null : isoTime(time.wallAt(elapsedMs))
}

function thresholdFields(row: Pick<ThresholdRow, 'thresholdMs' | 'thresholdSource' | 'samples'>) {
  return {
    // JSON has no infinity; a threshold that is switched off is the largest safe integer.
    thresholdMs: Math.min(row.thresholdMs, Number.MAX_SAFE_INTEGER),
    thresholdSource: row.thresholdSource,
    confirmMs: Math.min(row.thresholdMs * (CONFIRM - 1), Number.MAX_SAFE_INTEGER),
    samples: row.samples,
  }
}

/** Stale first, then suspect, then by the share of the threshold that the silence has used up. */
function risk(thread: PrismLiveness): number {
  const share = (thread.progressSilenceMs ?? 0) / Math.max(1, thread.thresholdMs)
  return (thread.state === 'stale' ? 1e6 : thread.state === 'suspect' ? 1e3 : 0) + Math.min(share, 999)
}

function refuseBadOptions(options: TurnwatchOptions): void {
  const { preset, ...defaults } = options.thresholds ?? {}
  if (preset !== undefined && !PRESETS.includes(preset)) {
    throw new TypeError(`thresholds.preset: ${JSON.stringify(preset)} is none of ${PRESETS.join(', ')}`)
  }
  const durations = {
    'thresholds.firstTokenMs': defaults.firstTokenMs,
    'thresholds.midStreamMs': defaults.midStreamMs,
    'thresholds.afterToolMs': defaults.afterToolMs,
    keepThreadsMs: options.keepThreadsMs,
    lostAfterMs: options.lostAfterMs,
    lostAfterExitMs: options.lostAfterExitMs,
  }
  for (const [name, value] of Object.entries(durations)) {
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw new RangeError(`${name}: ${JSON.stringify(value) ?? value} is not a positive number of ms`)
    }
  }
  if (options.keepThreads !== undefined && !(Number.isInteger(options.keepThreads) && options.keepThreads >= 0)) {
    throw new RangeError(`keepThreads: ${options.keepThreads} is not a whole number of threads`)
  }
  for (const name of ['onError', 'notify', 'verify', 'parentOf', 'runningThreads'] as const) {
    const value = options[name]
    if (value !== undefined && typeof value !== 'function') {
      throw new TypeError(`${name}: ${JSON.stringify(value)} is not a function`)
    }
  }
}

/**
 * Makes a watch. Every option has a default; a bad one is refused with its name and value (RangeError or TypeError).
 * Call `start()` to let it tick.
 */
export function createTurnwatch(options: TurnwatchOptions = {}): Turnwatch {
  return new Turnwatch(options)
}

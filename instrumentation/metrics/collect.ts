/** Reads every metric of the catalogue from the state of the watch. Nothing is kept between two scrapes. */

import { OUTCOMES, PHASES, WAIT_REASONS, type WaitReason } from '../events.ts'
import { GAP_BOUNDS_SECONDS } from '../gap-histogram.ts'
import { Histogram } from '../histogram.ts'
import { risk } from '../risk.ts'
import type { Turn } from '../turn.ts'
import { EVENT_CLASSES, type TurnClock } from '../turn-clock.ts'
import { RESOLUTIONS, STALE_REASONS, type StaleReason, type TurnCounters } from '../turn-counters.ts'
import { CATALOGUE_VERSION, catalogue, type MetricName, PREFIX } from './catalogue.ts'
import { type Family, type HistogramPoint, histogramPoint, type Labels, type Point } from './family.ts'
import { distinctLabelValue, labelValue } from './label-value.ts'

export type PerThreadSeries = 'all' | 'stale' | 'off'

/** What metrics need of a detector. */
export interface Measured {
  readonly turns: TurnClock
  readonly counters: TurnCounters
  readonly time: { readonly now: number; read(): void }
  readonly self: {
    readonly ticks: number
    readonly observedMs: number
    readonly suspends: number
    readonly suspendedMs: number
    readonly lastTickWallMs: number
    readonly lagSeconds: Histogram
    readonly faults: Readonly<Record<string, number>>
    readonly storeErrors: Readonly<Record<string, number>>
    readonly unclassified: ReadonlyMap<string, { source: string; type: string; count: number }>
  }
  readonly learning: {
    rowOf(key: number, model: { provider: string; model: string | null }, phase: number): Row
  }
  stateOf(turn: Turn): 'running' | 'suspect' | 'stale'
  thresholdOf(turn: Turn): Row
  episodeOf(turn: Turn): { reason: StaleReason } | null
  interruptRequested(turn: Turn): boolean
}

interface Row {
  readonly thresholdMs: number
  readonly largestMs: number
  readonly samples: number
}

/** What metrics need of a notifier. */
interface MeasuredNotifier {
  readonly suppressed: Readonly<Record<string, number>>
  readonly channels: readonly {
    readonly name: string
    readonly tries: number
    readonly failed: Readonly<Record<string, number>>
    readonly delaySeconds: Histogram
    readonly pending: number
    readonly oldestPendingMs: number
  }[]
}

export interface Host {
  readonly notifier: MeasuredNotifier
  readonly notStarted: number
  readonly unsettled: number
  readonly perThread: PerThreadSeries
  readonly version: string
}

/** Running threads that get series of their own. */
const MAX_THREADS = 500
/** Provider/model pairs with labels of their own; the rest is `other`. */
const MAX_PAIRS = 50

export function collectMetrics(detector: Measured, host: Host): Family[] {
  detector.time.read()
  const families = new Families()
  const groups = modelGroups(detector.turns)
  collectModels(detector, families, groups)
  collectRunning(detector, families, groups, host)
  collectNotifier(host.notifier, families)
  collectSelf(detector, families, host)
  return families.all()
}

/** Points under way, by metric. */
class Families {
  readonly #points = new Map<MetricName, (Point | HistogramPoint)[]>()

  add(name: MetricName, value: number, labels: Labels = {}): void {
    this.#of(name).push({ labels, value })
  }

  addHistogram(name: MetricName, histogram: Histogram, labels: Labels = {}): void {
    this.#of(name).push(histogramPoint(labels, histogram))
  }

  /** Every metric of the catalogue, those without a point too. */
  all(): Family[] {
    return (Object.keys(catalogue) as MetricName[]).map((name) => {
      const { type, unit, help } = catalogue[name]
      return { name: PREFIX + name, type, unit, help, points: this.#points.get(name) ?? [] } as Family
    })
  }

  #of(name: MetricName): (Point | HistogramPoint)[] {
    let points = this.#points.get(name)
    if (points === undefined) {
      points = []
      this.#points.set(name, points)
    }
    return points
  }
}

/** Model keys that share one label set. */
interface ModelGroup {
  readonly labels: Labels
  readonly keys: number[]
}

function modelGroups(turns: TurnClock): ModelGroup[] {
  const groups = new Map<string, ModelGroup>()
  for (let key = 0; key < turns.keys.size; key++) {
    const labels = modelLabels(turns, key)
    const id = `${labels.provider}\n${labels.model}`
    const group = groups.get(id)
    if (group) group.keys.push(key)
    else groups.set(id, { labels, keys: [key] })
  }
  return [...groups.values()]
}

function modelLabels(turns: TurnClock, key: number) {
  if (key >= MAX_PAIRS) return { provider: 'other', model: 'other' }
  const { provider, model } = turns.keys.at(key)
  return { provider: labelValue(provider), model: labelValue(model ?? '') }
}

function collectModels(detector: Measured, families: Families, groups: readonly ModelGroup[]): void {
  const { turns, counters } = detector
  for (const { labels, keys } of groups) {
    const of = keys.map((key) => counters.at(key))
    const sum = (read: (key: (typeof of)[number]) => number) => of.reduce((total, key) => total + read(key), 0)
    families.add(
      'turns_started_total',
      sum((key) => key.started),
      labels,
    )
    for (const name of EVENT_CLASSES) {
      const count = keys.reduce((total, key) => total + turns.eventCount(key, name), 0)
      families.add('events_total', count, { ...labels, class: name })
    }
    for (const outcome of OUTCOMES) {
      families.add(
        'turns_ended_total',
        sum((key) => key.ended[outcome]),
        { ...labels, outcome },
      )
      families.addHistogram('turn_duration_seconds', merged(of.map((key) => key.durations[outcome])), {
        ...labels,
        outcome,
      })
    }
    families.addHistogram('time_to_first_token_seconds', merged(of.map((key) => key.firstToken)), labels)
    PHASES.forEach((phase, index) => {
      const byPhase = { ...labels, phase }
      families.add(
        'turns_suspected_total',
        sum((key) => key.suspected[phase]),
        byPhase,
      )
      for (const reason of STALE_REASONS) {
        families.add(
          'turns_stale_total',
          sum((key) => key.stale[reason][phase]),
          { ...labels, reason, phase },
        )
        families.add(
          'turns_recovered_total',
          sum((key) => key.recovered[reason][phase]),
          { ...labels, reason, phase },
        )
      }
      families.addHistogram(
        'event_gap_seconds',
        merged(keys.map((key) => gapHistogram(turns, key * 3 + index))),
        byPhase,
      )
      const rows = keys.map((key) => detector.learning.rowOf(key, turns.keys.at(key), index))
      families.add('threshold_seconds', Math.max(...rows.map((row) => row.thresholdMs)) / 1000, byPhase)
      families.add('healthy_gap_max_seconds', Math.max(...rows.map((row) => row.largestMs)) / 1000, byPhase)
      families.add(
        'healthy_samples',
        rows.reduce((total, row) => total + row.samples, 0),
        byPhase,
      )
    })
  }
  for (const resolution of RESOLUTIONS) {
    families.addHistogram('stale_duration_seconds', counters.staleSeconds[resolution], { resolution })
  }
  families.addHistogram('stale_detection_delay_seconds', counters.detectionDelay)
}

function gapHistogram(turns: TurnClock, row: number): Histogram {
  const histogram = new Histogram(GAP_BOUNDS_SECONDS)
  histogram.counts.set(turns.gaps.counts(row))
  histogram.sum = turns.gaps.sumMs(row) / 1000
  return histogram
}

function merged(histograms: readonly Histogram[]): Histogram {
  const [first] = histograms as [Histogram, ...Histogram[]]
  if (histograms.length === 1) return first
  const all = new Histogram(first.bounds)
  for (const { counts, sum } of histograms) {
    counts.forEach((count, i) => {
      all.counts[i] = (all.counts[i] as number) + count
    })
    all.sum += sum
  }
  return all
}

const RUNNING_STATES = [...PHASES, 'tool', 'waiting'] as const

interface RunningModel {
  readonly labels: Labels
  readonly states: Record<(typeof RUNNING_STATES)[number], number>
  readonly stale: Record<StaleReason, number>
  silenceMs: number
  toolMs: number
}

function collectRunning(detector: Measured, families: Families, groups: readonly ModelGroup[], host: Host): void {
  const { turns, time } = detector
  const waits = new Map<WaitReason, { turns: number; longestMs: number }>()
  for (const reason of WAIT_REASONS) waits.set(reason, { turns: 0, longestMs: 0 })
  const models = groups.map(
    ({ labels }): RunningModel => ({
      labels,
      states: { 'first-token': 0, 'after-tool': 0, 'mid-stream': 0, tool: 0, waiting: 0 },
      stale: { silence: 0, 'provider-dead': 0, 'provider-error': 0 },
      silenceMs: 0,
      toolMs: 0,
    }),
  )
  const modelOf = new Map(groups.flatMap(({ keys }, i) => keys.map((key) => [key, models[i] as RunningModel])))
  const threads: Thread[] = []
  let interrupts = 0
  for (const turn of turns.turns) {
    if (turn === undefined) continue
    const model = modelOf.get(turns.keyAt(turn.slot)) as RunningModel
    const tool = turn.oldestTool()
    const silenceMs = turns.silenceMs(turn.slot)
    const coveredBy = turns.coveredBy(turn)
    model.states[coveredBy ?? turns.phaseOf(turn.slot)]++
    model.silenceMs = Math.max(model.silenceMs, silenceMs)
    if (tool) model.toolMs = Math.max(model.toolMs, time.now - tool.startedAt)
    const episode = detector.episodeOf(turn)
    if (episode) model.stale[episode.reason]++
    if (detector.interruptRequested(turn)) interrupts++
    for (const reason of new Set([...(turn.open?.waits.values() ?? [])].map((wait) => wait.reason))) {
      const waiting = waits.get(reason) as { turns: number; longestMs: number }
      waiting.turns++
      for (const wait of turn.open?.waits.values() ?? []) {
        if (wait.reason === reason) waiting.longestMs = Math.max(waiting.longestMs, time.now - wait.since)
      }
    }
    const verdict = detector.stateOf(turn)
    const state = verdict === 'running' ? (coveredBy ?? verdict) : verdict
    const thresholdMs = detector.thresholdOf(turn).thresholdMs
    threads.push({ turn, model, state, silenceMs, thresholdMs })
  }
  for (const model of models) {
    for (const state of RUNNING_STATES) families.add('turns_running', model.states[state], { ...model.labels, state })
    for (const reason of STALE_REASONS) families.add('turns_stale', model.stale[reason], { ...model.labels, reason })
    families.add('silence_max_seconds', model.silenceMs / 1000, model.labels)
    families.add('open_tool_max_seconds', model.toolMs / 1000, model.labels)
  }
  for (const [reason, waiting] of waits) {
    families.add('turns_waiting', waiting.turns, { reason })
    families.add('wait_max_seconds', waiting.longestMs / 1000, { reason })
  }
  families.add('turns_not_started', host.notStarted)
  families.add('interrupts_unsettled', interrupts)
  families.add('turns_unsettled', host.unsettled)
  collectThreads(turns, families, threads, host.perThread)
}

interface Thread {
  readonly turn: Turn
  readonly model: RunningModel
  readonly state: 'running' | 'tool' | 'waiting' | 'suspect' | 'stale'
  readonly silenceMs: number
  readonly thresholdMs: number
}

function collectThreads(turns: TurnClock, families: Families, threads: Thread[], mode: PerThreadSeries): void {
  const wanted = mode === 'off' ? [] : mode === 'stale' ? threads.filter((one) => one.state === 'stale') : threads
  if (wanted.length > MAX_THREADS) wanted.sort((a, b) => riskOf(b) - riskOf(a))
  const shown = wanted.slice(0, MAX_THREADS)
  families.add('thread_series_omitted', mode === 'off' ? 0 : wanted.length - shown.length)
  const taken = new Set<string>()
  for (const { turn, model, state, silenceMs, thresholdMs } of shown) {
    const plain = labelValue(turn.threadId)
    const labels = { thread: taken.has(plain) ? distinctLabelValue(turn.threadId) : plain }
    taken.add(labels.thread)
    const { lastProgressElapsedMs, startedWallMs } = turns.read(turn)
    const lastProgressWallMs = lastProgressElapsedMs === null ? startedWallMs : turns.time.wallAt(lastProgressElapsedMs)
    families.add('thread_silence_seconds', silenceMs / 1000, labels)
    families.add('thread_silence_threshold_seconds', thresholdMs / 1000, labels)
    families.add('thread_last_progress_timestamp_seconds', lastProgressWallMs / 1000, labels)
    families.add('thread_stale', state === 'stale' ? 1 : 0, labels)
    families.add('thread_state', 1, { ...labels, state })
    families.add('thread_info', 1, {
      ...labels,
      turn: labelValue(turn.turnId),
      parent: labelValue(turn.parentThreadId ?? ''),
      ...model.labels,
    })
  }
}

function riskOf({ state, silenceMs, thresholdMs }: Thread): number {
  return risk(state, silenceMs, thresholdMs)
}

function collectNotifier({ suppressed, channels }: MeasuredNotifier, families: Families): void {
  for (const [reason, count] of Object.entries(suppressed)) {
    families.add('notifications_suppressed_total', count, { reason })
  }
  for (const { name, tries, failed, delaySeconds, pending, oldestPendingMs } of channels) {
    const channel = labelValue(name)
    families.add('notifications_total', tries, { channel })
    for (const [reason, count] of Object.entries(failed)) {
      families.add('notifications_failed_total', count, { channel, reason })
    }
    families.add('notifications_pending', pending, { channel })
    families.add('notification_oldest_pending_seconds', oldestPendingMs / 1000, { channel })
    families.addHistogram('notification_delay_seconds', delaySeconds, { channel })
  }
}

function collectSelf({ self }: Measured, families: Families, host: Host): void {
  families.add('ticks_total', self.ticks)
  families.add('observed_seconds_total', self.observedMs / 1000)
  families.add('host_suspends_total', self.suspends)
  families.add('host_suspend_seconds_total', self.suspendedMs / 1000)
  families.add('last_tick_timestamp_seconds', self.lastTickWallMs / 1000)
  families.addHistogram('tick_lag_seconds', self.lagSeconds)
  for (const [where, count] of Object.entries(self.faults)) families.add('internal_errors_total', count, { where })
  for (const [op, count] of Object.entries(self.storeErrors)) families.add('store_errors_total', count, { op })
  const types = new Set<string>()
  for (const { source, type, count } of self.unclassified.values()) {
    const plain = { source: labelValue(source), type: labelValue(type) }
    const known = types.has(`${plain.source}\n${plain.type}`)
    types.add(`${plain.source}\n${plain.type}`)
    families.add('unclassified_events_total', count, known ? { ...plain, type: distinctLabelValue(type) } : plain)
  }
  families.add('build_info', 1, {
    version: host.version,
    node_version: process.version,
    catalogue: CATALOGUE_VERSION,
  })
}

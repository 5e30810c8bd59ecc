/** Traces: raw events of a real run with the times they were received at, one JSON object a line. */

import { BadInput } from '../../bad-input.ts'
import type { TurnEvent } from '../../instrumentation/events.ts'
import { createSource, recognise, type SourceName } from '../../instrumentation/sources/index.ts'
import type { TurnStats } from '../../instrumentation/turn-stats.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import { ReplayLog, type ReplayResult } from './result.ts'
import type { ReplayOptions } from './scenario.ts'
import { VirtualHost } from './virtual-host.ts'

interface TraceLine {
  /** Ms since the start of the run. */
  readonly t: number
  /** Epoch ms, where the line says it. */
  readonly wallMs: number | null
  readonly direction: 'in' | 'out'
  readonly event: unknown
}

/** Epoch ms of the year 2001; smaller numbers are no dates. */
const EPOCH_MS = 1e12

export interface Trace {
  readonly source: SourceName
  readonly lines: readonly TraceLine[]
}

/** Reads a trace; throws BadInput with file and line. */
export function parseTrace(file: string, text: string, source?: SourceName): Trace {
  const lines: TraceLine[] = []
  let before = Number.NEGATIVE_INFINITY
  const rows = text.split('\n')
  for (const [index, row] of rows.entries()) {
    if (row.trim() === '') continue
    const line = parseLine(`${file}:${index + 1}`, row)
    if (line.t < before) throw new BadInput(`${file}:${index + 1}: time goes backwards: t ${line.t} after ${before}`)
    before = line.t
    if (!isProbe(line.event)) lines.push(line)
  }
  if (lines.length === 0) throw new BadInput(`${file}:1: empty: no line with an event`)
  const recognised = source ?? lines.map((line) => recognise(line.event)).find((name) => name !== null)
  if (!recognised) {
    throw new BadInput(`${file}:1: unknown source: no event of a wire format that is known; name it with --source`)
  }
  return { source: recognised, lines }
}

function parseLine(where: string, row: string): TraceLine {
  let value: unknown
  try {
    value = JSON.parse(row)
  } catch {
    throw new BadInput(`${where}: not JSON: ${quoted(row)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadInput(`${where}: not a trace line {t, event}: ${quoted(row)}`)
  }
  const { t, at, dir, event } = value as Record<string, unknown>
  if (typeof t !== 'number' || !Number.isFinite(t)) {
    throw new BadInput(`${where}: t is ${JSON.stringify(t) ?? 'missing'}, not a number of ms`)
  }
  if (event === undefined) throw new BadInput(`${where}: no event`)
  if (dir !== undefined && dir !== 'in' && dir !== 'out') {
    throw new BadInput(`${where}: dir is ${JSON.stringify(dir)}, neither "in" nor "out"`)
  }
  const wallMs = typeof at === 'string' ? Date.parse(at) : timestampOf(event)
  return { t, wallMs: Number.isNaN(wallMs) ? null : wallMs, direction: dir ?? 'in', event }
}

/** Where nothing tells what the wall clock showed, an announced end is no time that can be waited for. */
function withoutDate(event: TurnEvent): TurnEvent {
  const isDate = event.kind === 'wait.started' && event.until !== undefined && event.until > EPOCH_MS
  return isDate ? { kind: 'attempt.started' } : event
}

/** Some wires date their own events in epoch ms. */
function timestampOf(event: unknown): number {
  if (typeof event !== 'object' || event === null) return Number.NaN
  const { timestamp, emittedAtMs } = event as Record<string, unknown>
  const dated = timestamp ?? emittedAtMs
  return typeof dated === 'number' && dated > EPOCH_MS ? dated : Number.NaN
}

function quoted(row: string): string {
  const start = row.trim().slice(0, 60)
  return JSON.stringify(start.length < row.trim().length ? `${start}…` : start)
}

/** Notes of whoever recorded the trace. */
function isProbe(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'probe' in event
}

export interface TraceOptions extends ReplayOptions {
  /** The thread's id, instead of the session id on the wire. */
  readonly thread?: string
}

export function replayTrace(file: string, trace: Trace, options: TraceOptions = {}): ReplayResult {
  const { log, watch } = runTrace(trace, options)
  const id = (file.split(/[\\/]/).at(-1) ?? file).replace(/\.jsonl$/, '')
  return log.result(file, id, watch)
}

/** The statistics of the turns that ended in a trace. */
export function traceStats(trace: Trace): TurnStats[] {
  return runTrace(trace, {}).log.stats
}

function runTrace(trace: Trace, options: TraceOptions): { log: ReplayLog; watch: Turnwatch } {
  const first = trace.lines[0] as TraceLine
  const dated = trace.lines.find((line) => line.wallMs !== null)
  const host = new VirtualHost({
    startMs: Math.floor(first.t / 1000) * 1000,
    wallBaseMs: dated?.wallMs == null ? 0 : dated.wallMs - dated.t,
    first: options.first ?? 'event',
  })
  const watch = createTurnwatch({
    clock: host.clock,
    ...(options.preset ? { thresholds: { preset: options.preset } } : {}),
    onError: (fault) => {
      throw fault
    },
  })
  watch.learn(options.history ?? [])
  const log = new ReplayLog(() => host.now)
  log.listen(watch)
  const source = createSource(trace.source, {
    wallMs: host.clock.wallMs,
    ...(options.thread === undefined ? {} : { thread: options.thread }),
    onUnclassified: watch.unclassified,
  })
  const emit = (thread: string, event: TurnEvent) => watch.observe(thread, dated ? event : withoutDate(event))
  host.schedule(
    trace.lines.map(({ t, event, direction }) => ({ due: t, act: () => source.read(event, emit, direction) })),
  )
  const last = trace.lines.at(-1) as TraceLine
  host.run(Math.max(options.untilMs ?? last.t, first.t), () => watch.tick())
  return { log, watch }
}

/** Scenarios: a timeline of turn events and of what happens to the host, with the verdicts that must come of it. */

import { z } from 'zod'
import { BadInput } from '../../bad-input.ts'
import type { SampleStore, StoredLearning } from '../../detector/sample-store.ts'
import type { Preset, ThresholdOptions } from '../../detector/thresholds.ts'
import { type TurnEvent, turnEventFault } from '../../instrumentation/events.ts'
import type { Sample } from '../../instrumentation/turn-stats.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import { jsonLineAt, lineOfElement } from './json-lines.ts'
import { ReplayLog, type ReplayResult } from './result.ts'
import { VirtualHost } from './virtual-host.ts'

const HOST_KINDS = [
  'host.suspended',
  'host.resumed',
  'host.blocked',
  'host.clock-step',
  'host.poll',
  'host.restarted',
] as const

/** Events that one entry may stand for: more than a month of tokens. */
const MAX_REPEATS = 10_000_000

const time = z.number().finite()

const entrySchema = z.looseObject({
  kind: z.string(),
  at: time.optional(),
  every: z.number().positive().optional(),
  from: time.optional(),
  to: time.optional(),
  turn: z.string().optional(),
  thread: z.string().optional(),
  readableAt: time.optional(),
  ms: time.optional(),
  clocks: z.enum(['mono-stops', 'both-advance']).optional(),
  until: time.optional(),
})

const expectSchema = z.looseObject({
  turn: z.string(),
  verdict: z.enum(['suspect', 'stale', 'recovered']),
  reason: z.string().optional(),
  at: time,
  atRange: z.tuple([time, time]).optional(),
  phase: z.string().optional(),
  thresholdMs: z.number().optional(),
  thresholdSource: z.string().optional(),
})

const scenarioSchema = z.looseObject({
  id: z.string().optional(),
  thresholds: z
    .object({
      firstTokenMs: z.number().positive().optional(),
      midStreamMs: z.number().positive().optional(),
      afterToolMs: z.number().positive().optional(),
    })
    .optional(),
  history: z.array(z.unknown()).optional(),
  host: z.looseObject({ timersLateMs: z.number().min(0).optional() }).optional(),
  feedback: z.looseObject({ afterMs: z.number().min(0), kind: z.string() }).optional(),
  timeline: z.array(entrySchema),
  until: time.optional(),
  expect: z.array(expectSchema).optional(),
})

type Entry = z.infer<typeof entrySchema>
export type Scenario = z.infer<typeof scenarioSchema>
export type Expected = z.infer<typeof expectSchema>

/** Reads a scenario; throws BadInput with file and line. */
export function parseScenario(file: string, source: string): Scenario {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (error) {
    throw new BadInput(`${file}:${jsonLineAt(source, error)}: not JSON: ${firstLine(error)}`)
  }
  const parsed = scenarioSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const path = issue?.path ?? []
    const line = lineOfElement(source, path)
    throw new BadInput(`${file}:${line}: ${path.join('.') || 'the scenario'}: ${issue?.message ?? 'not a scenario'}`)
  }
  checkTimeline(file, source, parsed.data)
  return parsed.data
}

function checkTimeline(file: string, source: string, scenario: Scenario): void {
  let before = Number.NEGATIVE_INFINITY
  scenario.timeline.forEach((entry, index) => {
    const where = () => `${file}:${lineOfElement(source, ['timeline', index])}: timeline[${index}]`
    const at = entry.at ?? entry.from
    if (at === undefined) throw new BadInput(`${where()} has neither at nor every, from and to`)
    if (entry.at === undefined && (entry.every === undefined || entry.to === undefined)) {
      throw new BadInput(`${where()} has from without every and to`)
    }
    if (repeats(entry) > MAX_REPEATS) {
      throw new BadInput(`${where()} repeats more than ${MAX_REPEATS} times`)
    }
    if (at < before) throw new BadInput(`${where()} goes back in time: ${at} after ${before}`)
    before = at
    const wrong = entry.kind.startsWith('host.') ? hostFault(entry) : turnFault(entry)
    if (wrong !== null) throw new BadInput(`${where()} ${wrong}`)
  })
  const { feedback } = scenario
  if (feedback !== undefined) {
    const { afterMs: _, ...event } = feedback
    const wrong = turnEventFault(event)
    if (wrong !== null) throw new BadInput(`${file}:${lineOfElement(source, ['feedback'])}: feedback ${wrong}`)
  }
}

function hostFault({ kind }: Entry): string | null {
  return (HOST_KINDS as readonly string[]).includes(kind) ? null : `has unknown kind ${JSON.stringify(kind)}`
}

function turnFault(entry: Entry): string | null {
  return turnEventFault(turnEvent(entry)) ?? (entry.turn === undefined ? 'has no turn' : null)
}

function turnEvent(entry: Entry): TurnEvent {
  const { at: _at, every: _every, from: _from, to: _to, readableAt: _readable, ...event } = entry
  return event as unknown as TurnEvent
}

export interface ReplayOptions {
  readonly preset?: Preset | undefined
  /** Statistics to learn from first. */
  readonly history?: readonly unknown[] | undefined
  /** Run the clock to here instead of to the end of the file. */
  readonly untilMs?: number | undefined
  /** Which goes first when an event and a tick share an instant. @default 'event' */
  readonly first?: 'event' | 'tick' | undefined
}

export function replayScenario(file: string, scenario: Scenario, options: ReplayOptions = {}): ReplayResult {
  return new ScenarioRun(file, scenario, options).run()
}

class ScenarioRun {
  readonly #file: string
  readonly #scenario: Scenario
  readonly #options: ReplayOptions
  readonly #host: VirtualHost
  readonly #log: ReplayLog
  readonly #store = new MemoryStore()
  /** The thread of each turn: its own name unless its start named one. */
  readonly #threads = new Map<string, string>()
  #watch: Turnwatch

  constructor(file: string, scenario: Scenario, options: ReplayOptions) {
    this.#file = file
    this.#scenario = scenario
    this.#options = options
    this.#host = new VirtualHost({
      startMs: Math.min(0, scenario.timeline[0]?.at ?? 0),
      timersLateMs: scenario.host?.timersLateMs ?? 0,
      first: options.first ?? 'event',
    })
    this.#log = new ReplayLog(() => this.#host.now)
    this.#watch = this.#newWatch()
    this.#watch.learn(options.history ?? [])
    this.#watch.learn(scenario.history ?? [])
  }

  run(): ReplayResult {
    const entries = this.#scenario.timeline.flatMap((entry) =>
      times(entry).map((at) => ({ due: Math.max(at, entry.readableAt ?? at), act: () => this.#act(entry, at) })),
    )
    this.#host.schedule(entries)
    const last = entries.reduce((latest, { due }) => Math.max(latest, due), 0)
    this.#host.run(this.#options.untilMs ?? this.#scenario.until ?? last, () => this.#watch.tick())
    return this.#log.result(this.#file, this.#scenario.id ?? this.#file, this.#watch)
  }

  #act(entry: Entry, at: number): void {
    switch (entry.kind) {
      case 'host.suspended': {
        const resumed = this.#scenario.timeline.find((other) => other.kind === 'host.resumed' && (other.at ?? 0) > at)
        this.#host.sleep(resumed?.at ?? this.#scenario.until ?? at, entry.clocks !== 'both-advance')
        return
      }
      case 'host.resumed':
        return
      case 'host.blocked':
        this.#host.block(entry.ms ?? 0)
        return
      case 'host.clock-step':
        this.#host.stepWallClock(entry.ms ?? 0)
        return
      case 'host.poll':
        this.#watch.threads()
        this.#watch.metrics()
        return
      case 'host.restarted':
        this.#watch = this.#newWatch()
        return
      default:
        this.#observe(entry, at)
    }
  }

  #observe(entry: Entry, at: number): void {
    const { turn } = entry
    if (turn === undefined || turn === '*') return
    if (entry.thread !== undefined) this.#threads.set(turn, entry.thread)
    const event = turnEvent(entry)
    // `until` is true time in the file and wall-clock time in an event.
    const stamped =
      event.kind === 'wait.started' && event.until !== undefined
        ? { ...event, until: this.#host.clock.wallMs() + (event.until - at) }
        : event
    this.#watch.observe(this.#threads.get(turn) ?? turn, stamped)
  }

  #newWatch(): Turnwatch {
    const { preset } = this.#options
    const thresholds: ThresholdOptions = {
      ...this.#scenario.thresholds,
      ...(preset ? { preset } : {}),
    } as ThresholdOptions
    const watch = createTurnwatch({
      clock: this.#host.clock,
      thresholds,
      store: this.#store,
      onError: (fault) => {
        throw fault
      },
    })
    this.#log.listen(watch, (verdict) => {
      const { feedback } = this.#scenario
      if (feedback === undefined) return
      const { afterMs, ...event } = feedback
      this.#host.after(afterMs, () =>
        watch.observe(verdict.threadId, { ...event, turn: verdict.turnId } as unknown as TurnEvent),
      )
    })
    return watch
  }
}

function repeats({ at, every = 1, from = 0, to = from }: Entry): number {
  return at === undefined ? Math.max(0, Math.floor((to - from) / every) + 1) : 1
}

function times(entry: Entry): number[] {
  const { at, every = 1, from = 0 } = entry
  return Array.from({ length: repeats(entry) }, (_, i) => at ?? from + i * every)
}

/** What a restarted host finds again. */
class MemoryStore implements SampleStore {
  readonly #samples: Sample[] = []
  #extras: StoredLearning['extras'] = []

  load(): StoredLearning {
    return { samples: this.#samples, extras: this.#extras }
  }

  save(samples: readonly Sample[], extras: StoredLearning['extras']): void {
    this.#samples.push(...samples)
    this.#extras = extras
  }
}

/** Differences between what a scenario expects and what was found, a line each. `suspect` is not compared. */
export function differences(expected: readonly Expected[], result: ReplayResult): string[] {
  const found = result.verdicts.filter((verdict) => verdict.verdict !== 'suspect')
  const open = [...found]
  const lines: string[] = []
  for (const want of expected.filter((one) => one.verdict !== 'suspect')) {
    const [from, to] = want.atRange ?? [want.at, want.at + 1000]
    const index = open.findIndex(
      (have) =>
        have.turn === want.turn &&
        have.verdict === want.verdict &&
        have.at >= from &&
        have.at <= to &&
        (want.reason === undefined || have.reason === want.reason) &&
        (want.phase === undefined || have.phase === want.phase) &&
        (want.thresholdMs === undefined || have.thresholdMs === want.thresholdMs) &&
        (want.thresholdSource === undefined || have.thresholdSource === want.thresholdSource),
    )
    if (index === -1) lines.push(`expected ${describe(want)} between ${from} and ${to}, found ${list(found)}`)
    else open.splice(index, 1)
  }
  for (const extra of open) lines.push(`did not expect ${describe(extra)} at ${extra.at}`)
  return lines
}

function describe(verdict: {
  turn: string
  verdict: string
  reason?: string | undefined
  phase?: string | undefined
}): string {
  return [verdict.turn, verdict.verdict, verdict.reason, verdict.phase].filter((part) => part !== undefined).join(' ')
}

function list(
  verdicts: readonly { turn: string; verdict: string; reason: string; phase: string; at: number }[],
): string {
  return verdicts.length === 0 ? 'none' : verdicts.map((one) => `${describe(one)} at ${one.at}`).join(', ')
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] as string
}

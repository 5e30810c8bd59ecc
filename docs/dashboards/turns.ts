/** Turns as agents run them, as scripts: each yields the ms until its next step. */

import type { TurnEvent, Usage } from '../../index.ts'

export type Script = Generator<number, void, void>
/** One that says whether its provider stood still meanwhile. */
type Waiting = Generator<number, boolean, void>

/** What a turn runs in. */
export interface Stage {
  readonly random: () => number
  /** Ms until the provider answers again; 0 while it does. */
  standsStillMs(provider: string): number
  observe(threadId: string, event: TurnEvent): void
}

export interface Job {
  readonly thread: string
  readonly turn: string
  readonly provider: string
  readonly model: string
}

/** How fast a model is, and what its wire tells of the cache. */
interface Pace {
  readonly firstTokenMs: number
  readonly tokenMs: number
  /** Share of its turns that its provider fails. */
  readonly failing: number
  readonly writesCache: boolean
}

const PACES: Readonly<Record<string, Pace>> = {
  'claude-opus-4-6': { firstTokenMs: 4200, tokenMs: 1100, failing: 0.02, writesCache: true },
  'claude-sonnet-4-5': { firstTokenMs: 2100, tokenMs: 700, failing: 0.02, writesCache: true },
  'gpt-5.2-codex': { firstTokenMs: 6500, tokenMs: 1400, failing: 0.03, writesCache: false },
  'claude-haiku-4-5': { firstTokenMs: 1300, tokenMs: 500, failing: 0.01, writesCache: true },
  'openai/gpt-5.2': { firstTokenMs: 3600, tokenMs: 900, failing: 0.12, writesCache: false },
}
const LONGEST_GAP_MS = 17_000
/** Share of the turns in an outage that end with it. */
const FAILING_OUTAGE = 0.9

/** One turn from its start to its end: model, tools, waits, sometimes a sub-agent. */
export function* turn(stage: Stage, job: Job, steps: number): Script {
  const { random } = stage
  const pace = PACES[job.model] as Pace
  const tell = (event: TurnEvent) => stage.observe(job.thread, event)
  const { provider, model } = job
  const fail = () => {
    tell({ kind: 'error', message: 'overloaded' })
    tell({ kind: 'turn.ended', outcome: 'error' })
  }
  tell({ kind: 'turn.started', turn: job.turn, provider, model })
  if ((yield* quiet(stage, provider, spread(random, pace.firstTokenMs))) && random() < FAILING_OUTAGE) return fail()
  for (let step = 0; step < steps; step++) {
    const stood = yield* streaming(stage, job, pace, 8000 + random() * 40_000)
    if (random() < (stood ? FAILING_OUTAGE : pace.failing / steps)) return fail()
    yield* pause(stage, job, `${job.turn}-${step}`)
    if ((yield* quiet(stage, provider, spread(random, pace.firstTokenMs * 0.7))) && random() < FAILING_OUTAGE) {
      return fail()
    }
  }
  yield* streaming(stage, job, pace, 10_000 + random() * 20_000)
  if (random() < 0.05) {
    tell({ kind: 'interrupt.requested' })
    yield 2500
    return tell({ kind: 'turn.ended', outcome: 'aborted' })
  }
  tell({ kind: 'turn.ended', outcome: random() < 0.03 ? 'incomplete' : 'completed', usage: usage(random, pace, steps) })
}

/** A tool, an approval or a sub-agent between two calls of the model. */
function* pause(stage: Stage, job: Job, id: string): Script {
  const { random } = stage
  const tell = (event: TurnEvent) => stage.observe(job.thread, event)
  const kind = random()
  if (kind < 0.1) {
    tell({ kind: 'wait.started', id, reason: random() < 0.8 ? 'approval' : 'input' })
    yield 15_000 + random() * 180_000
    return tell({ kind: 'wait.ended', id })
  }
  if (kind < 0.18 && !job.thread.startsWith('sub.')) {
    tell({ kind: 'wait.started', id, reason: 'subagent' })
    yield* turn(
      stage,
      { ...job, thread: `sub.${job.thread}.${NAMES[Math.floor(random() * NAMES.length)]}`, turn: id },
      2,
    )
    return tell({ kind: 'wait.ended', id })
  }
  tell({ kind: 'tool.started', id, name: 'shell' })
  yield spread(random, random() < 0.15 ? 90_000 : 7000)
  tell({ kind: 'tool.ended', id })
}

const NAMES = ['review', 'tests', 'search', 'docs']

/** Tokens for so long, or until the provider stands still. */
export function* streaming(stage: Stage, job: Job, pace: { tokenMs: number }, forMs: number): Waiting {
  for (let left = forMs; left > 0; ) {
    stage.observe(job.thread, { kind: 'token', stream: stage.random() < 0.2 ? 'reasoning' : 'text' })
    const gap = Math.min(LONGEST_GAP_MS, spread(stage.random, pace.tokenMs))
    left -= gap
    if (yield* quiet(stage, job.provider, gap)) return true
  }
  return false
}

/** Time in which the model says nothing: longer when its provider stands still meanwhile. */
export function* quiet(stage: Stage, provider: string, ms: number): Waiting {
  yield ms
  let stood = false
  for (let still = stage.standsStillMs(provider); still > 0; still = stage.standsStillMs(provider)) {
    yield still + 1000 + stage.random() * 40_000
    stood = true
  }
  return stood
}

/** Most are near the middle, a few are several times as long. */
function spread(random: () => number, middle: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return middle * Math.exp(0.6 * normal)
}

function usage(random: () => number, { writesCache }: Pace, steps: number): Usage {
  const calls = steps + 1
  const short = Math.round(calls * (2000 + random() * 5000))
  const long = random() < 0.3 ? Math.round(4000 + random() * 9000) : 0
  return {
    inputTokens: Math.round(calls * (400 + random() * 2600)),
    outputTokens: Math.round(calls * (600 + random() * 1500)),
    cacheReadTokens: Math.round(calls * (18_000 + random() * 30_000)),
    cacheWriteTokens: writesCache ? short + long : 0,
    ...(writesCache ? { cacheWriteByTtl: { '5m': short, '1h': long } } : {}),
  }
}

/** What is run on both sides. Times are in deadlines: in words `3x` is three of them. */

import { setTimeout as delay } from 'node:timers/promises'
import {
  type StreamClock,
  StreamControl,
  type StreamDeadlines,
  type StreamStalledError,
  withStallRetries,
} from '../../detector/watchdog/index.ts'
import { finish, type PartLine, piece, scriptedModel, TOOL_CALL } from './ai-sdk.ts'
import { named } from './outcome.ts'
import { type Case, type Cell, type Own, type Sides, saidByParts } from './sides.ts'
import { chatChunk, sse, type WireLine } from './wire.ts'

const COMMENT = ': OPENROUTER PROCESSING\n\n'
const A = piece('a')
const HANG = [0, 'hang'] as const
const END: PartLine[] = finish().map((part) => [0, part])
const ENOUGH = new Error('enough')
/** What is no deadline, or one that ends after three weeks. */
const NONE = { 0: 0, NaN: Number.NaN, '-5': -5, Infinity: Number.POSITIVE_INFINITY, '2 ** 31': 2 ** 31 }

export function cases(sides: Sides): Case[] {
  return [...silences(sides), ...consumers(sides), ...settings(sides), ...errors(sides), ...hosts(sides)]
}

function silences(sides: Sides): Case[] {
  const { deadlineMs: d } = sides
  const patient = { firstContentMs: d, contentIntervalMs: 4 * d, livenessMs: d }
  return [
    sides.response('No answer of the server, not even headers', [HANG], {
      deadlines: { ...both(d), headersMs: d },
    }),
    sides.response('Comments alone, as `: OPENROUTER PROCESSING`', repeat(40, [d / 4, COMMENT])),
    sides.parts('Empty deltas alone', repeat(40, [d / 4, piece('')])),
    sides.parts('Content, then silence', [...repeat(2, [d / 4, A]), HANG]),
    sides.response(
      'Comments for 3x, then content; without content 4x are allowed, without any sign 1x',
      [[0, chatChunk('a')], ...repeat<WireLine>(12, [d / 4, COMMENT]), [0, chatChunk('a', 'stop')]],
      { deadlines: patient },
    ),
    sides.response('Nothing at all after content, under the same deadlines', [[0, chatChunk('a')], HANG], {
      deadlines: patient,
    }),
    sides.parts('Silence before any content, with only the deadline between contents', [HANG], {
      deadlines: { contentIntervalMs: d },
    }),
    sides.parts('A piece every 0.5x for ever, 3x allowed in all', repeat(40, [d / 2, A]), {
      deadlines: { totalMs: 3 * d },
      since: 'start',
    }),
    sides.response('A whole answer, and a connection that stays open', [
      [0, chatChunk('a')],
      [0, chatChunk('a', 'stop')],
      HANG,
    ]),
  ]
}

function consumers(sides: Sides): Case[] {
  const { deadlineMs: d } = sides
  return [
    sides.parts('16 pieces there at once, a consumer that takes 1.5x for each', [...repeat(16, [0, A]), ...END], {
      pieces: 16,
      holdMs: () => 1.5 * d,
    }),
    sides.parts(
      '3 pieces, then silence; the consumer is away for 3x after the first',
      [...repeat(3, [d / 4, A]), HANG],
      {
        holdMs: (pieces) => (pieces === 1 ? 3 * d : 0),
        says: ({ says, pieces }) => `${says}, ${pieces} of 3 pieces read`,
      },
    ),
    sides.parts(
      'A tool on this side that takes 3x',
      [[0, A], [0, TOOL_CALL], ...finish('tool-calls').map<PartLine>((part) => [0, part])],
      { call: { toolMs: 3 * d } },
      [[0, A], ...END],
    ),
    sides.parts('A person is asked for 3x, between two pieces', [[0, A], [3 * d, A], ...END], {
      options: () => ({ control: pausedFor(3 * d) }),
    }),
    retried(sides),
  ]
}

/** Streams are paused soon after they begin. */
function pausedFor(ms: number): StreamControl {
  const control = new StreamControl()
  void delay(ms / 10).then(() => control.whilePaused(() => delay(ms)))
  return control
}

function retried(sides: Sides): Case {
  /** One side: each run has a model of its own, whose requests are counted. */
  const side = () => {
    let model = scriptedModel()
    const opened = () => {
      model = scriptedModel([HANG], [[0, A], [0, A], ...END])
      return model
    }
    const own: Own = {
      call: { maxRetries: 2, streamRetries: 1 },
      says: ({ says }) => `${says}, ${model.calls()} ${model.calls() === 1 ? 'request' : 'requests'}`,
    }
    return { opened, own }
  }
  const retries = { maxStallRetries: 1, backoff: 0 }
  const [ours, theirs] = [side(), side()]
  return {
    what: 'A first try without content, retries on',
    turnwatch: () =>
      sides.run(ours.own, async () => {
        const model = ours.opened()
        return saidByParts(await withStallRetries((attempt) => sides.watched(model, ours.own, attempt), retries))
      }),
    ai: sides.alone(theirs.opened, theirs.own),
  }
}

function settings(sides: Sides): Case[] {
  const { deadlineMs: d } = sides
  const script: PartLine[] = [[d, A], [0, A], ...END]
  const values = (what: string, setting: keyof StreamDeadlines): Case => {
    const runs = Object.entries(NONE).map(([name, value]) =>
      sides.parts(name, script, { deadlines: { [setting]: value } }),
    )
    return {
      what: `${what} of ${runs.map((run) => run.what).join(', ')}`,
      turnwatch: () => together(runs, ({ turnwatch }) => turnwatch()),
      ai: () => together(runs, ({ ai }) => ai()),
    }
  }
  const unknown = (what: string, policy: 'neutral' | 'content'): Case => {
    const hologram = repeat<WireLine>(8, [d / 4, sse({ type: 'response.hologram.delta', delta: 'a' })])
    const own: Own = { pieces: 8, since: 'start', options: () => ({ source: 'openai-responses', unknown: policy }) }
    const parts = repeat<PartLine>(8, [d / 4, { type: 'hologram-delta', id: '0', delta: 'a' }])
    return {
      ...sides.response(what, [...hologram, [0, sse({ type: 'response.completed', response: {} })]], own),
      ai: sides.alone(() => scriptedModel([...parts, ...END]), own),
    }
  }
  return [
    values('First content deadlines', 'firstContentMs'),
    values('Total deadlines', 'totalMs'),
    unknown('Pieces of a type that nobody knows', 'neutral'),
    unknown("The same, with `unknown: 'content'`", 'content'),
  ]
}

/** One cell for several runs: by what they say, if that differs. */
async function together(runs: readonly Case[], run: (one: Case) => Promise<Cell>): Promise<Cell> {
  const groups = new Map<string, string[]>()
  for (const { what, cell } of await Promise.all(runs.map(async (one) => ({ what: one.what, cell: await run(one) })))) {
    groups.set(cell.says, [...(groups.get(cell.says) ?? []), what])
  }
  const [first, ...others] = groups.keys()
  if (first !== undefined && others.length === 0) return { says: `${first}, all of them` }
  return { says: [...groups].map(([says, whats]) => `${whats.join(', ')}: ${says}`).join('; ') }
}

function errors(sides: Sides): Case[] {
  const { deadlineMs: d } = sides
  return [
    sides.parts('The caller aborts while content is waited for', [HANG], {
      deadlines: { firstContentMs: 4 * d },
      caller: (abort) => void delay(d).then(() => abort.abort(ENOUGH)),
      says: ({ error }) => (error === ENOUGH ? "the caller's own reason" : named(error)),
    }),
    sides.parts('How the reader hears of a stall', [HANG], {
      says: ({ isThrown }) =>
        isThrown ? 'the read throws' : '`fullStream` has a part `abort` and ends, `text` rejects',
    }),
    sides.parts('What its error says beside the message', [HANG], { says: ({ error }) => saidBeside(error as Error) }),
    sides.parts('A hook of the caller that throws when it hears of it', [HANG], {
      options: () => ({ onStall: broken }),
      call: { onAbort: broken },
    }),
  ]
}

function broken(): never {
  throw new Error('the hook is broken')
}

function saidBeside(error: Error): string {
  const { name, message, ...more } = 'toJSON' in error ? (error as StreamStalledError).toJSON() : error
  const fields = Object.keys(more).map((field) => `\`${field}\``)
  return fields.length === 0 ? `nothing: a ${error.constructor.name} named ${error.name}` : fields.join(', ')
}

function hosts(sides: Sides): Case[] {
  const { deadlineMs: d } = sides
  const steady: WireLine[] = [...repeat<WireLine>(20, [d / 4, chatChunk('a')]), [0, chatChunk('', 'stop')]]
  const asleep = sides.parts('The machine sleeps for ten hours between two pieces', [[0, A], [1.5 * d, A], ...END], {
    options: () => ({ clock: asleepAfter(d / 2) }),
  })
  return [
    {
      ...sides.response('The consumer blocks the event loop for 3x while pieces come', steady, {
        pieces: 20,
        holdMs: (pieces) => (pieces === 3 ? block(3 * d) : 0),
        isDisturbed: true,
      }),
      runsAlone: true,
    },
    { ...asleep, ai: async () => ({ says: 'not run: it takes no clock' }) },
  ]
}

/** Works for so long; nothing is left to wait for. */
function block(ms: number): 0 {
  const end = performance.now() + ms
  while (performance.now() < end);
  return 0
}

/** A machine that sleeps once, on which the monotonic clock stands meanwhile, as on Linux. */
function asleepAfter(ms: number): StreamClock {
  const start = performance.now()
  const slept = () => (performance.now() > start + ms ? 10 * 3_600_000 : 0)
  return {
    monoMs: () => performance.now(),
    uptimeMs: () => performance.now() + slept(),
    later(work, afterMs) {
      const timer = setTimeout(work, afterMs)
      return () => clearTimeout(timer)
    },
    nextTurn: (work) => void setImmediate(work),
  }
}

const both = (ms: number) => ({ firstContentMs: ms, contentIntervalMs: ms, drainMs: ms })

function repeat<T extends PartLine | WireLine>(times: number, line: T): T[] {
  return Array.from({ length: times }, () => line)
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TurnEvent, WAIT_REASONS } from '../../instrumentation/events.ts'
import { livenessApp, type PrismLiveness } from '../../liveness/index.ts'
import { livenessResponse, READ_SCOPE } from '../../liveness/response.ts'
import { anyEvent, anyThread, THREADS } from '../detector/arbitrary-events.ts'
import {
  completed,
  exit,
  failure,
  midStream,
  progress,
  side,
  started,
  THREAD,
  token,
  toolEnds,
  WatchedHost,
  waitEnds,
  waitStarts,
} from '../detector/watched-host.ts'
import { fixture } from './manual-clock.ts'
import { at, type StateCase, THREAD_STATES } from './thread-states.ts'
import { ADDED_KEYS, clockFields, unknownThread, V1B_KEYS, type V1bLiveness, V1bServer, v1bSchema } from './v1b.ts'

const LIVE = {
  threadId: 'sub.boss.one',
  now: '2026-01-01T00:02:30.000Z',
  lastStreamAt: '2026-01-01T00:00:30.000Z',
  silenceMs: 120_000,
  openTool: { itemId: 'call', itemType: 'command_execution', title: 'npm test', startedAt: '2026-01-01T00:00:20.000Z' },
  turn: { turnId: 't', provider: 'codex', model: 'm', startedAt: '2026-01-01T00:00:00.000Z', eventCount: 3 },
  stale: true,
  staleSince: '2026-01-01T00:02:23.000Z',
  thresholdMs: 90_000,
  thresholdSource: 'default',
  reason: 'silence',
} satisfies V1bLiveness

/** Every field, as a path, and whether v1b has null there. */
const FIELDS: readonly (readonly [path: string, nullable: boolean])[] = [
  ['threadId', false],
  ['now', false],
  ['lastStreamAt', true],
  ['silenceMs', true],
  ['openTool', true],
  ['openTool.itemId', false],
  ['openTool.itemType', false],
  ['openTool.title', true],
  ['openTool.startedAt', false],
  ['turn', true],
  ['turn.turnId', true],
  ['turn.provider', false],
  ['turn.model', true],
  ['turn.startedAt', false],
  ['turn.eventCount', false],
  ['stale', false],
  ['staleSince', true],
  ['thresholdMs', false],
  ['thresholdSource', false],
  ['reason', true],
]

const MISSING = Symbol('missing')

function isTaken(answer: unknown): boolean {
  return v1bSchema.safeParse(answer).success
}

/** The example with another value, or none, at a path. */
function changed(path: string, value: unknown): unknown {
  const copy: Record<string, unknown> = structuredClone(LIVE)
  const [outer = '', inner] = path.split('.')
  const target = inner === undefined ? copy : (copy[outer] as Record<string, unknown>)
  if (value === MISSING) delete target[inner ?? outer]
  else target[inner ?? outer] = value
  return copy
}

describe("v1b's decoder", () => {
  it('takes its own answers, and any field that it does not know', () => {
    expect(v1bSchema.parse(LIVE)).toEqual(LIVE)
    const calm = { ...LIVE, stale: false, staleSince: null, thresholdSource: 'measured', reason: null }
    expect(v1bSchema.parse(calm)).toEqual(calm)
    for (const reason of ['silence', 'provider-dead', 'provider-error']) expect(isTaken({ ...LIVE, reason })).toBe(true)
    expect(v1bSchema.parse({ ...LIVE, openTool: { ...LIVE.openTool, more: 1 }, more: { any: 'thing' } })).toEqual(LIVE)
  })

  it.each(FIELDS)('wants %s', (path) => {
    expect([MISSING, undefined].map((value) => isTaken(changed(path, value)))).toEqual([false, false])
  })

  it.each(FIELDS)('of %s, null is taken: %s', (path, nullable) => {
    expect(isTaken(changed(path, null))).toBe(nullable)
  })

  it.each(FIELDS)('takes no %s of another type', (path) => {
    const [outer, inner] = path.split('.') as ['turn', 'turnId' | undefined]
    const value = inner === undefined ? LIVE[outer] : LIVE[outer][inner]
    const others = ['text', 5, true, {}].filter((one) => typeof one !== typeof value)
    expect(others.filter((other) => isTaken(changed(path, other)))).toEqual([])
  })

  it.each(['timeout', 'stalled', 'provider', '', 'Silence'])('takes no reason %j', (reason) => {
    expect(isTaken({ ...LIVE, reason })).toBe(false)
  })

  it.each(['fixed', 'router-fallback', 'MEASURED', ''])('takes no thresholdSource %j', (thresholdSource) => {
    expect(isTaken({ ...LIVE, thresholdSource })).toBe(false)
  })

  it.each(['now', 'lastStreamAt', 'staleSince', 'turn.startedAt', 'openTool.startedAt'])(
    'takes no %s but ISO 8601',
    (path) => {
      expect(
        ['soon', '', '1767225600000', '2026-01-01', 1_767_225_600_000].filter((one) => isTaken(changed(path, one))),
      ).toEqual([])
    },
  )
})

const url = (thread: string) => `http://127.0.0.1/api/prism/liveness?threadId=${encodeURIComponent(thread)}`

/** What the route says of a thread, which is what the plain response says. */
async function ask({ watch }: Pick<WatchedHost, 'watch'>, thread: string): Promise<PrismLiveness> {
  const response = await livenessApp(watch).fetch(new Request(url(thread)))
  const body: unknown = await response.json()
  const plain = livenessResponse((id) => watch.liveness(id), thread, [READ_SCOPE])
  expect({ status: response.status, body }).toStrictEqual(plain)
  expect(response.status).toBe(200)
  return body as PrismLiveness
}

function reach({ options, plan, at: ms }: StateCase): WatchedHost {
  const host = new WatchedHost(options)
  plan?.(host)
  return host.run(ms)
}

/** What holds in every answer, whatever happened. */
function expectCoherent(answer: PrismLiveness): void {
  expect(Object.keys(answer).sort()).toEqual([...V1B_KEYS, ...ADDED_KEYS].sort())
  if (answer.openTool) expect(Object.keys(answer.openTool).sort()).toEqual(Object.keys(LIVE.openTool).sort())
  if (answer.turn) expect(Object.keys(answer.turn).sort()).toEqual(Object.keys(LIVE.turn).sort())
  const { now, lastStreamAt, silenceMs, stale, staleSince, reason } = answer
  expect(silenceMs).toBe(lastStreamAt === null ? null : Date.parse(now) - Date.parse(lastStreamAt))
  expect([staleSince !== null, reason !== null]).toEqual([stale, stale])
  expect(answer.openTool === null || answer.turn !== null).toBe(true)
  expect(answer.confirmMs).toBe(
    answer.thresholdMs === Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : answer.thresholdMs * 0.25,
  )
}

describe('the answer', () => {
  it.each(THREAD_STATES)('of a thread that is $name', async (one) => {
    const host = reach(one)
    const { thread = THREAD } = one
    const answer = await ask(host, thread)
    expect(v1bSchema.parse(answer)).toEqual({ ...unknownThread(thread, Date.parse(at(one.at))), ...one.answer })
    expect(answer.state).toBe(one.state)
    expectCoherent(answer)
    const listed = host.watch.threads().find(({ threadId }) => threadId === answer.threadId)
    if (answer.turn !== null) expect(listed).toStrictEqual(answer)
    expect(host.faults).toEqual([])
  })

  it('is tested in every state', () => {
    const states = ['ended', 'idle', 'requested', 'running', 'stale', 'suspect', 'tool', 'waiting']
    expect([...new Set(THREAD_STATES.map(({ state }) => state))].sort()).toEqual(states)
  })

  it('is one that v1b takes after any events of any threads, pauses and steps of the wall clock', () => {
    const pauses = fc.constantFrom('none', 'none', 'none', 'block', 'mono-stops', 'both-advance', 'step')
    const steps = fc.array(
      fc.record({
        after: fc.integer({ min: 0, max: 90_000 }),
        pause: pauses,
        pauseMs: fc.integer({ min: 1, max: 7_200_000 }),
        thread: anyThread,
        event: anyEvent,
      }),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const host = new WatchedHost()
        for (const { after, pause, pauseMs, thread, event } of all) {
          host.run(host.now + after)
          if (pause === 'block') host.host.block(pauseMs)
          else if (pause === 'step') host.host.stepWallClock(pauseMs - 3_600_000)
          else if (pause !== 'none') host.host.sleep(host.now + pauseMs, pause === 'mono-stops')
          host.watch.observe(thread, event)
          for (const id of THREADS) {
            const answer = host.watch.liveness(id)
            expect(JSON.parse(JSON.stringify(answer))).toStrictEqual(answer)
            expect(v1bSchema.safeParse(answer).error).toBeUndefined()
            expectCoherent(answer)
          }
        }
        expect(host.faults).toEqual([])
      }),
      { seed: 61, numRuns: 100 },
    )
  })

  it('has times that agree to the ms, whatever part of one the clocks show and however they go on between two readings', () => {
    const some = fc.double({ min: 0, max: 2500, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(some, { maxLength: 20 }),
        some,
        fc.double({ min: 0, max: 3, noNaN: true }),
        (all, last, drift) => {
          const { clock, watch } = fixture()
          const turn = watch.startTurn({ threadId: THREAD })
          let read = 0
          clock.wallMs = () => clock.wall + ++read * drift
          for (const ms of all) {
            clock.advance(ms)
            turn.observe(token)
          }
          clock.advance(last)
          const answer = watch.liveness(THREAD)
          expectCoherent(answer)
          expect(answer.lastProgressAt).toBe(all.length === 0 ? null : answer.lastStreamAt)
        },
      ),
      { seed: 62, numRuns: 200 },
    )
  })
})

/** What a step of the comparison does; `open` and `close` are of tools with an id of their own, `late` of an older turn. */
type Deed = 'start' | 'open' | 'close' | 'late' | TurnEvent

interface Step {
  readonly after: number
  readonly thread: string
  readonly native: boolean
  readonly deed: Deed
}

/** A watch and a v1b server that are told the same, each by its own clock. */
class SideBySide {
  readonly host = new WatchedHost({ lostAfterMs: Number.POSITIVE_INFINITY, lostAfterExitMs: Number.POSITIVE_INFINITY })
  readonly v1b = new V1bServer()
  readonly #openTools = new Map<string, string[]>()
  readonly #started = new Map<string, string[]>()
  #made = 0

  constructor() {
    this.host.onTick = () => this.v1b.tick(this.wallMs)
  }

  get wallMs(): number {
    return this.host.host.clock.wallMs()
  }

  ours(thread: string): V1bLiveness {
    return v1bSchema.parse(this.host.watch.liveness(thread))
  }

  theirs(thread: string): V1bLiveness {
    return this.v1b.liveness(thread, this.wallMs)
  }

  send(thread: string, event: TurnEvent, native: boolean): void {
    const { watch } = this.host
    if (native) watch.observe(thread, event)
    else watch.observeEcho(thread, event)
    this.v1b.take(thread, event, this.wallMs, native)
  }

  act({ thread, native, deed }: Step): void {
    const open = this.#openTools.get(thread) ?? []
    const runs = this.theirs(thread).turn !== null
    if (deed === 'start') {
      this.#openTools.delete(thread)
      const turn = `turn-${++this.#made}`
      this.#started.set(thread, [...(this.#started.get(thread) ?? []), turn])
      // Each turn has a model of its own, so that none learns from another.
      const model = this.#made % 5 === 0 ? {} : { model: `m${this.#made}` }
      this.send(thread, { kind: 'turn.started', turn, provider: 'codex', ...model }, false)
    } else if (deed === 'open' && runs) {
      const id = `call-${++this.#made}`
      this.#openTools.set(thread, [...open, id])
      const title = this.#made % 2 === 0 ? null : `title ${this.#made}`
      this.send(thread, { kind: 'tool.started', id, name: 'command_execution', title }, false)
    } else if (deed === 'close') {
      const closed = open[this.#made % Math.max(1, open.length)] ?? 'never opened'
      this.#openTools.set(
        thread,
        open.filter((id) => id !== closed),
      )
      this.send(thread, toolEnds(closed), false)
    } else if (deed === 'late') {
      this.send(thread, { ...side, turn: this.#started.get(thread)?.at(-2) ?? 'never started' }, false)
    } else if (typeof deed === 'string' || (!runs && !isQuiet(deed))) {
      // Between turns the taps pass on only that there was something; here a token would start a turn, there it does not.
      this.send(thread, side, native)
    } else this.send(thread, deed, native && !isLifecycle(deed))
  }
}

const isLifecycle = ({ kind }: TurnEvent) => kind === 'turn.ended' || kind === 'error' || kind === 'exit'
/** What starts no turn, on either side. */
const isQuiet = ({ kind }: TurnEvent) => kind === 'side' || kind === 'tool.ended' || kind === 'wait.ended'

const failed: TurnEvent = { kind: 'turn.ended', outcome: 'error' }
const aborted: TurnEvent = { kind: 'turn.ended', outcome: 'aborted' }

/**
 * Whether both sides judge a step the same. They differ on purpose where v1b takes any event for life, also the side
 * traffic of a dead stream; where it begins an episode anew, with another `staleSince`, at each further error; where it
 * keeps the flag of an exited provider in spite of progress or a result; and where it reads a prompt that grew by a
 * tool's output within the window of the first token.
 */
function isJudgedAlike(deed: Deed, { turn, stale, reason, thresholdMs, openTool }: V1bLiveness): boolean {
  if (deed === 'start' || turn === null) return true
  if (reason === 'provider-dead') return deed === aborted
  if (deed === 'open') return thresholdMs === 90_000
  if (deed === 'close') return openTool !== null
  if (deed === failure || deed === failed || deed === exit) return !stale
  return deed !== side
}

function someSteps(maxGapMs: number, ...deeds: Deed[]): fc.Arbitrary<Step[]> {
  return fc.array(
    fc.record({
      after: fc.integer({ min: 0, max: maxGapMs }),
      thread: fc.constantFrom('t', 'u'),
      native: fc.boolean(),
      deed: fc.constantFrom(...deeds),
    }),
    { maxLength: 60 },
  )
}

describe('the same events, told to a v1b server,', () => {
  it('give the same clock: any event moves it, in the turn and after; the tool that is open longest; the turn and its events', () => {
    const deeds = someSteps(
      40_000,
      ...(['start', 'start', 'open', 'open', 'close', 'late', token, token, progress, side] as const),
      ...[waitStarts('approval'), waitEnds('approval'), failure, exit, completed, aborted, failed],
    )
    const pauses = fc.constantFrom('none', 'none', 'none', 'none', 'block', 'mono-stops', 'both-advance')
    fc.assert(
      fc.property(deeds, fc.array(pauses, { minLength: 60, maxLength: 60 }), (all, pausesOf) => {
        const both = new SideBySide()
        const { host } = both
        all.forEach((step, i) => {
          host.run(host.now + step.after)
          const pause = pausesOf[i]
          if (pause === 'block') host.host.block(20_000)
          else if (pause !== 'none') host.host.sleep(host.now + 3_600_000, pause === 'mono-stops')
          // A tick tells how long the machine slept.
          if (pause !== 'none') host.run(host.now + 1000)
          both.act(step)
          for (const thread of ['t', 'u', 'nobody']) {
            expect(clockFields(both.ours(thread))).toEqual(clockFields(both.theirs(thread)))
          }
        })
      }),
      { seed: 63, numRuns: 200 },
    )
  })

  it('give the same decision, where both judge alike', () => {
    const deeds = someSteps(
      200_000,
      ...(['start', 'open', 'close', token, token, token, failure, failed, exit, completed, aborted, side] as const),
    )
    fc.assert(
      fc.property(deeds, (all) => {
        const both = new SideBySide()
        const { host } = both
        const same = () => {
          for (const thread of ['t', 'u']) {
            const [ours, theirs] = [both.ours(thread), both.theirs(thread)]
            // A failed turn that is silent too is silent in v1b; here the stronger reason stays.
            const isWeaker = theirs.reason === 'silence' && ours.reason === 'provider-error'
            expect(ours).toEqual(isWeaker ? { ...theirs, reason: ours.reason } : theirs)
          }
        }
        for (const thread of ['t', 'u']) both.act({ after: 0, thread, native: false, deed: 'start' })
        for (const step of all) {
          host.run(host.now + step.after)
          same()
          const now = both.theirs(step.thread)
          if (!isJudgedAlike(step.deed, now)) continue
          // A turn that failed ends with the error first, which is one event of the wire.
          if (step.deed === failed) both.act({ ...step, deed: failure })
          both.act(step)
          same()
        }
        host.run(host.now + 200_000)
        same()
      }),
      { seed: 64, numRuns: 300 },
    )
  })

  it('give the same thresholds from the same records, above the floor of the measured ones', () => {
    const gap = fc.integer({ min: 4000, max: 600_000 })
    const record = fc.record({ model: fc.constantFrom('m', 'n'), first: gap, longest: gap })
    fc.assert(
      fc.property(fc.array(record, { maxLength: 80 }), (records) => {
        const both = new SideBySide()
        records.forEach(({ model, first, longest }, i) => {
          const stats = { provider: 'codex', model, outcome: 'completed', timeToFirstTokenMs: first, maxGapMs: longest }
          both.host.watch.learn([{ id: `stats/past/${i}`, ...stats }])
          both.v1b.learn('codex', model, first, longest)
        })
        for (const thread of ['m', 'n', 'o']) {
          both.send(thread, started({ turn: thread, model: thread }), false)
          expect(both.ours(thread)).toEqual(both.theirs(thread))
          both.send(thread, token, true)
          expect(both.ours(thread)).toEqual(both.theirs(thread))
          both.send(thread, completed, false)
          expect(both.ours(thread)).toEqual(both.theirs(thread))
        }
      }),
      { seed: 65, numRuns: 100 },
    )
  })
})

/** Model Router's rule for a turn that its own snapshot shows running: a boolean `stale` decides, else its own window. */
function routerDecides(answer: Readonly<Record<string, unknown>>, silenceMs: number, windowMs: number) {
  const isStalled = typeof answer.stale === 'boolean' ? answer.stale : silenceMs > windowMs
  return isStalled ? 'stalled' : 'running'
}

const FALLBACK_MS = 300_000
const HOUR_MS = 3_600_000

/** What Router decides at each of its polls, once a second: the changes, with their ms. */
function routerLog(host: WatchedHost, until: number, silenceAt: (ms: number) => number): string[] {
  const log: string[] = []
  let last = 'running'
  while (host.now < until) {
    host.run(host.now + 1000)
    const decided = routerDecides({ ...host.watch.liveness(THREAD) }, silenceAt(host.now), FALLBACK_MS)
    if (decided !== last) log.push(`${host.now} ${decided}`)
    last = decided
  }
  return log
}

describe('Model Router', () => {
  it('has a silent turn for stalled from the second of the verdict until the turn goes on', () => {
    const host = midStream().send(200_000, token).send(500_000, completed)
    expect(routerLog(host, 600_000, () => 0)).toEqual([
      '114000 stalled',
      '200000 running',
      '313000 stalled',
      '500000 running',
    ])
    expect(host.log.filter((line) => !line.includes('suspect'))).toEqual([
      '114000 t stale silence',
      '200000 t recovered silence',
      '313000 t stale silence',
      '500000 t completed',
    ])
  })

  it.each(THREAD_STATES)('decides as the answer says, however long its own clock says: $name', async (one) => {
    const answer = { ...(await ask(reach(one), one.thread ?? THREAD)) }
    const decided = one.answer.stale === true ? 'stalled' : 'running'
    expect([0, HOUR_MS].map((silenceMs) => routerDecides(answer, silenceMs, FALLBACK_MS))).toEqual([decided, decided])
  })

  it('uses its own window where there is no answer', () => {
    const { body } = livenessResponse(null, THREAD, [READ_SCOPE])
    const decided = [FALLBACK_MS, FALLBACK_MS + 1].map((ms) => routerDecides({ ...body }, ms, FALLBACK_MS))
    expect(decided).toEqual(['running', 'stalled'])
  })

  it.each(WAIT_REASONS)('is told that a turn waits for %s, which is not stale by itself', async (reason) => {
    const host = midStream().send(2000, waitStarts(reason, 'w'))
    expect(routerLog(host, HOUR_MS, (ms) => ms)).toEqual([])
    expect(await ask(host, THREAD)).toMatchObject({
      stale: false,
      state: 'waiting',
      waiting: { reason, id: 'w', since: at(2000) },
    })
  })

  it('does not miss the failure of a turn whose end comes before its next poll', async () => {
    for (const [reason, ...events] of [
      ['provider-error', failure, failed],
      ['provider-dead', exit, aborted],
      ['provider-dead', exit, failed],
    ] as const) {
      const host = midStream()
      host.send(5000, ...events).send(6000, side, { kind: 'turn.requested' })
      expect(routerLog(host, 60_000, () => 0)).toEqual(['5000 stalled'])
      expect(await ask(host, THREAD)).toMatchObject({ stale: true, staleSince: at(5000), reason, turn: null })
      host.send(61_000, started({ turn: 'next' }))
      expect(routerLog(host, 70_000, () => 0)).toEqual([])
    }
  })

  it('needs no clock that agrees with the server', async () => {
    const host = midStream()
      .stepWallAt(50_000, -HOUR_MS)
      .stepWallAt(90_000, 2 * HOUR_MS)
    for (const ms of [49_000, 51_000, 89_000, 91_000, 150_000]) {
      const { now, lastStreamAt, silenceMs } = await ask(host.run(ms), THREAD)
      expect([Date.parse(now) - Date.parse(lastStreamAt ?? ''), silenceMs]).toEqual([ms - 1000, ms - 1000])
    }
  })
})

describe('what is refused', () => {
  const answer = (threadId: string) => ({ ...new WatchedHost().watch.liveness(threadId) })
  const broken = () => {
    throw new Error('no clock')
  }
  const unauthorized = { status: 401, body: { error: 'unauthorized' } }
  const forbidden = { status: 403, body: { error: 'scope orchestration:read required' } }
  const bad = { status: 400, body: { error: 'threadId required' } }
  const unavailable = { status: 503, body: { error: 'stream clock unavailable' } }
  const read = [READ_SCOPE]

  it.each([
    ['nobody, who asks for nothing of no watch', null, undefined, null, unauthorized],
    ['nobody', answer, THREAD, null, unauthorized],
    ['a session without scopes, which asks for nothing of no watch', null, '', [], forbidden],
    ['a session without scopes', answer, THREAD, [], forbidden],
    ['a session with other scopes', answer, THREAD, ['orchestration:operate', 'ORCHESTRATION:READ'], forbidden],
    [
      'a session with the scope as a part of others',
      answer,
      THREAD,
      [`${READ_SCOPE}:own`, `x${READ_SCOPE}`],
      forbidden,
    ],
    ['no thread, of no watch', null, undefined, read, bad],
    ['no thread, of a watch whose clock fails', broken, null, read, bad],
    ['an empty thread', answer, '', read, bad],
    ['spaces', answer, ' \t\r\n\u00a0\u3000', read, bad],
    ['no watch', null, THREAD, read, unavailable],
    ['a watch whose clock fails', broken, THREAD, read, unavailable],
  ])('%s', (_name, watch, threadId, scopes, refused) => {
    expect(livenessResponse(watch, threadId, scopes)).toStrictEqual(refused)
  })

  it('nothing, with the scope among others; the thread is asked for without the spaces around it', () => {
    const asked: string[] = []
    const response = livenessResponse(
      (threadId) => {
        asked.push(threadId)
        return answer(threadId)
      },
      ' \ta b\u3000\n',
      ['orchestration:operate', READ_SCOPE],
    )
    expect(asked).toEqual(['a b'])
    expect(response).toMatchObject({ status: 200, body: { threadId: 'a b', state: 'idle' } })
  })
})

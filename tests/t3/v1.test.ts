import { describe, expect, it } from 'vitest'
import { BOSS, CHILD, settle, T3Server } from './t3-server.ts'

describe('tapped loggers', () => {
  it('pass every write on unchanged, and stand in for loggers that are off', () => {
    const server = new T3Server()
    const event = { method: 'turn/started', params: {} }
    expect(server.loggers.native?.write(event, CHILD)).toBe('effect')
    expect(server.written).toEqual([{ logger: 'native', event, threadId: CHILD }])
    expect(server.written[0]?.event).toBe(event)
    expect(server.loggers.native?.filePath).toBe('/logs/native.ndjson')
    const none: T3Server['loggers'] = { native: undefined, canonical: undefined }
    const off = server.t3.tapLoggers(none, { noop: 'noop' })
    expect([off.native?.write({}, CHILD), off.native?.close(), off.canonical?.filePath]).toEqual(['noop', 'noop', ''])
  })

  it('are the pair itself where turnwatch is switched off', () => {
    const server = new T3Server({ enabled: false })
    const pair: T3Server['loggers'] = { native: undefined, canonical: undefined }
    expect(server.t3.tapLoggers(pair, { noop: 'noop' })).toBe(pair)
    expect(server.t3.watch).toBe(null)
  })

  it('lose no event of the host to a hostile one, and count it', async () => {
    const server = await new T3Server().up()
    server.start()
    const cyclic: Record<string, unknown> = { type: 'content.delta' }
    cyclic.payload = cyclic
    const throwing = Object.defineProperty({}, 'type', {
      enumerable: true,
      get() {
        throw new Error('no')
      },
    })
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const hostile = [null, undefined, 7, 'x'.repeat(50_000_000), [], cyclic, throwing, revoked.proxy, () => {}]
    for (const event of hostile) {
      expect(server.loggers.native?.write(event, CHILD)).toBe('effect')
      expect(server.loggers.canonical?.write(event, CHILD)).toBe('effect')
    }
    const count = (name: string) =>
      server.t3.watch
        ?.metrics()
        .find((family) => family.name === `turnwatch_${name}`)
        ?.points.reduce((sum, point) => sum + ('value' in point ? point.value : 0), 0)
    expect(count('internal_errors_total')).toBeGreaterThanOrEqual(3)
    expect(count('unclassified_events_total')).toBeGreaterThanOrEqual(6)
    server.token()
    expect(server.t3.watch?.liveness(CHILD)).toMatchObject({ state: 'running', phase: 'mid-stream' })
  })

  it('count native writes, and canonical events only where there are none', async () => {
    const tapped = await new T3Server().up()
    tapped.native('thread/status/changed', { status: { type: 'active' } })
    tapped.start()
    for (let i = 0; i < 5; i++) tapped.token()
    expect(tapped.t3.watch?.liveness(CHILD).turn?.eventCount).toBe(5)
    const canonical = await new T3Server({ tapped: false }).up()
    canonical.start()
    for (let i = 0; i < 5; i++)
      canonical.t3.canonical({
        type: 'content.delta',
        threadId: CHILD,
        turnId: 'turn-1',
        payload: { streamKind: 'assistant_text', delta: 'a' },
      })
    expect(canonical.t3.watch?.liveness(CHILD).turn?.eventCount).toBeGreaterThanOrEqual(5)
  })
})

describe('a child that falls silent', () => {
  it('is told to its parent once, under an id of its turn and episode', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    await server.pass(120)
    expect(server.log).toEqual([`91 ${CHILD} turn-1 suspect silence`, `113 ${CHILD} turn-1 stale silence`])
    expect(server.told).toHaveLength(1)
    expect(server.told[0]).toMatchObject({
      type: 'thread.turn.start',
      commandId: `server:prism-stale:${CHILD}:turn-1:1:0`,
      threadId: BOSS,
      message: { messageId: `server:prism-stale:${CHILD}:turn-1:1:0`, role: 'user', attachments: [] },
      runtimeMode: 'full-access',
      interactionMode: 'default',
    })
    expect(server.told[0]?.message.text).toContain(CHILD)
    await server.pass(60)
    expect(server.told).toHaveLength(1)
  })

  it.each([
    ['by its title', undefined],
    ['though the host cannot say', () => Promise.reject(new Error('no idea'))],
  ])('is not told where Model Router manages it, %s', async (_, isManagedElsewhere) => {
    const server = await new T3Server(isManagedElsewhere ? { notify: { isManagedElsewhere } } : {}).up()
    server.thread(CHILD, { title: 'model-router job-62 worker seq 1' })
    server.start()
    await server.pass(160)
    expect(server.t3.livenessResponse(CHILD, ['orchestration:read'])).toMatchObject({
      status: 200,
      body: { stale: true },
    })
    expect(server.told).toEqual([])
  })

  it('is told under a new id after a rejection, and under the same after a failure without an answer', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    const ids: string[] = []
    server.trouble = (command) => {
      if (command.type !== 'thread.turn.start') return
      ids.push(command.commandId)
      if (ids.length === 1) throw new Error('the database is locked')
      if (ids.length === 2) server.shells.delete(BOSS)
      if (ids.length === 3) server.thread(BOSS)
    }
    await server.pass(115)
    // A parent that is not there is not asked for at all; it comes back while the message waits.
    await server.pass(5)
    server.thread(BOSS)
    await server.pass(60)
    const id = (n: number) => `server:prism-stale:${CHILD}:turn-1:1:${n}`
    expect(ids.slice(0, 2)).toEqual([id(0), id(0)])
    expect(ids.at(-1)).not.toBe(id(0))
    expect(server.told.map(({ commandId }) => commandId)).toEqual([ids.at(-1)])
  })

  it('is told under the first id again where the parent was only missing meanwhile', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    const ids: string[] = []
    server.trouble = (command) => {
      if (command.type === 'thread.turn.start') ids.push(command.commandId)
      if (ids.length === 1) throw new Error('no answer')
    }
    await server.pass(114)
    const boss = server.shells.get(BOSS)
    server.shells.delete(BOSS)
    await server.pass(20)
    server.shells.set(BOSS, boss as never)
    await server.pass(60)
    expect(new Set(ids)).toEqual(new Set([`server:prism-stale:${CHILD}:turn-1:1:0`]))
    expect(server.told).toHaveLength(1)
  })

  it('is told under an id that no other turn can have', async () => {
    const server = await new T3Server().up()
    for (const [threadId, turnId] of [
      ['sub.boss.a', 'b:c'],
      ['sub.boss.a:b', 'c'],
    ] as const) {
      server.thread(threadId)
      server.sessions.set(threadId, { threadId, status: 'running' })
      server.canonical('turn.started', {}, { threadId, turnId })
    }
    await server.pass(160)
    expect(server.told).toHaveLength(2)
  })

  it('is told to a busy parent at once, or when it is idle', async () => {
    for (const [whenParentBusy, told] of [
      ['now', 1],
      ['idle', 0],
    ] as const) {
      const server = await new T3Server({ whenParentBusy }).up()
      server.thread(BOSS, { session: { status: 'running', activeTurnId: 'b' } })
      server.start()
      server.token()
      await server.pass(118)
      expect(server.told).toHaveLength(told)
      server.thread(BOSS, { session: { status: 'ready', activeTurnId: null } })
      await server.pass(40)
      expect(server.told).toHaveLength(1)
    }
  })

  it('whose parent is archived is told to nobody', async () => {
    const server = await new T3Server().up()
    server.thread(BOSS, { archivedAt: '2026-01-01T00:00:00.000Z' })
    server.start()
    await server.pass(170)
    expect(server.told).toEqual([])
    expect(server.t3.watch?.notifications().channels).toMatchObject([{ dead: 1 }])
  })
})

describe('the projection, asked before anybody is told', () => {
  it('a pending approval that the wire does not show is a wait', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    server.thread(CHILD, { hasPendingApprovals: true })
    await server.pass(400)
    expect(server.log.filter((line) => line.includes('stale'))).toEqual([])
    expect(server.told).toEqual([])
  })

  it('a turn that it knows to be over has ended, and is no healthy sample', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'completed' } })
    await server.pass(100)
    expect(server.log).toEqual([`91 ${CHILD} turn-1 suspect silence`, `91 ${CHILD} turn-1 aborted`])
    expect(server.t3.watch?.thresholds().every(({ samples }) => samples === 0)).toBe(true)
  })

  it('a message that waited goes on waiting while the turn waits for somebody, and is told when that was not all', async () => {
    const server = await new T3Server({ whenParentBusy: 'idle' }).up()
    server.thread(BOSS, { session: { status: 'running', activeTurnId: 'b' } })
    server.start()
    server.token()
    await server.pass(115)
    server.thread(CHILD, { hasPendingUserInput: true })
    server.thread(BOSS, { session: { status: 'ready', activeTurnId: null } })
    await server.pass(30)
    expect(server.log.at(-1)).toBe(`113 ${CHILD} turn-1 stale silence`)
    expect(server.told).toEqual([])
    expect(server.t3.watch?.notifications().channels).toMatchObject([{ pending: 1, dead: 0 }])
    server.thread(CHILD, { hasPendingUserInput: false })
    await server.pass(120)
    expect(server.told).toHaveLength(1)
  })

  it('a message that waited is withdrawn when the turn is over by then, unless its provider has failed', async () => {
    for (const [isFailed, told] of [
      [false, 0],
      [true, 1],
    ] as const) {
      const server = await new T3Server({ whenParentBusy: 'idle' }).up()
      server.thread(BOSS, { session: { status: 'running', activeTurnId: 'b' } })
      server.start()
      server.token()
      await server.pass(115)
      if (isFailed) server.canonical('runtime.error', { message: 'gone' })
      server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'completed' } })
      server.thread(BOSS, { session: { status: 'ready', activeTurnId: null } })
      await server.pass(60)
      expect(server.told).toHaveLength(told)
      expect(server.t3.watch?.notifications().channels).toMatchObject([{ pending: 0, dead: 0 }])
    }
  })

  it('a turn that is to stop, or has sent a message, still runs while its session says so', async () => {
    for (const state of ['interrupted', 'completed']) {
      const server = await new T3Server().up()
      server.start()
      server.token()
      server.thread(CHILD, {
        latestTurn: { turnId: 'turn-1', state },
        session: { status: 'running', activeTurnId: 'turn-1' },
      })
      await server.pass(120)
      expect(server.log.at(-1)).toBe(`113 ${CHILD} turn-1 stale silence`)
      expect(server.told).toHaveLength(1)
    }
  })

  it('that answers late does not end a turn that has gone on', async () => {
    let answer: () => void = () => {}
    const server = await new T3Server().up()
    server.start()
    server.token()
    const shell = { ...server.shells.get(CHILD), latestTurn: { turnId: 'turn-1', state: 'completed' } }
    await server.pass(89)
    server.getThreadShell = () => new Promise((resolve) => (answer = () => resolve(shell as never)))
    await server.pass(3)
    server.token()
    answer()
    await server.pass(2)
    expect(server.t3.watch?.liveness(CHILD).state).toBe('running')
  })
})

describe('the session check', () => {
  it('takes the session that lives for a thread that has several, and nothing from an answer with anything else in it', async () => {
    const running = { threadId: CHILD, status: 'running', activeTurnId: 'turn-1' }
    for (const answer of [
      [running, { threadId: CHILD, status: 'closed' }],
      [{ threadId: CHILD, status: 'error' }, running],
      [{ status: 'running' }],
      [null],
      {},
      null,
    ]) {
      const server = await new T3Server().up()
      server.start()
      server.listSessions = async () => answer as never
      await server.pass(20)
      expect(server.log).toEqual([])
    }
  })

  it('looks at a turn whose start was not seen, too', async () => {
    const server = await new T3Server().up()
    server.sessions.set(CHILD, { threadId: CHILD, status: 'running' })
    server.canonical('content.delta', { streamKind: 'assistant_text', delta: 'a' })
    await server.pass(3)
    server.sessions.delete(CHILD)
    await server.pass(3)
    expect(server.log).toEqual([expect.stringMatching(/turn-1 stale provider-dead$/)])
  })

  it('flags a turn whose session is gone, closed or failed at once, even with a tool open', async () => {
    for (const [status, reason] of [
      [undefined, 'provider-dead'],
      ['closed', 'provider-dead'],
      ['error', 'provider-error'],
    ] as const) {
      const server = await new T3Server().up()
      server.start()
      server.canonical('item.started', { itemType: 'command_execution' }, { itemId: 'i' })
      await server.pass(5)
      if (status === undefined) server.sessions.delete(CHILD)
      else server.sessions.set(CHILD, { threadId: CHILD, status })
      await server.pass(4)
      expect(server.log[0]).toMatch(new RegExp(`^[678] ${CHILD} turn-1 stale ${reason}$`))
      expect(server.told).toHaveLength(1)
    }
  })

  it('says nothing of a turn that began after the call, or while the call fails, hangs or is not answered', async () => {
    const server = await new T3Server().up()
    server.sessions.clear()
    server.canonical('turn.started', { model: 'gpt-5' })
    let answer: (sessions: []) => void = () => {}
    server.listSessions = () => new Promise((resolve) => (answer = resolve))
    await server.pass(1)
    server.canonical('turn.started', { model: 'gpt-5' }, { turnId: 'turn-2' })
    answer([])
    await settle()
    expect(server.log).toEqual([`1 ${CHILD} turn-1 aborted`])
    server.listSessions = () => Promise.reject(new Error('one binding does not match'))
    await server.pass(20)
    server.listSessions = () => new Promise(() => {})
    await server.pass(80)
    expect(server.log).toEqual([`1 ${CHILD} turn-1 aborted`])
    expect(server.faults.join()).toContain('one binding does not match')
  })

  it('asks only while a turn runs, one call at a time, and rests ten times as long as a call took', async () => {
    const server = await new T3Server().up()
    await server.pass(30)
    expect(server.listed).toBe(0)
    server.start()
    let waiting: (() => void)[] = []
    server.listSessions = () => new Promise((resolve) => waiting.push(() => resolve([...server.sessions.values()])))
    await server.pass(3)
    expect(server.listed).toBe(1)
    for (const go of waiting) go()
    waiting = []
    await server.pass(18)
    expect(server.listed).toBe(1)
    await server.pass(20)
    expect(server.listed).toBe(2)
  })

  it('says it once, and again only after the session was there', async () => {
    const server = await new T3Server().up()
    server.start()
    await server.pass(3)
    server.sessions.delete(CHILD)
    await server.pass(5)
    server.token()
    await server.pass(10)
    expect(server.log.filter((line) => line.includes('stale'))).toHaveLength(1)
    server.start()
    await server.pass(3)
    server.sessions.delete(CHILD)
    await server.pass(5)
    expect(server.log.filter((line) => line.includes('stale'))).toHaveLength(2)
  })

  it('gives a turn the model of its session where its start did not say one', async () => {
    const server = await new T3Server().up()
    server.canonical('turn.started')
    server.sessions.set(CHILD, { threadId: CHILD, status: 'running', model: 'gpt-5.6' })
    await server.pass(3)
    expect(server.t3.watch?.liveness(CHILD).turn?.model).toBe('gpt-5.6')
  })
})

describe('what taps disagree about', () => {
  it('a turn goes on by its canonical tokens when its native ones stop coming', async () => {
    const server = await new T3Server().up()
    server.start()
    server.token()
    for (let i = 0; i < 10; i++) {
      await server.pass(30)
      server.canonical('content.delta', { streamKind: 'assistant_text', delta: 'a' })
    }
    expect(server.log).toEqual([])
  })

  it('the native writes alone are counted, whatever comes first', async () => {
    const server = await new T3Server().up()
    server.start()
    for (let i = 0; i < 5; i++) server.token()
    expect(server.t3.watch?.liveness(CHILD).turn?.eventCount).toBe(5)
  })

  it('names of types that every object has are no more than unknown ones', async () => {
    const server = await new T3Server().up()
    server.start()
    for (const itemType of ['constructor', '__proto__', 'toString']) {
      server.canonical('item.completed', { itemType }, { itemId: 'i' })
      server.canonical('request.opened', { requestType: itemType }, { requestId: itemType })
      server.canonical('request.resolved', {}, { requestId: itemType })
    }
    expect(server.faults).toEqual([])
    expect(server.t3.watch?.liveness(CHILD).state).toBe('running')
  })
})

describe('statistics', () => {
  it('of an ended turn become an activity with the ten keys and our maxima', async () => {
    const server = await new T3Server().up()
    server.native('turn/started')
    server.start()
    await server.pass(2)
    server.token()
    await server.pass(3)
    server.token()
    server.canonical('turn.completed', { state: 'completed' })
    await settle()
    expect(server.recorded).toEqual([
      {
        type: 'thread.activity.append',
        commandId: `server:prism-stream-stats:stats/${CHILD}/turn-1`,
        threadId: CHILD,
        activity: {
          id: `stats/${CHILD}/turn-1`,
          tone: 'info',
          kind: 'prism.stream-stats',
          summary: 'Stream completed: first token 2.0 s, max gap 3.0 s, 2 events',
          payload: {
            provider: 'codex',
            model: 'gpt-5',
            outcome: 'completed',
            state: 'completed',
            startedAt: '2026-01-01T00:00:00.000Z',
            endedAt: '2026-01-01T00:00:05.000Z',
            durationMs: 5000,
            timeToFirstTokenMs: 2000,
            maxGapMs: 3000,
            eventCount: 2,
            turnwatch: { v: 1, firstTokenMs: 2000, midStreamMs: 3000, afterToolMs: null },
          },
          turnId: 'turn-1',
          createdAt: '2026-01-01T00:00:05.000Z',
        },
        createdAt: '2026-01-01T00:00:05.000Z',
      },
    ])
  })

  it('keep the word of the provider for the end', async () => {
    const server = await new T3Server().up()
    for (const [turnId, type, state] of [
      ['a', 'turn.completed', 'cancelled'],
      ['b', 'turn.completed', 'failed'],
      ['c', 'turn.aborted', undefined],
    ] as const) {
      server.canonical('turn.started', {}, { turnId })
      server.canonical(type, { state }, { turnId })
    }
    await settle()
    expect(server.recorded.map(({ activity }) => [activity.payload.outcome, activity.payload.state])).toEqual([
      ['aborted', 'cancelled'],
      ['error', 'failed'],
      ['aborted', 'aborted'],
    ])
  })

  it('stored by both generations are learned from at the start, each once', async () => {
    const server = new T3Server()
    const own = (i: number) => ({
      id: `stats/x/${i}`,
      payload: JSON.stringify({
        provider: 'codex',
        model: 'gpt-5',
        outcome: 'completed',
        timeToFirstTokenMs: 4000,
        maxGapMs: 8000,
        turnwatch: { v: 1, firstTokenMs: 4000, midStreamMs: 8000, afterToolMs: null },
      }),
    })
    server.rows = [...Array.from({ length: 20 }, (_, i) => own(i)), own(3), { id: 'x', payload: 'no JSON' }, null]
    await server.up()
    server.start()
    expect(server.t3.watch?.liveness(CHILD)).toMatchObject({
      thresholdSource: 'measured',
      thresholdMs: 6000,
      samples: 20,
    })
  })
})

describe('a server that starts again', () => {
  it('goes on watching turns that run, with a full window, and does not judge their sessions for a while', async () => {
    const server = new T3Server()
    server.thread(CHILD, {
      latestTurn: { turnId: 'turn-1', state: 'running', startedAt: '2025-12-31T23:00:00.000Z' },
      session: { providerName: 'codex', status: 'running', activeTurnId: 'turn-1' },
      modelSelection: { model: 'gpt-5' },
    })
    await server.up()
    expect(server.t3.watch?.liveness(CHILD)).toMatchObject({
      state: 'running',
      turn: { turnId: 'turn-1', provider: 'codex', model: 'gpt-5', startedAt: '2025-12-31T23:00:00.000Z' },
    })
    await server.pass(58)
    expect(server.log).toEqual([])
    await server.pass(10)
    expect(server.log).toEqual([expect.stringMatching(new RegExp(`^6\\d ${CHILD} turn-1 stale provider-dead$`))])
    await server.pass(60)
    expect(server.log.at(-1)).toMatch(/ lost$/)
    expect(server.recorded.at(-1)?.activity.payload).toMatchObject({ outcome: 'error', state: 'lost' })
  })

  it('leaves threads alone that are archived or whose turn is over', async () => {
    const server = new T3Server()
    server.thread('a', { latestTurn: { turnId: '1', state: 'running' }, archivedAt: 'yes' })
    server.thread('b', { latestTurn: { turnId: '1', state: 'completed' } })
    await server.up()
    expect(server.t3.watch?.threads()).toEqual([])
  })

  it('does not bring back a turn whose end came while the projection was asked', async () => {
    const server = new T3Server()
    server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'running' } })
    const up = server.up()
    server.canonical('turn.completed', { state: 'completed' })
    await up
    await server.pass(100)
    expect(server.log).toEqual([])
    expect(server.t3.watch?.threads()).toEqual([])
  })

  it('is not stopped by a row, a shell or a list that is none', async () => {
    const server = new T3Server()
    server.rows = [null, 7, { id: 'x', payload: '{' }]
    server.shells.set('broken', null as never)
    server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'running' } })
    await server.up()
    expect(server.t3.watch?.liveness(CHILD).state).toBe('running')
  })

  it('learns from many rows in pieces, between which the host goes on', async () => {
    const server = new T3Server()
    server.rows = Array.from({ length: 20_000 }, (_, i) => ({
      id: `r${i}`,
      payload: {
        provider: 'p',
        model: `m${i % 7}`,
        outcome: 'completed',
        timeToFirstTokenMs: 1,
        maxGapMs: 1,
        turnwatch: { v: 1, firstTokenMs: 1 },
      },
    }))
    let turns = 0
    let isUp = false
    const count = () => {
      turns++
      if (!isUp) setImmediate(count)
    }
    setImmediate(count)
    await server.up()
    isUp = true
    expect(turns).toBeGreaterThan(10)
    expect(server.t3.watch?.thresholds().some(({ samples }) => samples > 2000)).toBe(true)
  })

  it('begins nothing any more once it was stopped', async () => {
    const server = await new T3Server().up()
    await server.t3.stop()
    await server.up()
    server.start()
    server.token()
    await server.pass(120)
    expect([server.log, server.told, server.listed]).toEqual([[], [], 0])
    await server.t3.stop()
  })

  it('works without each of its services, and says what failed', async () => {
    const server = new T3Server()
    const failing = () => Promise.reject(new Error('not now'))
    await server.t3.connect({
      listSessions: failing,
      getThreadShell: failing,
      dispatch: failing,
      getShellSnapshot: failing,
      readStats: failing,
    })
    server.start()
    server.token()
    await server.pass(115)
    expect(server.log.at(-1)).toBe(`113 ${CHILD} turn-1 stale silence`)
    expect(server.faults.some((fault) => fault.includes('not now'))).toBe(true)
    await server.t3.stop()
  })
})

describe('the switch', () => {
  it('turns everything off', async () => {
    const server = await new T3Server({ enabled: false }).up()
    server.start()
    server.token()
    await server.pass(200)
    expect(server.told).toEqual([])
    expect(server.t3.livenessResponse(CHILD, ['orchestration:read'])).toEqual({
      status: 503,
      body: { error: 'stream clock unavailable' },
    })
    await server.t3.stop()
  })

  it('is the environment variable T3CODE_TURNWATCH', () => {
    const before = process.env.T3CODE_TURNWATCH
    try {
      process.env.T3CODE_TURNWATCH = '0'
      expect(new T3Server({ enabled: undefined as never }).t3.watch).toBe(null)
      process.env.T3CODE_TURNWATCH = '1'
      expect(new T3Server({ enabled: undefined as never }).t3.watch).not.toBe(null)
    } finally {
      if (before === undefined) delete process.env.T3CODE_TURNWATCH
      else process.env.T3CODE_TURNWATCH = before
    }
  })
})

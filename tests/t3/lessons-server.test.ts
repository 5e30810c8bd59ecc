/** What public watchdogs for T3 and its like have learned of the server around them: restarts, services that hang, probes. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { BOSS, bossIsTold, CHILD, type ServerOptions, settle, T3Server, turnIs } from './t3-server.ts'

const up = () => new T3Server().up()

/** A server that finds a turn of the child running when it starts. */
async function restarted(options: ServerOptions = {}): Promise<T3Server> {
  const server = new T3Server(options)
  server.thread(CHILD, {
    latestTurn: { turnId: 'turn-1', state: 'running', startedAt: '2025-12-31T23:00:00.000Z' },
    session: { providerName: 'codex', status: 'running', activeTurnId: 'turn-1' },
    modelSelection: { model: 'gpt-5' },
  })
  server.sessions.set(CHILD, { threadId: CHILD, status: 'running', activeTurnId: 'turn-1' })
  return server.up()
}

const samples = (server: T3Server) =>
  server.t3.watch?.thresholds().reduce((sum, threshold) => sum + threshold.samples, 0)

describe('the answer of the route', () => {
  // pingdotgg/t3code#1048, #694
  it("is what the server knows now, beside the server's own time", async () => {
    const server = await up()
    const answers: unknown[] = []
    const ask = () => {
      const { status, body } = server.t3.livenessResponse(CHILD, ['orchestration:read'])
      const { now, silenceMs, turn, stale, state } = body as ReturnType<T3Server['t3']['livenessResponse']>['body'] &
        T3Server['liveness']
      answers.push([status, now.slice(14, 19), silenceMs, turn?.turnId ?? null, stale, state])
    }
    await server.play({ ...server.begun, 61: ask, 120: ask, 125: () => server.complete(), 126: ask, 180: ask }, 181)
    expect(answers).toEqual([
      [200, '01:01', 60_000, 'turn-1', false, 'running'],
      [200, '02:00', 119_000, 'turn-1', true, 'stale'],
      [200, '02:06', 1000, null, false, 'ended'],
      [200, '03:00', 55_000, null, false, 'ended'],
    ])
  })
})

describe('a restart', () => {
  // pingdotgg/t3code#4584, #7315, #3956
  it('leaves a turn that runs its full window, and one that nobody continues is lost and teaches nothing', async () => {
    const silent = await restarted()
    expect(await silent.play({}, 160)).toEqual([
      turnIs(121, 'suspect silence'),
      turnIs(151, 'stale silence'),
      bossIsTold(151),
    ])
    const orphan = await restarted()
    orphan.sessions.clear()
    expect(await orphan.play({}, 130)).toEqual([turnIs(61, 'stale provider-dead'), bossIsTold(61), turnIs(121, 'lost')])
    expect(orphan.recorded.map(({ activity: { payload } }) => payload.outcome)).toEqual(['error'])
    expect(samples(orphan)).toBe(0)
  })

  // pingdotgg/t3code#7463, #5851
  it('after which the orphan is recorded as completed makes no healthy sample of it', async () => {
    const server = await restarted()
    expect(await server.play({ 80: () => server.complete() }, 100)).toEqual([turnIs(80, 'completed')])
    expect(samples(server)).toBe(0)
  })

  // pingdotgg/t3code#10934
  it('while a turn is stale tells its parent no second time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwatch-t3-'))
    try {
      const virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
      const before = await restarted({ virtual, store: sqliteStore(join(folder, 'store.db')) })
      expect(await before.play({}, 160)).toEqual([
        turnIs(121, 'suspect silence'),
        turnIs(151, 'stale silence'),
        bossIsTold(151),
      ])
      await before.t3.stop()
      const after = await restarted({ virtual, store: sqliteStore(join(folder, 'store.db')) })
      const goesOn = { 400: () => after.token() }
      expect(await after.play(goesOn, 520)).toEqual([
        turnIs(281, 'suspect silence'),
        turnIs(311, 'stale silence'),
        turnIs(400, 'recovered silence'),
        turnIs(491, 'suspect silence'),
        turnIs(513, 'stale silence'),
        bossIsTold(513, 'turn-1', 2),
      ])
      await after.t3.stop()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('sessions', () => {
  // pingdotgg/t3code#4452
  it('that still run a turn which has ended are counted as unsettled until they are, though no other turn runs', async () => {
    const server = await up()
    await server.play({ ...server.begun, 10: () => server.complete() }, 300)
    expect(server.metric('turns_unsettled')).toBe(1)
    const settles = () => server.sessions.set(CHILD, { threadId: CHILD, status: 'ready', activeTurnId: null })
    await server.play({ 300: settles }, 305)
    expect(server.metric('turns_unsettled')).toBe(0)
    const { listed } = server
    expect(await server.play({}, 900)).toEqual([turnIs(10, 'completed')])
    expect(server.listed).toBe(listed)
  })

  // pingdotgg/t3code#9395
  it('that end before their turn does are its failure at once, even while it has a tool open', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.canonical('item.started', { itemType: 'command_execution' }, { itemId: 'c' }),
      20: () => server.canonical('session.exited', { exitKind: 'error', reason: 'stream ended before the result' }),
    }
    expect(await server.play(acts, 30)).toEqual([turnIs(20, 'stale provider-dead'), bossIsTold(20)])
    expect(server.told[0]?.message.text).toContain('while command_execution was open')
  })
})

describe('services', () => {
  afterEach(() => void vi.useRealTimers())

  // pingdotgg/t3code#7777
  it('that never answer hold nothing up: a time limit is on each, and what was not answered is asked again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const server = await up()
    const never = () => new Promise<never>(() => {})
    server.getThreadShell = never
    server.listSessions = never
    await server.play(server.begun, 115)
    expect(server.log).toEqual([turnIs(92, 'suspect silence'), turnIs(114, 'stale silence')])
    // Ten seconds for a call, and ten times as long until the next.
    expect(server.listed).toBe(2)
    server.getThreadShell = async (id) => server.shells.get(id) ?? null
    let hangs = 1
    server.trouble = (command) => (command.type === 'thread.turn.start' && hangs-- > 0 ? never() : undefined)
    // Whether another supervisor tells the parent was asked, too.
    await vi.advanceTimersByTimeAsync(1000)
    await server.play({}, 260)
    expect(server.told.map(({ commandId }) => commandId)).toEqual([`server:prism-stale:${CHILD}:turn-1:1:0`])
    expect(server.metric('notifications_failed_total', { reason: 'timeout' })).toBe(1)
    expect(server.metric('ticks_total')).toBe(260)
  })

  // pingdotgg/t3code#7746, #7747, my-ax#24
  it('are asked nothing while no turn runs, and are sent nothing ever but messages and statistics', async () => {
    const server = await up()
    let asked = 0
    server.getThreadShell = async (id) => {
      asked++
      return server.shells.get(id) ?? null
    }
    await server.play({}, 600)
    expect([asked, server.listed, server.dispatched.length]).toEqual([0, 0, 0])
    const acts = {
      600: () => server.start(),
      601: () => server.token(),
      800: () => server.canonical('runtime.error', { message: 'overloaded' }),
      801: () => server.canonical('turn.completed', { state: 'failed', errorMessage: 'overloaded' }),
    }
    await server.play(acts, 900)
    expect(server.dispatched.map(({ type, threadId }) => `${type} ${threadId}`)).toEqual([
      `thread.turn.start ${BOSS}`,
      `thread.activity.append ${CHILD}`,
    ])
  })

  // hermes-agent#99758, #27713
  it('that answer late speak of the turn that they were asked about, and not of the one that runs by then', async () => {
    const server = await up()
    const answers: (() => void)[] = []
    server.getThreadShell = async (id) => {
      const shell = server.shells.get(id) ?? null
      if (server.virtual.now < 92_000) return shell
      await new Promise<void>((resolve) => answers.push(resolve))
      return shell
    }
    server.listSessions = () =>
      server.virtual.now < 88_000
        ? Promise.resolve([...server.sessions.values()])
        : new Promise((resolve) => answers.push(() => resolve([])))
    const over = () => server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'completed' } })
    await server.play({ ...server.begun, 10: over, 93: () => server.start({ turnId: 'turn-2' }) }, 94)
    for (const answer of answers) answer()
    await settle()
    expect(server.story).toEqual([turnIs(92, 'suspect silence'), turnIs(93, 'aborted')])
    expect(server.liveness).toMatchObject({ state: 'running', turn: { turnId: 'turn-2' } })
  })
})

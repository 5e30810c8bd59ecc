/** What public watchdogs for T3 and its like have learned of starts, ends and stops: they are lost, late, early and repeated. */

import { describe, expect, it } from 'vitest'
import { bossIsTold, CHILD, settle, T3Server, turnIs } from './t3-server.ts'

const up = () => new T3Server().up()

describe('ends', () => {
  // pingdotgg/t3code#4386
  it('that the projection alone knows are taken from it before anybody is told, and come late without effect', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'completed' } }),
      95: () => server.complete(),
      96: () => server.complete(),
      100: () => server.start({ turnId: 'turn-2' }),
      101: () => server.complete(),
    }
    expect(await server.play(acts, 210)).toEqual([turnIs(92, 'suspect silence'), turnIs(92, 'aborted')])
    expect(server.liveness).toMatchObject({ state: 'running', turn: { turnId: 'turn-2' } })
    expect(server.recorded).toHaveLength(1)
    expect(server.t3.watch?.thresholds().every(({ samples }) => samples === 0)).toBe(true)
  })

  // pingdotgg/t3code#7105
  it('close the tools that were never completed', async () => {
    const server = await up()
    const tool = (itemId: string, turnId: string) => () =>
      server.canonical('item.started', { itemType: 'dynamic_tool_call' }, { itemId, turnId })
    const acts = {
      ...server.begun,
      10: tool('a', 'turn-1'),
      11: tool('b', 'turn-1'),
      400: () => server.complete(),
      410: () => server.start({ turnId: 'turn-2' }),
    }
    await server.play(acts, 420)
    expect(server.liveness).toMatchObject({ state: 'running', openTool: null })
    expect(await server.play({}, 570)).toEqual([
      turnIs(400, 'completed'),
      turnIs(531, 'suspect silence', 'turn-2'),
      turnIs(561, 'stale silence', 'turn-2'),
      bossIsTold(561, 'turn-2'),
    ])
  })

  // pingdotgg/t3code#2886, #7471
  it('are none where the provider goes from busy to idle and back in one turn, and count once where they repeat', async () => {
    const server = await up()
    const status = (type: string) => () => {
      const payload = { type: 'session.status', properties: { sessionID: 's', status: { type } } }
      server.wrapped({ provider: 'opencode', type: 'session.status', payload })
    }
    const acts = {
      ...server.begun,
      10: status('idle'),
      11: status('busy'),
      20: () => server.token(),
      30: status('idle'),
      31: status('busy'),
      40: () => server.token(),
      41: status('idle'),
      42: () => server.complete(),
      43: () => server.complete(),
      44: () => server.complete(),
    }
    expect(await server.play(acts, 200)).toEqual([turnIs(42, 'completed')])
    expect(server.metric('turns_ended_total')).toBe(1)
    expect(server.recorded).toHaveLength(1)
  })

  // pingdotgg/t3code#8480
  it('of earlier work do not end the turn that has begun since', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.start({ turnId: 'turn-2' }),
      11: () => server.wrapped({ type: 'session.idle', payload: { type: 'session.idle', properties: {} } }),
      12: () => server.complete('turn-1'),
    }
    expect(await server.play(acts, 170)).toEqual([
      turnIs(10, 'aborted'),
      turnIs(131, 'suspect silence', 'turn-2'),
      turnIs(161, 'stale silence', 'turn-2'),
      bossIsTold(161, 'turn-2'),
    ])
  })

  // OpenMausBot#193
  it('that come before their start leave no request and no turn behind', async () => {
    const server = await up()
    const fails = () => server.canonical('turn.completed', { state: 'failed', errorMessage: 'no such model' })
    await server.play({ 0: () => server.t3.turnRequested(CHILD), 2: fails }, 3)
    expect(server.metric('turns_not_started')).toBe(0)
    expect(await server.play({ 3: () => server.start(), 4: () => server.token() }, 300)).toEqual([])
    expect(server.metric('turns_running')).toBe(0)
    const acts = { 300: () => server.start({ turnId: 'turn-2' }), 301: () => server.complete('turn-2') }
    expect(await server.play(acts, 310)).toEqual([turnIs(301, 'completed', 'turn-2')])
  })
})

describe('work without a turn', () => {
  // pingdotgg/t3code#10805, #11640
  it('that goes on after its end is counted and starts nothing', async () => {
    const server = await up()
    const works = () => {
      server.token()
      server.canonical('item.started', { itemType: 'web_search' }, { itemId: 'w' })
    }
    const acts = { ...server.begun, 10: () => server.complete(), 20: works, 30: works }
    expect(await server.play(acts, 300)).toEqual([turnIs(10, 'completed')])
    expect(server.liveness).toMatchObject({
      state: 'ended',
      turn: null,
      lastStreamAt: '2026-01-01T00:00:30.000Z',
    })
    // What its provider wrote; T3's own events only repeat that.
    expect(server.metric('events_total', { class: 'after-end' })).toBe(2)
  })

  // openai/codex#14731, bb#2327, #1646
  it('is over with a turn that ends while its command runs, and is a turn where it names one that was not begun', async () => {
    const server = await up()
    const command = (turnId: string) =>
      server.canonical('item.started', { itemType: 'command_execution' }, { itemId: `of ${turnId}`, turnId })
    const acts = {
      ...server.begun,
      10: () => command('turn-1'),
      20: () => server.complete(),
      30: () => server.canonical('content.delta', { streamKind: 'command_output', delta: 'ok' }),
      40: () => server.token('a', CHILD, 'turn-2'),
    }
    await server.play(acts, 41)
    server.thread(CHILD, { latestTurn: { turnId: 'turn-2', state: 'running' } })
    expect(await server.play({}, 160)).toEqual([
      turnIs(20, 'completed'),
      turnIs(131, 'suspect silence', 'turn-2'),
      turnIs(153, 'stale silence', 'turn-2'),
      bossIsTold(153, 'turn-2'),
    ])
  })

  // pingdotgg/t3code#3752, #3860, #4547
  it('of which nobody had sent a message is a turn like any other, and late frames of the one before are not its own', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.complete(),
      60: () => server.start({ turnId: 'woken' }),
      61: () => server.token('a', CHILD, 'woken'),
      100: () => server.token(),
      120: () => server.canonical('task.completed', { taskId: 'k', status: 'completed' }),
      140: () => server.canonical('request.opened', { requestType: 'unknown' }, { requestId: 'q' }),
    }
    expect(await server.play(acts, 180)).toEqual([
      turnIs(10, 'completed'),
      turnIs(152, 'suspect silence', 'woken'),
      turnIs(174, 'stale silence', 'woken'),
      bossIsTold(174, 'woken'),
    ])
  })

  // pingdotgg/t3code#9672
  it('that was asked for during a turn, and never begins, is shown when that turn is over', async () => {
    const server = await up()
    await server.play({ ...server.begun, 10: () => server.t3.turnRequested(CHILD) }, 20)
    expect(server.liveness.state).toBe('running')
    expect(server.metric('turns_not_started')).toBe(1)
    expect(await server.play({ 20: () => server.complete() }, 900)).toEqual([turnIs(20, 'completed')])
    expect(server.liveness).toMatchObject({ state: 'requested', turn: null, stale: false })
    expect(server.metric('turns_not_started')).toBe(1)
    await server.play({ 900: () => server.start({ turnId: 'turn-2' }) }, 901)
    expect(server.metric('turns_not_started')).toBe(0)
  })
})

describe('a stop', () => {
  // pingdotgg/t3code#8618, #8619
  it('that names no turn is one of the turn that runs, and is shown until that ends, though the provider ignores it', async () => {
    const server = await up()
    const acts = { ...server.begun, 10: () => server.t3.interruptRequested(CHILD) }
    expect(await server.play(acts, 120)).toEqual([
      turnIs(92, 'suspect silence'),
      turnIs(114, 'stale silence'),
      bossIsTold(114),
    ])
    expect(server.metric('interrupts_unsettled')).toBe(1)
    server.canonical('turn.aborted', { reason: 'stop' })
    await settle()
    expect(server.story.at(-1)).toBe(turnIs(120, 'aborted'))
    expect(server.metric('interrupts_unsettled')).toBe(0)
  })

  // pingdotgg/t3code#10765
  it('that was accepted is no end: a turn that goes on is watched, an exit soon after ends it, a later one is a death', async () => {
    const exitsAt = async (second: number) => {
      const server = await up()
      await server.play({ ...server.begun, 100: () => server.t3.interruptRequested(CHILD, 'an-older-one') }, 101)
      expect(server.metric('interrupts_unsettled')).toBe(0)
      const stop = { 101: () => server.token(), 150: () => server.t3.interruptRequested(CHILD, 'turn-1') }
      await server.play({ ...stop, 151: () => server.token() }, 152)
      expect(server.metric('interrupts_unsettled')).toBe(1)
      return server.play({ [second]: () => server.canonical('session.exited', { exitKind: 'error' }) }, second + 5)
    }
    expect(await exitsAt(155)).toEqual([turnIs(92, 'suspect silence'), turnIs(155, 'aborted')])
    expect(await exitsAt(170)).toEqual([
      turnIs(92, 'suspect silence'),
      turnIs(170, 'stale provider-dead'),
      bossIsTold(170),
    ])
  })
})

/** What public watchdogs for T3 and its like have learned of waits: they suspend the silence, end by themselves, and can be dead. */

import { describe, expect, it } from 'vitest'
import { bossIsTold, CHILD, T3Server, turnIs } from './t3-server.ts'

const up = () => new T3Server().up()
const approval = { requestType: 'command_execution_approval' }

describe('a question to a person', () => {
  // pingdotgg/t3code#3578
  it('that was open when the limit passed leaves the turn to be judged again, as often as there is one', async () => {
    const server = await up()
    const asks = (requestId: string) => () => server.canonical('request.opened', approval, { requestId })
    const answers = (requestId: string) => () => server.canonical('request.resolved', approval, { requestId })
    const acts = {
      ...server.begun,
      80: asks('a'),
      200: answers('a'),
      320: () => server.token(),
      330: asks('b'),
      500: answers('b'),
    }
    expect(await server.play(acts, 620)).toEqual([
      turnIs(291, 'suspect silence'),
      turnIs(313, 'stale silence'),
      bossIsTold(313),
      turnIs(320, 'recovered silence'),
      turnIs(591, 'suspect silence'),
      turnIs(613, 'stale silence'),
      bossIsTold(613, 'turn-1', 2),
    ])
  })

  // pingdotgg/t3code#7820, #5454
  it('is none any more when the session has died with it', async () => {
    const server = await up()
    const dies = () => {
      server.canonical('session.exited', { exitKind: 'error' }, { turnId: undefined })
      server.sessions.delete(CHILD)
    }
    const asks = () => server.canonical('user-input.requested', { questions: [] }, { requestId: 'q' })
    expect(await server.play({ ...server.begun, 10: asks, 300: dies }, 310)).toEqual([
      turnIs(300, 'stale provider-dead'),
      bossIsTold(300),
    ])
    expect(server.told[0]?.message.text).toContain('while input was open')
    expect(await server.play({}, 400)).toEqual([
      turnIs(300, 'stale provider-dead'),
      bossIsTold(300),
      turnIs(360, 'lost'),
    ])
    expect(server.metric('turns_waiting')).toBe(0)
  })

  // pingdotgg/t3code#7820, #5454
  it('that the projection still shows after its turn was stopped does not excuse the next one', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => {
        server.canonical('user-input.requested', { questions: [] }, { requestId: 'q' })
        server.thread(CHILD, { hasPendingUserInput: true })
      },
      60: () => server.canonical('turn.aborted', { reason: 'stop' }),
      100: () => server.start({ turnId: 'turn-2' }),
      101: () => server.token('a', CHILD, 'turn-2'),
    }
    expect(await server.play(acts, 220)).toEqual([
      turnIs(60, 'aborted'),
      turnIs(192, 'suspect silence', 'turn-2'),
      turnIs(214, 'stale silence', 'turn-2'),
      bossIsTold(214, 'turn-2'),
    ])
  })
})

describe('tasks and sub-agents', () => {
  // pingdotgg/t3code#4198, #4004, #4994, #5524, #10600
  it('are activity of their turn for as long as they run, and a stop of the idle session after them is no failure', async () => {
    const server = await up()
    const acts: Record<number, () => void> = {
      ...server.begun,
      10: () => server.canonical('task.started', { taskId: 'k', description: 'reads' }),
    }
    for (let due = 100; due < 7200; due += 100)
      acts[due] = () => server.canonical('task.progress', { taskId: 'k', description: 'reads' })
    acts[7200] = () => server.canonical('task.completed', { taskId: 'k', status: 'completed' })
    acts[7210] = () => server.token()
    acts[7220] = () => server.complete()
    acts[9000] = () => {
      server.sessions.delete(CHILD)
      server.canonical('session.exited', { exitKind: 'graceful' }, { turnId: undefined })
    }
    expect(await server.play(acts, 9100)).toEqual([turnIs(7220, 'completed')])
  })

  // pingdotgg/t3code#4198, #5677
  it('explain no silence of a model that speaks beside them, least of all a monitor that never ends', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.canonical('task.started', { taskId: 'm', description: 'watches', taskType: 'monitor' }),
      20: () => server.token(),
    }
    expect(await server.play(acts, 140)).toEqual([
      turnIs(111, 'suspect silence'),
      turnIs(133, 'stale silence'),
      bossIsTold(133),
    ])
    expect(server.metric('turns_waiting', { reason: 'background' })).toBe(1)
    // What has been said to its end is over: the model may well wait for its task then.
    const waits = await up()
    const whole = () => waits.canonical('item.completed', { itemType: 'assistant_message' }, { itemId: 'm' })
    const task = () => waits.canonical('task.started', { taskId: 'k', description: 'reads' })
    expect(await waits.play({ ...waits.begun, 10: task, 20: () => waits.token(), 21: whole }, 900)).toEqual([])
    expect(waits.liveness.state).toBe('waiting')
  })

  // pingdotgg/t3code#4198, #5677
  it('in the background, such as a server that is started for tests, leave a call of the model to be judged', async () => {
    const server = await up()
    const item = (type: string, itemId: string) => () =>
      server.canonical(type, { itemType: 'command_execution' }, { itemId })
    const acts = {
      ...server.begun,
      2: item('item.started', 'starts'),
      3: () => server.canonical('task.started', { taskId: 'k', taskType: 'local_bash' }),
      4: item('item.completed', 'starts'),
      5: item('item.started', 'tests'),
      // A tool beside it is a tool, however long it runs.
      400: item('item.completed', 'tests'),
    }
    expect(await server.play(acts, 520)).toEqual([
      turnIs(491, 'suspect silence'),
      turnIs(513, 'stale silence'),
      bossIsTold(513),
    ])
  })

  // pingdotgg/t3code#5219, #4415, #4378, #4993, #4962, #9391
  it('have gauges of their own, and one that pauses, is killed or is settled at the exit covers nothing', async () => {
    for (const status of ['paused', 'idle', 'killed', 'cancelled', 'failed']) {
      const server = await up()
      const task = (isBackgrounded: boolean) => () =>
        server.canonical('task.updated', { taskId: 'k', status: 'running', isBackgrounded })
      await server.play({ ...server.begun, 10: task(false) }, 200)
      expect(server.metric('turns_waiting', { reason: 'subagent' })).toBe(1)
      await server.play({ 200: task(true) }, 400)
      expect(server.metric('turns_waiting', { reason: 'background' })).toBe(1)
      const over = () => server.canonical('task.updated', { taskId: 'k', status })
      expect(await server.play({ 400: over }, 520)).toEqual([
        turnIs(491, 'suspect silence'),
        turnIs(513, 'stale silence'),
        bossIsTold(513),
      ])
    }
    const exits = await up()
    const acts = {
      ...exits.begun,
      10: () => exits.canonical('task.started', { taskId: 'k', description: 'reads' }),
      300: () => exits.canonical('task.completed', { taskId: 'k', status: 'stopped' }),
      301: () => exits.canonical('session.exited', { exitKind: 'graceful' }, { turnId: undefined }),
    }
    expect(await exits.play(acts, 500)).toEqual([turnIs(301, 'aborted')])
    expect(exits.metric('turns_waiting')).toBe(0)
  })
})

describe('compaction', () => {
  // pingdotgg/t3code#8808, #9293
  it('is a wait of its own, as an item or as a state of the session, and what follows it has a full window', async () => {
    const shapes = [
      ['item.started', { itemType: 'context_compaction' }, 'item.completed', { itemType: 'context_compaction' }],
      [
        'session.state.changed',
        { state: 'waiting', reason: 'status:compacting' },
        'thread.state.changed',
        { state: 'compacted' },
      ],
      [
        'session.state.changed',
        { state: 'waiting', reason: 'status:compacting' },
        'session.state.changed',
        { state: 'running', reason: 'status:active' },
      ],
    ] as const
    for (const [started, starts, ended, ends] of shapes) {
      const server = await up()
      await server.play({ ...server.begun, 10: () => server.canonical(started, starts) }, 400)
      expect(server.liveness).toMatchObject({ state: 'waiting', waiting: { reason: 'compaction' } })
      expect(server.metric('wait_max_seconds', { reason: 'compaction' })).toBe(390)
      expect(await server.play({ 400: () => server.canonical(ended, ends) }, 520)).toEqual([
        turnIs(491, 'suspect silence'),
        turnIs(513, 'stale silence'),
        bossIsTold(513),
      ])
    }
  })

  // pingdotgg/t3code#8808
  it('whose end is not told is over when the model speaks', async () => {
    const server = await up()
    const compacts = () => server.canonical('session.state.changed', { state: 'waiting', reason: 'status:compacting' })
    expect(await server.play({ ...server.begun, 10: compacts, 200: () => server.token() }, 320)).toEqual([
      turnIs(291, 'suspect silence'),
      turnIs(313, 'stale silence'),
      bossIsTold(313),
    ])
  })

  // pingdotgg/t3code#7714, #8808
  it('is closed by a stop and by an exit, and does not cover what comes after', async () => {
    const compacts = (server: T3Server) => () =>
      server.canonical('session.state.changed', { state: 'waiting', reason: 'status:compacting' })
    const stopped = await up()
    const acts = {
      ...stopped.begun,
      10: compacts(stopped),
      60: () => stopped.canonical('turn.aborted', { reason: 'stop' }),
      70: () => stopped.start({ turnId: 'turn-2' }),
    }
    expect(await stopped.play(acts, 230)).toEqual([
      turnIs(60, 'aborted'),
      turnIs(191, 'suspect silence', 'turn-2'),
      turnIs(221, 'stale silence', 'turn-2'),
      bossIsTold(221, 'turn-2'),
    ])
    const exited = await up()
    const exit = () => exited.canonical('session.exited', { exitKind: 'error' })
    expect(await exited.play({ ...exited.begun, 10: compacts(exited), 60: exit }, 70)).toEqual([
      turnIs(60, 'stale provider-dead'),
      bossIsTold(60),
    ])
  })
})

describe('a back-off', () => {
  // opencode#50743
  it('that the provider announces is a wait until then, and begins the window of a first token', async () => {
    const server = await up()
    const next = Date.UTC(2026, 0, 1) + 610_000
    const detail = { type: 'retry', attempt: 3, message: 'overloaded', next }
    const retries = () => server.canonical('runtime.warning', { message: 'overloaded', detail })
    await server.play({ ...server.begun, 10: retries }, 600)
    expect(server.liveness).toMatchObject({ state: 'waiting', waiting: { reason: 'retry' } })
    expect(await server.play({}, 780)).toEqual([
      turnIs(741, 'suspect silence'),
      turnIs(771, 'stale silence'),
      bossIsTold(771),
    ])
  })

  it('of which only the tries are known begins a new attempt, that closes the tools of the one before', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.canonical('item.started', { itemType: 'file_change' }, { itemId: 'half-written' }),
      20: () => server.canonical('session.state.changed', { state: 'running', reason: 'api_retry:1/10' }),
    }
    expect(await server.play(acts, 180)).toEqual([
      turnIs(141, 'suspect silence'),
      turnIs(171, 'stale silence'),
      bossIsTold(171),
    ])
    expect(server.liveness).toMatchObject({ phase: 'first-token', openTool: null })
  })
})

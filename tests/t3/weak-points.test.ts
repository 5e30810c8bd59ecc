/** Where the first stale-turn detectors in forks of T3 were weak, and what happens here instead. */

import { describe, expect, it } from 'vitest'
import { BOSS, bossIsTold, CHILD, settle, T3Server, turnIs } from './t3-server.ts'

describe('what a server of T3 shows', () => {
  it('the last event of a silent turn has the name that its provider gave it, whatever envelope it came in', async () => {
    const protocol = (message: object) => ({
      kind: 'protocol',
      provider: 'cursor',
      payload: { direction: 'incoming', stage: 'decoded', payload: message },
    })
    const writes: [string, (server: T3Server) => void][] = [
      ['thread/status/changed', (server) => server.native('thread/status/changed', { status: { type: 'active' } })],
      ['claude/system/status', (server) => server.claude('claude/system/status', { status: null })],
      [
        'session.status',
        (server) =>
          server.wrapped({
            type: 'session.status',
            payload: { type: 'session.status', properties: { sessionID: 's', status: { type: 'busy' } } },
          }),
      ],
      [
        'usage_update',
        (server) =>
          server.wrapped(
            protocol({
              _tag: 'Request',
              id: '',
              tag: 'session/update',
              payload: { sessionId: 's', update: { sessionUpdate: 'usage_update' } },
            }),
          ),
      ],
    ]
    for (const [name, write] of writes) {
      const server = await new T3Server().up()
      const kinds: string[] = []
      server.t3.watch?.on('stale', ({ lastEventKind }) => kinds.push(lastEventKind))
      const story = await server.play({ ...server.begun, 5: () => write(server) }, 120)
      expect(story).toEqual([turnIs(92, 'suspect silence'), turnIs(114, 'stale silence'), bossIsTold(114)])
      expect(kinds).toEqual([expect.stringContaining(name)])
    }
  })

  it('an approval without an open tool item is a wait, and the turn is judged again when it is answered', async () => {
    const server = await new T3Server().up()
    const opened = { requestType: 'command_execution_approval' }
    await server.play(
      {
        ...server.begun,
        10: () => server.canonical('request.opened', opened, { requestId: 'q' }),
      },
      3600,
    )
    expect(server.liveness).toMatchObject({
      state: 'waiting',
      waiting: { reason: 'approval', id: 'q', since: '2026-01-01T00:00:10.000Z' },
      stale: false,
    })
    expect(server.metric('turns_waiting', { reason: 'approval' })).toBe(1)
    expect(server.metric('wait_max_seconds', { reason: 'approval' })).toBe(3590)
    const answer = () => server.canonical('request.resolved', opened, { requestId: 'q' })
    expect(await server.play({ 3600: answer }, 3720)).toEqual([
      turnIs(3691, 'suspect silence'),
      turnIs(3713, 'stale silence'),
      bossIsTold(3713),
    ])
  })

  it('traffic that is not of the turn keeps nothing alive, and what T3 sent or repeats counts for nothing', async () => {
    const server = await new T3Server().up()
    const side = [
      'account.updated',
      'account.rate-limits.updated',
      'thread.token-usage.updated',
      'thread.metadata.updated',
      'mcp.status.updated',
      'config.warning',
      'auth.status',
      'session.health',
    ]
    const acp = (direction: string, stage: string) =>
      server.wrapped({
        kind: 'protocol',
        provider: 'cursor',
        payload: { direction, stage, payload: { _tag: 'Request', id: '1', tag: 'session/prompt', payload: {} } },
      })
    const traffic = () => {
      for (const type of side) server.canonical(type)
      server.native('account/rateLimits/updated', { turnId: undefined })
      acp('outgoing', 'raw')
      acp('outgoing', 'decoded')
      acp('incoming', 'raw')
    }
    server.native('turn/started')
    const acts = server.begun
    for (let second = 2; second < 120; second++) acts[second] = traffic
    expect(await server.play(acts, 120)).toEqual([
      turnIs(92, 'suspect silence'),
      turnIs(114, 'stale silence'),
      bossIsTold(114),
    ])
    // The token and a rate limit a second; neither what T3 sent nor the text of what came.
    expect(server.liveness.turn?.eventCount).toBe(119)
    expect(server.metric('events_total', { class: 'side' })).toBe(118)
  })
})

describe('tools and ends', () => {
  it('a tool whose end was lost is never suspect: a metric shows how long it is open, and the turn that ends closes it', async () => {
    const server = await new T3Server().up()
    await server.play(
      {
        ...server.begun,
        10: () => server.canonical('item.started', { itemType: 'command_execution' }, { itemId: 'lost' }),
      },
      3610,
    )
    expect(server.metric('open_tool_max_seconds')).toBe(3600)
    expect(server.liveness).toMatchObject({ state: 'tool', openTool: { itemId: 'lost' } })
    const story = await server.play(
      {
        3610: () => server.complete(),
        3620: () => server.start({ turnId: 'turn-2' }),
        3621: () => server.token('a', CHILD, 'turn-2'),
      },
      3800,
    )
    expect(story).toEqual([
      turnIs(3610, 'completed'),
      turnIs(3712, 'suspect silence', 'turn-2'),
      turnIs(3734, 'stale silence', 'turn-2'),
      bossIsTold(3734, 'turn-2'),
    ])
    expect(server.metric('open_tool_max_seconds')).toBe(0)
  })

  it('a late end of an older turn leaves the newer one running', async () => {
    const server = await new T3Server().up()
    const story = await server.play(
      {
        0: () => server.start(),
        5: () => server.start({ turnId: 'turn-2' }),
        10: () => {
          server.native('turn/completed')
          server.complete()
        },
        11: () => {
          server.native('turn/completed')
          server.canonical('turn.aborted', { reason: 'stop' })
        },
        20: () => server.canonical('turn.plan.updated', { plan: [] }, { turnId: undefined }),
      },
      180,
    )
    expect(story).toEqual([
      turnIs(5, 'aborted'),
      turnIs(141, 'suspect silence', 'turn-2'),
      turnIs(171, 'stale silence', 'turn-2'),
      bossIsTold(171, 'turn-2'),
    ])
    expect(server.metric('events_total', { class: 'after-end' })).toBe(2)
  })

  it('a session that exits ends its turn: aborted where it was stopped, lost where it died and nothing follows', async () => {
    const exits = (exitKind: string) => async () => {
      const server = await new T3Server().up()
      const exit = () => {
        server.canonical('session.exited', { exitKind }, { turnId: undefined })
        server.sessions.delete(CHILD)
      }
      const story = await server.play({ ...server.begun, 10: exit }, 120)
      expect(server.liveness).toMatchObject({ state: 'ended', turn: null })
      return [story, server.recorded.map(({ activity: { payload } }) => `${payload.outcome} ${payload.state}`)]
    }
    expect(await exits('graceful')()).toEqual([[turnIs(10, 'aborted')], ['aborted aborted']])
    expect(await exits('error')()).toEqual([
      [turnIs(10, 'stale provider-dead'), bossIsTold(10), turnIs(70, 'lost')],
      ['error lost'],
    ])
  })

  it('an error that the provider tries again is no verdict, and a final one is taken back by what follows it', async () => {
    const server = await new T3Server().up()
    const story = await server.play(
      {
        ...server.begun,
        60: () => server.canonical('runtime.warning', { message: 'reset', detail: { willRetry: true } }),
        70: () => server.canonical('runtime.error', { message: 'reset', willRetry: true }),
        80: () => server.canonical('runtime.error', { message: 'mirror', detail: { subtype: 'mirror_error' } }),
        100: () => server.token(),
        110: () => server.canonical('runtime.error', { message: 'overloaded', class: 'provider_error' }),
        112: () => server.token(),
        120: () => server.complete(),
      },
      130,
    )
    expect(story).toEqual([
      turnIs(110, 'stale provider-error'),
      bossIsTold(110),
      turnIs(112, 'recovered provider-error'),
      turnIs(120, 'completed'),
    ])
  })
})

describe('time and thresholds', () => {
  it('a turn is flagged though every other tick is late, and however long the sessions take to be listed', async () => {
    const late = await new T3Server().up()
    late.start()
    late.token()
    for (let cycle = 0; cycle < 40; cycle++) {
      late.virtual.block(3500)
      await late.pass(1)
    }
    expect(late.story).toEqual([turnIs(113, 'suspect silence'), turnIs(140, 'stale silence'), bossIsTold(140)])
    const slow = await new T3Server().up()
    slow.listSessions = () => new Promise(() => {})
    const story = await slow.play(slow.begun, 120)
    expect(story).toEqual([turnIs(92, 'suspect silence'), turnIs(114, 'stale silence'), bossIsTold(114)])
  })

  it('a threshold is no lower than six seconds, and the margin over an old long gap is given up in time', async () => {
    const rows = (count: number, ms: number, name: string) =>
      Array.from({ length: count }, (_, i) => ({
        id: `stats/${name}/${i}`,
        payload: JSON.stringify({
          provider: 'codex',
          model: 'gpt-5',
          outcome: 'completed',
          timeToFirstTokenMs: ms,
          maxGapMs: ms,
          turnwatch: { v: 1, firstTokenMs: ms, midStreamMs: ms, afterToolMs: ms },
        }),
      }))
    const thresholdMs = async (...stored: object[]) => {
      const server = new T3Server()
      server.rows = stored
      await server.up()
      server.start()
      return server.liveness.thresholdMs
    }
    const minutes = 60_000
    expect(await thresholdMs(...rows(25, 2000, 'short'))).toBe(6000)
    expect(await thresholdMs(...rows(1, 15 * minutes, 'long'), ...rows(25, 2000, 'short'))).toBe(22.5 * minutes)
    // Eight blocks of 500 turns later it is the largest silence on record and no more.
    expect(await thresholdMs(...rows(1, 15 * minutes, 'long'), ...rows(4100, 2000, 'short'))).toBe(15 * minutes)
    const fast = new T3Server()
    fast.rows = rows(25, 2000, 'short')
    await fast.up()
    const story = await fast.play(fast.begun, 20)
    expect(story).toEqual([turnIs(8, 'suspect silence'), turnIs(9, 'stale silence'), bossIsTold(9)])
  })
})

describe('what is watched besides turns', () => {
  it('a message whose turn the provider never begins is shown as requested and counted, and its turn clears that', async () => {
    const server = await new T3Server().up()
    await server.play({ 5: () => server.t3.turnRequested(CHILD) }, 600)
    expect(server.liveness).toMatchObject({ state: 'requested', turn: null, stale: false })
    expect(server.t3.watch?.threads().map(({ threadId }) => threadId)).toEqual([CHILD])
    expect(server.metric('turns_not_started')).toBe(1)
    expect(
      await server.play({ 600: () => server.start(), 601: () => server.token(), 602: () => server.complete() }, 610),
    ).toEqual([turnIs(602, 'completed')])
    expect(server.metric('turns_not_started')).toBe(0)
    expect(server.liveness.state).toBe('ended')
  })

  it('threads are forgotten beyond a number, and an event that both taps show is counted once', async () => {
    const server = await new T3Server({ keepThreads: 100, recordStats: false }).up()
    for (let i = 0; i < 300; i++) {
      const threadId = `thread-${i}`
      server.canonical('turn.started', {}, { threadId })
      server.token('a', threadId)
      server.canonical('turn.completed', { state: 'completed' }, { threadId })
    }
    await settle()
    expect(server.log).toHaveLength(300)
    expect([0, 199, 200, 299].map((i) => server.t3.watch?.liveness(`thread-${i}`).state)).toEqual([
      'idle',
      'idle',
      'ended',
      'ended',
    ])
    expect(server.metric('events_total', { class: 'token' })).toBe(300)
  })

  it('what became of every verdict and message is counted: false alarms, tries that failed, none lost', async () => {
    const server = await new T3Server().up()
    let failures = 2
    server.trouble = (command) => {
      if (command.type === 'thread.turn.start' && failures-- > 0) throw new Error('the database is locked')
    }
    const story = await server.play({ ...server.begun, 180: () => server.token() }, 200)
    expect(story).toEqual([
      turnIs(92, 'suspect silence'),
      turnIs(114, 'stale silence'),
      expect.stringMatching(new RegExp(`^1\\d\\d ${BOSS} told ${CHILD}:turn-1:1:0$`)),
      turnIs(180, 'recovered silence'),
    ])
    expect(server.metric('turns_suspected_total')).toBe(1)
    expect(server.metric('turns_stale_total', { reason: 'silence', phase: 'mid-stream' })).toBe(1)
    expect(server.metric('turns_recovered_total', { reason: 'silence', phase: 'mid-stream' })).toBe(1)
    expect(server.metric('notifications_total')).toBe(3)
    expect(server.metric('notifications_failed_total', { reason: 'other' })).toBe(2)
    expect(server.metric('notifications_pending')).toBe(0)
  })

  it('a task is a wait of its turn while it runs, and one that outlives the turn starts none', async () => {
    const server = await new T3Server().up()
    const progress = (more = {}) => {
      server.claude('claude/system/task_progress', { task_id: 'k' })
      server.canonical('task.progress', { taskId: 'k', description: 'reads' }, more)
    }
    await server.play(
      {
        ...server.begun,
        2: () => server.canonical('task.started', { taskId: 'k', description: 'reads' }),
      },
      1800,
    )
    expect(server.liveness).toMatchObject({ state: 'waiting', waiting: { reason: 'subagent', id: 'k' } })
    const story = await server.play(
      {
        1800: () => server.complete(),
        1810: () => progress(),
        1820: () => progress({ turnId: undefined }),
        1830: () => progress(),
      },
      2200,
    )
    expect(story).toEqual([turnIs(1800, 'completed')])
    expect(server.metric('events_total', { class: 'after-end' })).toBe(3)
    expect(server.metric('turns_waiting')).toBe(0)
    expect(server.liveness.state).toBe('ended')
  })
})

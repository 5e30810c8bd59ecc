/** What the lessons of public watchdogs for T3 come to, each requirement on a server of T3. */

import { describe, expect, it } from 'vitest'
import { bossIsTold, CHILD, settle, T3Server, turnIs } from './t3-server.ts'

const up = () => new T3Server().up()
const SILENT_FROM_1 = [turnIs(92, 'suspect silence'), turnIs(114, 'stale silence'), bossIsTold(114)]

describe('time', () => {
  it('that passed while the loop was blocked is taken off the silence, which does not begin anew', async () => {
    const server = await up()
    // Of 20 s three count, and verdicts are held for twice their length and 5 s.
    const acts = { ...server.begun, 50: () => server.virtual.block(20_000) }
    expect(await server.play(acts, 140)).toEqual([
      turnIs(115, 'suspect silence'),
      turnIs(131, 'stale silence'),
      bossIsTold(131),
    ])
    expect(server.metric('host_suspends_total')).toBe(0)
  })
})

describe('identity', () => {
  it('is compared after every await: an answer about one turn changes nothing for the next', async () => {
    const server = await up()
    const answers: (() => void)[] = []
    server.getThreadShell = (id) => new Promise((resolve) => answers.push(() => resolve(server.shells.get(id) ?? null)))
    const acts = {
      ...server.begun,
      60: () => server.start({ turnId: 'turn-2' }),
      61: () =>
        server.thread(CHILD, { hasPendingApprovals: true, latestTurn: { turnId: 'turn-1', state: 'completed' } }),
      // What was asked when the first turn began.
      62: () => answers.shift()?.(),
    }
    await server.play(acts, 181)
    expect(server.story).toEqual([turnIs(60, 'aborted'), turnIs(181, 'suspect silence', 'turn-2')])
    server.start({ turnId: 'turn-3' })
    for (const answer of answers) answer()
    await settle()
    expect(server.liveness).toMatchObject({ state: 'running', stale: false, turn: { turnId: 'turn-3' } })
    expect(server.story.at(-1)).toBe(turnIs(181, 'aborted', 'turn-2'))
  })
})

describe('what a turn does', () => {
  it('has a phase with a window, or a tool or wait without one, and a metric for each', async () => {
    const server = await up()
    const seen: string[] = []
    const look = () => {
      const families = server.t3.watch?.metrics() ?? []
      const of = (name: string, label: string) =>
        families
          .find((family) => family.name === `turnwatch_${name}`)
          ?.points.filter((point) => 'value' in point && point.value === 1)
          .map(({ labels }) => labels[label])
      const waits = of('turns_waiting', 'reason')
      seen.push([of('turns_running', 'state'), ...(waits?.length ? [waits] : [])].join(' '))
    }
    const item = (type: string, itemType: string) => server.canonical(type, { itemType }, { itemId: itemType })
    const request = (type: string, requestType: string) =>
      server.canonical(type, { requestType }, { requestId: requestType })
    const steps: [seconds: number, step: () => void][] = [
      [60, () => server.start()],
      [60, () => server.token()],
      [300, () => item('item.started', 'command_execution')],
      [60, () => item('item.completed', 'command_execution')],
      [300, () => request('request.opened', 'file_change_approval')],
      [
        300,
        () => {
          request('request.resolved', 'file_change_approval')
          request('request.opened', 'auth_tokens_refresh')
        },
      ],
      [
        300,
        () => {
          request('request.resolved', 'auth_tokens_refresh')
          server.canonical('user-input.requested', { questions: [] }, { requestId: 'q' })
        },
      ],
      [
        300,
        () => {
          server.canonical('user-input.resolved', { answers: {} }, { requestId: 'q' })
          item('item.started', 'context_compaction')
        },
      ],
      [
        300,
        () => {
          item('item.completed', 'context_compaction')
          const detail = { type: 'retry', next: Date.UTC(2026, 0, 1) + server.virtual.now + 300_000 }
          server.canonical('runtime.warning', { message: 'overloaded', detail })
        },
      ],
      [
        300,
        () => {
          server.token()
          server.canonical('hook.started', { hookId: 'h', hookName: 'format', hookEvent: 'Stop' })
        },
      ],
    ]
    for (const [seconds, step] of steps) {
      step()
      look()
      await server.pass(seconds)
    }
    expect(server.story).toEqual([])
    expect(seen).toEqual([
      'first-token',
      'mid-stream',
      'tool',
      'after-tool',
      'waiting approval',
      'waiting auth',
      'waiting input',
      'waiting compaction',
      'waiting retry',
      'tool',
    ])
  })

  it('shows that it lives by progress of its own alone: an unknown event counts where it names the turn', async () => {
    const server = await up()
    const acts: Record<number, () => void> = { ...server.begun }
    for (let due = 20; due <= 80; due += 20) {
      acts[due] = () => server.canonical('future.event')
      acts[due + 10] = () => {
        server.canonical('future.event', {}, { turnId: undefined })
        server.canonical('future.event', {}, { turnId: 'another' })
        server.canonical('future.heartbeat')
        server.canonical('thread.token-usage.updated')
      }
    }
    expect(await server.play(acts, 200)).toEqual([
      turnIs(171, 'suspect silence'),
      turnIs(193, 'stale silence'),
      bossIsTold(193),
    ])
    expect(server.metric('unclassified_events_total', { source: 't3-canonical', type: 'future.event' })).toBe(12)
  })

  it('is never suspect for a tool that stays open: its age is a metric, and the death of its provider is none of that', async () => {
    const server = await up()
    const acts = {
      ...server.begun,
      10: () => server.canonical('item.started', { itemType: 'mcp_tool_call', title: 'build' }, { itemId: 'm' }),
    }
    expect(await server.play(acts, 7210)).toEqual([])
    expect(server.metric('open_tool_max_seconds', { provider: 'codex', model: 'gpt-5' })).toBe(7200)
    expect(await server.play({ 7210: () => void server.sessions.delete(CHILD) }, 7215)).toEqual([
      turnIs(7211, 'stale provider-dead'),
      bossIsTold(7211),
    ])
  })

  it('is judged anew after each wait, of whatever kind', async () => {
    const waits: [string, (server: T3Server) => void, (server: T3Server) => void][] = [
      [
        'approval',
        (server) => server.canonical('request.opened', { requestType: 'file_read_approval' }, { requestId: 'w' }),
        (server) => server.canonical('request.resolved', {}, { requestId: 'w' }),
      ],
      [
        'input',
        (server) => server.canonical('user-input.requested', { questions: [] }, { requestId: 'w' }),
        (server) => server.canonical('user-input.resolved', { answers: {} }, { requestId: 'w' }),
      ],
      [
        'subagent',
        (server) => server.canonical('task.started', { taskId: 'w' }),
        (server) => server.canonical('task.completed', { taskId: 'w', status: 'completed' }),
      ],
      [
        'compaction',
        (server) => server.canonical('item.started', { itemType: 'context_compaction' }, { itemId: 'w' }),
        (server) => server.canonical('item.completed', { itemType: 'context_compaction' }, { itemId: 'w' }),
      ],
    ]
    for (const [reason, opens, closes] of waits) {
      const server = await up()
      await server.play({ ...server.begun, 80: () => opens(server) }, 500)
      expect(server.liveness.waiting?.reason).toBe(reason)
      expect(await server.play({ 500: () => closes(server) }, 620)).toEqual([
        turnIs(591, 'suspect silence'),
        turnIs(613, 'stale silence'),
        bossIsTold(613),
      ])
      expect(server.liveness.phase).toBe('after-tool')
    }
  })
})

describe('a message', () => {
  it('counts as sent when it has arrived, and is tried under one id until then, once', async () => {
    const server = await up()
    const ids = new Set<string>()
    let tries = 0
    server.trouble = (command) => {
      if (command.type !== 'thread.turn.start') return
      tries++
      ids.add(command.commandId)
      if (server.virtual.now < 400_000) throw new Error('the database is locked')
    }
    await server.play(server.begun, 399)
    expect(server.told).toEqual([])
    expect(server.metric('notifications_pending')).toBe(1)
    await server.play({}, 1500)
    expect(server.story.slice(0, 2)).toEqual(SILENT_FROM_1.slice(0, 2))
    expect(server.told).toHaveLength(1)
    expect([...ids]).toEqual([`server:prism-stale:${CHILD}:turn-1:1:0`])
    expect(tries).toBeGreaterThan(3)
    expect(server.metric('notifications_pending')).toBe(0)
  })
})

describe('states beside running', () => {
  it('a turn that ran when the server started is watched from then on with the whole window', async () => {
    const server = new T3Server()
    server.sessions.set(CHILD, { threadId: CHILD, status: 'running', activeTurnId: 'turn-1' })
    server.thread(CHILD, { latestTurn: { turnId: 'turn-1', state: 'running' } })
    await server.pass(1000)
    await server.up()
    expect(await server.play({}, 1160)).toEqual([
      turnIs(1121, 'suspect silence'),
      turnIs(1151, 'stale silence'),
      bossIsTold(1151),
    ])
  })

  it('a request that is not begun and a stop that is not settled are shown, and are no verdicts', async () => {
    const server = await up()
    const acts = {
      0: () => server.t3.turnRequested(CHILD),
      300: () => server.start(),
      301: () => server.token(),
      310: () => server.t3.interruptRequested(CHILD, 'turn-1'),
    }
    await server.play({ 0: acts[0] }, 299)
    expect([server.metric('turns_not_started'), server.liveness.state]).toEqual([1, 'requested'])
    await server.play({ 300: acts[300], 301: acts[301], 310: acts[310] }, 320)
    expect([server.metric('turns_not_started'), server.metric('interrupts_unsettled')]).toEqual([0, 1])
    const aborted = () => server.canonical('turn.aborted', { reason: 'stop' })
    expect(await server.play({ 320: aborted }, 330)).toEqual([turnIs(320, 'aborted')])
    expect(server.metric('interrupts_unsettled')).toBe(0)
  })
})

describe('odd events', () => {
  it('that are repeated, late, early, unknown or without ids neither flag a turn, nor end it, nor start one', async () => {
    const server = await up()
    const odd = () => {
      server.complete('never-begun')
      server.start({ turnId: 'never-begun' })
      server.start()
      server.start()
      server.canonical('item.completed', { itemType: 'command_execution' }, { itemId: 'never-started' })
      server.canonical('request.resolved', {}, { requestId: 'never-opened' })
      server.canonical('task.completed', {})
      server.canonical('tool.denied', { toolName: 'Bash' })
      server.canonical('future.event', {}, { turnId: undefined, threadId: undefined })
      server.canonical('item.started', { itemType: 'web_search' })
      server.canonical('item.completed', { itemType: 'web_search' })
      server.canonical('content.delta', { streamKind: 'assistant_text', delta: 'a' }, { turnId: undefined })
      server.canonical('content.delta', {}, {})
      server.canonical('turn.aborted', {}, { turnId: 'never-begun' })
    }
    const acts: Record<number, () => void> = { ...server.begun }
    for (let due = 80; due <= 800; due += 80) acts[due] = odd
    expect(await server.play(acts, 850)).toEqual([])
    expect(server.liveness).toMatchObject({
      state: 'running',
      turn: { turnId: 'turn-1' },
      openTool: null,
      waiting: null,
    })
    const ends = { 850: () => server.canonical('turn.completed', { state: 'completed' }, { turnId: undefined }) }
    expect(await server.play(ends, 1000)).toEqual([turnIs(850, 'completed')])
    expect(server.metric('internal_errors_total')).toBe(0)
  })
})

describe('the watch', () => {
  it('advises: it stops and starts nothing, and what is suspect alone is told to nobody', async () => {
    const server = await up()
    const acts = { ...server.begun, 110: () => server.token(), 300: () => server.complete() }
    await server.play(acts, 320)
    expect(server.story).toEqual([
      turnIs(92, 'suspect silence'),
      turnIs(201, 'suspect silence'),
      turnIs(223, 'stale silence'),
      bossIsTold(223),
      turnIs(300, 'completed'),
    ])
    expect(server.dispatched.map(({ type }) => type)).toEqual(['thread.turn.start', 'thread.activity.append'])
    expect(server.told[0]?.message.text).toContain('Nothing was cancelled or retried.')
  })

  it('is watched itself: it counts its ticks and its faults, and a fault of one part stops no other', async () => {
    const server = await up()
    server.t3.watch?.on('suspect', () => {
      throw new Error('a listener of the host')
    })
    server.listSessions = () => Promise.reject(new Error('one binding does not match'))
    server.getThreadShell = () => Promise.reject(new Error('the projection is closed'))
    await server.play(server.begun, 91)
    const before = server.metric('internal_errors_total', { where: 'verify' })
    await server.play({}, 120)
    expect(server.log).toEqual(SILENT_FROM_1.slice(0, 2))
    expect(server.metric('internal_errors_total', { where: 'verify' })).toBe(before + 1)
    expect(server.metric('internal_errors_total', { where: 'listener' })).toBeGreaterThan(1)
    expect(server.faults.join()).toContain('a listener of the host')
    expect(server.metric('ticks_total')).toBe(120)
    expect(server.metric('last_tick_timestamp_seconds')).toBe(Date.UTC(2026, 0, 1) / 1000 + 120)
  })
})

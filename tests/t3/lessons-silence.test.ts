/** What public watchdogs for T3 and its like have learned of silence: what it is, what is a sign of life, what is neither. */

import { describe, expect, it } from 'vitest'
import { bossIsTold, CHILD, T3Server, turnIs } from './t3-server.ts'

const up = () => new T3Server().up()
/** What becomes of a turn that began to speak at 1 s and is silent from then on. */
const SILENT_FROM_1 = [turnIs(92, 'suspect silence'), turnIs(114, 'stale silence'), bossIsTold(114)]

/** The same act every so many seconds. */
function every(seconds: number, from: number, to: number, act: () => void): Record<number, () => void> {
  const acts: Record<number, () => void> = {}
  for (let due = from; due <= to; due += seconds) acts[due] = act
  return acts
}

describe('a silent turn', () => {
  // pingdotgg/t3code#7210
  it('that fell silent in its reasoning is told once, and is stale for as long as it is silent', async () => {
    const server = await up()
    const thought = () => {
      const update = { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } }
      const payload = { _tag: 'Request', id: '', tag: 'session/update', payload: { sessionId: 's', update } }
      server.wrapped({
        kind: 'protocol',
        provider: 'grok',
        payload: { direction: 'incoming', stage: 'decoded', payload },
      })
      server.canonical('content.delta', { streamKind: 'reasoning_text', delta: 'hm' }, { provider: 'grok' })
    }
    const acts = { 0: () => server.start({ provider: 'grok' }), ...every(1, 1, 30, thought) }
    expect(await server.play(acts, 30 + 72 * 60)).toEqual([
      turnIs(121, 'suspect silence'),
      turnIs(143, 'stale silence'),
      bossIsTold(143),
    ])
    expect(server.liveness).toMatchObject({
      state: 'stale',
      turn: { provider: 'grok' },
      phase: 'mid-stream',
      lastProgressAt: '2026-01-01T00:00:30.000Z',
      progressSilenceMs: 72 * 60_000,
    })
  })

  // pingdotgg/t3code#7215, #8358
  it('is flagged by the time that passes, whatever the wall clock says and however many empty deltas come', async () => {
    const server = await up()
    const empty = () => server.canonical('content.delta', { streamKind: 'assistant_text', delta: '' })
    const acts = {
      ...server.begun,
      ...every(10, 10, 110, empty),
      25: () => server.virtual.stepWallClock(3_600_000),
      65: () => server.virtual.stepWallClock(-7_200_000),
    }
    expect(await server.play(acts, 120)).toEqual(SILENT_FROM_1)
  })

  // openai/codex#28476
  it('that says nothing at all after its start is flagged in the window of a first token', async () => {
    const server = await up()
    expect(await server.play({ 0: () => server.start() }, 160)).toEqual([
      turnIs(121, 'suspect silence'),
      turnIs(151, 'stale silence'),
      bossIsTold(151),
    ])
  })

  // pingdotgg/t3code#9395
  it('of a provider whose login changes is flagged, counted from its start and not from the request for it', async () => {
    const server = await up()
    const login = () => server.canonical('auth.status', { isAuthenticating: false, output: ['logged in'] })
    const acts = { 0: () => server.t3.turnRequested(CHILD), 40: () => server.start(), ...every(20, 50, 190, login) }
    expect(await server.play(acts, 200)).toEqual([
      turnIs(161, 'suspect silence'),
      turnIs(191, 'stale silence'),
      bossIsTold(191),
    ])
  })

  // pingdotgg/t3code#4452
  it('whose provider has finished while T3 never settles it is flagged', async () => {
    const server = await up()
    const kinds: string[] = []
    server.t3.watch?.on('stale', ({ lastEventKind }) => kinds.push(lastEventKind))
    const result = () => server.claude('claude/result/success', { is_error: false, result: 'done' })
    expect(await server.play({ ...server.begun, 5: result }, 120)).toEqual(SILENT_FROM_1)
    expect(kinds).toEqual(['claude/result/success'])
  })

  // pingdotgg/t3code#917, #911
  it('whose end was lost after a long command is flagged in the window after the command', async () => {
    const server = await up()
    const command = { itemType: 'command_execution' }
    const acts = {
      ...server.begun,
      10: () => server.canonical('item.started', command, { itemId: 'c' }),
      1210: () => server.canonical('item.completed', command, { itemId: 'c' }),
    }
    expect(await server.play(acts, 1330)).toEqual([
      turnIs(1301, 'suspect silence'),
      turnIs(1323, 'stale silence'),
      bossIsTold(1323),
    ])
    expect(server.liveness.phase).toBe('after-tool')
  })

  // curie#2952
  it('is seen by itself among many that live', async () => {
    const server = await up()
    const others = Array.from({ length: 9 }, (_, i) => `other-${i}`)
    const speak = () => {
      for (const threadId of others) server.token('a', threadId)
    }
    const begin = () => {
      for (const threadId of [...others, CHILD]) {
        server.sessions.set(threadId, { threadId, status: 'running' })
        server.canonical('turn.started', {}, { threadId })
      }
      server.token()
    }
    await server.play({ 0: begin, ...every(10, 1, 119, speak) }, 120)
    expect(server.story).toEqual([turnIs(91, 'suspect silence'), turnIs(113, 'stale silence'), bossIsTold(113)])
    expect(server.metric('thread_stale', { thread: CHILD })).toBe(1)
    expect(server.metric('thread_stale')).toBe(1)
    expect(server.metric('turns_running')).toBe(10)
  })
})

describe('no sign of life', () => {
  // pingdotgg/t3code#5459
  it('are frames of the provider itself', async () => {
    const server = await up()
    const frames = () => {
      server.claude('claude/system/status', { status: 'requesting' })
      server.claude('claude/system/init', {})
      server.claude('claude/system/commands_changed', {})
      server.claude('claude/keep_alive', {})
      server.canonical('session.configured', { config: {} })
      server.canonical('session.state.changed', { state: 'running', reason: 'status:requesting' })
    }
    expect(await server.play({ ...server.begun, ...every(5, 5, 115, frames) }, 120)).toEqual(SILENT_FROM_1)
  })

  // comfyui-mcp#307, #310
  it('is any other traffic, of the thread or of another one', async () => {
    const server = await up()
    const traffic = () => {
      server.canonical('tool.progress', { toolUseId: 'none', elapsedSeconds: 5 })
      server.canonical('content.delta', { streamKind: 'assistant_text', delta: 'a' }, { turnId: 'an-older-one' })
      server.token('a', 'another')
      server.canonical('future.event', {}, { turnId: undefined })
    }
    const begin = () => {
      server.canonical('turn.started', {}, { turnId: 'an-older-one' })
      server.complete('an-older-one')
      server.start()
    }
    const story = await server.play({ ...server.begun, 0: begin, ...every(5, 5, 115, traffic) }, 120)
    expect(story.filter((line) => !line.includes('another'))).toEqual([
      turnIs(0, 'completed', 'an-older-one'),
      ...SILENT_FROM_1,
    ])
  })

  // hermes-agent#95548, #95663
  it('is a session that goes on being listed as running', async () => {
    const server = await up()
    const beat = () =>
      server.sessions.set(CHILD, { threadId: CHILD, status: 'running', activeTurnId: 'turn-1', model: 'gpt-5' })
    expect(await server.play({ ...server.begun, ...every(1, 2, 119, beat) }, 120)).toEqual(SILENT_FROM_1)
    expect(server.listed).toBeGreaterThan(50)
  })

  it('is one error after the other that the provider tries again', async () => {
    const server = await up()
    const again = () => server.canonical('runtime.warning', { message: 'reset', detail: { willRetry: true } })
    // Ten of them in a row begin the window anew.
    expect(await server.play({ ...server.begun, ...every(60, 60, 900, again) }, 900)).toEqual([
      turnIs(721, 'suspect silence'),
      turnIs(751, 'stale silence'),
      bossIsTold(751),
    ])
  })
})

describe('signs of life', () => {
  // talon#877, agmsg#443
  it('keep a turn of three hours going: its length is no silence', async () => {
    const server = await up()
    const acts = { 0: () => server.start(), ...every(85, 85, 10_800, () => server.token()) }
    expect(await server.play({ ...acts, 10800: () => server.complete() }, 10_900)).toEqual([
      turnIs(10_800, 'completed'),
    ])
  })

  // selfdrivingwiki#339
  it('are what either of the two taps shows, though the other shows nothing', async () => {
    const native = await up()
    const thinks = () => native.claude('claude/system/thinking_tokens', { estimated_tokens_delta: 20 })
    expect(await native.play({ 0: () => native.start(), ...every(30, 30, 600, thinks) }, 620)).toEqual([])
    const canonical = await new T3Server({ tapped: false }).up()
    const speaks = () => canonical.canonical('content.delta', { streamKind: 'assistant_text', delta: 'a' })
    expect(await canonical.play({ 0: () => canonical.start(), ...every(30, 30, 600, speaks) }, 620)).toEqual([])
    expect(native.liveness.phase).toBe('mid-stream')
  })

  // KiroCrew#11685
  it('are the ends of tools, a denial too: the silence of the model counts from them', async () => {
    const tool = { itemType: 'mcp_tool_call' }
    for (const [type, payload, ids] of [
      ['item.completed', tool, { itemId: 'm' }],
      ['tool.denied', { toolName: 'deploy', toolUseId: 'm' }, {}],
    ] as const) {
      const server = await up()
      const acts = {
        ...server.begun,
        80: () => server.canonical('item.started', tool, { itemId: 'm' }),
        100: () => server.canonical(type, payload, ids),
      }
      expect(await server.play(acts, 220)).toEqual([
        turnIs(191, 'suspect silence'),
        turnIs(213, 'stale silence'),
        bossIsTold(213),
      ])
    }
  })

  // atomic#2425, #2446
  it('that come late were worth the wait: what was suspect alone is told to nobody, and is learned from', async () => {
    const server = await up()
    const acts = { ...server.begun, 111: () => server.token(), 112: () => server.complete() }
    expect(await server.play(acts, 130)).toEqual([turnIs(92, 'suspect silence'), turnIs(112, 'completed')])
    const learned = server.t3.watch?.thresholds().find(({ phase }) => phase === 'mid-stream')
    expect(learned).toMatchObject({ samples: 1, largestMs: 110_000, thresholdMs: 110_000 })
  })

  // codex-autorunner#854
  it('end an episode, and a turn that stalls again and again is told once in each', async () => {
    const server = await up()
    const acts = { ...server.begun, ...every(200, 201, 401, () => server.token()) }
    expect(await server.play(acts, 600)).toEqual([
      ...SILENT_FROM_1,
      turnIs(201, 'recovered silence'),
      turnIs(292, 'suspect silence'),
      turnIs(314, 'stale silence'),
      bossIsTold(314, 'turn-1', 2),
      turnIs(401, 'recovered silence'),
      turnIs(492, 'suspect silence'),
      turnIs(514, 'stale silence'),
      bossIsTold(514, 'turn-1', 3),
    ])
  })
})

describe('time that nobody could have read in', () => {
  // pingdotgg/t3code#2112
  it('is no silence: the machine sleeps an hour, and the turn has its window again and no less than the grace', async () => {
    const server = await up()
    const sleep = () => server.virtual.sleep(server.virtual.now + 3_600_000, true)
    expect(await server.play({ ...server.begun, 60: sleep }, 3900)).toEqual([
      turnIs(3792, 'suspect silence'),
      turnIs(3793, 'stale silence'),
      bossIsTold(3793),
    ])
    expect(server.metric('host_suspends_total')).toBe(1)
    const lives = await up()
    const wakes = { ...lives.begun, 60: () => lives.virtual.sleep(lives.virtual.now + 3_600_000, true) }
    expect(await lives.play({ ...wakes, 3700: () => lives.token(), 3710: () => lives.complete() }, 3720)).toEqual([
      turnIs(3710, 'completed'),
    ])
  })
})

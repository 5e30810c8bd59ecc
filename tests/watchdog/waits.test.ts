/** Waits that are answered beside the stream, what ends them, and tools that stop no clock. */

import { describe, expect, it } from 'vitest'
import {
  type SourceName,
  StreamStalledError,
  type WatchOptions,
  watchStream,
  withStallRetries,
} from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { every } from './queues.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { answers, model, settling, stalls } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const HOUR = 3_600_000
const SHORT = { contentIntervalMs: 1000, livenessMs: 1000 }

allowNoUnhandledRejections()

function read(source: SourceName, script: readonly Line[], options: WatchOptions = SHORT) {
  const clock = new VirtualClock()
  return { clock, seen: reading(clock, watchStream(pushed(clock, script).stream, { source, clock, ...options })) }
}

const acpSays = (text: string) => ({
  jsonrpc: '2.0',
  method: 'session/update',
  params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
})
const acpAsks = {
  jsonrpc: '2.0',
  id: 7,
  method: 'session/request_permission',
  params: { sessionId: 's', toolCall: { toolCallId: 't' }, options: [] },
}
const claudeSays = (...content: unknown[]) => ({ type: 'assistant', message: { role: 'assistant', content } })
const claudeText = (text: string) => claudeSays({ type: 'text', text })
const claudeAsks = {
  type: 'control_request',
  request_id: 'q',
  request: { subtype: 'can_use_tool', tool_name: 'Bash', input: {} },
}
const claudeTool = claudeSays({ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'make' } })
const claudeBegins = { type: 'system', subtype: 'init', session_id: 's', tools: [] }
const codexSays = (delta: string) => ({ method: 'item/agentMessage/delta', params: { itemId: 'm', delta } })
const codexAsks = { id: 3, method: 'execCommandApproval', params: { callId: 'c' } }
const codexTool = { method: 'item/started', params: { item: { type: 'commandExecution', id: 'c', command: 'make' } } }
const codexBegins = { method: 'turn/started', params: { threadId: 'h', turn: { id: 'u', status: 'inProgress' } } }

/** A wait whose answer is not in the stream, and content. */
const waits: readonly (readonly [string, SourceName, unknown, (text: string) => unknown])[] = [
  ['a permission that an agent of ACP asks for', 'acp', acpAsks, acpSays],
  ['a permission that Claude Code asks for', 'claude-code-stream-json', claudeAsks, claudeText],
  ['an approval that Codex asks for', 'codex-app-server', codexAsks, codexSays],
]

describe.each(waits)('%s', (_, source, asks, says) => {
  it('lets silence stand while it is open', async () => {
    const { clock, seen } = read(source, [...every(10, [says('a'), asks]), [HOUR, says('b')], [0, 'end']] as Line[])
    await clock.advance(2 * HOUR)
    expect([seen.events.length, seen.outcome]).toEqual([3, 'done'])
  })

  it('is over with the next content: a silence after that is one of the model', async () => {
    const { clock, seen } = read(source, [...every(10, [says('a'), asks]), [HOUR, says('b')], [0, 'hang']] as Line[])
    await clock.advance(HOUR + 1019)
    expect([seen.events.length, seen.outcome]).toEqual([3, undefined])
    await clock.advance(1)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
    expect(seen.outcome).toMatchObject({ timeoutMs: 1000, elapsedMs: 1000, deliveredEvents: 3 })
  })

  it('may be followed by another, which lets silence stand again', async () => {
    const again = [says('a'), asks, says('b'), { ...(asks as object), id: 8, request_id: 'r' }]
    const { clock, seen } = read(source, [...every(10, again), [HOUR, says('c')], [0, 'end']] as Line[])
    await clock.advance(2 * HOUR)
    expect([seen.events.length, seen.outcome]).toEqual([5, 'done'])
  })
})

describe('the begin of a turn', () => {
  it.each<[string, SourceName, unknown, unknown, unknown]>([
    ['a tool of Claude Code', 'claude-code-stream-json', claudeText('a'), claudeTool, claudeBegins],
    ['a permission of Claude Code', 'claude-code-stream-json', claudeText('a'), claudeAsks, claudeBegins],
    ['a command of Codex', 'codex-app-server', codexSays('a'), codexTool, codexBegins],
    ['an approval of Codex', 'codex-app-server', codexSays('a'), codexAsks, codexBegins],
  ])('ends %s of the turn before, and a whole silence begins', async (_, source, says, opens, begins) => {
    const { clock, seen } = read(source, [
      [0, says],
      [600, opens],
      [HOUR, begins],
      [0, 'hang'],
    ])
    await clock.advance(HOUR + 1599)
    expect([seen.events.length, seen.outcome]).toEqual([3, undefined])
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ timeoutMs: 1000, elapsedMs: 1000, deliveredEvents: 3 })
  })
})

describe('a stream whose only act was to call a tool', () => {
  const source = 'ai-sdk-fullstream'
  const call = { type: 'tool-call', toolCallId: 't', toolName: 'shell', input: {} }
  const hosted = { ...call, providerExecuted: true }

  it.each<[string, object, WatchOptions, boolean]>([
    ['of this side, whose time counts', call, { firstContentMs: 1000, pauseDuringTools: false }, false],
    ['of this side, under the whole time', call, { totalMs: 1000 }, false],
    ['of the provider', hosted, { firstContentMs: 1000 }, true],
    ['of the provider, where no tool stops a clock', hosted, { firstContentMs: 1000, pauseDuringTools: false }, true],
  ])('%s', async (_, event, options, retryable) => {
    const { clock, seen } = read(source, [...every(0, [{ type: 'start' }, event]), [0, 'hang']] as Line[], options)
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000, receivedAnyContent: !retryable, retryable })
  })

  it('is not issued again, though tools stop no clock', async () => {
    const clock = new VirtualClock()
    const script = [
      [0, call],
      [0, 'hang'],
    ] as Line[]
    const options = { source, firstContentMs: 100, pauseDuringTools: false } as const
    const { fn, tries } = model(clock, [script], options)
    const tried = settling(withStallRetries(fn, { maxStallRetries: 3, backoff: 0, clock }))
    await clock.advance(1000)
    const seen = reading(clock, tried.value as ReadableStream)
    await clock.advance(1000)
    expect([tries.length, seen.events]).toEqual([1, [call]])
    expect(seen.outcome).toMatchObject({ phase: 'first_content', retryable: false })
  })
})

describe('the wait for the next try', () => {
  it.each<[string, () => unknown]>([
    ['resolves', async () => 5000],
    ['rejects', () => Promise.reject(new Error('backoff'))],
    ['never settles', () => new Promise(() => {})],
  ])('is as if nothing were set where the back-off is a promise that %s', async (_, backoff) => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, answers('x')])
    const delays: number[] = []
    const call = settling(
      withStallRetries(fn, {
        maxStallRetries: 1,
        backoff: backoff as never,
        onRetry: ({ delayMs }) => delays.push(delayMs),
        clock,
      }),
    )
    await clock.advance(300)
    expect([tries.length, call.outcome, delays.length]).toEqual([2, 'resolved', 1])
    // 100 ms, less up to a half at random.
    expect(delays[0]).toBeGreaterThanOrEqual(50)
    expect(delays[0]).toBeLessThanOrEqual(100)
    await settle()
  })

  it('is refused where it has no end', async () => {
    const refused = withStallRetries(() => 'never called', { backoff: Number.POSITIVE_INFINITY })
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(/^backoff: /)
  })
})

import { describe, expect, it } from 'vitest'
import { type SourceName, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const SHORT = { firstContentMs: 1000, contentIntervalMs: 1000, livenessMs: 1000 }
const HOUR = 3_600_000

function read(source: SourceName, script: readonly Line[], options: WatchOptions = SHORT) {
  const clock = new VirtualClock()
  return { clock, seen: reading(clock, watchStream(pushed(clock, script).stream, { source, clock, ...options })) }
}

const at0 = (...events: unknown[]): Line[] => events.map((event) => [0, event])

const textDelta = { type: 'text-delta', id: '0', text: 'hi' }
const call = (toolCallId: string, more = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'shell',
  input: {},
  ...more,
})
const result = (toolCallId: string, more = {}) => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'shell',
  input: {},
  output: 'ok',
  ...more,
})
const toolError = (toolCallId: string) => ({
  type: 'tool-error',
  toolCallId,
  toolName: 'shell',
  input: {},
  error: new Error('no'),
})
const approval = { type: 'tool-approval-request', approvalId: 'a', toolCall: call('t') }
const approved = { type: 'tool-approval-response', approvalId: 'a', approved: true, toolCall: call('t') }

const assistant = (...content: unknown[]) => ({ type: 'assistant', message: { role: 'assistant', content } })
const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: 'make' } })
const toolResult = (id: string) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
})
const canUseTool = {
  type: 'control_request',
  request_id: 'q',
  request: { subtype: 'can_use_tool', tool_name: 'Bash', input: {} },
}
const mayUseTool = {
  type: 'control_response',
  response: { subtype: 'success', request_id: 'q', response: { behavior: 'allow' } },
}
const sessionState = (state: string) => ({ type: 'system', subtype: 'session_state_changed', state })

const codexItem = (what: 'started' | 'completed') => ({
  method: `item/${what}`,
  params: { item: { type: 'commandExecution', id: 'c', command: 'make', status: 'inProgress' } },
})

/** What is open on this side between two events. */
const open: readonly (readonly [string, SourceName, readonly unknown[], unknown])[] = [
  ['a tool of the AI SDK', 'ai-sdk-fullstream', [textDelta, call('t')], result('t')],
  ['a tool of the AI SDK that fails', 'ai-sdk-fullstream', [textDelta, call('t')], toolError('t')],
  ['a tool of the AI SDK 6', 'ai-sdk-fullstream-v6', [textDelta, call('t')], result('t')],
  ['an approval in the AI SDK', 'ai-sdk-fullstream', [textDelta, approval], approved],
  [
    'a tool of Claude Code',
    'claude-code-stream-json',
    [assistant({ type: 'text', text: 'hi' }), assistant(toolUse('t'))],
    toolResult('t'),
  ],
  [
    'a permission that Claude Code asks for',
    'claude-code-stream-json',
    [assistant({ type: 'text', text: 'hi' }), canUseTool],
    mayUseTool,
  ],
  [
    'an action that Claude Code requires',
    'claude-code-stream-json',
    [assistant({ type: 'text', text: 'hi' }), sessionState('requires_action')],
    sessionState('running'),
  ],
  ['a command of Codex', 'codex-app-server', [codexItem('started')], codexItem('completed')],
]

describe.each(open)('while there is %s', (_, source, begins, ends) => {
  it('no silence counts, and a whole one counts afterwards', async () => {
    const { clock, seen } = read(source, [...at0(...begins), [HOUR, ends], [0, 'hang']])
    await clock.advance(HOUR)
    expect([seen.events.length, seen.outcome]).toEqual([begins.length + 1, undefined])
    await clock.advance(999)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ timeoutMs: 1000, elapsedMs: 1000 })
  })

  it('silences count as ever where pauseDuringTools is off', async () => {
    const { clock, seen } = read(source, [...at0(...begins), [HOUR, ends]], { ...SHORT, pauseDuringTools: false })
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000, deliveredEvents: begins.length })
  })

  it('the whole time goes on', async () => {
    const { clock, seen } = read(source, [...at0(...begins), [HOUR, ends]], { totalMs: 5000, ...SHORT })
    await clock.advance(5000)
    expect(seen.outcome).toMatchObject({ phase: 'total', elapsedMs: 5000 })
  })
})

describe('tools of the AI SDK', () => {
  const source = 'ai-sdk-fullstream'

  it('that run at once pause until the last of them is done', async () => {
    const script = [...at0(textDelta, call('a'), call('b'), call('c'))]
    script.push([5000, result('b')], [5000, toolError('a')], [5000, result('c')], [0, 'hang'])
    const { clock, seen } = read(source, script)
    await clock.advance(15_999)
    expect([seen.events.length, seen.outcome]).toEqual([7, undefined])
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('go on after what they say before their end', async () => {
    const script = [
      ...at0(textDelta, call('t')),
      [5000, result('t', { preliminary: true })],
      [5000, result('t')],
      [0, 'end'],
    ] as Line[]
    const { clock, seen } = read(source, script)
    await clock.advance(20_000)
    expect([seen.events.length, seen.outcome]).toEqual([4, 'done'])
  })

  it('that the provider runs pause nothing', async () => {
    const { clock, seen } = read(source, at0(textDelta, call('t', { providerExecuted: true })))
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000, deliveredEvents: 2 })
  })

  it('that the provider runs beside one of this side do not end its pause', async () => {
    const provider = { providerExecuted: true }
    const script = [
      ...at0(textDelta, call('here'), call('there', provider)),
      [5000, result('there', provider)],
      [5000, result('here')],
      [0, 'end'],
    ] as Line[]
    const { clock, seen } = read(source, script)
    await clock.advance(20_000)
    expect(seen.outcome).toBe('done')
  })

  it('that are still open at the end of the stream do not keep it from ending', async () => {
    const finish = { type: 'finish', finishReason: 'tool-calls', totalUsage: {} }
    const { clock, seen } = read(source, [...at0(textDelta, call('t'), finish), [0, 'hang']], {
      drainMs: 500,
      ...SHORT,
    })
    await clock.advance(500)
    expect([seen.outcome, seen.endedAt]).toEqual(['done', 500])
  })

  it('whose results nobody asked for change nothing', async () => {
    const script = [...at0(textDelta), [900, result('unknown')], [0, 'hang']] as Line[]
    const { clock, seen } = read(source, script)
    await clock.advance(1900)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000 })
  })

  it('are the time of the model again where the consumer holds meanwhile', async () => {
    const clock = new VirtualClock()
    const script = [...at0(textDelta, call('t')), [100, result('t')], [900, textDelta], [0, 'end']] as Line[]
    const { stream } = pushed(clock, script)
    const seen = reading(clock, watchStream(stream, { source, clock, ...SHORT }), 3000)
    await clock.advance(60_000)
    expect([seen.events.length, seen.outcome]).toEqual([4, 'done'])
  })
})

describe('tools that run at the provider', () => {
  const content = { type: 'response.output_text.delta', item_id: 'm', delta: 'hi' }
  const block = (content_block: object) => ({ type: 'content_block_start', index: 1, content_block })
  const anthropicText = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } }

  it.each([
    ['openai-responses', content, { type: 'response.web_search_call.in_progress', item_id: 's', output_index: 1 }],
    ['openai-responses', content, { type: 'response.mcp_call.in_progress', item_id: 's', output_index: 1 }],
    [
      'openai-responses',
      content,
      { type: 'response.code_interpreter_call.in_progress', item_id: 's', output_index: 1 },
    ],
    [
      'openrouter-responses',
      content,
      { type: 'response.image_generation_call.in_progress', item_id: 's', output_index: 1 },
    ],
    ['openrouter-responses', content, { type: 'response.fusion_call.in_progress', item_id: 's', output_index: 1 }],
    ['anthropic-messages', anthropicText, block({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} })],
  ] as const)('in %s pause nothing: the stream of %o has to go on', async (source, first, tool) => {
    const { clock, seen } = read(source, [...at0(first, tool), [0, 'hang']])
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000, deliveredEvents: 2 })
    expect(seen.endedAt).toBe(1000)
  })
})

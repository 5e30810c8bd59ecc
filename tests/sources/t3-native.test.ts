import { describe, expect, it } from 'vitest'
import { classify } from '../../instrumentation/sources/index.ts'
import { nativeTurnId, t3NativeEvent } from '../../instrumentation/sources/t3-native.ts'
import { faultsOfMangled } from './mangled.ts'
import { folded, lines, read, trace } from './read.ts'

const NAME = 't3-native'
const at = '2026-11-30T10:00:00.000Z'
const wrapped = (event: object) => ({ observedAt: at, event })

/** A message of `codex app-server` as T3 logs it. */
const codex = (method: string, payload: object = {}, more: object = {}) => ({
  id: 'e',
  kind: 'notification',
  provider: 'codex',
  threadId: 'T',
  createdAt: at,
  method,
  turnId: 't',
  payload: { threadId: 'c', turnId: 't', ...payload },
  ...more,
})

interface ClaudeMessage {
  type?: string
  subtype?: string
  session_id?: string
  event?: { type: string; delta?: { type: string } }
}

function claude(message: ClaudeMessage) {
  const { type, subtype, event } = message
  const method = ['claude', type, subtype ?? event?.type, subtype ? undefined : event?.delta?.type]
  return wrapped({
    id: 'e',
    kind: 'notification',
    provider: 'claudeAgent',
    createdAt: at,
    method: method.filter((part) => part !== undefined).join('/'),
    providerThreadId: message.session_id,
    turnId: 'of-t3',
    payload: message,
  })
}
const claudeDelta = (delta: object, more: object = {}) =>
  claude({
    type: 'stream_event',
    session_id: 's',
    event: { type: 'content_block_delta', delta: delta as { type: string } },
    ...more,
  })

/** An event of OpenCode, as most adapters log it. */
const opencode = (event: { type: string; properties: object }, more: object = {}) =>
  wrapped({
    provider: 'opencode',
    threadId: 'T',
    providerThreadId: 'o',
    type: event.type,
    turnId: 'of-t3',
    payload: event,
    ...more,
  })
const opencodeDelta = {
  type: 'message.part.delta',
  properties: { sessionID: 'o', messageID: 'm', partID: 'p', delta: 'hi' },
}
const part = (more: object) => ({
  type: 'message.part.updated',
  properties: { sessionID: 'o', part: { sessionID: 'o', messageID: 'm', ...more } },
})

const acpEnvelope = (kind: string, more: object) =>
  wrapped({ id: 'e', kind, provider: 'cursor', createdAt: at, threadId: 'T', ...more })
const acpLog = (direction: 'incoming' | 'outgoing', stage: string, payload: unknown) =>
  acpEnvelope('protocol', { payload: { direction, stage, payload } })
const acpUpdate = (sessionUpdate: string, more: object = {}) => ({ sessionId: 's', update: { sessionUpdate, ...more } })
const chunk = acpUpdate('agent_message_chunk', { content: { type: 'text', text: 'hi' } })
const thought = acpUpdate('agent_thought_chunk', { content: { type: 'text', text: 'hm' } })
/** A message as T3's RPC library has it. */
const rpc = (tag: string, payload: object, id = '') => ({ _tag: 'Request', id, tag, payload, headers: [] })
const exit = (requestId: string, value: object) => ({ _tag: 'Exit', requestId, exit: { _tag: 'Success', value } })
const acpRequest = (method: string, status: string, more: object = {}) =>
  acpEnvelope('request', { payload: { method, status, request: { valueType: 'object', fieldCount: 2 }, ...more } })
const acpNotice = (payload: object, method = 'session/update') => acpEnvelope('notification', { method, payload })

const pi = (payload: { type: string }) =>
  wrapped({
    id: 'e',
    kind: 'notification',
    provider: 'pi',
    createdAt: at,
    method: payload.type,
    threadId: 'T',
    payload,
  })
const piDelta = (type: string, delta: string) => ({
  type: 'message_update',
  assistantMessageEvent: { type, contentIndex: 0, delta },
})

const canonical = (type: string, payload: object, more: object = {}) => ({
  eventId: 'e',
  provider: 'cursor',
  threadId: 'T',
  createdAt: at,
  turnId: 'of-t3',
  type,
  payload,
  ...more,
})

describe('beside canonical events, one write is', () => {
  it.each([
    ['Codex, text', codex('item/agentMessage/delta', { delta: 'hi' }), 'text'],
    ['Codex, reasoning', codex('item/reasoning/textDelta', { delta: 'hm' }), 'reasoning'],
    ['Codex, a whole message', codex('item/completed', { item: { id: 'i', type: 'agentMessage' } }), 'text'],
    ['Codex, a plan', codex('turn/plan/updated', { plan: [] }), 'text'],
    [
      'Codex, as it was on the wire',
      { method: 'item/agentMessage/delta', params: { threadId: 'c', turnId: 't', delta: 'x' } },
      'text',
    ],
    ['Claude, text', claudeDelta({ type: 'text_delta', text: 'hi' }), 'text'],
    ['Claude, thinking', claudeDelta({ type: 'thinking_delta', thinking: 'hm' }), 'reasoning'],
    ['Claude, arguments', claudeDelta({ type: 'input_json_delta', partial_json: '{' }), 'tool-args'],
    ['OpenCode, a delta', opencode(opencodeDelta), 'text'],
    [
      'OpenCode, by its method',
      wrapped({ provider: 'opencode', method: opencodeDelta.type, payload: opencodeDelta }),
      'text',
    ],
    ['OpenCode, bare', opencodeDelta, 'text'],
    ['OpenCode, a reasoning part', opencode(part({ type: 'reasoning', text: 'hm', time: { start: 1 } })), 'reasoning'],
    [
      'OpenCode, arguments that begin',
      opencode(part({ type: 'tool', callID: 'c', state: { status: 'pending' } })),
      'tool-args',
    ],
    ['ACP, decoded', acpLog('incoming', 'decoded', [rpc('session/update', chunk)]), 'text'],
    [
      'ACP, decoded with others',
      acpLog('incoming', 'decoded', [exit('4', {}), rpc('session/update', thought)]),
      'reasoning',
    ],
    [
      'ACP, as JSON-RPC',
      acpLog('incoming', 'decoded', { jsonrpc: '2.0', method: 'session/update', params: chunk }),
      'text',
    ],
    ['ACP, as the adapter understood it', acpNotice(chunk), 'text'],
    [
      'ACP, under a type of its own',
      wrapped({ provider: 'cline', threadId: 'T', type: 'session.update', payload: chunk }),
      'text',
    ],
    ['ACP, a bare update', chunk, 'text'],
    ['pi, text', pi(piDelta('text_delta', 'hi')), 'text'],
    ['pi, thinking', pi(piDelta('thinking_delta', 'hm')), 'reasoning'],
    ['pi, arguments', pi(piDelta('toolcall_delta', '{')), 'tool-args'],
    [
      'pi, with its type beside',
      { provider: 'pi', threadId: 'T', type: 'message_update', payload: piDelta('text_delta', 'x') },
      'text',
    ],
    ['pi, wrapped only', wrapped(piDelta('text_delta', 'hi')), 'text'],
    ['pi, bare', piDelta('text_delta', 'hi'), 'text'],
    [
      'pi, a whole message',
      pi({ type: 'message_end', message: { role: 'assistant', content: [{ type: 'text' }] } } as { type: string }),
      'text',
    ],
    ['T3 itself', wrapped(canonical('content.delta', { streamKind: 'reasoning_text', delta: 'hm' })), 'reasoning'],
    ['T3 itself, bare', canonical('content.delta', { streamKind: 'assistant_text', delta: 'hi' }), 'text'],
    [
      'wrapped twice',
      wrapped(wrapped(canonical('content.delta', { streamKind: 'assistant_text', delta: 'hi' }))),
      'text',
    ],
  ])('a token: %s', (_, raw, stream) => {
    expect(t3NativeEvent(raw)).toEqual({ kind: 'token', stream })
  })

  it.each([
    ['item/started', codex('item/started', { item: { id: 'i', type: 'commandExecution' } })],
    ['item/completed', codex('item/completed', { item: { id: 'i', type: 'commandExecution' } })],
    ['item/completed', codex('item/completed', { item: { id: 'i', type: 'functionCallOutput' } })],
    [
      'claude/user',
      claude({
        type: 'user',
        session_id: 's',
        message: { content: [{ type: 'tool_result', tool_use_id: 'c' }] },
      } as ClaudeMessage),
    ],
    ['message.part.updated', opencode(part({ type: 'tool', callID: 'c', state: { status: 'running' } }))],
    ['session/update:tool_call', acpNotice(acpUpdate('tool_call', { toolCallId: 'c', status: 'pending' }))],
    ['tool_execution_start', pi({ type: 'tool_execution_start', toolCallId: 'c' } as { type: string })],
    ['content.delta', wrapped(canonical('content.delta', { streamKind: 'command_output', delta: 'x' }))],
    ['rawResponseItem/completed', codex('rawResponseItem/completed', { item: { type: 'constructor' } })],
    ['item.completed', wrapped(canonical('item.completed', { itemType: 'constructor' }))],
    ['item.completed', wrapped(canonical('item.completed', { itemType: 'command_execution' }))],
  ])('progress, under its own name: %s', (what, raw) => {
    expect(t3NativeEvent(raw)).toEqual({ kind: 'progress', what })
  })

  it.each([
    ['turn/started', codex('turn/started', { turn: { id: 't' } })],
    ['turn/completed', codex('turn/completed', { turn: { id: 't', status: 'failed' } })],
    ['error', codex('error', { error: { message: 'x' } })],
    [
      'item/commandExecution/requestApproval',
      codex('item/commandExecution/requestApproval', {}, { kind: 'request', requestId: 'r' }),
    ],
    ['item/requestApproval/decision', codex('item/requestApproval/decision', {}, { turnId: undefined, payload: {} })],
    ['account/rateLimits/updated', codex('account/rateLimits/updated', {}, { turnId: undefined, payload: {} })],
    ['thread/tokenUsage/updated', codex('thread/tokenUsage/updated')],
    [
      'hook/started',
      codex('hook/started', {}, { turnId: undefined, payload: { threadId: 'c', turnId: null, run: { id: 'h' } } }),
    ],
    [
      'thread/realtime/outputAudio/delta',
      codex('thread/realtime/outputAudio/delta', {}, { turnId: undefined, payload: {} }),
    ],
    ['claude/rate_limit_event', claude({ type: 'rate_limit_event', session_id: 's' })],
    ['claude/result/success', claude({ type: 'result', subtype: 'success', session_id: 's' })],
    [
      'claude/system/status',
      claude({ type: 'system', subtype: 'status', status: 'compacting', session_id: 's' } as ClaudeMessage),
    ],
    ['claude/stream_event/content_block_delta/text_delta', claudeDelta({ type: 'text_delta', text: '' })],
    [
      'claude/stream_event/content_block_delta/text_delta',
      claudeDelta({ type: 'text_delta', text: 'x' }, { parent_tool_use_id: 'task' }),
    ],
    ['session.idle', opencode({ type: 'session.idle', properties: { sessionID: 'o' } })],
    ['message.part.updated', opencode(part({ type: 'text', text: 'what the user wrote' }))],
    ['message.part.delta', opencode(opencodeDelta, { childSessionId: 'kid' })],
    ['session/update:usage_update', acpNotice(acpUpdate('usage_update'))],
    [
      'session/update:agent_message_chunk',
      acpNotice(acpUpdate('agent_message_chunk', { content: { type: 'text', text: '' } })),
    ],
    ['session/request_permission', acpNotice({ sessionId: 's' }, 'session/request_permission')],
    ['response:session/prompt:end_turn', acpLog('incoming', 'decoded', [exit('4', { stopReason: 'end_turn' })])],
    ['acp', acpLog('incoming', 'decoded', { valueType: 'array', itemCount: 1 })],
    ['acp', acpLog('incoming', 'decoded', { valueType: 'object', messageTag: 'Request', method: 'session/update' })],
    ['agent_end', pi({ type: 'agent_end', messages: [] } as { type: string })],
    ['compaction_start', pi({ type: 'compaction_start' })],
    ['message_update', pi(piDelta('text_delta', ''))],
    ['turn.completed', wrapped(canonical('turn.completed', { state: 'failed' }))],
    ['thread.token-usage.updated', canonical('thread.token-usage.updated', {})],
  ])('a side event, under its own name: %s', (what, raw) => {
    expect(t3NativeEvent(raw)).toEqual({ kind: 'side', what })
  })

  it.each([
    [
      'the text of a decoded message',
      acpLog('incoming', 'raw', `${JSON.stringify({ method: 'session/update', params: chunk })}\n`),
    ],
    ['what could not be decoded', acpLog('incoming', 'decode_failed', { operation: 'decode-wire-message' })],
    ['a prompt that T3 sent', acpLog('outgoing', 'decoded', rpc('session/prompt', { sessionId: 's' }, '4'))],
    ['its text', acpLog('outgoing', 'raw', '{}')],
    ['what became of it', acpRequest('session/prompt', 'succeeded')],
    ['text', 'no record'],
    ['a number', 7],
    ['null', null],
    ['a list', [codex('item/agentMessage/delta')]],
    ['a wrapper of nothing', undefined],
  ])('nothing: %s', (_, raw) => {
    expect(t3NativeEvent(raw)).toBe(null)
  })
})

describe('an unknown write', () => {
  it('is progress only if it carries the id of a turn, and is no sign of the connection alone', () => {
    expect(t3NativeEvent(codex('item/new/thing'))).toEqual({ kind: 'progress', what: 'unknown' })
    expect(t3NativeEvent(codex('item/heartbeat'))).toEqual({ kind: 'side', what: 'item/heartbeat' })
    expect(t3NativeEvent(codex('thread/new', {}, { turnId: undefined, payload: { threadId: 'c' } }))).toEqual({
      kind: 'side',
      what: 'thread/new',
    })
  })

  it.each([
    ['claude/new_thing', claude({ type: 'new_thing', session_id: 's' })],
    ['cursor/update_todos', acpNotice({}, 'cursor/update_todos')],
    [
      'droid.session_compacted',
      wrapped({
        kind: 'notification',
        provider: 'droid',
        method: 'droid.session_compacted',
        threadId: 'T',
        payload: { type: 'session_compacted' },
      }),
    ],
    [
      'assistant.message_delta',
      {
        provider: 'copilot',
        threadId: 'T',
        type: 'assistant.message_delta',
        payload: { type: 'assistant.message_delta', data: {} },
      },
    ],
    ['never.heard', { type: 'never.heard' }],
    ['unknown', { threadId: 'c', delta: 'x' }],
    ['unknown', {}],
  ])('else it is a side event: %s', (what, raw) => {
    expect(t3NativeEvent(raw)).toEqual({ kind: 'side', what })
  })
})

describe('what is given', () => {
  it('is shared and frozen', () => {
    for (const raw of [
      codex('item/agentMessage/delta'),
      codex('item/new'),
      codex('account/updated'),
      { type: 'new' },
    ]) {
      const event = t3NativeEvent(raw)
      expect(t3NativeEvent({ ...raw })).toBe(event)
      expect(Object.isFrozen(event)).toBe(true)
    }
  })

  it('stays bounded, whatever names come', () => {
    const event = t3NativeEvent({ type: 'x'.repeat(10_000) })
    expect(event).toEqual({ kind: 'side', what: 'x'.repeat(200) })
    const first = t3NativeEvent({ type: 'name-0' })
    for (let i = 1; i <= 1000; i++) t3NativeEvent({ type: `name-${i}` })
    expect(t3NativeEvent({ type: 'name-0' })).not.toBe(first)
    expect(t3NativeEvent({ type: 'name-0' })).toEqual(first)
  })
})

describe('the id of the turn', () => {
  it.each([
    [codex('item/agentMessage/delta', { turnId: 'of-the-child' }), 't'],
    [codex('item/agentMessage/delta', {}, { turnId: undefined }), 't'],
    [codex('turn/started', { turnId: undefined, turn: { id: 'u' } }, { turnId: undefined }), 'u'],
    [{ method: 'item/started', params: { threadId: 'c', turnId: 'v' } }, 'v'],
    [wrapped(canonical('item.started', {})), 'of-t3'],
  ])('is that which the wire names: %j', (raw, turn) => {
    expect(nativeTurnId(raw)).toBe(turn)
  })

  it.each([
    [codex('account/updated', {}, { turnId: undefined, payload: {} })],
    [claude({ type: 'assistant', session_id: 's' })],
    [opencode(opencodeDelta)],
    [acpNotice(chunk)],
    [acpLog('incoming', 'decoded', [rpc('session/update', chunk)])],
    [pi({ type: 'agent_start' })],
    [{}],
    [null],
  ])('is none where only T3 put one beside it: %j', (raw) => {
    expect(nativeTurnId(raw)).toBe(undefined)
  })
})

describe('classes', () => {
  it.each([
    [codex('item/agentMessage/delta'), 'item/agentMessage/delta', 'content'],
    [claude({ type: 'result', subtype: 'success', session_id: 's' }), 'result/success', 'terminal-ok'],
    [opencode({ type: 'session.idle', properties: {} }), 'session.idle', 'terminal-ok'],
    [acpLog('incoming', 'decoded', [rpc('session/update', chunk)]), 'session/update:agent_message_chunk', 'content'],
    [
      acpLog('incoming', 'decoded', [exit('4', { stopReason: 'refusal' })]),
      'response:session/prompt:refusal',
      'terminal-ok',
    ],
    [pi({ type: 'agent_start' }), 'agent_start', 'turn-start'],
    [wrapped(canonical('turn.started', {})), 'turn.started', 'turn-start'],
  ])('are those of the wire inside: %j', (raw, key, of) => {
    expect(classify(NAME, raw)).toMatchObject({ key, class: of })
  })

  it('of what is unknown, or repeats something, are neutral', () => {
    for (const raw of [acpRequest('session/prompt', 'started'), acpLog('incoming', 'raw', '{}'), { type: 'x' }, {}]) {
      expect(classify(NAME, raw)).toEqual({ key: null, class: 'neutral' })
    }
  })
})

interface Recorded extends ClaudeMessage {
  readonly type: string
  readonly method?: string
  readonly params?: object
  readonly properties: object
}

/** The events that came in a recorded run. */
function recorded(file: string): Recorded[] {
  return trace(file).flatMap((raw) => {
    const [event, direction] = Array.isArray(raw) ? raw : [raw, 'in']
    return direction === 'in' ? [event] : []
  })
}

describe('read alone', () => {
  it('a recorded run of Codex is the same turn under the name of T3’s thread', () => {
    const raws = recorded('codex-appserver.jsonl').filter(({ method }) => method !== undefined)
    const logged = raws.map(({ method = '', params = {} }) => codex(method, {}, { turnId: undefined, payload: params }))
    const said = folded(lines(read(NAME, logged)))
    expect(said.map((line) => line.replace(/^T /, '').replace(/turn=\S+/, ''))).toEqual(
      folded(lines(read('codex-app-server', raws))).map((line) => line.replace(/^\S+ /, '').replace(/turn=\S+/, '')),
    )
    expect(said.filter((line) => !line.startsWith('T '))).toEqual([])
    expect(said.at(-1)).toMatch(/^T turn.ended outcome=completed/)
  })

  it('so are one of Claude and one of OpenCode', () => {
    const session = '11111111-1111-4111-8111-111111111111'
    const run = recorded('claude.jsonl')
    expect(lines(read(NAME, run.map(claude)))).toEqual(lines(read('claude-code-stream-json', run)))
    expect(lines(read(NAME, run.map(claude), { thread: 'mine' }))).toEqual(
      lines(read('claude-code-stream-json', run)).map((line) => line.replace(session, 'mine')),
    )
    const events = recorded('opencode-sse.jsonl')
    const bare = lines(read('opencode-sse', events)).map((line) => line.replace(/^\S+/, 'T'))
    expect(
      lines(
        read(
          NAME,
          events.map((event) => opencode(event)),
        ),
      ),
    ).toEqual(bare)
    expect(bare.at(-1)).toBe('T turn.ended outcome=completed')
  })

  it('an approval of Codex waits until T3 logs what was decided', () => {
    const request = codex('item/commandExecution/requestApproval', { itemId: 'i' }, { kind: 'request', requestId: 'r' })
    const decision = codex('item/requestApproval/decision', {}, { requestId: 'r', payload: { decision: 'accept' } })
    expect(lines(read(NAME, [codex('turn/started', { turn: { id: 't' } }), request, decision]))).toEqual([
      'T turn.started provider=codex turn=t',
      'T wait.started id=r reason=approval turn=t',
      'T wait.ended id=r',
    ])
  })

  it('a message of Codex has what T3 put beside it', () => {
    const raws = [
      codex('turn/started', { turn: { id: 't' } }),
      codex('item/agentMessage/delta', {}, { payload: { delta: 'x' } }),
    ]
    expect(lines(read(NAME, raws)).at(-1)).toBe('T token stream=text turn=t')
  })

  it('a session that exits is gone, one that T3 closes ends its turn', () => {
    const start = codex('turn/started', { turn: { id: 't' } })
    const session = (method: string) => codex(method, {}, { kind: 'session', payload: undefined })
    expect(lines(read(NAME, [start, session('session/exited')])).at(-1)).toBe('T exit')
    expect(lines(read(NAME, [start, session('session/closed')])).at(-1)).toBe('T turn.ended outcome=aborted turn=t')
  })

  it('of an ACP log that shows its messages, each counts once', () => {
    const sent = (payload: unknown) => [acpLog('outgoing', 'decoded', payload), acpLog('outgoing', 'raw', '{}')]
    const came = (...messages: object[]) => [acpLog('incoming', 'raw', '{}'), acpLog('incoming', 'decoded', messages)]
    const ask = { sessionId: 's', toolCall: { toolCallId: 'c' }, options: [] }
    expect(
      lines(
        read(NAME, [
          acpRequest('initialize', 'started'),
          ...sent(rpc('initialize', {}, '1')),
          ...came(exit('1', { protocolVersion: 1 })),
          acpRequest('initialize', 'succeeded'),
          acpRequest('session/prompt', 'started'),
          ...sent(rpc('session/prompt', { sessionId: 's' }, '2')),
          ...came(rpc('session/update', thought), rpc('session/update', chunk)),
          acpNotice(chunk),
          ...came(rpc('session/request_permission', ask, '2')),
          acpNotice(ask, 'session/request_permission'),
          ...sent(exit('2', { outcome: { outcome: 'selected', optionId: 'a' } })),
          ...came(exit('2', { stopReason: 'end_turn' })),
          acpRequest('session/prompt', 'succeeded', { result: { stopReason: 'end_turn' } }),
        ]),
      ),
    ).toEqual([
      'T turn.started provider=cursor turn=prompt-2-lfls',
      'T token stream=reasoning turn=prompt-2-lfls',
      'T token stream=text turn=prompt-2-lfls',
      'T wait.started id=2 reason=approval turn=prompt-2-lfls',
      'T wait.ended id=2 turn=prompt-2-lfls',
      'T turn.ended outcome=completed turn=prompt-2-lfls',
    ])
  })

  it('an ACP agent that fails a prompt fails the turn', () => {
    const failed = {
      _tag: 'Exit',
      requestId: '2',
      exit: { _tag: 'Failure', cause: [{ _tag: 'Fail', error: { code: -32603, message: 'lost' } }] },
    }
    const raws = [
      acpLog('outgoing', 'decoded', rpc('session/prompt', { sessionId: 's' }, '2')),
      acpLog('incoming', 'decoded', [failed]),
    ]
    expect(lines(read(NAME, raws)).slice(1)).toEqual([
      'T error message=lost turn=prompt-2-lfls',
      'T turn.ended outcome=error turn=prompt-2-lfls',
    ])
  })

  it('of an ACP log that keeps contents to itself, requests and the adapter tell the turn', () => {
    const size = acpLog('incoming', 'decoded', { valueType: 'array', itemCount: 1 })
    const turn = (...end: object[]) =>
      lines(
        read(NAME, [
          acpRequest('initialize', 'started'),
          acpRequest('initialize', 'succeeded', { result: { valueType: 'object', fieldCount: 3 } }),
          acpRequest('session/load', 'started'),
          acpNotice(chunk),
          acpRequest('session/load', 'succeeded'),
          acpRequest('session/prompt', 'started'),
          acpLog('outgoing', 'decoded', { valueType: 'object', messageTag: 'Request', method: 'session/prompt' }),
          size,
          acpNotice(chunk),
          ...end,
        ]),
      )
    expect(turn(acpRequest('session/prompt', 'succeeded', { result: { valueType: 'object', fieldCount: 1 } }))).toEqual(
      [
        'T turn.started provider=cursor turn=prompt-t3-3-lfls',
        'T token stream=text turn=prompt-t3-3-lfls',
        'T turn.ended outcome=completed turn=prompt-t3-3-lfls',
      ],
    )
    expect(turn(acpRequest('session/prompt', 'failed', { errorTag: 'AcpRequestError' })).slice(-2)).toEqual([
      'T error message=AcpRequestError turn=prompt-t3-3-lfls',
      'T turn.ended outcome=error turn=prompt-t3-3-lfls',
    ])
  })

  it('threads of T3 are kept apart, the first under the name that is given', () => {
    const start = (threadId: string, session: string) => {
      const payload = { threadId: session, turn: { id: `t-${threadId}` } }
      return codex('turn/started', {}, { threadId, turnId: `t-${threadId}`, payload })
    }
    expect(
      lines(read(NAME, [start('A', 'c1'), start('B', 'c2'), start('A', 'kid-of-c1')], { thread: 'mine' })),
    ).toEqual([
      'mine turn.started provider=codex turn=t-A',
      'B turn.started provider=codex turn=t-B',
      'kid-of-c1 turn.started provider=codex turn=t-A',
    ])
  })

  it('T3’s own events speak for themselves', () => {
    const raws = [canonical('turn.started', {}), wrapped(canonical('turn.completed', { state: 'completed' }))]
    expect(lines(read(NAME, raws))).toEqual([
      'T turn.started provider=cursor turn=of-t3',
      'T turn.ended outcome=completed turn=of-t3',
    ])
  })

  it('what is unknown is a side event of its thread, and is counted', () => {
    const unknown: string[] = []
    const options = { onUnclassified: (source: string, type: string) => void unknown.push(`${source} ${type}`) }
    const raws = [
      wrapped({ provider: 'droid', threadId: 'T', method: 'droid.new', payload: {} }),
      { type: 'nobody' },
      {},
      'text',
      [codex('turn/started'), 'out'],
    ]
    expect(read(NAME, raws, options)).toEqual([{ thread: 'T', event: { kind: 'side', what: 'unknown' } }])
    expect(unknown).toEqual(['t3-native droid.new', 't3-native nobody', 't3-native unknown', 't3-native string'])
  })

  it('any value may be missing or of the wrong type', () => {
    const turn = [
      codex('turn/started', { turn: { id: 't' } }),
      codex('item/commandExecution/requestApproval', {}, { kind: 'request', requestId: 'r' }),
      codex('session/closed', {}, { kind: 'session' }),
      claudeDelta({ type: 'text_delta', text: 'hi' }),
      opencode(opencodeDelta),
      wrapped(wrapped(canonical('turn.completed', { state: 'failed' }))),
      pi({ type: 'agent_start' }),
      pi({ type: 'agent_end', messages: [{ role: 'assistant', stopReason: 'error', errorMessage: 'x' }] } as {
        type: string
      }),
    ]
    const acp = [
      acpRequest('session/prompt', 'started'),
      acpNotice(chunk),
      acpRequest('session/prompt', 'failed', { errorTag: 'x' }),
      acpLog('outgoing', 'decoded', rpc('session/prompt', { sessionId: 's' }, '2')),
      acpLog('incoming', 'decoded', [rpc('session/update', chunk), exit('2', { stopReason: 'end_turn' })]),
    ]
    expect(faultsOfMangled(NAME, turn)).toEqual([])
    expect(faultsOfMangled(NAME, acp)).toEqual([])
  })
})

describe('pi', () => {
  const answer = (more: object = {}) => ({
    role: 'assistant',
    model: 'glm',
    content: [{ type: 'text', text: 'hi' }],
    stopReason: 'stop',
    usage: { input: 3, output: 4, cacheRead: 5, cacheWrite: 6 },
    ...more,
  })
  const event = (type: string, more: object = {}) => pi({ type, ...more })
  const end = (message: object, more: object = {}) =>
    event('agent_end', { messages: [{ role: 'user' }, message], ...more })

  it('runs one turn from the start of its agent to the end', () => {
    expect(
      folded(
        lines(
          read(NAME, [
            event('agent_start'),
            event('turn_start'),
            event('message_start', { message: { role: 'user', content: 'do it' } }),
            event('message_end', { message: { role: 'user', content: 'do it' } }),
            event('message_start', { message: answer({ content: [], stopReason: 'pending' }) }),
            pi(piDelta('thinking_delta', 'hm')),
            pi(piDelta('text_start', '')),
            pi(piDelta('text_delta', 'hi')),
            pi(piDelta('text_delta', '')),
            pi(piDelta('toolcall_delta', '{}')),
            event('message_end', { message: answer({ stopReason: 'toolUse' }) }),
            event('tool_execution_start', { toolCallId: 'c', toolName: 'bash', args: {} }),
            event('tool_execution_update', { toolCallId: 'c', toolName: 'bash' }),
            event('tool_execution_end', { toolCallId: 'c', toolName: 'bash', isError: true }),
            event('turn_end'),
            event('message_end', { message: answer({ content: [] }) }),
            end(answer(), { willRetry: false }),
            event('agent_settled', { aborted: false }),
          ]),
        ),
      ),
    ).toEqual([
      'T turn.started provider=pi',
      'T turn.started provider=pi model=glm',
      'T token stream=reasoning',
      'T token stream=text',
      'T token stream=tool-args',
      'T token stream=text',
      'T tool.started id=c name=bash',
      'T tool.ended id=c',
      'T turn.ended outcome=completed',
    ])
  })

  it('tells what its model used', () => {
    const raws = [
      event('agent_start'),
      event('message_end', { message: answer() }),
      event('message_end', { message: answer() }),
      end(answer()),
    ]
    expect(read(NAME, raws).at(-1)?.event).toEqual({
      kind: 'turn.ended',
      outcome: 'completed',
      usage: { inputTokens: 6, outputTokens: 8, cacheReadTokens: 10, cacheWriteTokens: 12 },
    })
  })

  it.each([
    [{ stopReason: 'length' }, ['turn.ended outcome=incomplete']],
    [{ stopReason: 'aborted' }, ['turn.ended outcome=aborted']],
    [
      { stopReason: 'error', errorMessage: '529 overloaded' },
      ['error message=529 overloaded', 'turn.ended outcome=error'],
    ],
  ])('an answer that stopped with %j ends the turn so', (more, expected) => {
    expect(lines(read(NAME, [event('agent_start'), end(answer(more))])).slice(1)).toEqual(
      expected.map((line) => `T ${line}`),
    )
  })

  it('holds a back-off, and fails only when nothing more comes', () => {
    const failed = end(answer({ stopReason: 'error', errorMessage: '529' }), { willRetry: true })
    const retry = event('auto_retry_start', { attempt: 1, maxAttempts: 3, delayMs: 2000, errorMessage: '529' })
    const again = [event('agent_start'), failed, retry]
    expect(lines(read(NAME, [...again, event('agent_start'), end(answer())]))).toEqual([
      'T turn.started provider=pi',
      'T wait.started id=retry reason=retry until=1002000',
      'T turn.started provider=pi',
      'T turn.ended outcome=completed',
    ])
    expect(lines(read(NAME, [...again, event('agent_settled', { aborted: false })])).slice(-2)).toEqual([
      'T error message=529',
      'T turn.ended outcome=error',
    ])
    expect(lines(read(NAME, [...again, event('agent_settled', { aborted: true })])).at(-1)).toBe(
      'T turn.ended outcome=aborted',
    )
  })

  it.each([['compaction'], ['auto_compaction']])('waits for its %s', (name) => {
    expect(lines(read(NAME, [event('agent_start'), event(`${name}_start`), event(`${name}_end`)])).slice(1)).toEqual([
      'T wait.started id=compaction reason=compaction',
      'T wait.ended id=compaction',
    ])
  })

  it('waits for the answer to a question of an extension, which its next step shows', () => {
    const question = (method: string) => event('extension_ui_request', { id: 'q', method })
    const raws = [event('agent_start'), question('notify'), question('confirm'), pi(piDelta('text_delta', 'x'))]
    expect(lines(read(NAME, raws)).slice(1)).toEqual([
      'T wait.started id=q reason=input',
      'T wait.ended id=q',
      'T token stream=text',
    ])
  })

  it('has the name of its session where nobody names the thread, and a name of its own where that is unknown', () => {
    const start = { type: 'agent_start' }
    expect(lines(read(NAME, [{ type: 'session', version: 3, id: 'u' }, start]))).toEqual(['u turn.started provider=pi'])
    expect(lines(read(NAME, [start]))).toEqual(['pi turn.started provider=pi'])
  })
})

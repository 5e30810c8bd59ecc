import { describe, expect, it } from 'vitest'
import { recognise } from '../../instrumentation/sources/index.ts'

const response = { id: 'resp_1', object: 'response', model: 'm' }
const call = { toolCallId: 'c', toolName: 'search', input: {} }
const canonical = { eventId: 'e', provider: 'codex', threadId: 't', createdAt: '2026-01-01T00:00:00Z', payload: {} }
const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params })

describe('a wire format is recognised', () => {
  it.each([
    ['anthropic-messages', { type: 'message_start', message: { id: 'msg_1', type: 'message' } }],
    ['anthropic-messages', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
    ['anthropic-messages', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } }],
    ['anthropic-messages', { type: 'message_delta', delta: { stop_reason: null }, usage: {} }],
    ['openai-responses', { type: 'response.created', response }],
    ['openai-responses', { type: 'response.output_text.delta', sequence_number: 4, item_id: 'm', delta: 'x' }],
    ['openai-responses', { type: 'response.shell_call_command.delta', sequence_number: 4 }],
    ['openrouter-responses', { type: 'response.created', response: { ...response, id: 'gen-1' }, sequence_number: 0 }],
    ['openrouter-responses', { type: 'response.output_text.delta', sequenceNumber: 4, itemId: 'm', delta: 'x' }],
    ['openrouter-responses', { type: 'response.fusion_call.panel.delta', sequence_number: 4, delta: 'x' }],
    ['openai-chat-chunk', { id: 'c', object: 'chat.completion.chunk', choices: [] }],
    ['ai-sdk-fullstream', { type: 'start-step', request: {}, warnings: [] }],
    ['ai-sdk-fullstream', { type: 'text-delta', id: '0', text: 'x' }],
    ['ai-sdk-fullstream', { type: 'reasoning-delta', id: '0', text: '' }],
    ['ai-sdk-fullstream', { type: 'tool-call', ...call }],
    ['ai-sdk-fullstream', { type: 'tool-result', ...call, output: null }],
    ['ai-sdk-fullstream', { type: 'tool-error', ...call, error: 'x' }],
    ['ai-sdk-fullstream', { type: 'finish-step', response: {}, usage: {}, finishReason: 'stop' }],
    ['ai-sdk-fullstream', { type: 'finish', finishReason: 'stop', totalUsage: {} }],
    ['ai-sdk-ui-stream', { type: 'start', messageId: 'm' }],
    ['ai-sdk-ui-stream', { type: 'text-delta', id: '0', delta: 'x' }],
    ['ai-sdk-ui-stream', { type: 'tool-input-start', toolCallId: 'c', toolName: 'search' }],
    ['ai-sdk-ui-stream', { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '' }],
    ['ai-sdk-ui-stream', { type: 'tool-input-available', ...call }],
    ['ai-sdk-ui-stream', { type: 'tool-output-available', toolCallId: 'c', output: 1 }],
    ['acp', rpc('session/update', { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk' } })],
    ['acp', rpc('session/request_permission', { sessionId: 's' })],
    ['acp', rpc('session/prompt', { sessionId: 's', prompt: [] })],
    ['acp', rpc('initialize', { protocolVersion: 1 })],
    ['mcp', rpc('initialize', { protocolVersion: '2025-11-25' })],
    ['mcp', rpc('tools/call', { name: 'x' })],
    ['mcp', rpc('notifications/progress', { progressToken: 1 })],
    ['codex-app-server', rpc('initialize', { clientInfo: {} })],
    ['codex-app-server', { method: 'initialize' }],
    ['codex-app-server', { method: 'turn/started', params: {} }],
    ['t3-canonical', { ...canonical, type: 'turn.started' }],
    ['t3-canonical', { ...canonical, type: 'item.started', payload: { itemType: 'web_search' } }],
    ['t3-native', { observedAt: '2026-01-01T00:00:00Z', event: { method: 'claude/assistant' } }],
    ['codex-exec-json', { type: 'turn.started' }],
    ['claude-code-stream-json', { type: 'assistant', session_id: 's' }],
    ['opencode-run-json', { type: 'text', sessionID: 's' }],
    ['opencode-sse', { type: 'session.idle', properties: {} }],
  ])('%s by %j', (name, raw) => {
    expect(recognise(raw)).toBe(name)
  })
})

it('what cannot be read is not recognised', () => {
  const trap = {
    get type(): string {
      throw new Error('no')
    },
  }
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect([recognise(trap), recognise(proxy)]).toEqual([null, null])
})

describe('what may be something else is not', () => {
  it.each([
    [{ type: 'error' }],
    [{ type: 'error', error: { message: 'x' }, message: 'x', sequence_number: 1 }],
    [{ type: 'ping' }],
    [{ type: 'start' }],
    [{ type: 'start', messageId: '1', queue: 'mail', level: 'info' }],
    [{ type: 'finish', finishReason: 'stop' }],
    [{ type: 'abort' }],
    [{ type: 'message_start' }],
    [{ type: 'message_stop' }],
    [{ type: 'content_block_delta', index: 0 }],
    [{ type: 'text-delta', id: '0' }],
    [{ type: 'text-delta', runId: 'r', payload: { id: '0', text: 'x' } }],
    [{ type: 'tool-call', name: 'x' }],
    [{ type: 'response.completed' }],
    [{ type: 'response.completed', response: { id: 'r' } }],
    [{ type: 'response.never_heard', sequence_number: 1 }],
    [{ type: 'response.created', event_id: 'ev', response: { id: 'r', object: 'realtime.response' } }],
    [{ type: 'response.output_text.delta', event_id: 'ev', response_id: 'r', sequence_number: 1 }],
    [{ object: 'chat.completion', choices: [] }],
    [{ choices: [{ delta: { content: 'x' } }] }],
    [{ error: { message: 'x' } }],
    [{ usage: {} }],
    [{ method: 'tools/call', params: {} }],
    [rpc('ping')],
    [rpc('elicitation/create')],
    [rpc('tasks/get')],
    [rpc('textDocument/didOpen')],
    [rpc('session/update', { sessionId: 's' })],
    [rpc('session/update', { sessionId: 's', update: { sessionUpdate: 'never_heard' } })],
    [rpc('session/prompt')],
    [{ method: 'GET', url: '/' }],
    [{ eventId: 'e', threadId: 't', type: 'turn.paused', createdAt: 'now', provider: 'x' }],
    [{ eventId: 'e', threadId: 't', createdAt: 'now', provider: 'x' }],
    [{ observedAt: 'now', event: 'login' }],
    [{ observedAt: 5, event: {} }],
    [{ level: 'info', msg: 'x', time: 5 }],
    [{}],
    [[]],
    ['[DONE]'],
    [': comment'],
    [null],
  ])('%j', (raw) => {
    expect(recognise(raw)).toBe(null)
  })
})

/**
 * Which wire format a raw event looks like. Any program's output is asked about, so that what might be something else,
 * such as a line of a log, must stay unknown: each answer needs a type that the wire has, and fields that go with it.
 */

import { acpClassifier } from './acp.ts'
import { type Classified, isRaw, type Raw, text } from './classifier.ts'
import { claudeCodeClassifier } from './claude-code.ts'
import { codexAppServerClassifier } from './codex-app-server.ts'
import { codexExecClassifier } from './codex-exec.ts'
import { mcpClassifier } from './mcp.ts'
import { openaiResponsesClassifier, openrouterResponsesClassifier } from './openai-responses.ts'
import { opencodeRunClassifier } from './opencode-run.ts'
import { opencodeSseClassifier } from './opencode-sse.ts'
import type { SourceName } from './source.ts'
import { t3CanonicalClassifier } from './t3-canonical.ts'

/** The wire format that a raw event looks like; null when it is none that we know. */
export function recognise(raw: unknown): SourceName | null {
  try {
    return isRaw(raw) ? ofEvent(raw) : null
  } catch {
    // A hostile event may throw from any of its getters.
    return null
  }
}

function ofEvent(raw: Raw): SourceName | null {
  const method = text(raw.method)
  if (method !== undefined) return ofMethod(method, raw)
  if (raw.object === 'chat.completion.chunk') return 'openai-chat-chunk'
  if (isT3Canonical(raw)) return 't3-canonical'
  const type = text(raw.type)
  if (type === undefined) return text(raw.observedAt) !== undefined && isRaw(raw.event) ? 't3-native' : null
  return ofAgent(type, raw) ?? ofApi(type, raw) ?? ofAiSdk(type, raw)
}

/** JSON-RPC. */
function ofMethod(method: string, raw: Raw): SourceName | null {
  const params = isRaw(raw.params) ? raw.params : {}
  if (knows(codexAppServerClassifier, raw)) return 'codex-app-server'
  if (method === 'initialize') {
    if (typeof params.protocolVersion === 'number') return 'acp'
    return typeof params.protocolVersion === 'string' ? 'mcp' : 'codex-app-server'
  }
  if (isAcp(method, params, raw)) return 'acp'
  return isMcp(method, raw) ? 'mcp' : null
}

function isAcp(method: string, params: Raw, raw: Raw): boolean {
  if (text(params.sessionId) === undefined) return false
  if (method === 'session/update') {
    return isRaw(params.update) && text(params.update.sessionUpdate) !== undefined && knows(acpClassifier, raw)
  }
  return method === 'session/request_permission' || method === 'session/prompt'
}

/** Methods of MCP that no other protocol on JSON-RPC has. */
const MCP_METHOD = /^(tools|resources|prompts|notifications|sampling|roots|logging|completion)\//

function isMcp(method: string, raw: Raw): boolean {
  return raw.jsonrpc === '2.0' && MCP_METHOD.test(method) && knows(mcpClassifier, raw) && !knows(acpClassifier, raw)
}

const T3_FIELDS = ['eventId', 'threadId', 'createdAt', 'provider', 'type'] as const

function isT3Canonical(raw: Raw): boolean {
  return T3_FIELDS.every((field) => text(raw[field]) !== undefined) && knows(t3CanonicalClassifier, raw)
}

function ofAgent(type: string, raw: Raw): SourceName | null {
  if (text(raw.session_id) !== undefined && knows(claudeCodeClassifier, raw)) return 'claude-code-stream-json'
  if (text(raw.sessionID) !== undefined && knows(opencodeRunClassifier, raw)) return 'opencode-run-json'
  if (isRaw(raw.properties) && knows(opencodeSseClassifier, raw)) return 'opencode-sse'
  if (isRaw(raw.payload) && knows(opencodeSseClassifier, raw.payload)) return 'opencode-sse'
  if (/^(thread|turn|item)\./.test(type) && knows(codexExecClassifier, raw)) return 'codex-exec-json'
  return null
}

function ofApi(type: string, raw: Raw): SourceName | null {
  if (isAnthropic(type, raw)) return 'anthropic-messages'
  return type.startsWith('response.') ? ofResponses(raw) : null
}

function isAnthropic(type: string, raw: Raw): boolean {
  switch (type) {
    case 'message_start':
      return isRaw(raw.message) && raw.message.type === 'message' && text(raw.message.id) !== undefined
    case 'message_delta':
      return isRaw(raw.delta) && 'stop_reason' in raw.delta && isRaw(raw.usage)
    case 'content_block_start':
      return typeof raw.index === 'number' && isRaw(raw.content_block) && text(raw.content_block.type) !== undefined
    case 'content_block_delta':
      return typeof raw.index === 'number' && isRaw(raw.delta) && text(raw.delta.type) !== undefined
    default:
      return false
  }
}

function ofResponses(raw: Raw): SourceName | null {
  // The realtime API has events of the same names, each with an id of its own.
  if (raw.event_id !== undefined) return null
  const response = isRaw(raw.response) && raw.response.object === 'response' ? text(raw.response.id) : undefined
  const ofSdk = typeof raw.sequenceNumber === 'number'
  if (!ofSdk && typeof raw.sequence_number !== 'number' && response === undefined) return null
  const isOpenrouter = ofSdk || response?.startsWith('gen-') === true || !knows(openaiResponsesClassifier, raw)
  if (!isOpenrouter) return 'openai-responses'
  return knows(openrouterResponsesClassifier, raw) ? 'openrouter-responses' : null
}

function ofAiSdk(type: string, raw: Raw): SourceName | null {
  if (isFullstream(type, raw)) return 'ai-sdk-fullstream'
  return isUiStream(type, raw) ? 'ai-sdk-ui-stream' : null
}

function isFullstream(type: string, raw: Raw): boolean {
  const isCall = text(raw.toolCallId) !== undefined && text(raw.toolName) !== undefined
  switch (type) {
    case 'text-delta':
    case 'reasoning-delta':
      return text(raw.id) !== undefined && typeof raw.text === 'string'
    case 'start-step':
      return isRaw(raw.request) && Array.isArray(raw.warnings)
    case 'finish-step':
      return isRaw(raw.response) && isRaw(raw.usage) && text(raw.finishReason) !== undefined
    case 'finish':
      return isRaw(raw.totalUsage) && text(raw.finishReason) !== undefined
    case 'tool-call':
      return isCall && 'input' in raw
    case 'tool-result':
      return isCall && 'output' in raw
    case 'tool-error':
      return isCall && 'error' in raw
    default:
      return false
  }
}

const START_FIELDS: ReadonlySet<string> = new Set(['type', 'messageId', 'messageMetadata'])

function isUiStream(type: string, raw: Raw): boolean {
  const call = text(raw.toolCallId)
  switch (type) {
    case 'start':
      return text(raw.messageId) !== undefined && Object.keys(raw).every((key) => START_FIELDS.has(key))
    case 'text-delta':
    case 'reasoning-delta':
      return text(raw.id) !== undefined && typeof raw.delta === 'string'
    case 'tool-input-start':
      return call !== undefined && text(raw.toolName) !== undefined
    case 'tool-input-delta':
      return call !== undefined && typeof raw.inputTextDelta === 'string'
    case 'tool-input-available':
      return call !== undefined && text(raw.toolName) !== undefined && 'input' in raw
    case 'tool-output-available':
      return call !== undefined && 'output' in raw
    default:
      return false
  }
}

function knows(classifier: { classify(raw: Raw): Classified }, raw: Raw): boolean {
  return classifier.classify(raw).key !== null
}

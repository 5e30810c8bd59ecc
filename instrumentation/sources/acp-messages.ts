/** What single messages of the Agent Client Protocol say, without any state. */

import { type Classified, isRaw, type Raw, text } from './classifier.ts'
import { streamOfKind, type TOKEN, type ToolStart } from './source.ts'

/** Whole messages, which version 2 sends again to change something else of them. */
const MESSAGES: ReadonlySet<unknown> = new Set(['agent_message', 'agent_thought', 'session_message'])

const REQUEST_CANCELLED = -32800

export function requestId(raw: Raw): string | undefined {
  return typeof raw.id === 'string' || typeof raw.id === 'number' ? String(raw.id) : undefined
}

/** The name that the table has for an answer, which itself names no method; undefined for one that says nothing. */
export function answerKey(raw: Raw): string | undefined {
  if (requestId(raw) === undefined) return undefined
  if (isRaw(raw.error)) return 'response:session/prompt:error'
  const result = resultOf(raw)
  const stopReason = text(result.stopReason)
  if (stopReason !== undefined) return `response:session/prompt:${stopReason}`
  return isRaw(result.outcome) || text(result.action) !== undefined ? 'response:client-request' : undefined
}

export function resultOf(raw: Raw): Raw {
  return isRaw(raw.result) ? raw.result : {}
}

export function paramsOf(raw: Raw): Raw {
  return isRaw(raw.params) ? raw.params : {}
}

/** The update of a session that a message holds; empty where it holds none. */
export function updateOf(raw: Raw): Raw {
  const { update } = paramsOf(raw)
  return isRaw(update) ? update : {}
}

/** The stream of the model's output in an update of the class `content`; undefined where it is empty. */
export function outputStream(update: Raw, found: Classified): keyof typeof TOKEN | undefined {
  const { content } = update
  if (isRaw(content) && content.type === 'text' && text(content.text) === undefined) return undefined
  if (MESSAGES.has(update.sessionUpdate) && (!Array.isArray(content) || content.length === 0)) return undefined
  return update.sessionUpdate === 'agent_thought' ? 'reasoning' : (streamOfKind(found.kind) ?? 'text')
}

/** The tool call that an update is about; undefined for all other messages. */
export function toolStart(update: Raw): ToolStart[] | undefined {
  const id = text(update.toolCallId)
  return id === undefined ? undefined : [{ id, name: text(update.kind) ?? text(update.title) }]
}

/** The tool call that a request of the agent is about; undefined where it names none. */
export function callOf({ toolCall, toolCallId }: Raw): string | undefined {
  return text(isRaw(toolCall) ? toolCall.toolCallId : toolCallId)
}

/** The model that a session's settings name; agents older than the settings have a field of its own. */
export function modelIn(named: Raw): string | undefined {
  const options = Array.isArray(named.configOptions) ? named.configOptions.filter(isRaw) : []
  const option = options.find(({ category }) => category === 'model') ?? options.find(({ id }) => id === 'model')
  return text(option?.currentValue) ?? (isRaw(named.models) ? text(named.models.currentModelId) : undefined)
}

export function errorMessage(error: unknown): string {
  return (isRaw(error) ? text(error.message) : undefined) ?? 'the agent reported an error'
}

export function isCancellation(error: unknown): boolean {
  return isRaw(error) && error.code === REQUEST_CANCELLED
}

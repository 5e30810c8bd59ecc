/** How T3 logs a Codex app server: parts of each message beside it, and the answers and ends that T3 itself brings about. */

import { isRaw, type Raw, text } from './classifier.ts'
import type { Direction } from './source.ts'

/** What T3 logs when our side has answered a request of the server. */
const ANSWERS: ReadonlySet<string> = new Set(['item/requestApproval/decision', 'item/tool/requestUserInput/answered'])

/** The id of the turn that T3 took a message for; its own before the message's, which a thread of a sub-agent may have. */
export function codexTurn(record: Raw): string | undefined {
  const params = isRaw(record.payload) ? record.payload : isRaw(record.params) ? record.params : {}
  return text(record.turnId) ?? text(params.turnId) ?? (isRaw(params.turn) ? text(params.turn.id) : undefined)
}

/** A record as the message that it was on the wire, with whatever T3 has put beside it. */
export function codexMessage(record: Raw, raw: Raw): { readonly raw: Raw; readonly direction: Direction } {
  const { method } = raw
  const params = isRaw(raw.params) ? raw.params : {}
  const id = record.requestId
  if (ANSWERS.has(String(method))) return { raw: { id, result: params }, direction: 'out' }
  const { threadId } = record
  if (method === 'session/exited') return { raw: { method: 'thread/closed', params: { threadId } }, direction: 'in' }
  if (method === 'session/closed') {
    const turn = { id: record.turnId, status: 'interrupted' }
    return { raw: { method: 'turn/completed', params: { threadId, turn } }, direction: 'in' }
  }
  const isThreadNamed = text(params.threadId) !== undefined || isRaw(params.thread)
  const isTurnNamed = text(params.turnId) !== undefined || isRaw(params.turn)
  const beside = { ...(isThreadNamed ? {} : { threadId }), ...(isTurnNamed ? {} : { turnId: record.turnId }) }
  return { raw: { ...(id === undefined ? {} : { id }), method, params: { ...params, ...beside } }, direction: 'in' }
}

/**
 * How T3 logs a connection of the Agent Client Protocol: each message as text and decoded, in both directions; each
 * request of T3's as `started`, then `succeeded` or `failed`; and once more what an adapter understood. Newer servers
 * keep the contents of the first two out of the log.
 */

import { isRaw, type Raw, text } from './classifier.ts'
import type { Direction } from './source.ts'

/** What the protocol's own logger says: `protocol` a message, `request` what became of a request of T3's. */
export interface AcpLogRecord {
  readonly kind: 'protocol' | 'request'
  readonly payload: Raw
}

export interface AcpMessage {
  readonly raw: Raw
  readonly direction: Direction
}

/** The record of a protocol's logger; null for every other record, which names its method itself. */
export function acpLogRecord({ kind, method, type, payload }: Raw): AcpLogRecord | null {
  if ((kind !== 'protocol' && kind !== 'request') || method !== undefined || type !== undefined) return null
  return isRaw(payload) ? { kind, payload } : null
}

export function isOutgoing({ payload }: AcpLogRecord): boolean {
  return payload.direction === 'outgoing'
}

/** The messages of a record, as they were on the wire; none where it repeats another or keeps its contents to itself. */
export function messagesOf({ kind, payload }: AcpLogRecord): Raw[] {
  if (kind === 'request' || (payload.stage !== undefined && payload.stage !== 'decoded')) return []
  const decoded = payload.payload ?? payload
  const messages: Raw[] = []
  for (const message of Array.isArray(decoded) ? decoded : [decoded]) {
    const raw = isRaw(message) ? jsonRpc(message) : null
    if (raw !== null) messages.push(raw)
  }
  return messages
}

/** A message as the server's RPC library names its parts, or as JSON-RPC does; null for the mere size of one. */
function jsonRpc(message: Raw): Raw | null {
  switch (message._tag) {
    case 'Request': {
      const { id, tag: method, payload: params } = message
      return id === '' ? { method, params } : { id, method, params }
    }
    case 'Exit':
      return { id: message.requestId, ...exitOf(message.exit) }
    case undefined:
      return message.valueType === undefined && (message.method ?? message.id) !== undefined ? message : null
    default:
      return null
  }
}

function exitOf(exit: unknown): Raw {
  if (!isRaw(exit)) return {}
  if (exit._tag === 'Success') return { result: exit.value }
  const [cause] = Array.isArray(exit.cause) ? exit.cause.filter(isRaw) : []
  const error = cause?.error ?? cause?.defect
  return { error: isRaw(error) ? error : {} }
}

/** Makes one stream of messages out of the log of one thread, each message once. */
export class AcpLog {
  /** What the session is called where the log does not show its name. */
  readonly #session: string | undefined
  /** Whether the log shows messages themselves, so that whatever else it says repeats them. */
  #shown = false
  #requests = 0
  /** Methods and ids of T3's requests that are open, where the log shows no messages. */
  #open: { readonly method: string; readonly id: string }[] = []

  constructor(session: string | undefined) {
    this.#session = session
  }

  record(record: AcpLogRecord): AcpMessage[] {
    const direction = isOutgoing(record) ? 'out' : 'in'
    const messages = messagesOf(record)
    if (messages.length > 0) this.#shown = true
    if (record.kind === 'protocol') return messages.map((raw) => ({ raw, direction }))
    return this.#shown ? [] : this.#request(record.payload)
  }

  /** What an adapter logs of its own. */
  notification(raw: Raw): AcpMessage[] {
    if (this.#shown) return []
    const params = isRaw(raw.params) ? raw.params : {}
    return [{ raw: { ...raw, params: { ...params, sessionId: this.#session ?? params.sessionId } }, direction: 'in' }]
  }

  /** A request and its answer, of which only the names are known. */
  #request({ method: named, status, result, cause, errorTag }: Raw): AcpMessage[] {
    const method = text(named)
    if (method === undefined) return []
    if (status === 'started') {
      this.#requests++
      const id = `t3-${this.#requests}`
      this.#open.push({ method, id })
      return [{ raw: { id, method, params: { sessionId: this.#session ?? 'session' } }, direction: 'out' }]
    }
    const at = this.#open.findIndex((open) => open.method === method)
    const [open] = at === -1 ? [] : this.#open.splice(at, 1)
    if (open === undefined) return []
    const message = text(cause) ?? text(errorTag)
    const answer = status === 'failed' ? { error: message === undefined ? {} : { message } } : { result: result ?? {} }
    return [{ raw: { id: open.id, ...answer }, direction: 'in' }]
  }
}

/**
 * What T3's adapters write to its native log: the provider's own events, each adapter in an envelope of its own. Here
 * they are unwrapped, and the wire is found that they came on.
 */

import { acpClassifier } from './acp.ts'
import { type Classified, type Classifier, isRaw, type Raw, text } from './classifier.ts'
import { claudeCodeClassifier } from './claude-code.ts'
import { codexAppServerClassifier } from './codex-app-server.ts'
import { opencodeSseClassifier } from './opencode-sse.ts'
import { piClassifier } from './pi.ts'
import { t3CanonicalClassifier } from './t3-canonical.ts'

/** A wire that adapters of T3 log. */
export type Dialect = 'codex-app-server' | 'claude-code-stream-json' | 'opencode-sse' | 'acp' | 'pi' | 't3-canonical'

const DIALECTS: Readonly<Record<Dialect, Classifier>> = {
  'codex-app-server': codexAppServerClassifier,
  'claude-code-stream-json': claudeCodeClassifier,
  'opencode-sse': opencodeSseClassifier,
  acp: acpClassifier,
  pi: piClassifier,
  't3-canonical': t3CanonicalClassifier,
}

export interface NativeEvent {
  /** Null where the event is of no wire that we know. */
  readonly dialect: Dialect | null
  /** The event as it was on its wire. */
  readonly raw: Raw
  /** Its own name. */
  readonly name: string
}

/** The record inside of `{observedAt, event}`, which some adapters write twice around it; null for what is no record. */
export function unwrapped(raw: unknown): Raw | null {
  let record = raw
  for (let depth = 0; depth < 2 && isRaw(record) && isWrapper(record); depth++) record = record.event
  return isRaw(record) ? record : null
}

/** An event of a stream has a field of that name too, beside its type. */
function isWrapper(record: Raw): boolean {
  return isRaw(record.event) && record.type === undefined && record.method === undefined
}

export function nativeEvent(record: Raw): NativeEvent {
  const payload = isRaw(record.payload) ? record.payload : isRaw(record.params) ? record.params : undefined
  const method = text(record.method)
  if (method !== undefined) return namedByMethod(record, method, payload)
  const type = text(record.type)
  // The logger of a fork takes an update out of its message.
  if (type === undefined) return isAcpUpdate(record) ? acpUpdate(record) : unknown(record, 'unknown')
  if (payload === undefined) return sdkEvent(record, type)
  if (payload.type === type) return sdkEvent(payload, type)
  if (isAcpUpdate(payload)) return acpUpdate(payload)
  return isCanonical(record) ? { dialect: 't3-canonical', raw: record, name: type } : sdkEvent(record, type)
}

function namedByMethod(record: Raw, method: string, payload: Raw | undefined): NativeEvent {
  if (payload !== undefined && method.startsWith('claude/')) {
    return { dialect: 'claude-code-stream-json', raw: payload, name: method }
  }
  if (payload !== undefined && payload.type === method) return sdkEvent(payload, method)
  const raw = { method, params: payload ?? {} }
  if (payload !== undefined && isAcpUpdate(payload)) return { dialect: 'acp', raw, name: method }
  if (isCodex(record, method)) return { dialect: 'codex-app-server', raw, name: method }
  return knows('acp', raw) ? { dialect: 'acp', raw, name: method } : unknown(raw, method)
}

/** An event of an agent's SDK, by fields that go with its type. */
function sdkEvent(raw: Raw, type: string): NativeEvent {
  if (isRaw(raw.properties)) return { dialect: 'opencode-sse', raw, name: type }
  if (text(raw.session_id) !== undefined) return { dialect: 'claude-code-stream-json', raw, name: type }
  return knows('pi', raw) ? { dialect: 'pi', raw, name: type } : unknown(raw, type)
}

export function isCodex(record: Raw, method: string): boolean {
  return record.provider === 'codex' || knows('codex-app-server', { method })
}

/** Some adapters log what they made of the provider's event instead. */
export function isCanonical(record: Raw): boolean {
  return text(record.eventId) !== undefined && isRaw(record.payload) && knows('t3-canonical', record)
}

function isAcpUpdate(params: Raw): boolean {
  return isRaw(params.update) && text(params.update.sessionUpdate) !== undefined
}

function acpUpdate(params: Raw): NativeEvent {
  return { dialect: 'acp', raw: { method: 'session/update', params }, name: 'session/update' }
}

function unknown(raw: Raw, name: string): NativeEvent {
  return { dialect: null, raw, name }
}

function knows(dialect: Dialect, raw: Raw): boolean {
  return DIALECTS[dialect].classify(raw).key !== null
}

/** The class of an event in the table of its wire. */
export function classOf({ dialect, raw }: NativeEvent): Classified {
  return dialect === null ? { key: null, class: 'neutral' } : DIALECTS[dialect].classify(raw)
}

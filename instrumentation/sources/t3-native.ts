/**
 * T3's native log: the events of all its providers, as their adapters write them. Beside T3's canonical events, which
 * say what turns do, they only show that the provider speaks; alone they are read as on their own wires.
 */

import { dropOldest } from '../drop-oldest.ts'
import { type TurnEvent, UNKNOWN } from '../events.ts'
import { outputStream, updateOf } from './acp-messages.ts'
import { type Classified, isRaw, type Raw, text } from './classifier.ts'
import { contentEvent as claudeContent } from './claude-code.ts'
import { TOKEN_ITEMS } from './codex-app-server.ts'
import { partEvent } from './opencode-sse.ts'
import { contentEvent as piContent } from './pi.ts'
import { streamOfKind, TOKEN, unknownEvent } from './source.ts'
import { streamOf as canonicalStream } from './t3-canonical.ts'
import { type AcpLogRecord, acpLogRecord, isOutgoing, messagesOf } from './t3-native-acp.ts'
import { codexTurn } from './t3-native-codex.ts'
import {
  classOf,
  type Dialect,
  isCanonical,
  isCodex,
  type NativeEvent,
  nativeEvent,
  unwrapped,
} from './t3-native-record.ts'

export const t3NativeClassifier = {
  classify(raw: Raw): Classified {
    const record = unwrapped(raw) ?? raw
    const log = acpLogRecord(record)
    const [message] = log === null ? [] : messagesOf(log)
    if (log === null) return classOf(nativeEvent(record))
    return message === undefined ? UNKNOWN_CLASS : classOf({ dialect: 'acp', raw: message, name: '' })
  },
}

const UNKNOWN_CLASS: Classified = { key: null, class: 'neutral' }

/** Names of side events and of progress that are kept as shared objects. */
const MAX_NAMES = 1000
const MAX_NAME_LENGTH = 200

const NAMED = {
  side: new Map<string, TurnEvent>(),
  progress: new Map<string, TurnEvent>(),
}

function named(kind: 'side' | 'progress', name: string): TurnEvent {
  const known = NAMED[kind].get(name)
  if (known !== undefined) return known
  const what = name.slice(0, MAX_NAME_LENGTH)
  const event: TurnEvent = Object.freeze({ kind, what })
  if (what === name) NAMED[kind].set(name, event)
  dropOldest(NAMED[kind], MAX_NAMES)
  return event
}

/**
 * What one native write says beside T3's canonical events: a token, progress or a side event, shared and frozen. It never
 * says that a turn, a tool or a wait begins or ends, nor that anything failed. Null for what must be left out: what T3
 * itself sent, and what repeats another write. Throws what a getter of the event throws.
 */
export function t3NativeEvent(raw: unknown): TurnEvent | null {
  const record = unwrapped(raw)
  if (record === null) return null
  const log = acpLogRecord(record)
  return log === null ? spoken(nativeEvent(record), record) : logged(log)
}

/**
 * The id of the turn that a native write itself names: on Codex's wire, and where an adapter writes canonical events.
 * Undefined for all others. Throws what a getter of the event throws.
 */
export function nativeTurnId(raw: unknown): string | undefined {
  const record = unwrapped(raw)
  if (record === null) return undefined
  const method = text(record.method)
  if (method !== undefined) return isCodex(record, method) ? codexTurn(record) : undefined
  return text(record.type) !== undefined && isCanonical(record) ? text(record.turnId) : undefined
}

/** The strongest of the messages that came together. */
function logged(log: AcpLogRecord): TurnEvent | null {
  const { stage } = log.payload
  if (log.kind === 'request' || isOutgoing(log) || (stage !== undefined && stage !== 'decoded')) return null
  let strongest = named('side', 'acp')
  for (const raw of messagesOf(log)) {
    const event = spoken({ dialect: 'acp', raw, name: text(raw.method) ?? 'response' }, log.payload)
    if (event.kind === 'token') return event
    if (strongest.kind === 'side') strongest = event
  }
  return strongest
}

function spoken(event: NativeEvent, record: Raw): TurnEvent {
  const { dialect, raw } = event
  const found = classOf(event)
  const name = dialect === 'acp' ? (found.key ?? event.name) : event.name
  if (found.key === null) {
    // What carries the turn's own id belongs to it, whatever it may be.
    const isOfTurn = dialect === 'codex-app-server' && codexTurn(record) !== undefined
    return isOfTurn && unknownEvent(name).kind === 'progress' ? named('progress', UNKNOWN) : named('side', name)
  }
  if (dialect === null || isBeside(dialect, raw, record, name)) return named('side', name)
  if (found.class === 'tool-start' || found.class === 'tool-end') {
    return named(found.id?.startsWith('=') ? 'side' : 'progress', name)
  }
  if (found.class !== 'content') return named('side', name)
  const output = outputOf(dialect, raw, found)
  if (output === 'none') return named('side', name)
  return Object.hasOwn(TOKEN, output) ? TOKEN[output as keyof typeof TOKEN] : named('progress', name)
}

/** What does not speak for the turn that runs, though it has its content. */
function isBeside(dialect: Dialect, raw: Raw, record: Raw, name: string): boolean {
  switch (dialect) {
    case 'codex-app-server':
      // Hooks of the session, and its voice.
      return !name.startsWith('item/') && codexTurn(record) === undefined
    case 'claude-code-stream-json':
      return text(raw.parent_tool_use_id) !== undefined
    case 'opencode-sse':
      return text(record.childSessionId) !== undefined || isPrompt(raw)
    default:
      return false
  }
}

/** OpenCode sends the user's own text as it does the model's, but for the time at which that was written. */
function isPrompt({ type, properties }: Raw): boolean {
  const part = isRaw(properties) && isRaw(properties.part) ? properties.part : undefined
  return type === 'message.part.updated' && part?.type === 'text' && part.time === undefined
}

type Output = keyof typeof TOKEN | 'progress' | 'none'

function outputOf(dialect: Dialect, raw: Raw, found: Classified): Output {
  switch (dialect) {
    case 'codex-app-server': {
      const params = isRaw(raw.params) ? raw.params : {}
      const item = isRaw(params.item) ? text(params.item.type) : undefined
      const plan = found.key === 'turn/plan/updated' ? 'text' : undefined
      return streamOfKind(found.kind) ?? plan ?? TOKEN_ITEMS.get(item) ?? 'progress'
    }
    case 'claude-code-stream-json':
      return streamOf(claudeContent(raw, found))
    case 'opencode-sse': {
      const part = isRaw(raw.properties) && isRaw(raw.properties.part) ? raw.properties.part : undefined
      return part === undefined ? (streamOfKind(found.kind) ?? 'text') : streamOf(partEvent(part))
    }
    case 'acp':
      return outputStream(updateOf(raw), found) ?? 'none'
    case 'pi':
      return streamOf(piContent(raw, found))
    default:
      return canonicalStream(found, isRaw(raw.payload) ? raw.payload : {}) ?? 'progress'
  }
}

function streamOf(event: TurnEvent): Output {
  if (event.kind === 'token') return event.stream
  return event.kind === 'side' ? 'none' : 'progress'
}

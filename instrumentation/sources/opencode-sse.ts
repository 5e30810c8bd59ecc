/** Events of an OpenCode server: all sessions of a directory on one stream, no turn ids, several idle/busy cycles a turn. */

import { dropOldest } from '../drop-oldest.ts'
import { type TurnEvent, UNKNOWN, type Usage } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text, tokensOf } from './classifier.ts'
import { opencodeSseEvents } from './opencode-sse-events.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  RecentSet,
  type Source,
  type SourceOptions,
  streamOfKind,
  ThreadIds,
  TOKEN,
  turnStarted,
} from './source.ts'

const NAME = 'opencode-sse'

export const opencodeSseClassifier = new Classifier(opencodeSseEvents, ['{type}'])

/** Ends that are no failure of the provider: the caller's limit, or a refusal. */
const OWN_LIMITS: ReadonlySet<unknown> = new Set(['MessageOutputLengthError', 'ContentFilterError'])

const MAX_SESSIONS = 1000
const RECENT_MESSAGES = 200

interface Session {
  model?: string | undefined
  parent?: string | undefined
  running: boolean
  usage?: Usage | undefined
}

export class OpencodeSseSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #ids: ThreadIds
  readonly #wallMs: () => number
  readonly #sessions = new Map<string, Session>()
  /** The user's own messages come on the same stream; their text is not the model's. */
  readonly #userMessages = new RecentSet(RECENT_MESSAGES)
  readonly #reasoningParts = new RecentSet(RECENT_MESSAGES)

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#ids = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(given: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (direction === 'out') return
    const raw = isRaw(given) && isRaw(given.payload) ? given.payload : given
    if (!isRaw(raw)) return
    const type = text(raw.type)
    if (type === undefined) return
    const properties = isRaw(raw.properties) ? raw.properties : {}
    const sessionId = sessionOf(type, properties) ?? (type === 'session.error' ? this.#onlyRunning() : undefined)
    // What names no session is a broadcast and speaks for no turn.
    if (sessionId === undefined) return
    const id = this.#ids.of(sessionId)
    const session = this.#session(sessionId)
    learn(session, type, properties)
    const found = opencodeSseClassifier.classify(raw)
    switch (found.class) {
      case 'turn-start':
        if (!session.running) session.usage = undefined
        session.running = true
        emit(id, this.#turnStarted(session))
        return
      case 'content':
        emit(id, this.#contentEvent(properties, found))
        return
      case 'terminal-ok':
      case 'terminal-error':
        this.#ended(session, properties, found, id, emit)
        return
      default:
        this.#other(raw, found, type, session, id, emit)
    }
  }

  #other(raw: Raw, found: Classified, type: string, session: Session, id: string, emit: Emit): void {
    const properties = isRaw(raw.properties) ? raw.properties : {}
    const { info, part } = properties
    if (type === 'message.updated' && isRaw(info) && info.role === 'user') {
      const message = text(info.id)
      if (message !== undefined) this.#userMessages.add(message)
    }
    if (isRaw(part) && part.type === 'reasoning') this.#reasoningParts.add(text(part.id) ?? '')
    if (isRaw(part) && part.type === 'step-finish') session.usage = added(session.usage, part.tokens)
    if (type === 'session.deleted') return emit(id, { kind: 'exit' })
    if (found.key === null) {
      this.#options.onUnclassified?.(NAME, type)
      // All sessions share the stream and turns have no ids, so nothing says that it speaks for the turn.
      return emit(id, { kind: 'side', what: UNKNOWN })
    }
    for (const event of plainEvents(raw, found, this.#wallMs(), toolStart(properties))) emit(id, event)
  }

  #ended(session: Session, properties: Raw, found: Classified, id: string, emit: Emit): void {
    session.running = false
    const error = isRaw(properties.error) ? properties.error : {}
    if (found.class === 'terminal-error' && !OWN_LIMITS.has(error.name)) {
      emit(id, { kind: 'error', message: errorMessage(error) })
    }
    const usage = session.usage ? { usage: session.usage } : {}
    // What still comes of an aborted turn may end once more.
    session.usage = undefined
    emit(id, { kind: 'turn.ended', outcome: found.outcome ?? 'error', ...usage })
  }

  #contentEvent(properties: Raw, found: Classified): TurnEvent {
    const part = isRaw(properties.part) ? properties.part : undefined
    const message = text(part?.messageID) ?? text(properties.messageID)
    if (message !== undefined && this.#userMessages.has(message)) return { kind: 'side', what: 'user-message' }
    if (part !== undefined) return partEvent(part)
    const reasons =
      this.#reasoningParts.has(text(properties.partID) ?? '') || found.key === 'session.next.reasoning.ended'
    if (reasons) return TOKEN.reasoning
    return TOKEN[streamOfKind(found.kind) ?? 'text']
  }

  #onlyRunning(): string | undefined {
    const running = [...this.#sessions].filter(([, session]) => session.running)
    return running.length === 1 ? running[0]?.[0] : undefined
  }

  #session(id: string): Session {
    let session = this.#sessions.get(id)
    if (session === undefined) {
      session = { running: false }
      this.#sessions.set(id, session)
      dropOldest(this.#sessions, MAX_SESSIONS)
    }
    return session
  }

  #turnStarted({ model = this.#options.model, parent = this.#options.parent }: Session): TurnEvent {
    return turnStarted('opencode', { model, parent })
  }
}

function sessionOf(type: string, properties: Raw): string | undefined {
  const { info, part } = properties
  return (
    text(properties.sessionID) ??
    (isRaw(info) ? (text(info.sessionID) ?? (type.startsWith('session.') ? text(info.id) : undefined)) : undefined) ??
    (isRaw(part) ? text(part.sessionID) : undefined)
  )
}

/** Model and parent stand in the session and in its messages. */
function learn(session: Session, type: string, properties: Raw): void {
  const info = isRaw(properties.info) ? properties.info : {}
  const model = isRaw(info.model) ? info.model : {}
  session.model = text(info.modelID) ?? text(model.modelID) ?? text(model.id) ?? session.model
  if (type.startsWith('session.')) session.parent = text(info.parentID) ?? session.parent
}

export function partEvent(part: Raw): TurnEvent {
  if (part.type === 'reasoning') return TOKEN.reasoning
  if (part.type === 'text') return TOKEN.text
  if (part.type === 'tool') return TOKEN['tool-args']
  return { kind: 'progress', what: `part-${text(part.type) ?? UNKNOWN}` }
}

function toolStart(properties: Raw) {
  const part = isRaw(properties.part) ? properties.part : {}
  const id = text(part.callID)
  return id === undefined ? undefined : [{ id, name: text(part.tool) }]
}

function errorMessage(error: Raw): string {
  const data = isRaw(error.data) ? error.data : {}
  return text(data.message) ?? text(error.message) ?? text(error.name) ?? 'the session reported an error'
}

/** Usage with one step's tokens on top. */
export function added(usage: Usage | undefined, tokens: unknown): Usage | undefined {
  if (!isRaw(tokens)) return usage
  const cache = isRaw(tokens.cache) ? tokens.cache : {}
  return {
    inputTokens: (usage?.inputTokens ?? 0) + tokensOf(tokens.input),
    outputTokens: (usage?.outputTokens ?? 0) + tokensOf(tokens.output),
    cacheReadTokens: (usage?.cacheReadTokens ?? 0) + tokensOf(cache.read),
    cacheWriteTokens: (usage?.cacheWriteTokens ?? 0) + tokensOf(cache.write),
  }
}

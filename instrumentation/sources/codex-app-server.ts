/** `codex app-server`: JSON-RPC with turn ids, several threads on one connection. */

import { dropOldest } from '../drop-oldest.ts'
import { type TurnEvent, UNKNOWN, type Usage, withTurn } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text, tokensOf } from './classifier.ts'
import { codexAppServerEvents } from './codex-app-server-events.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type Source,
  type SourceOptions,
  streamOfKind,
  ThreadIds,
  TOKEN,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'codex-app-server'

export const codexAppServerClassifier = new Classifier(codexAppServerEvents, ['{method}'])

/** Items that carry model text, reasoning, a plan or a tool call; every other item is progress. */
export const TOKEN_ITEMS: ReadonlyMap<string | undefined, 'text' | 'reasoning' | 'tool-args'> = new Map([
  ['agentMessage', 'text'],
  ['plan', 'text'],
  ['reasoning', 'reasoning'],
  ['message', 'text'],
  ['function_call', 'tool-args'],
  ['custom_tool_call', 'tool-args'],
  ['local_shell_call', 'tool-args'],
])

/** What is known of a thread from other messages than the turn's own. */
interface Thread {
  model?: string | undefined
  parent?: string | undefined
  turn?: string | undefined
  usage?: Usage | undefined
  /** Tokens of all its model calls, as the wire last counted them. */
  total?: number
}

/** Threads, and open requests, remembered on one connection. */
const MAX_REMEMBERED = 1000

export class CodexAppServerSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #ids: ThreadIds
  readonly #wallMs: () => number
  readonly #threads = new Map<string, Thread>()
  /** Threads of the server's requests that our side has not answered, by request id. */
  readonly #requests = new Map<string, string>()
  /** Threads of our prompts that the server has not answered, by request id. */
  readonly #prompts = new Map<string, string>()
  #tokens: { turn: string; of: Record<'text' | 'reasoning' | 'tool-args', TurnEvent> } | undefined

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#ids = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw)) return
    if (direction === 'out') return this.#sent(raw, emit)
    const method = text(raw.method)
    if (method === undefined) return this.#answered(raw, emit)
    const params = isRaw(raw.params) ? raw.params : {}
    if (isRaw(params.thread)) this.#know(params.thread, undefined)
    const session = sessionOf(params)
    // What names no thread is a broadcast and speaks for no turn.
    if (session === undefined) return
    const id = this.#ids.of(session)
    const thread = this.#thread(session)
    const turn = text(params.turnId) ?? (isRaw(params.turn) ? text(params.turn.id) : undefined)
    const found = codexAppServerClassifier.classify(raw)
    const send = (event: TurnEvent) => emit(id, withTurn(event, turn))
    switch (found.class) {
      case 'turn-start':
        thread.turn = turn
        thread.usage = undefined
        send(this.#turnStarted(thread))
        return
      case 'content':
        this.#content(params, found, turn, id, emit)
        return
      case 'terminal-ok':
      case 'terminal-error':
        if (found.class === 'terminal-error') send({ kind: 'error', message: errorMessage(params) })
        send({
          kind: 'turn.ended',
          outcome: found.outcome ?? 'error',
          ...(thread.usage ? { usage: thread.usage } : {}),
        })
        thread.turn = undefined
        thread.usage = undefined
        return
      default:
        if (found.key === null) return this.#unknown(method, turn, id, emit)
        if (found.key === 'thread/closed') return send({ kind: 'exit' })
        if (found.key === 'thread/tokenUsage/updated') addUsage(thread, params.tokenUsage)
        // Turns have ids on this wire; a tool without one (a hook of the session) belongs to none.
        if (found.class === 'tool-start' && turn === undefined) return send({ kind: 'side', what: method })
        if (found.class === 'wait-start' && text(found.id) === 'id') remember(this.#requests, String(raw.id), session)
        for (const event of plainEvents(raw, found, this.#wallMs(), toolStart(params))) send(event)
    }
  }

  /** What our side sent: requests, and the replies that end the server's waits. */
  #sent(raw: Raw, emit: Emit): void {
    const params = isRaw(raw.params) ? raw.params : {}
    const session = sessionOf(params)
    if (raw.method === 'turn/start' && session !== undefined) {
      remember(this.#prompts, String(raw.id), session)
      emit(this.#ids.of(session), { kind: 'turn.requested' })
    }
    if (raw.method === 'turn/interrupt' && session !== undefined) {
      const turn = text(params.turnId)
      emit(this.#ids.of(session), { kind: 'interrupt.requested', ...(turn === undefined ? {} : { turn }) })
    }
    if (raw.method !== undefined || raw.id === undefined) return
    const request = String(raw.id)
    const asked = this.#requests.get(request)
    if (asked === undefined) return
    this.#requests.delete(request)
    emit(this.#ids.of(asked), { kind: 'wait.ended', id: request })
  }

  /** The answer to a request of ours may tell a thread's model, or that no turn will come of a prompt. */
  #answered(raw: Raw, emit: Emit): void {
    const result = isRaw(raw.result) ? raw.result : {}
    const session = this.#prompts.get(String(raw.id))
    if (session !== undefined) {
      this.#prompts.delete(String(raw.id))
      if (isRaw(raw.error)) emit(this.#ids.of(session), { kind: 'error', message: errorMessage(raw) })
    }
    if (isRaw(result.thread)) this.#know(result.thread, text(result.model))
  }

  #know(about: Raw, model: string | undefined): void {
    const session = text(about.id)
    if (session === undefined) return
    const thread = this.#thread(session)
    thread.model = model ?? text(about.model) ?? thread.model
    thread.parent = text(about.parentThreadId) ?? thread.parent
  }

  #thread(session: string): Thread {
    const thread = this.#threads.get(session) ?? {}
    remember(this.#threads, session, thread)
    return thread
  }

  #turnStarted({ model = this.#options.model, parent = this.#options.parent }: Thread): TurnEvent {
    return turnStarted('codex', { model, parent })
  }

  #content(params: Raw, found: Classified, turn: string | undefined, id: string, emit: Emit): void {
    // Turns have ids on this wire; content without one (realtime audio) belongs to none.
    if (turn === undefined) return emit(id, { kind: 'side', what: found.key ?? UNKNOWN })
    const item = isRaw(params.item) ? text(params.item.type) : undefined
    const plan = found.key === 'turn/plan/updated' ? 'text' : undefined
    const stream = streamOfKind(found.kind) ?? plan ?? TOKEN_ITEMS.get(item)
    if (stream === undefined) return emit(id, { kind: 'progress', what: found.key ?? UNKNOWN, turn })
    if (this.#tokens?.turn !== turn) {
      const of = (name: 'text' | 'reasoning' | 'tool-args') => Object.freeze({ ...TOKEN[name], turn })
      this.#tokens = { turn, of: { text: of('text'), reasoning: of('reasoning'), 'tool-args': of('tool-args') } }
    }
    emit(id, this.#tokens.of[stream])
  }

  #unknown(method: string, turn: string | undefined, id: string, emit: Emit): void {
    this.#options.onUnclassified?.(NAME, method)
    emit(id, turn === undefined ? { kind: 'side', what: UNKNOWN } : { ...unknownEvent(method), turn })
  }
}

/** Keeps the last of them only. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  dropOldest(map, MAX_REMEMBERED)
}

function sessionOf(params: Raw): string | undefined {
  return (
    text(params.threadId) ?? text(params.conversationId) ?? (isRaw(params.thread) ? text(params.thread.id) : undefined)
  )
}

/** The tool that a message of Codex starts, by its item; undefined where it has none. */
export function toolStart(message: Raw) {
  const item = isRaw(message.item) ? message.item : {}
  const id = text(item.id)
  return id === undefined ? undefined : [{ id, name: text(item.type) }]
}

/** The wire gives each model call's own usage beside the thread's total; after an attempt that failed it repeats both. */
function addUsage(thread: Thread, tokenUsage: unknown): void {
  if (!isRaw(tokenUsage)) return
  const total = isRaw(tokenUsage.total) ? tokensOf(tokenUsage.total.totalTokens) : 0
  if (total > 0 && total === thread.total) return
  thread.total = total
  const last = isRaw(tokenUsage.last) ? tokenUsage.last : {}
  const [read, written] = [tokensOf(last.cachedInputTokens), tokensOf(last.cacheWriteInputTokens)]
  thread.usage = {
    // The wire counts what was read from the cache or written to it as input too.
    inputTokens: (thread.usage?.inputTokens ?? 0) + Math.max(0, tokensOf(last.inputTokens) - read - written),
    outputTokens: (thread.usage?.outputTokens ?? 0) + tokensOf(last.outputTokens),
    cacheReadTokens: (thread.usage?.cacheReadTokens ?? 0) + read,
    cacheWriteTokens: (thread.usage?.cacheWriteTokens ?? 0) + written,
  }
}

function errorMessage(params: Raw): string {
  const turn = isRaw(params.turn) ? params.turn : {}
  const error = isRaw(params.error) ? params.error : isRaw(turn.error) ? turn.error : {}
  return text(error.message) ?? 'the agent reported an error'
}

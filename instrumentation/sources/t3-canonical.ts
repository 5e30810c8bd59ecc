/**
 * T3's own runtime events, which every one of its adapters gives. Turns begin and end by them alone: an event without a
 * turn id belongs to the turn that runs, and opens none.
 */

import { dropOldest } from '../drop-oldest.ts'
import { type TurnEvent, UNKNOWN, type Usage, type WaitReason, withTurn } from '../events.ts'
import { turnUsage } from './anthropic-usage.ts'
import { type Classified, Classifier, entry, isRaw, type Raw, text } from './classifier.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type Source,
  type SourceOptions,
  TOKEN,
  turnStarted,
  unknownEvent,
} from './source.ts'
import { t3CanonicalEvents } from './t3-canonical-events.ts'
import { type ProviderState, providerState } from './t3-provider-state.ts'

const NAME = 't3-canonical'

export const t3CanonicalClassifier = new Classifier(t3CanonicalEvents, [
  '{type}:{payload.streamKind}',
  '{type}:{payload.itemType}',
  '{type}',
])

const MAX_THREADS = 10_000

/** Streams of content that are the model's; others are output of tools. */
const STREAMS: Readonly<Record<string, keyof typeof TOKEN>> = {
  assistant_text: 'text',
  reasoning_text: 'reasoning',
  reasoning_summary_text: 'reasoning',
  plan_text: 'text',
  unknown: 'text',
}

/** Whole items of the model, which adapters without deltas send at their end. */
const TOKEN_ITEMS: Readonly<Record<string, keyof typeof TOKEN>> = {
  assistant_message: 'text',
  plan: 'text',
  reasoning: 'reasoning',
}

/** Requests that are no question to a person's approval. */
const REQUEST_REASONS: Readonly<Record<string, WaitReason>> = {
  auth_tokens_refresh: 'auth',
  tool_user_input: 'input',
}

/** An item that is over does not run on. */
const OVER: ReadonlySet<unknown> = new Set(['completed', 'failed', 'declined'])

/** What newer servers call a task that was killed, and one that pauses. */
const TASK_OVER: ReadonlySet<unknown> = new Set(['cancelled', 'idle'])

/** Tasks that are no agents: they run beside the turn, and some as long as the session. */
const BACKGROUND_TASKS: ReadonlySet<unknown> = new Set(['monitor', 'monitor_mcp', 'local_bash', 'shell', 'dream'])

/** The compaction of a provider that does not show it as an item, and what it waits for before it tries again. */
const COMPACTION = 'compaction'
const RETRY = 'retry'

/** Ends that the caller's own limits caused, as Claude's adapter names them. */
const OWN_LIMIT = /max_turns|max_budget|max_structured_output|refusal/

interface Thread {
  /** The turn that runs; undefined between turns, null while it has no id. */
  turn: string | null | undefined
  /** The tokens of that turn, made once. */
  tokens: Readonly<Record<keyof typeof TOKEN, TurnEvent>>
  /** The compaction that is open. */
  compaction: string | undefined
  /** The tasks that are open, and how the model waits for them. */
  readonly tasks: Map<string, WaitReason>
  /** Whether the model is called beside them: they do not explain its silence then. */
  isCalling: boolean
  /** The last turns that ended, whose late events start nothing. */
  ended: readonly string[]
  /** The last turns whose end came before their start. */
  overtaken: readonly string[]
}

const ENDED_TURNS = 4

export class T3CanonicalSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #wallMs: () => number
  readonly #threads = new Map<string, Thread>()

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#wallMs = options.wallMs ?? Date.now
  }

  /** The id of the turn that runs in a thread: null while it has none, undefined where none runs. */
  runningTurn(threadId: string): string | null | undefined {
    return this.#threads.get(threadId)?.turn
  }

  /** A turn that the host knows to run, though its start was not seen. False where its end was. */
  resume(threadId: string, turn: string): boolean {
    const thread = this.#thread(threadId)
    if (thread.ended.includes(turn) || thread.overtaken.includes(turn)) return false
    if (thread.turn !== turn) this.#begin(thread, turn)
    return true
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || direction === 'out') return
    const type = text(raw.type)
    const threadId = this.#options.thread ?? text(raw.threadId)
    if (type === undefined || threadId === undefined) return
    const thread = this.#thread(threadId)
    const named = text(raw.turnId)
    const found = t3CanonicalClassifier.classify(raw)
    const payload = isRaw(raw.payload) ? raw.payload : {}
    if (named !== undefined && thread.overtaken.includes(named)) {
      return emit(threadId, { kind: 'side', what: type, turn: named })
    }
    if (found.class === 'turn-start') {
      if (named === undefined || named !== thread.turn) this.#begin(thread, named ?? null)
      emit(threadId, withTurn(this.#turnStarted(raw, payload), named))
      return
    }
    if (named === undefined && thread.turn === undefined) return this.#stray(type, found, threadId, emit)
    // Its turn may have begun before we looked.
    if (named !== undefined && thread.turn === undefined && !thread.ended.includes(named) && startsTurn(found)) {
      this.#begin(thread, named)
    }
    const turn = named ?? thread.turn ?? undefined
    const send = (event: TurnEvent) => emit(threadId, withTurn(event, turn))
    switch (found.class) {
      case 'content':
        if (found.key === 'task.updated' && TASK_OVER.has(payload.status)) {
          return this.#wait(raw, payload, { ...found, class: 'wait-end' }, thread, send)
        }
        return this.#content(raw, payload, found, thread, turn, send)
      case 'tool-start':
      case 'tool-end':
        for (const event of toolEvents(raw, payload, found)) send(event)
        if (isToolResult(found) && turn === (thread.turn ?? undefined)) this.#callsAgain(thread, send)
        return
      case 'wait-start':
      case 'wait-end':
        this.#wait(raw, payload, found, thread, send)
        return
      case 'terminal-ok':
      case 'terminal-error':
        this.#terminal(raw, payload, found, thread, named, send)
        return
      default:
        if (found.key === null) {
          this.#options.onUnclassified?.(NAME, type)
          const isOwn = named !== undefined && named === thread.turn
          return send(isOwn ? unknownEvent(type) : { kind: 'side', what: UNKNOWN })
        }
        if (this.#providerIs(providerState(type, payload), thread, send)) return
        for (const event of plainEvents(raw, found, this.#wallMs())) send(event)
    }
  }

  /** Says what state the provider is in; false where that is nothing new. */
  #providerIs(state: ProviderState | undefined, thread: Thread, send: (event: TurnEvent) => void): boolean {
    switch (state?.is) {
      case undefined:
        return false
      case 'compacting':
        thread.compaction = COMPACTION
        send({ kind: 'wait.started', id: COMPACTION, reason: 'compaction' })
        return true
      case 'compacted':
        if (thread.compaction === undefined) return false
        send({ kind: 'wait.ended', id: thread.compaction })
        thread.compaction = undefined
        return true
      case 'retrying':
        if (state.until === undefined) {
          // The call that a new attempt replaces is over.
          thread.isCalling = false
          send({ kind: 'attempt.started' })
        } else send({ kind: 'wait.started', id: RETRY, reason: 'retry', until: state.until })
        return true
      default:
        state satisfies never
        return false
    }
  }

  #thread(threadId: string): Thread {
    let thread = this.#threads.get(threadId)
    if (thread === undefined) {
      thread = {
        turn: undefined,
        tokens: TOKEN,
        compaction: undefined,
        tasks: new Map(),
        isCalling: false,
        ended: [],
        overtaken: [],
      }
      this.#threads.set(threadId, thread)
      dropOldest(this.#threads, MAX_THREADS, ({ turn }) => turn !== undefined)
    }
    return thread
  }

  #begin(thread: Thread, turn: string | null): void {
    end(thread)
    thread.turn = turn
    thread.compaction = undefined
    thread.tasks.clear()
    thread.isCalling = false
    const of = (stream: keyof typeof TOKEN) => Object.freeze(turn === null ? TOKEN[stream] : { ...TOKEN[stream], turn })
    thread.tokens = { text: of('text'), reasoning: of('reasoning'), 'tool-args': of('tool-args') }
  }

  #turnStarted(raw: Raw, payload: Raw): TurnEvent {
    const model = text(payload.model) ?? this.#options.model
    return turnStarted(text(raw.provider) ?? this.#options.provider ?? 't3', { model, parent: this.#options.parent })
  }

  /** What names no turn while none runs: a word to the thread, or the end of a request that came to nothing. */
  #stray(type: string, found: Classified, threadId: string, emit: Emit): void {
    if (found.key === null) this.#options.onUnclassified?.(NAME, type)
    if (found.class === 'terminal-ok' || found.class === 'terminal-error') {
      emit(threadId, { kind: 'turn.ended', outcome: found.outcome ?? 'completed' })
    } else emit(threadId, { kind: 'side', what: type })
  }

  #content(
    raw: Raw,
    payload: Raw,
    found: Classified,
    thread: Thread,
    turn: string | undefined,
    send: (event: TurnEvent) => void,
  ): void {
    const stream = streamOf(found, payload)
    const isWhole = found.key === 'item.completed'
    const isOfRunning = turn === (thread.turn ?? undefined)
    if (stream === undefined) send({ kind: 'progress', what: found.key ?? UNKNOWN })
    else if (isOfRunning) {
      // A model that speaks has compacted its context, whether the provider says so or not.
      if (thread.compaction === COMPACTION) this.#providerIs({ is: 'compacted' }, thread, send)
      if (thread.tasks.size > 0 && !isWhole) this.#calls(true, thread, send)
      send(thread.tokens[stream])
      if (isWhole) this.#calls(false, thread, send)
    } else send(TOKEN[stream])
    if (found.key?.startsWith('item.updated:') && OVER.has(payload.status)) {
      send({ kind: 'tool.ended', id: itemId(raw, payload) })
      if (isOfRunning) this.#callsAgain(thread, send)
    }
    const task = found.key === 'task.updated' ? text(payload.taskId) : undefined
    if (task !== undefined && (payload.status === 'running' || payload.isBackgrounded === true)) {
      const reason = taskReason(payload)
      thread.tasks.set(task, reason)
      send({ kind: 'wait.started', id: task, reason })
    }
  }

  /** The model is called beside open tasks, or has said all that it began to say. */
  #calls(calls: boolean, thread: Thread, send: (event: TurnEvent) => void): void {
    if (thread.isCalling === calls) return
    thread.isCalling = calls
    send({ kind: 'progress', what: calls ? 'model-call-start' : 'model-call-end' })
  }

  /** What the model waited for is over. Tasks in the background may last as long as the session: it goes on beside them. */
  #callsAgain(thread: Thread, send: (event: TurnEvent) => void): void {
    if (thread.tasks.size === 0) return
    for (const reason of thread.tasks.values()) if (reason !== 'background') return
    this.#calls(true, thread, send)
  }

  #wait(raw: Raw, payload: Raw, found: Classified, thread: Thread, send: (event: TurnEvent) => void): void {
    const id = (found.id === 'payload.taskId' ? text(payload.taskId) : text(raw[found.id ?? ''])) ?? `${found.kind}`
    if (found.kind === 'compaction') thread.compaction = found.class === 'wait-start' ? id : undefined
    if (found.class === 'wait-end') {
      const reason = thread.tasks.get(id)
      thread.tasks.delete(id)
      send({ kind: 'wait.ended', id })
      if (reason === 'subagent') this.#callsAgain(thread, send)
      return
    }
    const reason = waitReason(payload, found)
    if (reason === 'subagent') this.#calls(false, thread, send)
    if (found.kind === 'subagent') thread.tasks.set(id, reason)
    send({ kind: 'wait.started', id, reason })
  }

  #terminal(
    raw: Raw,
    payload: Raw,
    found: Classified,
    thread: Thread,
    named: string | undefined,
    send: (event: TurnEvent) => void,
  ): void {
    const message = errorMessage(payload)
    if (raw.type === 'session.exited') {
      if (found.class === 'terminal-error') return send({ kind: 'exit' })
      end(thread)
      return send({ kind: 'turn.ended', outcome: 'aborted' })
    }
    if (raw.type !== 'turn.completed' && raw.type !== 'turn.aborted') {
      if (isBesideTheTurn(raw, payload)) return send({ kind: 'side', what: String(raw.type) })
      // The turn's own end is still to come, or its next event takes the error back.
      return send({ kind: 'error', message })
    }
    const ownLimit = OWN_LIMIT.test(`${payload.stopReason} ${payload.errorMessage}`)
    if (found.class === 'terminal-error' && !ownLimit) send({ kind: 'error', message })
    send({ kind: 'turn.ended', outcome: found.outcome ?? 'completed', ...usageOf(payload.usage) })
    // The end of an older turn leaves the one that runs as it is.
    const isOlder =
      named !== undefined && named !== thread.turn && (thread.turn !== null || thread.ended.includes(named))
    if (!isOlder) end(thread)
    else if (!thread.ended.includes(named)) thread.overtaken = [...thread.overtaken, named].slice(-ENDED_TURNS)
  }
}

/** T3 passes the provider's own usage on. Only Claude's adapter has one, and it says of itself what was cached. */
function usageOf(usage: unknown): { usage?: Usage } {
  return isRaw(usage) && 'cache_read_input_tokens' in usage ? turnUsage(usage) : {}
}

function end(thread: Thread): void {
  if (typeof thread.turn === 'string') thread.ended = [...thread.ended, thread.turn].slice(-ENDED_TURNS)
  thread.turn = undefined
}

/** Whether what failed is not the turn: a voice channel of the thread, or the mirror of Claude's work folder. */
function isBesideTheTurn({ type, turnId }: Raw, { detail }: Raw): boolean {
  if (type === 'thread.realtime.error') return text(turnId) === undefined
  return type === 'runtime.error' && isRaw(detail) && detail.subtype === 'mirror_error'
}

/** Whether an event shows that its turn runs. */
function startsTurn({ class: of }: Classified): boolean {
  return of === 'content' || of === 'tool-start' || of === 'wait-start'
}

/** Whether the model is given what a tool gave: what hooks give goes to their host. */
function isToolResult({ class: of, kind }: Classified): boolean {
  return of === 'tool-end' && kind === 'item'
}

export function streamOf(found: Classified, payload: Raw): keyof typeof TOKEN | undefined {
  if (found.key?.startsWith('content.delta:')) return entry(STREAMS, payload.streamKind)
  if (found.kind === 'token') return 'text'
  return found.key === 'item.completed' ? entry(TOKEN_ITEMS, payload.itemType) : undefined
}

function* toolEvents(raw: Raw, payload: Raw, found: Classified): Generator<TurnEvent> {
  if (found.kind === 'hook') {
    const id = text(payload.hookId) ?? 'hook'
    if (found.class === 'tool-end') yield { kind: 'tool.ended', id }
    else yield { kind: 'tool.started', id, name: text(payload.hookName) ?? 'hook' }
    return
  }
  const id = itemId(raw, payload)
  if (found.class === 'tool-end') yield { kind: 'tool.ended', id }
  else if (OVER.has(payload.status)) yield { kind: 'progress', what: found.key ?? UNKNOWN }
  else yield { kind: 'tool.started', id, name: text(payload.itemType) ?? 'tool', title: text(payload.title) ?? null }
}

/** Adapters without item ids have one item of a type at a time. */
function itemId(raw: Raw, payload: Raw): string {
  return text(raw.itemId) ?? text(payload.toolUseId) ?? `${payload.itemType}`
}

function waitReason(payload: Raw, found: Classified): WaitReason {
  if (found.kind === 'approval') return entry(REQUEST_REASONS, payload.requestType) ?? 'approval'
  if (found.kind === 'subagent') return taskReason(payload)
  return found.kind === 'compaction' ? 'compaction' : 'input'
}

function taskReason({ isBackgrounded, taskType }: Raw): WaitReason {
  return isBackgrounded === true || BACKGROUND_TASKS.has(taskType) ? 'background' : 'subagent'
}

function errorMessage(payload: Raw): string {
  return text(payload.errorMessage) ?? text(payload.message) ?? text(payload.reason) ?? 'the provider reported an error'
}

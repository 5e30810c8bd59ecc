/** `claude -p --output-format stream-json`, and the messages of the Claude Agent SDK. Sub-agents get turns of their own. */

import { type Outcome, type TurnEvent, UNKNOWN } from '../events.ts'
import { turnUsage } from './anthropic-usage.ts'
import { type Classified, Classifier, isRaw, type Raw, text } from './classifier.ts'
import { claudeCodeEvents } from './claude-code-events.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type Source,
  type SourceOptions,
  streamOfKind,
  ThreadIds,
  TOKEN,
  type ToolStart,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'claude-code-stream-json'
const PROVIDER = 'claudeAgent'

/** The only messages that can belong to a sub-agent; other types use the field for other things. */
const SUBAGENT_TYPES: ReadonlySet<unknown> = new Set(['assistant', 'user', 'stream_event'])

/** Ends that the caller's own limits caused. */
const LIMITS: ReadonlySet<string | null> = new Set([
  'result/error_max_turns',
  'result/error_max_budget_usd',
  'result/error_max_structured_output_retries',
])

const TOOL_BLOCKS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

export const claudeCodeClassifier = new Classifier(claudeCodeEvents, [
  '{type}/{event.type}/{event.delta.type}',
  '{type}/{event.type}/{event.content_block.type}',
  '{type}/{event.type}',
  '{type}/{request.subtype}',
  '{type}/{response.subtype}',
  '{type}/{subtype}',
  '{type}',
])

interface SubAgent {
  readonly threadId: string
  model: string | undefined
}

export class ClaudeCodeSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #threads: ThreadIds
  readonly #wallMs: () => number
  #session: string | undefined
  /** Whether the session has had a turn: a failure before the first is a turn of its own. */
  #started = false
  #running = false
  /** Whether our side asked the running turn to stop. */
  #interrupted = false
  /** Whether our side has sent a prompt before the session had an id. */
  #requested = false
  /** Sub-agents at work, by the id of the tool call that runs them. */
  readonly #subAgents = new Map<string, SubAgent>()

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#threads = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || text(raw.type) === undefined) return
    if (direction === 'out') return this.#sent(raw, emit)
    const session = text(raw.session_id) ?? this.#session
    if (session === undefined) return
    this.#session = session
    const thread = this.#threads.of(session)
    if (this.#requested) {
      this.#requested = false
      emit(thread, { kind: 'turn.requested' })
    }
    const subAgent = SUBAGENT_TYPES.has(raw.type) ? text(raw.parent_tool_use_id) : undefined
    if (subAgent !== undefined) {
      this.#readSubAgent({ ...raw, parent_tool_use_id: null }, thread, subAgent, emit)
      // A sub-agent's tools may run sub-agents of their own.
      this.#endSubAgents(raw, emit)
      return
    }
    const found = claudeCodeClassifier.classify(raw)
    // What an interrupted model had said so far, once more.
    if (raw.type === 'assistant' && raw.aborted === true) return emit(thread, { kind: 'side', what: 'assistant' })
    switch (found.class) {
      case 'turn-start':
        this.#begun()
        emit(thread, this.#turnStarted(text(raw.model)))
        return
      case 'terminal-ok':
      case 'terminal-error':
        this.#ended(raw, found, thread, emit)
        return
      default:
        // Hooks of a session run between its turns too, and are no turn.
        if (found.kind === 'hook' && !this.#running) return emit(thread, { kind: 'side', what: found.key ?? UNKNOWN })
        if (found.class === 'content' || found.class === 'tool-start') this.#begun()
        this.#readCommon(raw, found, thread, emit)
    }
    this.#endSubAgents(raw, emit)
  }

  #begun(): void {
    this.#started = true
    if (!this.#running) this.#interrupted = false
    this.#running = true
  }

  /** What our side wrote to the agent's stdin. The session id in it is not the agent's. */
  #sent(raw: Raw, emit: Emit): void {
    // A prompt that comes while a turn runs is taken into that turn.
    const requests = raw.type === 'user' && !this.#running
    if (this.#session === undefined) {
      this.#requested ||= requests
      return
    }
    const thread = this.#threads.of(this.#session)
    if (requests) emit(thread, { kind: 'turn.requested' })
    if (raw.type === 'control_request' && isRaw(raw.request) && raw.request.subtype === 'interrupt') {
      this.#interrupted = true
      emit(thread, { kind: 'interrupt.requested' })
    }
    const found = claudeCodeClassifier.classify(raw)
    if (found.class === 'wait-end') for (const event of plainEvents(raw, found, this.#wallMs())) emit(thread, event)
  }

  #readCommon(raw: Raw, found: Classified, thread: string, emit: Emit): void {
    if (found.key === null) {
      const type = [raw.type, raw.subtype].filter((part) => text(part)).join('/')
      this.#options.onUnclassified?.(NAME, type)
      emit(thread, unknownEvent(type))
      return
    }
    if (found.class === 'content') {
      emit(thread, contentEvent(raw, found))
      return
    }
    const tools = toolStarts(raw, found)
    if (tools?.length === 0) emit(thread, TOKEN['tool-args'])
    for (const event of plainEvents(raw, found, this.#wallMs(), tools)) emit(thread, event)
  }

  /** Each of its events names its turn, so that one which comes after its end opens no other. */
  #readSubAgent(raw: Raw, parent: string, id: string, emit: Emit): void {
    emit(parent, { kind: 'side', what: 'subagent' })
    // What a sub-agent still says when the turn that ran it is over belongs to nobody.
    if (!this.#running) return
    const threadId = `sub.${parent}.${id}`
    const message = isRaw(raw.message)
      ? raw.message
      : isRaw(raw.event) && isRaw(raw.event.message)
        ? raw.event.message
        : {}
    const model = text(message.model)
    const send = (_thread: string, event: TurnEvent) => emit(threadId, { ...event, turn: id })
    let subAgent = this.#subAgents.get(id)
    if (subAgent === undefined || (subAgent.model === undefined && model !== undefined)) {
      subAgent = { threadId, model }
      this.#subAgents.set(id, subAgent)
      send(threadId, { ...this.#turnStarted(model), parent })
    }
    this.#readCommon(raw, claudeCodeClassifier.classify(raw), threadId, send)
  }

  /** The parent's tool results end the sub-agents that the tools ran. */
  #endSubAgents(raw: Raw, emit: Emit): void {
    if (this.#subAgents.size === 0) return
    for (const block of blocks(raw)) {
      const id = text(block.tool_use_id)
      const subAgent = id === undefined ? undefined : this.#subAgents.get(id)
      if (id === undefined || subAgent === undefined) continue
      this.#subAgents.delete(id)
      emit(subAgent.threadId, {
        kind: 'turn.ended',
        outcome: block.is_error === true ? 'error' : 'completed',
        turn: id,
      })
    }
  }

  #ended(raw: Raw, found: Classified, thread: string, emit: Emit): void {
    for (const [turn, { threadId }] of this.#subAgents) emit(threadId, { kind: 'turn.ended', outcome: 'aborted', turn })
    this.#subAgents.clear()
    this.#running = false
    const stopped = this.#interrupted && found.key === 'result/error_during_execution'
    if (stopped) return emit(thread, { kind: 'turn.ended', outcome: 'aborted', ...turnUsage(raw.usage) })
    const outcome: Outcome = found.outcome ?? 'completed'
    if (found.class === 'terminal-error' && !this.#started) emit(thread, this.#turnStarted(undefined))
    if (found.class === 'terminal-error' && !LIMITS.has(found.key) && raw.stop_reason !== 'refusal') {
      emit(thread, { kind: 'error', message: errorMessage(raw) })
    }
    this.#started = true
    emit(thread, { kind: 'turn.ended', outcome, ...turnUsage(raw.usage) })
  }

  #turnStarted(model: string | undefined): TurnEvent & { kind: 'turn.started' } {
    return turnStarted(PROVIDER, { model: model ?? this.#options.model, parent: this.#options.parent })
  }
}

export function contentEvent(raw: Raw, found: Classified): TurnEvent {
  const stream = streamOfKind(found.kind)
  if (stream !== undefined) return TOKEN[stream]
  if (found.key !== 'assistant') return { kind: 'progress', what: found.key ?? UNKNOWN }
  const reasons = blocks(raw).some((block) => block.type === 'thinking' || block.type === 'redacted_thinking')
  return reasons ? TOKEN.reasoning : TOKEN.text
}

function blocks(raw: Raw): Raw[] {
  const content = isRaw(raw.message) ? raw.message.content : undefined
  return Array.isArray(content) ? content.filter(isRaw) : []
}

/** Names of the tools that an event opens; undefined where the table's id path says all there is. */
function toolStarts(raw: Raw, found: Classified): ToolStart[] | undefined {
  if (found.class !== 'tool-start') return undefined
  const opened =
    found.key === 'assistant'
      ? openedBlocks(raw)
      : isRaw(raw.event) && isRaw(raw.event.content_block)
        ? [raw.event.content_block]
        : undefined
  return opened?.flatMap((block) => {
    const id = text(block.id)
    return id === undefined ? [] : [{ id, name: text(block.name) }]
  })
}

/** A message may hold a tool call together with its result, which leaves nothing open. */
function openedBlocks(raw: Raw): Raw[] {
  const all = blocks(raw)
  const ended = new Set(all.map((block) => block.tool_use_id))
  return all.filter((block) => TOOL_BLOCKS.has(block.type) && !ended.has(block.id))
}

function errorMessage(raw: Raw): string {
  const [first] = Array.isArray(raw.errors) ? raw.errors : []
  return text(raw.result) ?? text(first) ?? text(raw.terminal_reason) ?? 'the agent reported an error'
}

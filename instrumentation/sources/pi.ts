/**
 * The pi coding agent. A turn is one run of its agent, from `agent_start` to the `agent_end` after which it does not try
 * again; its own word `turn` means one answer of the model with the tools that it called.
 */

import { type Outcome, type TurnEvent, UNKNOWN, type Usage } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text, tokensOf } from './classifier.ts'
import { piEvents } from './pi-events.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type SourceOptions,
  streamOfKind,
  TOKEN,
  type ToolStart,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'pi'

export const piClassifier = new Classifier(piEvents, ['{type}:{assistantMessageEvent.type}', '{type}'])

export class PiSource {
  readonly #options: SourceOptions
  readonly #wallMs: () => number
  #session: string | undefined
  #model: string | undefined
  #running = false
  #usage: Usage | undefined
  /** Why the last run ended after which it tries again. */
  #failure: string | undefined
  /** A question of an extension, whose answer the wire may not show. */
  #question: string | undefined

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#model = options.model
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: Raw, emit: Emit, direction: Direction = 'in'): void {
    const type = text(raw.type)
    if (type === undefined) return
    if (type === 'session') this.#session = text(raw.id)
    const thread = this.#options.thread ?? this.#session ?? NAME
    const send = (event: TurnEvent) => emit(thread, event)
    if (direction === 'out') return this.#sent(raw, type, send)
    const found = piClassifier.classify(raw)
    if (found.key === null) {
      this.#options.onUnclassified?.(NAME, type)
      return send(unknownEvent(type))
    }
    this.#learn(raw, type, send)
    switch (found.class) {
      case 'turn-start':
        if (!this.#running) this.#usage = undefined
        this.#running = true
        this.#failure = undefined
        return send(this.#turnStarted())
      case 'content':
        this.#running = true
        this.#answered(send)
        return send(contentEvent(raw, found))
      case 'terminal-ok':
      case 'terminal-error':
        return type === 'agent_end' ? this.#ended(raw, send) : this.#settled(found, send)
      default:
        this.#other(raw, found, type, send)
    }
  }

  #sent(raw: Raw, type: string, send: (event: TurnEvent) => void): void {
    if (type === 'prompt' && !this.#running) send({ kind: 'turn.requested' })
    if (type === 'abort') send({ kind: 'interrupt.requested' })
    if (type === 'extension_ui_response' && raw.id === this.#question) this.#answered(send)
  }

  #other(raw: Raw, found: Classified, type: string, send: (event: TurnEvent) => void): void {
    if (type === 'agent_end') this.#failure = lastAnswer(raw).errorMessage
    if (found.class === 'tool-start' && type === 'tool_execution_start') this.#running = true
    if (found.class === 'tool-start' || found.class === 'tool-end') this.#answered(send)
    if (found.class === 'wait-start') this.#question = text(raw.id)
    if (found.class === 'wait-end') this.#question = undefined
    for (const event of plainEvents(raw, found, this.#wallMs(), toolStart(raw))) send(event)
  }

  #ended(raw: Raw, send: (event: TurnEvent) => void): void {
    const { stopReason, errorMessage } = lastAnswer(raw)
    if (stopReason === 'error') send({ kind: 'error', message: errorMessage ?? 'the agent reported an error' })
    this.#end(OUTCOMES.get(stopReason) ?? 'completed', send)
  }

  /** Nothing more will come: the end of a turn that was to be tried again. */
  #settled({ outcome = 'completed' }: Classified, send: (event: TurnEvent) => void): void {
    if (!this.#running) return send({ kind: 'side', what: 'agent_settled' })
    if (outcome !== 'aborted' && this.#failure !== undefined) {
      send({ kind: 'error', message: this.#failure })
      return this.#end('error', send)
    }
    this.#end(outcome, send)
  }

  #end(outcome: Outcome, send: (event: TurnEvent) => void): void {
    this.#running = false
    this.#question = undefined
    this.#failure = undefined
    const usage = this.#usage ? { usage: this.#usage } : {}
    this.#usage = undefined
    send({ kind: 'turn.ended', outcome, ...usage })
  }

  #answered(send: (event: TurnEvent) => void): void {
    if (this.#question === undefined) return
    send({ kind: 'wait.ended', id: this.#question })
    this.#question = undefined
  }

  /** Messages of the model tell its name and what it used. */
  #learn(raw: Raw, type: string, send: (event: TurnEvent) => void): void {
    const message = isRaw(raw.message) && raw.message.role === 'assistant' ? raw.message : undefined
    if (message === undefined) return
    if (type === 'message_end') this.#usage = added(this.#usage, message.usage)
    const model = text(message.model)
    if (model === undefined || model === this.#model) return
    this.#model = model
    if (this.#running) send(this.#turnStarted())
  }

  #turnStarted(): TurnEvent {
    return turnStarted(this.#options.provider ?? NAME, { model: this.#model, parent: this.#options.parent })
  }
}

const OUTCOMES: ReadonlyMap<string | undefined, Outcome> = new Map([
  ['length', 'incomplete'],
  ['aborted', 'aborted'],
  ['error', 'error'],
])

/** How the model's last answer in a run ended. */
function lastAnswer(raw: Raw): { stopReason?: string | undefined; errorMessage?: string | undefined } {
  const messages = Array.isArray(raw.messages) ? raw.messages.filter(isRaw) : []
  const last = messages.findLast(({ role }) => role === 'assistant')
  return { stopReason: text(last?.stopReason), errorMessage: text(last?.errorMessage) }
}

export function contentEvent(raw: Raw, found: Classified): TurnEvent {
  const stream = streamOfKind(found.kind)
  if (stream !== undefined) return TOKEN[stream]
  const content = isRaw(raw.message) && Array.isArray(raw.message.content) ? raw.message.content.filter(isRaw) : []
  // An answer without any output of the model.
  if (content.length === 0) return { kind: 'side', what: found.key ?? UNKNOWN }
  return content.every(({ type }) => type === 'thinking') ? TOKEN.reasoning : TOKEN.text
}

function toolStart(raw: Raw): ToolStart[] | undefined {
  const id = text(raw.toolCallId)
  return id === undefined ? undefined : [{ id, name: text(raw.toolName) }]
}

function added(usage: Usage | undefined, more: unknown): Usage | undefined {
  if (!isRaw(more)) return usage
  return {
    inputTokens: (usage?.inputTokens ?? 0) + tokensOf(more.input),
    outputTokens: (usage?.outputTokens ?? 0) + tokensOf(more.output),
    cacheReadTokens: (usage?.cacheReadTokens ?? 0) + tokensOf(more.cacheRead),
    cacheWriteTokens: (usage?.cacheWriteTokens ?? 0) + tokensOf(more.cacheWrite),
  }
}

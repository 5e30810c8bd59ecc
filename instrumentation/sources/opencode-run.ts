/** `opencode run --format json`: whole items; a tool is shown only when it is finished, so its time looks like silence. */

import type { Outcome, TurnEvent, Usage } from '../events.ts'
import { Classifier, isRaw, text } from './classifier.ts'
import { opencodeRunEvents } from './opencode-run-events.ts'
import { added } from './opencode-sse.ts'
import {
  type Direction,
  type Emit,
  plainEvents,
  type Source,
  type SourceOptions,
  ThreadIds,
  TOKEN,
  turnStarted,
  unknownEvent,
} from './source.ts'

const NAME = 'opencode-run-json'

export const opencodeRunClassifier = new Classifier(opencodeRunEvents, ['{type}'])

const ITEM_STREAM: Readonly<Record<string, 'text' | 'reasoning' | 'tool-args'>> = {
  text: 'text',
  reasoning: 'reasoning',
  tool_use: 'tool-args',
}

export class OpencodeRunSource implements Source {
  readonly name = NAME
  readonly #options: SourceOptions
  readonly #ids: ThreadIds
  readonly #wallMs: () => number
  #session = 'opencode'
  /** Whether there has been a turn: a failure before the first is a turn of its own. */
  #started = false
  #usage: Usage | undefined

  constructor(options: SourceOptions = {}) {
    this.#options = options
    this.#ids = new ThreadIds(options.thread)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || direction === 'out') return
    const type = text(raw.type)
    if (type === undefined) return
    this.#session = text(raw.sessionID) ?? this.#session
    const id = this.#ids.of(this.#session)
    const found = opencodeRunClassifier.classify(raw)
    const part = isRaw(raw.part) ? raw.part : {}
    if (type === 'step_finish') this.#usage = added(this.#usage, part.tokens)
    switch (found.class) {
      case 'turn-start':
        this.#started = true
        emit(id, this.#turnStarted())
        return
      case 'content':
        if (!this.#started) emit(id, this.#turnStarted())
        this.#started = true
        emit(id, TOKEN[ITEM_STREAM[type] ?? 'text'])
        return
      case 'terminal-error':
        if (!this.#started) emit(id, this.#turnStarted())
        this.#started = true
        emit(id, { kind: 'error', message: errorMessage(raw.error) })
        this.#ended(id, found.outcome ?? 'error', emit)
        return
      case 'terminal-ok':
        this.#ended(id, found.outcome ?? 'completed', emit)
        return
      default:
        if (found.key === null) {
          this.#options.onUnclassified?.(NAME, type)
          emit(id, unknownEvent(type))
          return
        }
        for (const event of plainEvents(raw, found, this.#wallMs())) emit(id, event)
    }
  }

  #ended(id: string, outcome: Outcome, emit: Emit): void {
    emit(id, { kind: 'turn.ended', outcome, ...(this.#usage ? { usage: this.#usage } : {}) })
    this.#usage = undefined
  }

  #turnStarted(): TurnEvent {
    return turnStarted('opencode', { ...this.#options, blindTools: true })
  }
}

function errorMessage(error: unknown): string {
  if (!isRaw(error)) return text(error) ?? 'the agent reported an error'
  const data = isRaw(error.data) ? error.data : {}
  return text(data.message) ?? text(error.message) ?? text(error.name) ?? 'the agent reported an error'
}

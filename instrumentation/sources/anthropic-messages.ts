/** The stream of Anthropic's Messages API: each response is a turn. */

import { dropOldest } from '../drop-oldest.ts'
import { type TurnEvent, UNKNOWN, type Usage } from '../events.ts'
import { anthropicMessagesEvents } from './anthropic-messages-events.ts'
import { updated } from './anthropic-usage.ts'
import { type Classified, Classifier, isNonEmpty, isRaw, type Raw, text } from './classifier.ts'
import { ResponseTurns } from './response-turn.ts'
import {
  type Direction,
  type Emit,
  NO_TYPE,
  type Source,
  type SourceOptions,
  streamOfKind,
  unknownEvent,
} from './source.ts'
import { toolEnded, toolStarted } from './tool-events.ts'

const NAME = 'anthropic-messages'

export const anthropicMessagesClassifier = new Classifier(anthropicMessagesEvents, [
  '{type}/{delta.type}',
  '{type}/{content_block.type}',
  '{type}',
])

/** Reasons to stop that leave the answer unfinished. */
const CUT_SHORT: ReadonlySet<unknown> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

/** Id of the wait for a compaction. */
const COMPACTION = 'compaction'

/** Hosted tools remembered whose call the model still writes. */
const MAX_CALLS = 1000

export class AnthropicMessagesSource implements Source {
  readonly name = NAME
  readonly #onUnclassified: SourceOptions['onUnclassified']
  readonly #turns: ResponseTurns
  #cutShort = false
  #usage: Usage | undefined
  /** Starts of hosted tools by their block's place: until that is whole, the silence is the model's. */
  readonly #calls = new Map<unknown, TurnEvent>()
  #compacting = false

  constructor(options: SourceOptions = {}) {
    this.#onUnclassified = options.onUnclassified
    this.#turns = new ResponseTurns('anthropic', options)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || direction === 'out') return
    const type = text(raw.type)
    if (type === undefined) return this.#onUnclassified?.(NAME, NO_TYPE)
    const found = substance(raw, anthropicMessagesClassifier.classify(raw))
    if (this.#compacting && type.startsWith('content_block_')) this.#endCompaction(emit)
    switch (found.class) {
      case 'turn-start':
        this.#begin(isRaw(raw.message) ? raw.message : {}, emit)
        return
      case 'content':
        this.#content(found, emit)
        return
      case 'terminal-ok':
      case 'terminal-error':
        this.#end(raw, found, emit)
        return
      default:
        this.#other(raw, found, type, emit)
    }
  }

  usageSoFar(): Usage | undefined {
    return this.#usage
  }

  #begin(message: Raw, emit: Emit): void {
    const id = text(message.id)
    this.#turns.begin(id, text(message.model), emit, { usage: this.#usage })
    this.#forget()
    this.#usage = updated(undefined, message.usage)
  }

  #content(found: Classified, emit: Emit): void {
    const turn = this.#turns.open(emit)
    const stream = streamOfKind(found.kind)
    const event = stream === undefined ? turn.of({ kind: 'progress', what: found.key ?? UNKNOWN }) : turn.token(stream)
    emit(turn.thread, event)
  }

  #other(raw: Raw, found: Classified, type: string, emit: Emit): void {
    if (type === 'message_delta') {
      this.#usage = updated(this.#usage, raw.usage)
      if (isRaw(raw.delta) && raw.delta.stop_reason != null) this.#cutShort = CUT_SHORT.has(raw.delta.stop_reason)
    }
    const isCompaction = found.key === 'content_block_start/compaction'
    const turn = found.class === 'tool-start' || isCompaction ? this.#turns.open(emit) : this.#turns.current
    if (found.key === null) {
      this.#onUnclassified?.(NAME, type)
      emit(turn.thread, turn.of(unknownEvent(type)))
      return
    }
    if (isCompaction) {
      this.#compacting = true
      emit(turn.thread, turn.of({ kind: 'wait.started', id: COMPACTION, reason: 'compaction' }))
      return
    }
    const event = found.key === 'content_block_stop' ? this.#written(raw.index) : undefined
    emit(turn.thread, turn.of(event ?? this.#block(raw, found, found.key)))
  }

  #block(raw: Raw, found: Classified, what: string): TurnEvent {
    const block = isRaw(raw.content_block) ? raw.content_block : {}
    if (found.class === 'tool-start') {
      this.#calls.set(raw.index, toolStarted(block.id, block.name, what))
      dropOldest(this.#calls, MAX_CALLS)
      return { kind: 'progress', what }
    }
    // The result of a tool that the table does not know yet ends it too.
    if (found.class === 'tool-end' || text(block.tool_use_id) !== undefined) return toolEnded(block.tool_use_id, what)
    return { kind: 'side', what }
  }

  /** The start of the tool whose call is whole; undefined where the block was no call. */
  #written(place: unknown): TurnEvent | undefined {
    const call = this.#calls.get(place)
    this.#calls.delete(place)
    return call
  }

  #endCompaction(emit: Emit): void {
    const { current } = this.#turns
    this.#compacting = false
    emit(current.thread, current.of({ kind: 'wait.ended', id: COMPACTION }))
  }

  #end(raw: Raw, found: Classified, emit: Emit): void {
    const turn = this.#turns.current
    if (found.class === 'terminal-error') turn.fail(errorMessage(raw), this.#usage, emit)
    else turn.end(this.#cutShort ? 'incomplete' : 'completed', this.#usage, emit)
    this.#forget()
  }

  #forget(): void {
    this.#cutShort = false
    this.#usage = undefined
    this.#calls.clear()
    this.#compacting = false
  }
}

/** Deltas with nothing in them say nothing. */
function substance(raw: Raw, found: Classified): Classified {
  const delta = isRaw(raw.delta) ? raw.delta : {}
  const isEmpty =
    (found.key === 'content_block_delta/compaction_delta' &&
      !isNonEmpty(delta.content) &&
      !isNonEmpty(delta.encrypted_content)) ||
    (found.key === 'content_block_delta/signature_delta' && delta.signature === '')
  return isEmpty ? { key: found.key, class: 'neutral' } : found
}

function errorMessage(raw: Raw): string {
  const error = isRaw(raw.error) ? raw.error : {}
  return text(error.message) ?? text(error.type) ?? 'the API reported an error'
}

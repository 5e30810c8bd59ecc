/** The stream of OpenAI's Responses API, which OpenRouter speaks too: each response is a turn. */

import { type TokenStream, type TurnEvent, UNKNOWN } from '../events.ts'
import { type Classified, Classifier, isRaw, type Raw, text, type WireClass } from './classifier.ts'
import { HostedTools } from './hosted-tools.ts'
import { either, openaiUsage } from './openai-fields.ts'
import { openaiResponsesEvents } from './openai-responses-events.ts'
import { openrouterResponsesEvents } from './openrouter-responses-events.ts'
import { type ResponseTurn, ResponseTurns } from './response-turn.ts'
import { streamOfItem } from './responses-items.ts'
import {
  type Direction,
  type Emit,
  NO_TYPE,
  type Source,
  type SourceOptions,
  streamOfKind,
  unknownEvent,
} from './source.ts'
import { toolEnded } from './tool-events.ts'

export const openaiResponsesClassifier = new Classifier(openaiResponsesEvents, ['{type}'])
export const openrouterResponsesClassifier = new Classifier(openrouterResponsesEvents, ['{type}'])

const WIRES = {
  'openai-responses': { classifier: openaiResponsesClassifier, vendor: 'openai' },
  'openrouter-responses': { classifier: openrouterResponsesClassifier, vendor: 'openrouter' },
} as const

/** Id of the wait of a response in the vendor's queue. */
const QUEUE = 'queue'
/** Id of the wait for a compaction that names no item. */
const COMPACTION = 'compaction'

/** What ends the wait for a compaction, and a shell: the response goes on. */
const GOES_ON: ReadonlySet<WireClass> = new Set<WireClass>(['content', 'tool-start', 'tool-end'])

/** Of no class that opens a turn, but only a turn can have them. */
const OPENING: ReadonlySet<string | null> = new Set([
  'response.queued',
  'response.compaction.compacting',
  'response.code_interpreter_call.interpreting',
])

export class ResponsesSource implements Source {
  readonly name: keyof typeof WIRES
  readonly #onUnclassified: SourceOptions['onUnclassified']
  readonly #classifier: Classifier
  readonly #turns: ResponseTurns
  #queued = false
  /** Id of the item that is being compacted. */
  #compacting: string | undefined
  readonly #tools = new HostedTools()

  constructor(name: keyof typeof WIRES, options: SourceOptions = {}) {
    this.name = name
    this.#onUnclassified = options.onUnclassified
    this.#classifier = WIRES[name].classifier
    this.#turns = new ResponseTurns(WIRES[name].vendor, options)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (!isRaw(raw) || direction === 'out') return
    const type = text(raw.type)
    if (type === undefined) return this.#onUnclassified?.(this.name, NO_TYPE)
    const found = substance(raw, this.#classifier.classify(raw))
    const response = isRaw(raw.response) ? raw.response : {}
    const id = text(response.id) ?? text(either(raw, 'response_id', 'responseId'))
    if (found.class === 'turn-start') return this.#begin(id, response, emit)
    const turn = this.#turnOf(id, response, found, emit)
    if (found.key === null) return this.#unknown(type, turn, emit)
    if (turn !== this.#turns.current) return emit(turn.thread, turn.of(lateEvent(found)))
    this.#endWaits(raw, found, turn, emit)
    switch (found.class) {
      case 'content':
        this.#content(raw, found, turn, emit)
        return
      case 'terminal-ok':
        turn.end(found.outcome ?? 'completed', openaiUsage(response.usage), emit)
        this.#forget()
        return
      case 'terminal-error':
        turn.fail(errorMessage(raw, response), openaiUsage(response.usage), emit)
        this.#forget()
        return
      default:
        emit(turn.thread, turn.of(this.#other(raw, found)))
    }
  }

  #begin(id: string | undefined, response: Raw, emit: Emit): void {
    const { current } = this.#turns
    if (this.#turns.begin(id, text(response.model), emit) !== current) this.#forget()
  }

  /** The turn of an event that does not begin one itself. */
  #turnOf(id: string | undefined, response: Raw, found: Classified, emit: Emit): ResponseTurn {
    const { current } = this.#turns
    if (id === undefined || id === current.response || (current.response === undefined && current.begun)) {
      const opens = found.class === 'content' || found.class === 'tool-start' || OPENING.has(found.key)
      return opens ? this.#turns.open(emit) : current
    }
    // Late news of an earlier response must not end the one that runs.
    if (current.running || found.key === null) return this.#turns.late(id)
    this.#begin(id, response, emit)
    return this.#turns.current
  }

  #endWaits(raw: Raw, found: Classified, turn: ResponseTurn, emit: Emit): void {
    if (found.key !== 'response.queued') this.#endQueue(turn, emit)
    if (!GOES_ON.has(found.class)) return
    if (this.#compacting !== undefined) {
      emit(turn.thread, turn.of({ kind: 'wait.ended', id: this.#compacting }))
      this.#compacting = undefined
    }
    const shell = this.#tools.shellEnded(raw, found.key ?? UNKNOWN)
    if (shell !== undefined) emit(turn.thread, turn.of(shell))
  }

  #endQueue(turn: ResponseTurn, emit: Emit): void {
    if (!this.#queued) return
    this.#queued = false
    emit(turn.thread, turn.of({ kind: 'wait.ended', id: QUEUE }))
  }

  #content(raw: Raw, found: Classified, turn: ResponseTurn, emit: Emit): void {
    const what = found.key ?? UNKNOWN
    const item = isRaw(raw.item) ? text(raw.item.id) : undefined
    if (item !== undefined && this.#tools.endedAs(item)) return emit(turn.thread, turn.of(toolEnded(item, what)))
    const stream: TokenStream | undefined = streamOfItem(what, raw) ?? streamOfKind(found.kind)
    emit(turn.thread, stream === undefined ? turn.of({ kind: 'progress', what }) : turn.token(stream))
    const tool = this.#tools.written(raw, what)
    if (tool !== undefined) emit(turn.thread, turn.of(tool))
  }

  #other(raw: Raw, found: Classified): TurnEvent {
    const what = found.key ?? UNKNOWN
    if (found.class === 'tool-start') return this.#tools.started(raw, what)
    if (found.class === 'tool-end') return this.#tools.ended(raw, what)
    if (what === 'response.queued') {
      this.#queued = true
      return { kind: 'wait.started', id: QUEUE, reason: 'queue' }
    }
    if (what === 'response.compaction.compacting') {
      this.#compacting = text(either(raw, 'item_id', 'itemId')) ?? COMPACTION
      return { kind: 'wait.started', id: this.#compacting, reason: 'compaction' }
    }
    if (what === 'response.output_item.added') this.#tools.added(raw)
    return this.#tools.written(raw, what) ?? { kind: 'side', what }
  }

  #unknown(type: string, turn: ResponseTurn, emit: Emit): void {
    this.#onUnclassified?.(this.name, type)
    const event = unknownEvent(type)
    // A response in the queue has signs of the connection only.
    if (event.kind === 'progress' && turn === this.#turns.current) this.#endQueue(turn, emit)
    emit(turn.thread, turn.of(event))
  }

  #forget(): void {
    this.#queued = false
    this.#compacting = undefined
    this.#tools.forget()
  }
}

/** Deltas with nothing in them say nothing. */
function substance(raw: Raw, found: Classified): Classified {
  const { delta } = raw
  const isEmpty = delta === '' || (isRaw(delta) && Object.values(delta).every((part) => part === ''))
  return isEmpty && found.class === 'content' ? { key: found.key, class: 'neutral' } : found
}

/** What is said of a response that is not the current one. */
function lateEvent({ key, outcome }: Classified): TurnEvent {
  return outcome === undefined ? { kind: 'side', what: key ?? UNKNOWN } : { kind: 'turn.ended', outcome }
}

function errorMessage(raw: Raw, response: Raw): string {
  const error = isRaw(response.error) ? response.error : isRaw(raw.error) ? raw.error : {}
  return text(error.message) ?? text(raw.message) ?? text(error.code) ?? text(raw.code) ?? 'the API reported an error'
}

/**
 * A run of the AI SDK as a turn: from its `start` to the first of `finish` and `abort`, over all its steps. Its parts name
 * no turn. An `error` ends a UI stream; a `fullStream` may go on after one.
 */

import type { TokenStream, TurnEvent, Usage } from '../events.ts'
import { type Classified, type Classifier, isRaw, type Raw, text, tokensOf } from './classifier.ts'
import { ResponseTurns } from './response-turn.ts'
import {
  type Emit,
  NO_TYPE,
  plainEvents,
  type SourceName,
  type SourceOptions,
  streamOfKind,
  unknownEvent,
} from './source.ts'
import { toolEnded, toolStarted } from './tool-events.ts'

/** Whole files that the model made. */
const FILES: ReadonlyMap<string, TokenStream> = new Map<string, TokenStream>([
  ['file', 'text'],
  ['reasoning-file', 'reasoning'],
])

export class AiSdkRun {
  readonly #name: SourceName
  readonly #classifier: Classifier
  readonly #onUnclassified: SourceOptions['onUnclassified']
  readonly #turns: ResponseTurns
  readonly #wallMs: () => number
  /** Whether the run had an error, and nothing since that shows that it goes on. */
  #failed = false

  constructor(name: SourceName, classifier: Classifier, options: SourceOptions) {
    this.#name = name
    this.#classifier = classifier
    this.#onUnclassified = options.onUnclassified
    this.#turns = new ResponseTurns('ai-sdk', options)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: Raw, emit: Emit): void {
    const type = text(raw.type)
    if (type === undefined) return this.#onUnclassified?.(this.#name, NO_TYPE)
    const found = this.#classifier.classify(raw)
    switch (found.class) {
      case 'turn-start':
        this.#failed = false
        // A message that goes on after a tool of the client keeps its id, so that it names a thread and not a turn.
        this.#turns.begin(undefined, undefined, emit, { thread: text(raw.messageId) })
        return
      case 'content': {
        const turn = this.#turns.open(emit)
        this.#failed = false
        emit(turn.thread, turn.token(streamOfKind(found.kind) ?? FILES.get(type) ?? 'text'))
        return
      }
      case 'terminal-ok':
      case 'terminal-error':
        if (type === 'error' && this.#name !== 'ai-sdk-ui-stream') this.#erred(raw, emit)
        else this.#end(raw, found, emit)
        return
      default:
        this.#other(raw, found, type, emit)
    }
  }

  /** The stream has ended as it should, which is all that some runs say of their end. */
  done(emit: Emit): void {
    const { current } = this.#turns
    if (current.running) current.end('completed', undefined, emit)
    else emit(current.thread, current.of({ kind: 'side', what: '[DONE]' }))
  }

  #erred(raw: Raw, emit: Emit): void {
    const { current } = this.#turns
    const turn = current.begun ? current : this.#turns.open(emit)
    this.#failed = turn.running
    emit(
      turn.thread,
      turn.of(turn.running ? { kind: 'error', message: errorMessage(raw) } : { kind: 'side', what: 'error' }),
    )
  }

  #end(raw: Raw, found: Classified, emit: Emit): void {
    const { current } = this.#turns
    const usage = usageOf(raw.totalUsage)
    const outcome = found.outcome ?? 'completed'
    // What the error was has been told.
    if (this.#failed && outcome !== 'aborted') current.end('error', usage, emit)
    else if (found.class === 'terminal-error') current.fail(errorMessage(raw), usage, emit)
    else current.end(outcome, usage, emit)
    this.#failed = false
  }

  #other(raw: Raw, found: Classified, type: string, emit: Emit): void {
    const turn = found.class === 'tool-start' ? this.#turns.open(emit) : this.#turns.current
    const send = (event: TurnEvent) => emit(turn.thread, turn.of(event))
    // The host's own data, of any type that begins so.
    if (type.startsWith('data-')) return send({ kind: 'side', what: 'data' })
    if (found.key === null) {
      this.#onUnclassified?.(this.#name, type)
      return send(unknownEvent(type))
    }
    // The model is named only when its first step is over.
    const model = type === 'finish-step' && isRaw(raw.response) ? text(raw.response.modelId) : undefined
    if (model !== undefined && turn.running) turn.start(model, emit)
    if (found.class === 'tool-start' || found.class === 'tool-end') this.#failed = false
    if (found.class === 'tool-start') return send(toolStarted(raw.toolCallId, raw.toolName, found.key))
    if (found.class === 'tool-end') return send(toolEnded(raw.toolCallId, found.key))
    for (const event of plainEvents(raw, found, this.#wallMs())) send(event)
  }
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isRaw(usage)) return undefined
  const details = isRaw(usage.inputTokenDetails) ? usage.inputTokenDetails : {}
  const cacheReadTokens = tokensOf(details.cacheReadTokens ?? usage.cachedInputTokens)
  const cacheWriteTokens = tokensOf(details.cacheWriteTokens)
  const uncached = tokensOf(usage.inputTokens) - cacheReadTokens - cacheWriteTokens
  return {
    inputTokens: tokensOf(details.noCacheTokens ?? uncached),
    outputTokens: tokensOf(usage.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
  }
}

function errorMessage({ error, errorText }: Raw): string {
  const { message, name } = isRaw(error) ? error : {}
  return text(errorText) ?? text(error) ?? text(message) ?? text(name) ?? 'the run reported an error'
}

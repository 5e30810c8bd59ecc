/**
 * A run of the AI SDK as a turn: from its `start` to the first of `finish`, `abort` and `error`, over all its steps. Its
 * parts name no turn.
 */

import type { TokenStream, TurnEvent, Usage } from '../events.ts'
import { type Classified, type Classifier, isRaw, number, type Raw, text } from './classifier.ts'
import { ResponseTurns } from './response-turn.ts'
import { type Emit, plainEvents, type SourceName, type SourceOptions, streamOfKind, unknownEvent } from './source.ts'
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

  constructor(name: SourceName, classifier: Classifier, options: SourceOptions) {
    this.#name = name
    this.#classifier = classifier
    this.#onUnclassified = options.onUnclassified
    this.#turns = new ResponseTurns('ai-sdk', options)
    this.#wallMs = options.wallMs ?? Date.now
  }

  read(raw: Raw, emit: Emit): void {
    const type = text(raw.type)
    if (type === undefined) return
    const found = this.#classifier.classify(raw)
    switch (found.class) {
      case 'turn-start':
        // A message that goes on after a tool of the client keeps its id, so that it names a thread and not a turn.
        this.#turns.begin(undefined, undefined, emit, text(raw.messageId))
        return
      case 'content': {
        const turn = this.#turns.open(emit)
        emit(turn.thread, turn.token(streamOfKind(found.kind) ?? FILES.get(type) ?? 'text'))
        return
      }
      case 'terminal-ok':
        this.#turns.current.end(found.outcome ?? 'completed', usageOf(raw.totalUsage), emit)
        return
      case 'terminal-error':
        this.#turns.current.fail(errorMessage(raw), usageOf(raw.totalUsage), emit)
        return
      default:
        this.#other(raw, found, type, emit)
    }
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
    if (found.class === 'tool-start') return send(toolStarted(raw.toolCallId, raw.toolName, found.key))
    if (found.class === 'tool-end') return send(toolEnded(raw.toolCallId, found.key))
    for (const event of plainEvents(raw, found, this.#wallMs())) send(event)
  }
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isRaw(usage)) return undefined
  const details = isRaw(usage.inputTokenDetails) ? usage.inputTokenDetails : {}
  const cacheReadTokens = number(details.cacheReadTokens ?? usage.cachedInputTokens)
  const cacheWriteTokens = number(details.cacheWriteTokens)
  const uncached = number(usage.inputTokens) - cacheReadTokens - cacheWriteTokens
  return {
    inputTokens: Math.max(0, number(details.noCacheTokens ?? uncached)),
    outputTokens: number(usage.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
  }
}

function errorMessage({ error, errorText }: Raw): string {
  const { message, name } = isRaw(error) ? error : {}
  return text(errorText) ?? text(error) ?? text(message) ?? text(name) ?? 'the run reported an error'
}

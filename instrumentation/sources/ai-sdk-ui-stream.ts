/** The UI message stream of the AI SDK: what a run's server sends to its page. */

import { AiSdkRun } from './ai-sdk-run.ts'
import { aiSdkUiStreamEvents } from './ai-sdk-ui-stream-events.ts'
import { type Classified, Classifier, isRaw, type Raw } from './classifier.ts'
import type { Direction, Emit, Source, SourceOptions } from './source.ts'

const NAME = 'ai-sdk-ui-stream'

/** The end of the stream as server-sent events. */
const DONE: Classified = { key: '[DONE]', class: 'terminal-ok', kind: 'lifecycle', outcome: 'completed' }
const UNKNOWN_LINE: Classified = { key: null, class: 'neutral' }

const chunks = new Classifier(aiSdkUiStreamEvents, ['{type}'])

export const aiSdkUiStreamClassifier = {
  classify(raw: Raw | string): Classified {
    if (typeof raw === 'string') return raw === '[DONE]' ? DONE : UNKNOWN_LINE
    return chunks.classify(raw)
  },
}

export class AiSdkUiStreamSource implements Source {
  readonly name = NAME
  readonly #run: AiSdkRun

  constructor(options: SourceOptions = {}) {
    this.#run = new AiSdkRun(NAME, chunks, options)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (direction === 'out') return
    if (isRaw(raw)) this.#run.read(raw, emit)
    else if (raw === '[DONE]') this.#run.done(emit)
  }
}

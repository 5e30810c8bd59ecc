/** The UI message stream of the AI SDK: what a run's server sends to its page. */

import { AiSdkRun } from './ai-sdk-run.ts'
import { aiSdkUiStreamEvents } from './ai-sdk-ui-stream-events.ts'
import { Classifier, isRaw } from './classifier.ts'
import type { Direction, Emit, Source, SourceOptions } from './source.ts'

const NAME = 'ai-sdk-ui-stream'

export const aiSdkUiStreamClassifier = new Classifier(aiSdkUiStreamEvents, ['{type}'])

export class AiSdkUiStreamSource implements Source {
  readonly name = NAME
  readonly #run: AiSdkRun

  constructor(options: SourceOptions = {}) {
    this.#run = new AiSdkRun(NAME, aiSdkUiStreamClassifier, options)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (isRaw(raw) && direction === 'in') this.#run.read(raw, emit)
  }
}

/** The `fullStream` of the AI SDK, of its versions 6 and 7. */

import { aiSdkFullstreamEvents } from './ai-sdk-fullstream-events.ts'
import { aiSdkFullstreamV6Events } from './ai-sdk-fullstream-v6-events.ts'
import { AiSdkRun } from './ai-sdk-run.ts'
import { Classifier, isRaw } from './classifier.ts'
import type { Direction, Emit, Source, SourceOptions } from './source.ts'

export const aiSdkFullstreamClassifier = new Classifier(aiSdkFullstreamEvents, ['{type}'])
export const aiSdkFullstreamV6Classifier = new Classifier(aiSdkFullstreamV6Events, ['{type}'])

const CLASSIFIERS = {
  'ai-sdk-fullstream': aiSdkFullstreamClassifier,
  'ai-sdk-fullstream-v6': aiSdkFullstreamV6Classifier,
} as const

export class AiSdkFullstreamSource implements Source {
  readonly name: keyof typeof CLASSIFIERS
  readonly #run: AiSdkRun

  constructor(name: keyof typeof CLASSIFIERS, options: SourceOptions = {}) {
    this.name = name
    this.#run = new AiSdkRun(name, CLASSIFIERS[name], options)
  }

  read(raw: unknown, emit: Emit, direction: Direction = 'in'): void {
    if (isRaw(raw) && direction === 'in') this.#run.read(raw, emit)
  }
}

/** Our own lines on stderr, in order, beside what the command writes there. */

import type { ByteSink } from './byte-sink.ts'

export class Notes {
  readonly #sink: ByteSink
  #last: Promise<void> = Promise.resolve()

  constructor(sink: ByteSink) {
    this.#sink = sink
  }

  /** Writes `turnwatch: <text>` as one line; text that comes from elsewhere cannot break it. Nobody hears of a failure. */
  say(text: string): void {
    const line = Buffer.from(`turnwatch: ${text.replace(/\p{Cc}+/gu, ' ')}\n`)
    this.#last = this.#last.then(() => new Promise((resolve) => this.#sink.write(line, () => resolve())))
  }

  /** Until all lines are written. */
  flushed(): Promise<void> {
    return this.#last
  }
}

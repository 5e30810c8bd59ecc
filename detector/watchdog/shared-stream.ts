/** One stream for several consumers: each has all of it, from the beginning, and the same end or error. */

import { isReadableStream } from '../../instrumentation/taps/readable-stream-kind.ts'
import { harmless } from './harmless.ts'

/** Its events are kept as long as it is: for those who come late. */
export class SharedStream<T> implements AsyncIterable<T> {
  readonly #next: () => Promise<IteratorResult<T>>
  readonly #cancel: () => unknown
  readonly #events: T[] = []
  #end: { readonly error: unknown } | 'done' | null = null
  /** The read of the source that is under way, for all who wait for it. */
  #reading: Promise<void> | null = null
  #wake: () => void = () => {}

  /** `stream`: what nobody else reads. */
  constructor(stream: AsyncIterable<T>) {
    // The iterator of a ReadableStream would be left only after the read that is under way.
    if (isReadableStream(stream)) {
      const reader = stream.getReader()
      this.#next = () => reader.read() as Promise<IteratorResult<T>>
      this.#cancel = () => reader.cancel()
    } else {
      const iterator = stream[Symbol.asyncIterator]()
      this.#next = () => iterator.next()
      this.#cancel = () => iterator.return?.()
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let at = 0; ; at++) {
      while (at >= this.#events.length && this.#end === null) {
        this.#reading ??= this.#read()
        await this.#reading
      }
      if (at < this.#events.length) yield this.#events[at] as T
      else if (this.#end === 'done') return
      else throw (this.#end as { error: unknown }).error
    }
  }

  /** Nobody wants any more of it: it ends for all, and its source is given up. */
  async cancel(): Promise<void> {
    this.#end ??= 'done'
    this.#wake()
    harmless(this.#cancel)
  }

  #read(): Promise<void> {
    return new Promise((resolve) => {
      const over = () => {
        this.#reading = null
        resolve()
      }
      this.#wake = over
      this.#take().then(over)
    })
  }

  async #take(): Promise<void> {
    try {
      const step = await this.#next()
      if (step.done === true) this.#end ??= 'done'
      else if (this.#end === null) this.#events.push(step.value)
    } catch (error) {
      this.#end ??= { error }
    }
  }
}

/** One stream for several consumers: each has all of it, from the beginning, and the same end or error. */

/** Its events are kept as long as it is: for those who come late. */
export class SharedStream<T> implements AsyncIterable<T> {
  readonly #source: AsyncIterator<T>
  readonly #events: T[] = []
  #end: { readonly error: unknown } | 'done' | null = null
  /** The read of the source that is under way, for all who wait for it. */
  #reading: Promise<void> | null = null

  /** `stream`: what nobody else reads. */
  constructor(stream: AsyncIterable<T>) {
    this.#source = stream[Symbol.asyncIterator]()
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

  /** Nobody wants any more of it. */
  async cancel(): Promise<void> {
    this.#end ??= 'done'
    await this.#source.return?.()
  }

  async #read(): Promise<void> {
    try {
      const step = await this.#source.next()
      if (step.done === true) this.#end ??= 'done'
      else this.#events.push(step.value)
    } catch (error) {
      this.#end ??= { error }
    } finally {
      this.#reading = null
    }
  }
}

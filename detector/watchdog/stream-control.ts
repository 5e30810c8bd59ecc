/** The hand of the caller on the deadlines of streams that are watched. */

/** What can be paused. */
interface Pausable {
  pause(): void
  resume(): void
}

/**
 * Stops the deadlines of every stream that it is given to, while a tool of the caller's runs or a person is asked: no
 * time passes on any of them. With `resume()` silences begin anew, and `totalMs` goes on. Pauses may nest.
 */
export class StreamControl {
  readonly #streams = new Set<Pausable>()
  #pauses = 0

  get paused(): boolean {
    return this.#pauses > 0
  }

  pause(): void {
    if (this.#pauses++ > 0) return
    for (const stream of this.#streams) stream.pause()
  }

  /** Takes back one `pause()`; without one it does nothing. */
  resume(): void {
    if (this.#pauses === 0 || --this.#pauses > 0) return
    for (const stream of this.#streams) stream.resume()
  }

  /** Pauses while the work is done, whatever becomes of it. */
  async whilePaused<T>(work: () => T | PromiseLike<T>): Promise<T> {
    this.pause()
    try {
      return await work()
    } finally {
      this.resume()
    }
  }

  /** Takes a stream on; returns what lets it go. */
  add(stream: Pausable): () => void {
    this.#streams.add(stream)
    if (this.paused) stream.pause()
    return () => this.#streams.delete(stream)
  }
}

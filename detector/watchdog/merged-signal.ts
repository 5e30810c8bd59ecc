/** A fresh abort signal that follows the caller's: whichever aborts first gives the reason. */

export class MergedSignal {
  readonly #controller = new AbortController()
  readonly #leave: () => void

  constructor(callers: AbortSignal | null | undefined) {
    const aborted = () => this.abort(callers?.reason)
    this.#leave = () => callers?.removeEventListener('abort', aborted)
    if (callers?.aborted) aborted()
    else callers?.addEventListener('abort', aborted, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.leave()
    this.#controller.abort(reason)
  }

  /** Lets go of the caller's signal, which may outlive a thousand streams. */
  leave(): void {
    this.#leave()
  }
}

/** The promise, or the reason of the signal where that aborts first; `late` is told what the promise still gives then. */
export function unlessAborted<T>(
  promise: T | PromiseLike<T>,
  signal: AbortSignal | null | undefined,
  late: (value: T, reason: unknown) => unknown = () => {},
): Promise<T> {
  if (signal == null) return Promise.resolve(promise)
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    const settled = async () => {
      signal.removeEventListener('abort', aborted)
      if (signal.aborted) await late(await promise, signal.reason)
    }
    if (signal.aborted) aborted()
    else signal.addEventListener('abort', aborted, { once: true })
    Promise.resolve(promise)
      .then(resolve, reject)
      .then(settled)
      .catch(() => {})
  })
}

/** Watches an async iterable: the same object to its consumer, with every step seen. */

import { shown } from '../shown.ts'
import type { Watcher } from '../sources/source.ts'
import { isThenable } from '../thenable.ts'
import { type StopSignals, signalsOf } from './own-stop.ts'
import { watchReadable } from './readable-stream.ts'
import { isReadableStream } from './readable-stream-kind.ts'
import { Tap, type TapOptions } from './tap.ts'
import { type StepObserver, WatchedObject } from './watched-object.ts'

/**
 * Watches the messages of an async iterable, such as `query()` of the Claude Agent SDK, a `Stream` of the OpenAI or
 * Anthropic SDK, `fullStream` of the AI SDK, or any generator. Text and bytes of server-sent events or NDJSON are decoded
 * on the side. Use what it returns in place of what it was given: the same messages in the same order, one `next()` of
 * the inner for one of the outer, nothing asked for ahead; all methods and fields work, run on the original, and
 * `instanceof` holds. A ReadableStream is watched as `watchReadable` does.
 *
 * With `thread`, a bare API's turn begins at the first `next()`, and ends one of an older stream in that thread; in further
 * iterations, with its first event. An end without the turn's own is an exit, but for objects of a wire whose failures are
 * events, and for a stream that told nothing; `return()`, `throw()`, `using`, methods that stop a stream, and abort errors
 * end the turn `aborted`; any other rejection is the provider's error. While the consumer asks for nothing for a second or
 * two, the turn waits (`queue`).
 *
 * Watched as well are `tee()` and `toReadableStream()` of the OpenAI and Anthropic SDKs. What an object offers beside its
 * iterator, such as the `data` events of a Node stream, passes unseen.
 *
 * Throws TypeError for a source that is none, and for what is no async iterable.
 */
export function watchIterable<T extends AsyncIterable<unknown>>(iterable: T, watch: Watcher, options: TapOptions): T {
  if (isReadableStream(iterable)) return watchReadable(iterable, watch, options) as AsyncIterable<unknown> as T
  if (typeof iterable !== 'object' || iterable === null || typeof iterable[Symbol.asyncIterator] !== 'function') {
    throw new TypeError(`iterable: ${shown(iterable)} is no async iterable: an object with [Symbol.asyncIterator]`)
  }
  const signals = (): StopSignals => signalsOf(iterable)
  return new WatchedObject(iterable, (isAgain) => new TapSteps(new Tap(watch, options, { signals, isAgain })))
    .proxy as T
}

/** The steps of one iterator. */
class TapSteps implements StepObserver {
  readonly #tap: Tap
  #pending = 0

  constructor(tap: Tap) {
    this.#tap = tap
  }

  get over(): boolean {
    return this.#tap.over
  }

  returned(call: () => unknown): unknown {
    this.#tap.cancelled()
    return call()
  }

  stopped(): void {
    this.#tap.cancelled()
  }

  disposed(): boolean {
    this.#tap.cancelled()
    return false
  }

  interrupted(): void {
    this.#tap.interrupted()
  }

  step(call: () => unknown): unknown {
    return this.#ask(call, 'next')
  }

  threw(call: () => unknown): unknown {
    return this.#ask(call, 'throw')
  }

  /** Asks the inner iterator. The consumer gets what that gives: the same result or the same error. */
  #ask(call: () => unknown, by: 'next' | 'throw'): unknown {
    this.#tap.asks()
    this.#pending++
    const rejected = (error: unknown): never => {
      this.#pending--
      // What a consumer throws in comes out again.
      if (by === 'throw') this.#tap.cancelled()
      else this.#tap.failed(error)
      throw error
    }
    let result: unknown
    try {
      result = call()
    } catch (error) {
      return rejected(error)
    }
    const took = (step: unknown) => this.#took(step, by)
    return isThenable(result) ? Promise.resolve(result).then(took, rejected) : took(result)
  }

  #took(step: unknown, by: 'next' | 'throw'): unknown {
    this.#pending--
    this.#tap.stepped(step, by === 'throw')
    if (this.#pending === 0) this.#tap.holds()
    return step
  }
}

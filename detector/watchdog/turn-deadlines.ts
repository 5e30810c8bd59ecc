/// <reference lib="esnext.disposable" preserve="true" />

/** What the loop of an agent needs that calls a model, runs its tools, and calls it again: a context for each call. */

import { MergedSignal } from './merged-signal.ts'
import { SharedStream } from './shared-stream.ts'
import { StreamStalledError } from './stall-error.ts'
import { type Attempt, refuseBadRetries, type StallRetryOptions, withStallRetries } from './stall-retries.ts'
import { StreamControl } from './stream-control.ts'
import { readyOptions, type WatchOptions } from './watch-options.ts'
import { type EventOf, type Streamed, watchStream } from './watch-stream.ts'
import { watchedStream } from './watched-streams.ts'

export interface TurnDeadlinesOptions
  extends Omit<WatchOptions<never>, 'signal' | 'abort' | 'control' | 'attempt'>,
    Omit<StallRetryOptions, 'signal'> {
  /** The caller's, for all turns. */
  readonly signal?: AbortSignal | null | undefined
}

/**
 * Makes the contexts of turns: `next()` before each call of a model. Each has fresh deadlines and a signal of its own,
 * which follows the caller's. Between the streams no deadline runs, so that tools may take what they take.
 *
 * Throws TypeError or RangeError for bad options, as `watchStream` and `withStallRetries` do.
 */
export function turnDeadlines(options: TurnDeadlinesOptions = {}): TurnDeadlines {
  readyOptions(options)
  refuseBadRetries(options)
  return new TurnDeadlines(options)
}

export class TurnDeadlines {
  readonly #options: TurnDeadlinesOptions

  constructor(options: TurnDeadlinesOptions) {
    this.#options = options
  }

  /** The context of the next turn. `signal` in place of that of the options. */
  next({ signal = this.#options.signal }: { signal?: AbortSignal | null | undefined } = {}): TurnContext {
    return new TurnContext(this.#options, signal)
  }
}

/** One turn: one call of a model, with its retries. */
export class TurnContext implements Disposable {
  readonly #options: TurnDeadlinesOptions
  readonly #merged: MergedSignal
  readonly #control = new StreamControl()

  constructor(options: TurnDeadlinesOptions, callers: AbortSignal | null | undefined) {
    this.#options = options
    this.#merged = new MergedSignal(callers)
  }

  /** For the request: aborted with the caller's reason, or with the stall, whichever comes first. */
  get signal(): AbortSignal {
    return this.#merged.signal
  }

  /** Puts a stream, or the promise of one, under the deadlines of this turn. */
  watch<S extends Streamed>(stream: S): S
  watch<S>(stream: PromiseLike<S>): Promise<S>
  watch(stream: never): unknown {
    return this.#watch(stream, { signal: this.signal, attempt: 1 }, (reason) => this.#stalled(reason))
  }

  /**
   * Issues the request by `fn`, which gives it the signal of the try, and watches what comes of it; again after stalls
   * before content, as `maxStallRetries` allows. When nothing more is tried, `signal` is aborted with the error.
   */
  async call<S>(fn: (attempt: Attempt) => S | PromiseLike<S>): Promise<S> {
    const tried = (attempt: Attempt) => this.#watch(Promise.resolve(fn(attempt)) as never, attempt, undefined)
    try {
      const stream = (await withStallRetries(tried, { ...this.#options, signal: this.signal })) as S
      watchedStream(stream)?.guard.releases((reason) => this.#stalled(reason))
      return stream
    } catch (error) {
      this.#merged.abort(error)
      throw error
    }
  }

  /** One stream of this turn for several consumers; all of them see the same error. Watch it first. */
  share<S extends AsyncIterable<unknown>>(stream: S): SharedStream<EventOf<S>> {
    return new SharedStream(stream as AsyncIterable<EventOf<S>>)
  }

  /** No deadline of this turn's streams runs until `resume()`. */
  pause(): void {
    this.#control.pause()
  }

  resume(): void {
    this.#control.resume()
  }

  whilePaused<T>(work: () => T | PromiseLike<T>): Promise<T> {
    return this.#control.whilePaused(work)
  }

  /** The turn is over: the caller's signal is let go of. */
  end(): void {
    this.#merged.leave()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  /** A stream that was left, or did not close after its end, is no reason to stop the turn. */
  #stalled(reason: unknown): void {
    if (reason instanceof StreamStalledError) this.#merged.abort(reason)
  }

  #watch(stream: never, attempt: Attempt, abort: ((reason: unknown) => void) | undefined): unknown {
    return watchStream(stream, { ...this.#options, ...attempt, control: this.#control, abort })
  }
}

/** Issues a stream again that stalled before any content. */

import { shown } from '../../instrumentation/shown.ts'
import { anyActive } from './deadlines.ts'
import { giveUp } from './give-up.ts'
import { harmless } from './harmless.ts'
import { MergedSignal, unlessAborted } from './merged-signal.ts'
import { observedTime, type StreamClock } from './observed-time.ts'
import type { RetryBudget } from './retry-budget.ts'
import { StreamStalledError } from './stall-error.ts'
import type { RetryResult, StreamBook } from './stream-book.ts'
import { isStream } from './watch-stream.ts'
import { guardOfStall, watchedStream } from './watched-streams.ts'

/** What one try is made with; all of it are options of `watchStream` too. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number
  /** Of this try alone: aborted by the caller's, or with the stall. */
  readonly signal: AbortSignal
}

export interface StallRetry {
  /** The try that comes, from 2. */
  readonly attempt: number
  /** The stall of the one before. */
  readonly error: StreamStalledError
  /** Ms until it is issued. */
  readonly delayMs: number
}

export interface StallRetryOptions {
  /** Tries beside the first. What is no number above 0 is 0, fractions are cut. @default 0 */
  readonly maxStallRetries?: number | undefined
  /**
   * Ms before a try, or a function of the number of the retry (from 1) and the stall before it.
   * @default 100 ms, doubled each time up to 10 s, less up to a half at random
   */
  readonly backoff?: number | ((retry: number, error: StreamStalledError) => number) | undefined
  /** Shared by many calls, see `createRetryBudget`: once it is used up, the stall is thrown. @default none */
  readonly budget?: RetryBudget | undefined
  /** Hears of each retry before it waits. What it throws is passed over. */
  readonly onRetry?: ((retry: StallRetry) => void) | undefined
  /** The caller's: it ends everything at once, with its own reason. */
  readonly signal?: AbortSignal | null | undefined
  /** The turnwatch in which retries are counted, under the wire format of the stream. */
  readonly watch?: StreamBook | undefined
  /** @default the clock and timers of this process */
  readonly clock?: StreamClock | undefined
}

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000

/**
 * Calls `fn`, which issues a request and watches its stream, and again when that stalls before any content: each try has
 * fresh deadlines, and the one before is aborted. Failures of the server, errors of HTTP, aborts and stalls after content
 * are never retried; when the tries are used up, the last stall is thrown.
 *
 * Where retries are on, a stream comes back once it has content or its end; events before that, at most 1,024, are held
 * until then. Where they are off, or no deadline of the stream can run out before content, it comes back at once.
 *
 * Between two tries a timer keeps the process alive. Throws TypeError for bad options.
 */
export async function withStallRetries<S>(
  fn: (attempt: Attempt) => S | PromiseLike<S>,
  options: StallRetryOptions = {},
): Promise<S> {
  if (typeof fn !== 'function') throw new TypeError(`fn: ${shown(fn)} is not a function`)
  refuseBadRetries(options)
  const retries = new StallRetries(options)
  for (let attempt = 1; ; attempt++) {
    const tried = await retries.try(fn, attempt)
    if ('stream' in tried) return tried.stream
    await retries.wait(attempt, tried.stall)
  }
}

/** As elsewhere: what is no number of retries is none. */
function normalised(maxStallRetries: unknown): number {
  return typeof maxStallRetries === 'number' && maxStallRetries > 0 && Number.isFinite(maxStallRetries)
    ? Math.floor(maxStallRetries)
    : 0
}

/** Throws TypeError with the option's name and value. */
export function refuseBadRetries({ backoff, budget, onRetry }: StallRetryOptions): void {
  if (
    backoff !== undefined &&
    typeof backoff !== 'function' &&
    !(typeof backoff === 'number' && backoff >= 0 && backoff < Number.POSITIVE_INFINITY)
  ) {
    throw new TypeError(`backoff: ${shown(backoff)} is neither ms nor a function that gives them`)
  }
  if (budget !== undefined && typeof (budget as Partial<RetryBudget> | null)?.take !== 'function') {
    throw new TypeError(`budget: ${shown(budget)} has no take(), as what createRetryBudget makes has`)
  }
  if (onRetry !== undefined && typeof onRetry !== 'function') {
    throw new TypeError(`onRetry: ${shown(onRetry)} is not a function`)
  }
}

class StallRetries {
  readonly #options: StallRetryOptions
  readonly #max: number
  #source = 'custom'

  constructor(options: StallRetryOptions) {
    this.#options = options
    this.#max = normalised(options.maxStallRetries)
  }

  /** One try: its stream, or the stall before any content. */
  async try<S>(
    fn: (attempt: Attempt) => S | PromiseLike<S>,
    attempt: number,
  ): Promise<{ stream: S } | { stall: StreamStalledError }> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    const merged = new MergedSignal(signal)
    try {
      const issued = fn({ attempt, signal: merged.signal })
      const stream = await unlessAborted(issued, signal, (late, reason) => isStream(late) && giveUp(late, reason))
      const outcome = await unlessAborted(this.#outcome(stream, attempt, merged), signal)
      if (outcome instanceof StreamStalledError) throw outcome
      this.#count(attempt, outcome)
      return { stream }
    } catch (error) {
      if (error instanceof StreamStalledError && error.retryable && !signal?.aborted) {
        merged.abort(error)
        this.#source = guardOfStall(error)?.options.source ?? this.#source
        this.#count(attempt, 'stalled')
        return { stall: error }
      }
      merged.abort(error)
      this.#count(attempt, signal?.aborted ? 'aborted' : 'failed')
      throw error
    }
  }

  /** Waits for the next try; throws the stall where there is none. */
  async wait(attempt: number, stall: StreamStalledError): Promise<void> {
    const { budget, onRetry, signal, clock } = this.#options
    if (attempt > this.#max || budget?.take() === false) throw stall
    const delayMs = this.#backoffMs(attempt, stall)
    harmless(() => onRetry?.({ attempt: attempt + 1, error: stall, delayMs }))
    let stop: (() => void) | undefined
    const over = new Promise<void>((resolve) => {
      stop = observedTime(clock).later(delayMs, true, () => resolve())
    })
    try {
      await unlessAborted(over, signal)
    } finally {
      stop?.()
    }
  }

  /** Holds the stream until it shows how it goes. */
  async #outcome(
    stream: unknown,
    attempt: number,
    merged: MergedSignal,
  ): Promise<StreamStalledError | 'content' | 'failed'> {
    const watched = watchedStream(stream)
    if (watched === undefined) {
      if (!isStream(stream)) merged.leave()
      return 'content'
    }
    const { guard } = watched
    this.#source = guard.options.source ?? 'custom'
    guard.attempt = attempt
    guard.releases((reason) => merged.abort(reason))
    guard.onEnd(() => merged.leave())
    merged.signal.addEventListener('abort', () => guard.aborted(merged.signal.reason), { once: true })
    const isHeld = this.#max > 0 && anyActive(guard.options.deadlines, ['firstContentMs', 'livenessMs', 'totalMs'])
    return isHeld ? guard.hold(watched.open()) : 'content'
  }

  #backoffMs(retry: number, error: StreamStalledError): number {
    const { backoff } = this.#options
    let ms = typeof backoff === 'number' ? backoff : undefined
    harmless(() => {
      const given = typeof backoff === 'function' ? backoff(retry, error) : undefined
      if (typeof given === 'number') ms = given
      return given
    })
    if (ms !== undefined) return ms > 0 && ms < Number.POSITIVE_INFINITY ? ms : 0
    const doubled = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (retry - 1))
    return Math.round(doubled * (1 - Math.random() / 2))
  }

  #count(attempt: number, result: RetryResult): void {
    if (attempt === 1) return
    harmless(() => this.#options.watch?.streamRetried(this.#source, result))
  }
}

/** Watches one stream: the same kind of thing to its consumer, with deadlines. */

import { shown } from '../../instrumentation/shown.ts'
import { isReadableStream } from '../../instrumentation/taps/readable-stream-kind.ts'
import { isThenable } from '../../instrumentation/thenable.ts'
import { anyActive } from './deadlines.ts'
import { giveUp } from './give-up.ts'
import { guardIterable } from './guarded-iterable.ts'
import { guardReadable } from './guarded-readable.ts'
import { guardResponse, streamsEvents } from './guarded-response.ts'
import { StreamGuard } from './stream-guard.ts'
import { type ReadyOptions, readyOptions, STREAM_DEADLINES, type WatchOptions } from './watch-options.ts'

/** What can be watched. */
export type Streamed = AsyncIterable<unknown> | ReadableStream | Response

/** The events of a stream. */
export type EventOf<S> = S extends AsyncIterable<infer E> ? E : S extends ReadableStream<infer E> ? E : unknown

/**
 * Watches a stream of a model: an AsyncIterable (such as a `Stream` of the OpenAI or Anthropic SDK, `fullStream` of the AI
 * SDK, any generator), a ReadableStream, a Response whose body streams server-sent events or NDJSON, or a promise of one
 * of these. Of a response that streams no events, such as a JSON reply, only `livenessMs` and `totalMs` are judged. Use what it returns in place of what it was given: the same kind of thing, with the same events in the same
 * order, one read of the inner for one of the outer, and all other fields and methods working. Where no deadline is set, it
 * is the very same object.
 *
 * When a deadline runs out, reads reject with `StreamStalledError` after everything that came before, and stay so; the
 * source is cancelled and its request aborted. A failure that the server reported is thrown at the end as
 * `StreamFailedError`, unless a completion followed. Errors of the source itself pass as they are.
 *
 * A silence is judged only while a read waits, in time in which this process could read: a slow consumer, a blocked event
 * loop and a sleeping machine are no stalls, and what has come is read before a stream is judged. So a stall is seen some
 * ms after its deadline, later where the process was held up.
 *
 * Judged is what is read from it: by iteration, or by a reader. What an object gives beside that passes unseen, such as the
 * `data` events of a Node stream, or `finalMessage()` of the Anthropic SDK; there, watch the `fetch` below.
 *
 * What is watched is to be read to its end, or cancelled, as any stream is: until then it holds on to `signal` and `control`.
 *
 * Throws TypeError or RangeError for bad options, for a stream that is locked, and for what is no stream.
 */
export function watchStream<S extends Streamed>(stream: S, options?: WatchOptions<EventOf<S>>): S
export function watchStream<S>(stream: PromiseLike<S>, options?: WatchOptions<EventOf<S>>): Promise<S>
export function watchStream<S extends Streamed>(
  stream: S | PromiseLike<S>,
  options?: WatchOptions<EventOf<S>>,
): S | Promise<S>
export function watchStream(stream: unknown, options: WatchOptions<never> = {}): unknown {
  const ready = readyOptions(options)
  if (isStream(stream)) {
    refuseLocked(stream)
    return anyActive(ready.deadlines, STREAM_DEADLINES) ? guardStream(stream, ready, null) : stream
  }
  if (!isThenable(stream)) {
    throw new TypeError(`stream: ${shown(stream)} is no AsyncIterable, ReadableStream, Response, or promise of one`)
  }
  return anyActive(ready.deadlines) ? guardPromise(stream, ready) : stream
}

async function guardPromise(promise: PromiseLike<unknown>, options: ReadyOptions): Promise<unknown> {
  const guard = new StreamGuard(options, false)
  const response = await guard.response(promise, (late, reason) => isStream(late) && giveUp(late, reason))
  let watched = response
  try {
    if (isStream(response) && anyActive(options.deadlines, STREAM_DEADLINES)) {
      refuseLocked(response)
      watched = guardStream(response, options, guard)
    }
  } finally {
    // Nothing is watched that comes back as it was.
    if (watched === response) guard.cancelled()
  }
  return watched
}

/** `guard` where the promise of the stream had one. */
function guardStream(stream: Streamed, options: ReadyOptions, guard: StreamGuard | null): Streamed {
  const guarded = () => guard ?? new StreamGuard(options, true)
  if (isResponse(stream)) {
    const isJudged = streamsEvents(stream) || anyActive(options.deadlines, ['livenessMs', 'totalMs'])
    return isJudged && isReadableStream(stream.body) ? guardResponse(stream, guarded()) : stream
  }
  return isReadableStream(stream) ? guardReadable(stream, guarded()) : guardIterable(stream, guarded())
}

function refuseLocked(stream: Streamed): void {
  const body: unknown = isResponse(stream) ? stream.body : stream
  if (isResponse(stream) && stream.bodyUsed) {
    throw new TypeError('stream: is a response whose body was read; watch it before it is read')
  }
  if (isReadableStream(body) && body.locked) {
    throw new TypeError('stream: is locked to a reader; watch it before it is read')
  }
}

export function isStream(value: unknown): value is Streamed {
  if (typeof value !== 'object' || value === null) return false
  return isResponse(value) || isReadableStream(value) || Symbol.asyncIterator in value
}

function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'headers' in value && 'body' in value && 'ok' in value
}

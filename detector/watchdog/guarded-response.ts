/** A Response whose body streams events, under its deadlines. Whatever else it says of itself stays as it was. */

import { isReadableStream } from '../../instrumentation/taps/readable-stream-kind.ts'
import { formatOf, responseLike } from '../../instrumentation/taps/response-alike.ts'
import { guardReadable } from './guarded-readable.ts'
import type { StreamGuard } from './stream-guard.ts'
import { remember, type WatchedStream, watchedStream } from './watched-streams.ts'

/** Whether the body of a response is a stream of events: not where it has none, nor where it is an error, or a whole reply. */
export function streamsEvents({ body, ok, headers }: Response): boolean {
  return isReadableStream(body) && ok && formatOf(headers.get('content-type')) !== null
}

/** Of a response with a body. */
export function guardResponse(response: Response, guard: StreamGuard): Response {
  if (streamsEvents(response)) {
    const format = formatOf(response.headers.get('content-type'))
    guard.text(format === 'unknown' ? null : format)
  } else guard.plain()
  const body = guardReadable(response.body as ReadableStream<Uint8Array>, guard)
  return remember(responseLike(body, response), watchedStream(body) as WatchedStream)
}

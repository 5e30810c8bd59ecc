/** Watches a Response whose body streams server-sent events or NDJSON. */

import { shown } from '../shown.ts'
import type { Watcher } from '../sources/source.ts'
import { refuseUsed, tapReadable } from './readable-stream.ts'
import { isReadableStream } from './readable-stream-kind.ts'
import { formatOf, responseLike } from './response-alike.ts'
import { Tap, type TapOptions } from './tap.ts'

/**
 * Watches the body of a Response, in whichever way it is read: `body`, `text()`, `json()`, `clone()`. Use what it returns
 * in place of what it was given. The content type decides between server-sent events and NDJSON; where it is missing,
 * `text/plain` or `application/octet-stream`, the first character does. A response that is no stream of events comes back
 * as it is, unwatched: without a body, of an error status, or of another content type.
 *
 * With `thread`, a bare API's turn begins with this call; the rest is as `watchReadable` says.
 *
 * Throws TypeError for a source that is none, and for a response whose body is locked or was read from.
 */
export function watchResponse(response: Response, watch: Watcher, options: TapOptions): Response {
  if (typeof response !== 'object' || response === null || !('headers' in response) || !('body' in response)) {
    throw new TypeError(`response: ${shown(response)} is no Response`)
  }
  const { body, ok } = response
  if (isReadableStream(body)) refuseUsed('response: its body', body)
  const format = formatOf(response.headers.get('content-type'))
  const tap = new Tap(watch, options, { format: format === 'unknown' ? null : format })
  if (!isReadableStream(body) || !ok || format === null) return response
  tap.requested()
  tap.holds()
  return responseLike(tapReadable(body, tap), response)
}

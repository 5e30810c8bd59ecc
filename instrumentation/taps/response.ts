/** Watches a Response whose body streams server-sent events or NDJSON. */

import type { Watcher } from '../sources/source.ts'
import type { TextFormat } from './json-events.ts'
import { isReadableStream, refuseUsed, tapReadable } from './readable-stream.ts'
import { shown, Tap, type TapOptions } from './tap.ts'

/** What a response says of itself, which a new one would say of itself otherwise. */
const FACTS = ['headers', 'ok', 'redirected', 'status', 'statusText', 'type', 'url'] as const

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
  const { status, statusText, headers } = response
  const watched = alike(new Response(tapReadable(body, tap), { status, statusText, headers }), response)
  keepOwn(watched, response)
  return watched
}

/** How a content type streams events; null where it does not. */
function formatOf(contentType: string | null): TextFormat | 'unknown' | null {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return 'sse'
  if (/ndjson|jsonl|json-?lines|json-?stream|stream\+json/.test(type)) return 'ndjson'
  return ['', 'text/plain', 'application/octet-stream'].includes(type) ? 'unknown' : null
}

/** Lets a response, and its clones, say of itself what another does. */
function alike(response: Response, other: Response): Response {
  for (const fact of FACTS) Object.defineProperty(response, fact, { value: other[fact], configurable: true })
  const clone = () => alike(Response.prototype.clone.call(response), other)
  return Object.defineProperty(response, 'clone', { value: clone, configurable: true, writable: true })
}

/** Lets a response have what a client has put on another, such as the id of its request. */
function keepOwn(response: Response, other: Response): void {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(other))) {
    if (!(name in response)) Object.defineProperty(response, name, property)
  }
}

/** Another body for a Response that streams events: what such a response is known by, and one that is like it. */

import type { TextFormat } from './json-events.ts'

/** What a response says of itself, which a new one would say of itself otherwise. */
const FACTS = ['headers', 'ok', 'redirected', 'status', 'statusText', 'type', 'url'] as const

/** A server may send others, but a Response is only made with a status of these, and has no body with some. */
const FIRST_STATUS = 200
const LAST_STATUS = 599
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
const STATUS_TEXT = /^[\t -~\u0080-\u00ff]*$/

/** How a content type streams events; null where it does not. */
export function formatOf(contentType: string | null): TextFormat | 'unknown' | null {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return 'sse'
  if (/ndjson|jsonl|json-?lines|json-?stream|stream\+json/.test(type)) return 'ndjson'
  return ['', 'text/plain', 'application/octet-stream'].includes(type) ? 'unknown' : null
}

/**
 * A Response of a body, which says of itself what another does and has what a client has put on that. Its clones say the
 * same. A status or status text that no Response can be made with shows all the same.
 */
export function responseLike(body: ReadableStream, original: Response): Response {
  const { status, statusText, headers } = original
  const isUsual = status >= FIRST_STATUS && status <= LAST_STATUS && !BODILESS.has(status)
  // As far as possible it is made so, not only made to say so: a server that sends it on may look within.
  const made = new Response(body, {
    headers,
    ...(isUsual ? { status } : {}),
    ...(STATUS_TEXT.test(statusText) ? { statusText } : {}),
  })
  const response = alike(made, original)
  keepOwn(response, original)
  return response
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

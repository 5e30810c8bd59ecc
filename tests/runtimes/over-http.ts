/** Streams over HTTP: one that stalls, a response that does not come, and one that is passed on. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { readAll, rejection, told } from './small-streams.ts'

/** `origin`: of a `SlowServer`. */
export async function overHttp(origin: string) {
  const response = await watchStream(fetch(`${origin}/stalls`), {
    source: 'openai-responses',
    headersMs: 20_000,
    contentIntervalMs: 300,
  })
  const text = response.body?.pipeThrough(new TextDecoderStream()) ?? null
  const { events, end } = await readAll(text)
  const abort = new AbortController()
  const late = fetch(`${origin}/waits`, { signal: abort.signal })
  const noHeaders = await rejection(watchStream(late, { headersMs: 300, abort }))
  return {
    said: [response.status, response.headers.get('content-type'), response.url === `${origin}/stalls`],
    text: events.join(''),
    end: told(end),
    noHeaders: told(noHeaders),
  }
}

/** A handler of requests that passes on what that server streams. */
export function passesOn(origin: string): (request: Request) => Promise<Response> {
  return (request) =>
    watchStream(fetch(origin + new URL(request.url).pathname), {
      source: 'openai-responses',
      headersMs: 20_000,
      contentIntervalMs: 300,
      drainMs: 20_000,
    })
}

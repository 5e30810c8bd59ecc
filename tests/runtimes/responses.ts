/** Responses that stream server-sent events, cut anywhere. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { atOnce, readAll, rejection, served, told } from './small-streams.ts'

const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const stopped = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
const TEXT = `: OPENROUTER PROCESSING\n\n${chunk('Grüß')}${chunk('di 👋')}${stopped}data: [DONE]\n\n`

/** Pieces of seven bytes: they cut lines and characters. */
function pieces(text: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.slice(i * 7, i * 7 + 7))
}

function responseOf(text: string, then: 'closes' | 'hangs') {
  const { stream, cancelled } = served(atOnce(...pieces(text)), then, 'bytes')
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_1' }
  return { response: new Response(stream, { status: 201, statusText: 'Made', headers }), cancelled }
}

const utf8 = (bytes: readonly unknown[]) => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return bytes.map((piece) => decoder.decode(piece as Uint8Array, { stream: true })).join('') + decoder.decode()
}

export async function bytesAsTheyCame() {
  const { response } = responseOf(TEXT, 'closes')
  const watched = watchStream(response, { source: 'openai-chat-chunk', firstContentMs: 20_000, drainMs: 20_000 })
  const { status, statusText, ok, headers } = watched
  const { events, end } = await readAll(watched.body)
  return {
    isAnother: watched !== response,
    isResponse: watched instanceof Response,
    said: [status, statusText, ok, headers.get('content-type'), headers.get('x-request-id')],
    isSameText: utf8(events) === TEXT,
    end,
  }
}

/** A reader with memory of its own. */
export async function bytesIntoMemory() {
  const { response } = responseOf(TEXT, 'closes')
  const { body } = watchStream(response, { source: 'openai-chat-chunk', firstContentMs: 20_000 })
  const reader = (body as ReadableStream).getReader({ mode: 'byob' })
  const got: number[] = []
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(5))
    if (done) break
    got.push(...value)
  }
  return { isSameText: utf8([Uint8Array.from(got)]) === TEXT }
}

/** The runtime's own body, clone, decoder and pipe. */
export async function theRuntimesOwn() {
  const made = () => new Response(TEXT, { headers: { 'content-type': 'text/event-stream' } })
  const options = { source: 'openai-chat-chunk', firstContentMs: 20_000, livenessMs: 20_000 } as const
  const watched = watchStream(made(), options)
  const cloned = watched.clone()
  const texts = await Promise.all([watched.text(), cloned.text()])
  const piped = watchStream(made(), options).body?.pipeThrough(new TextDecoderStream())
  const { events } = await readAll(piped ?? null)
  return { isSameText: [...texts, events.join('')].map((text) => text === TEXT) }
}

export async function aResponseThatStalls() {
  const text = chunk('Grüß') + chunk('di')
  const { response, cancelled } = responseOf(text, 'hangs')
  const watched = watchStream(Promise.resolve(response), {
    source: 'openai-chat-chunk',
    headersMs: 20_000,
    contentIntervalMs: 60,
  })
  const { events, end } = await readAll((await watched).body)
  return { isSameText: utf8(events) === text, end: told(end), isCancelledWithIt: cancelled[0] === end }
}

/** Chromium rejects it with an error of its own; elsewhere it is that of the stall. */
export async function aTextThatStalls() {
  const { response } = responseOf(chunk('Grüß'), 'hangs')
  const heard: string[] = []
  const watched = watchStream(response, {
    source: 'openai-chat-chunk',
    contentIntervalMs: 60,
    onStall: ({ phase }) => heard.push(phase),
  })
  return { isRejected: (await rejection(watched.text())) instanceof Error, heard }
}

/** `[DONE]` ends it, and the connection stays open. */
export async function noCloseAfterDone() {
  const { response } = responseOf(TEXT, 'hangs')
  const watched = watchStream(response, { source: 'openai-chat-chunk', contentIntervalMs: 20_000, drainMs: 60 })
  return { isSameText: (await watched.text()) === TEXT }
}

/** No stream of events: the very same. */
export async function aWholeReply() {
  const reply = Response.json({ fine: true })
  return { isTheSame: watchStream(reply, { firstContentMs: 60 }) === reply, said: await reply.json() }
}

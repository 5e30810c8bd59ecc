/** Every kind of stream that can be watched, each of which plays the same script. */

import type { Streamed } from '../../detector/watchdog/index.ts'
import { generated, type Line, pushed } from './scripted.ts'
import type { VirtualClock } from './virtual-clock.ts'

interface Opened {
  readonly stream: Streamed
  /** What the source was given up with, once for each time. */
  readonly ended: unknown[]
}

export interface Kind {
  readonly name: string
  /** How it carries events: as they are, or as text. */
  readonly as: 'events' | 'sse' | 'ndjson'
  /** Whether its source hears why it is given up. */
  readonly tellsWhy: boolean
  open(clock: VirtualClock, script: readonly Line[]): Opened
  /** Its events, decoded where they are text. */
  events(stream: Streamed): AsyncIterable<unknown>
}

/** A stream as SDKs make them: to end its loop or to abort its controller ends the request. */
export class SdkStream implements AsyncIterable<unknown> {
  readonly controller = new AbortController()
  readonly id = 'req_1'
  tag: string | undefined
  readonly #play: (aborted: Promise<void>) => AsyncGenerator<unknown>

  constructor(clock: VirtualClock, script: readonly Line[]) {
    this.#play = (aborted) => untilAborted(generated(clock, script), aborted)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    const { signal } = this.controller
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    let isWhole = false
    try {
      yield* this.#play(aborted)
      isWhole = true
    } finally {
      if (!isWhole) this.controller.abort('left')
    }
  }

  requestId(): string {
    return this.id
  }
}

async function* untilAborted(events: AsyncGenerator<unknown>, aborted: Promise<void>): AsyncGenerator<unknown> {
  for (;;) {
    const step = await Promise.race([events.next(), aborted])
    if (step === undefined || step.done) return
    yield step.value
  }
}

const CONTROLS: readonly unknown[] = ['end', 'hang']

/** An event as text; those that are text already are a sentinel, or a comment with its colon. */
export function encoded(event: unknown, as: 'sse' | 'ndjson'): string {
  const text = typeof event === 'string' ? event : JSON.stringify(event)
  if (as === 'ndjson') return text.startsWith(':') ? '\n' : `${text}\n`
  return text.startsWith(':') ? `${text}\n\n` : `data: ${text}\n\n`
}

function textScript(script: readonly Line[], as: 'sse' | 'ndjson'): Line[] {
  return script.map(([ms, what]) =>
    CONTROLS.includes(what) || what instanceof Error ? [ms, what] : [ms, encoded(what, as)],
  )
}

function byteScript(script: readonly Line[], as: 'sse' | 'ndjson'): Line[] {
  const encoder = new TextEncoder()
  return textScript(script, as).map(([ms, what]) =>
    typeof what === 'string' && !CONTROLS.includes(what) ? [ms, encoder.encode(what)] : [ms, what],
  )
}

/** The events of text that comes in any pieces. */
async function* decoded(chunks: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk as Uint8Array, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const text = line.replace('data: ', '')
      if (text === '' || text.startsWith(':')) continue
      yield text === '[DONE]' ? text : JSON.parse(text)
    }
  }
}

/** Reads with memory of the reader's own, in which a chunk may not have room. */
export async function* byob(stream: ReadableStream, bytes = 1024): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: 'byob' })
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(bytes))
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

const direct = (stream: Streamed) => stream as AsyncIterable<unknown>
const bodyOf = (stream: Streamed) => (stream as Response).body as ReadableStream

export const generator: Kind = {
  name: 'an async generator',
  as: 'events',
  tellsWhy: false,
  open(clock, script) {
    const stream = generated(clock, script)
    const ended: unknown[] = []
    const leave = stream.return.bind(stream)
    stream.return = (value) => {
      ended.push('return')
      return leave(value)
    }
    return { stream, ended }
  },
  events: direct,
}

export const sdk: Kind = {
  name: 'a stream of an SDK',
  as: 'events',
  tellsWhy: true,
  open(clock, script) {
    const stream = new SdkStream(clock, script)
    const ended: unknown[] = []
    const { signal } = stream.controller
    signal.addEventListener('abort', () => ended.push(signal.reason))
    return { stream, ended }
  },
  events: direct,
}

export const objects: Kind = {
  name: 'a ReadableStream of events',
  as: 'events',
  tellsWhy: true,
  open(clock, script) {
    const { stream, cancelled } = pushed(clock, script)
    return { stream, ended: cancelled }
  },
  events: direct,
}

const texts: Kind = {
  ...objects,
  name: 'a ReadableStream of text',
  as: 'sse',
  open: (clock, script) => objects.open(clock, textScript(script, 'sse')),
  events: (stream) => decoded(direct(stream)),
}

const chunks: Kind = {
  ...texts,
  name: 'a ReadableStream of byte arrays',
  open: (clock, script) => objects.open(clock, byteScript(script, 'sse')),
}

const bytes: Kind = {
  ...texts,
  name: 'a byte stream',
  open(clock, script) {
    const { stream, cancelled } = pushed(clock, byteScript(script, 'sse'), 'bytes')
    return { stream, ended: cancelled }
  },
}

const byobBytes: Kind = {
  ...bytes,
  name: 'a byte stream whose reader brings its memory',
  events: (stream) => decoded(byob(stream as ReadableStream)),
}

function response(name: string, as: 'sse' | 'ndjson', type: string): Kind {
  return {
    name,
    as,
    tellsWhy: true,
    open(clock, script) {
      const { stream, cancelled } = pushed(clock, byteScript(script, as), 'bytes')
      return {
        stream: new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>, { headers: { 'content-type': type } }),
        ended: cancelled,
      }
    },
    events: (stream) => decoded(bodyOf(stream)),
  }
}

export const sseResponse = response('a Response of server-sent events', 'sse', 'text/event-stream; charset=utf-8')
const ndjsonResponse = response('a Response of NDJSON', 'ndjson', 'application/x-ndjson')

export const KINDS: readonly Kind[] = [
  generator,
  sdk,
  objects,
  texts,
  chunks,
  bytes,
  byobBytes,
  sseResponse,
  ndjsonResponse,
]

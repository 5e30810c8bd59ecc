/** Text or bytes of server-sent events or NDJSON, decoded into raw events on the side. */

import { JsonLines } from './json-lines.ts'
import { ServerSentEvents } from './server-sent-events.ts'

export type TextFormat = 'sse' | 'ndjson'

export interface JsonEventsListener {
  readonly onEvent: (raw: unknown) => void
  /** What is no JSON by design: `[DONE]`, and comments with their colon. */
  readonly onSentinel: (text: string) => void
  /** A line, or the data of an event, that should be JSON and is not. */
  readonly onNotJson: () => void
  /** A line or event of more than 64 MiB was passed over. */
  readonly onTooLong: () => void
}

const DONE = '[DONE]'
const BRACE = 0x7b
/** Blanks and the bytes of the byte order mark. */
const LEADING: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d, 0x0a, 0xef, 0xbb, 0xbf])

/** Whether a chunk is text or bytes, and not an event itself. */
export function isText(chunk: unknown): chunk is string | NodeJS.ArrayBufferView | ArrayBuffer {
  return typeof chunk === 'string' || ArrayBuffer.isView(chunk) || chunk instanceof ArrayBuffer
}

export class JsonEvents {
  readonly #listener: JsonEventsListener
  #decoder: JsonLines | ServerSentEvents | null = null
  /** The first half of a character that a string was cut in. */
  #half = ''

  /** Without a format, the first character tells it. */
  constructor(format: TextFormat | null, listener: JsonEventsListener) {
    this.#listener = listener
    if (format !== null) this.#decoder = this.#decoderOf(format)
  }

  push(chunk: string | NodeJS.ArrayBufferView | ArrayBuffer): void {
    const bytes = typeof chunk === 'string' ? this.#encoded(chunk) : bytesOf(chunk)
    if (this.#decoder === null) {
      const first = bytes.find((byte) => !LEADING.has(byte))
      if (first === undefined) return
      this.#decoder = this.#decoderOf(first === BRACE ? 'ndjson' : 'sse')
    }
    this.#decoder.push(bytes)
  }

  /** The stream is over. */
  end(): void {
    this.#decoder?.end()
  }

  #decoderOf(format: TextFormat): JsonLines | ServerSentEvents {
    const { onSentinel, onTooLong } = this.#listener
    const onData = (text: string) => this.#parse(text)
    return format === 'ndjson'
      ? new JsonLines(onData, onTooLong)
      : new ServerSentEvents({ onData, onComment: onSentinel, onTooLong })
  }

  #parse(text: string): void {
    if (text.startsWith(DONE)) return this.#listener.onSentinel(DONE)
    let raw: unknown
    try {
      raw = JSON.parse(text)
    } catch {
      return this.#listener.onNotJson()
    }
    this.#listener.onEvent(raw)
  }

  #encoded(chunk: string): Buffer {
    const text = this.#half + chunk
    const last = text.charCodeAt(text.length - 1)
    const isCut = last >= 0xd800 && last <= 0xdbff
    this.#half = isCut ? text.slice(-1) : ''
    return Buffer.from(isCut ? text.slice(0, -1) : text)
  }
}

function bytesOf(chunk: NodeJS.ArrayBufferView | ArrayBuffer): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk
  return ArrayBuffer.isView(chunk) ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.from(chunk)
}

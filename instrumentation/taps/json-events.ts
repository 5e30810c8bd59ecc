/** Text or bytes of server-sent events or NDJSON, decoded into raw events on the side. */

import { JsonLines } from './json-lines.ts'
import { ServerSentEvents } from './server-sent-events.ts'

export type TextFormat = 'sse' | 'ndjson'

export interface JsonEventsListener {
  readonly onEvent: (raw: unknown) => void
  /** What is no JSON by design: `[DONE]`, and comments with their colon. */
  readonly onSentinel: (text: string) => void
  /** A line, or the data of an event, that should be JSON and is not; without its text where it is neither. */
  readonly onNotJson: (text?: string) => void
  /** A line or event of more than 64 MiB was passed over. */
  readonly onTooLong: () => void
}

const DONE = '[DONE]'
/** Bytes that tell whether a text is one of server-sent events. */
const HEAD_BYTES = 6
const FIRST_FIELD = /^(?::|(?:data|event|id|retry)(?![^:\r\n]))/
const BRACE = 0x7b
/** Room for shorter strings is kept from one to the next, for to make it takes longer than to fill it. */
const KEEP_BYTES = 16 * 1024
const NOTHING = new Uint8Array(0)
const UTF8 = new TextEncoder()
/** Blanks and the bytes of the byte order mark. */
const LEADING: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d, 0x0a, 0xef, 0xbb, 0xbf])

/** Whether a chunk is text or bytes, and not an event itself. */
export function isText(chunk: unknown): chunk is string | ArrayBufferView | ArrayBuffer {
  return typeof chunk === 'string' || ArrayBuffer.isView(chunk) || chunk instanceof ArrayBuffer
}

export class JsonEvents {
  readonly #listener: JsonEventsListener
  #decoder: JsonLines | ServerSentEvents | null = null
  /** The first half of a character that a string was cut in. */
  #half = ''
  /** Where strings are encoded. */
  #room = NOTHING
  /** The beginning of what may be server-sent events, until it tells. */
  #head: string | null = null
  #isPlain = false
  /** Whether the last that came is whole, and there was any. */
  #isWhole = false
  #isOver = false

  /** Without a format, the first character tells it. */
  constructor(format: TextFormat | null, listener: JsonEventsListener) {
    this.#listener = listener
    if (format !== null) this.#decoder = this.#decoderOf(format)
  }

  /** Whether an event has begun, and is not told yet. */
  get pending(): boolean {
    return this.#decoder?.pending ?? false
  }

  push(chunk: string | ArrayBufferView | ArrayBuffer): void {
    const bytes = typeof chunk === 'string' ? this.#encoded(chunk) : bytesOf(chunk)
    if (this.#decoder === null) {
      const first = bytes.findIndex((byte) => !LEADING.has(byte))
      if (first === -1) return
      const format = bytes[first] === BRACE ? 'ndjson' : 'sse'
      this.#decoder = this.#decoderOf(format)
      if (format === 'sse') this.#look(bytes.subarray(first), false)
    } else if (this.#head !== null) this.#look(bytes, false)
    this.#decoder.push(bytes)
  }

  /** The stream is over. Returns whether its text was: false where there was none, or the last of it is cut. */
  end(): boolean {
    if (this.#head !== null) this.#look(NOTHING, true)
    this.#isOver = true
    this.#decoder?.end()
    return this.#isPlain || this.#isWhole
  }

  /** Text that is neither of lines nor of events is counted once. */
  #look(bytes: Uint8Array, isAll: boolean): void {
    const head = (this.#head ?? '') + String.fromCharCode(...bytes.subarray(0, HEAD_BYTES))
    this.#head = isAll || head.length >= HEAD_BYTES ? null : head
    if (this.#head !== null) return
    this.#isPlain = !FIRST_FIELD.test(head)
    if (this.#isPlain) this.#listener.onNotJson()
  }

  #decoderOf(format: TextFormat): JsonLines | ServerSentEvents {
    const { onSentinel, onTooLong } = this.#listener
    const onData = (text: string) => this.#parse(text)
    return format === 'ndjson'
      ? new JsonLines(onData, onTooLong)
      : new ServerSentEvents({ onData, onComment: onSentinel, onTooLong })
  }

  #parse(text: string): void {
    this.#isWhole = true
    if (text.startsWith(DONE)) return this.#listener.onSentinel(DONE)
    let raw: unknown
    try {
      raw = JSON.parse(text)
    } catch {
      this.#isWhole = !this.#isOver
      return this.#listener.onNotJson(text)
    }
    this.#listener.onEvent(raw)
  }

  /** Good until the next string. */
  #encoded(chunk: string): Uint8Array {
    let text = this.#half + chunk
    const last = text.charCodeAt(text.length - 1)
    const isCut = last >= 0xd800 && last <= 0xdbff
    this.#half = isCut ? text.slice(-1) : ''
    if (isCut) text = text.slice(0, -1)
    const most = text.length * 3
    if (most > KEEP_BYTES) return UTF8.encode(text)
    if (most > this.#room.length) this.#room = new Uint8Array(Math.max(most, this.#room.length * 2))
    return this.#room.subarray(0, UTF8.encodeInto(text, this.#room).written)
  }
}

function bytesOf(chunk: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk
  return ArrayBuffer.isView(chunk)
    ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    : new Uint8Array(chunk)
}

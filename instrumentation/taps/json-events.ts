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
/** Bytes that tell whether a text is one of server-sent events. */
const HEAD_BYTES = 6
const FIRST_FIELD = /^(?::|(?:data|event|id|retry)(?![^:\r\n]))/
const BRACE = 0x7b
const NOTHING = Buffer.alloc(0)
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
  /** The beginning of what may be server-sent events, until it tells. */
  #head: Buffer | null = null
  #isPlain = false
  /** Whether the last that came is whole, and there was any. */
  #isWhole = false
  #isOver = false

  /** Without a format, the first character tells it. */
  constructor(format: TextFormat | null, listener: JsonEventsListener) {
    this.#listener = listener
    if (format !== null) this.#decoder = this.#decoderOf(format)
  }

  push(chunk: string | NodeJS.ArrayBufferView | ArrayBuffer): void {
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
  #look(bytes: Buffer, isAll: boolean): void {
    const head = Buffer.concat([this.#head ?? NOTHING, bytes.subarray(0, HEAD_BYTES)])
    this.#head = isAll || head.length >= HEAD_BYTES ? null : head
    if (this.#head !== null) return
    this.#isPlain = !FIRST_FIELD.test(head.toString('latin1'))
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

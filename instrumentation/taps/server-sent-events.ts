/** The data and comments of a stream of server-sent events, in bounded memory. Other fields are passed over. */

import { decoded, HeldBytes } from './held-bytes.ts'
import { MAX_TEXT_BYTES } from './json-lines.ts'

/** Of a longer comment only the beginning is told. */
const MAX_COMMENT_BYTES = 1024

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const DATA = new TextEncoder().encode('data')
const BYTE_ORDER_MARK = new TextEncoder().encode('\ufeff')
const NOTHING = new Uint8Array(0)

export interface ServerSentListener {
  /** The data of one event, its lines joined by newlines. Events without any are passed over. */
  readonly onData: (text: string) => void
  /** A comment, with its colon. */
  readonly onComment: (text: string) => void
  /** An event of more than 64 MiB was passed over. */
  readonly onTooLong: () => void
}

export class ServerSentEvents {
  readonly #listener: ServerSentListener
  /** What the line that has begun is; `start` while that is open. */
  #line: 'start' | 'data' | 'comment' | 'other' = 'start'
  /** Bytes of the mark and of the name `data` that have come. */
  #mark = 0
  #named = 0
  /** Whether the value of the line has begun, which one space may precede. */
  #inValue = false
  /** Whether a newline would belong to the carriage return before it. */
  #afterReturn = false
  readonly #held = new HeldBytes()
  /** Lines of the event that has begun, and their bytes. */
  #data: string[] = []
  #size = 0

  constructor(listener: ServerSentListener) {
    this.#listener = listener
  }

  /** Whether an event has begun: there is data of one, or a line that may be data. */
  get pending(): boolean {
    return this.#size > 0 || (this.#line === 'start' && this.#named > 0)
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    let from = this.#afterReturn && chunk[0] === LF ? 1 : 0
    this.#afterReturn = false
    let lf = chunk.indexOf(LF, from)
    let cr = chunk.indexOf(CR, from)
    while (from < chunk.length) {
      // Each is looked for again only once it is passed: a chunk may have none of one kind.
      if (lf !== -1 && lf < from) lf = chunk.indexOf(LF, from)
      if (cr !== -1 && cr < from) cr = chunk.indexOf(CR, from)
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf
      if (end === -1) return this.#take(chunk.subarray(from), false)
      this.#take(chunk.subarray(from, end), true)
      from = end + 1
      if (end !== cr) continue
      this.#afterReturn = from === chunk.length
      if (chunk[from] === LF) from++
    }
  }

  /** The stream is over: the last event may lack the blank line, and its newline. */
  end(): void {
    if (this.#line !== 'start' || this.#named > 0) this.#take(NOTHING, true)
    this.#dispatch()
  }

  #take(part: Uint8Array, ends: boolean): void {
    const value = part.subarray(this.#beginLine(part))
    if (this.#line === 'data') this.#hold(value, ends)
    else if (this.#line === 'comment') this.#held.push(value.subarray(0, MAX_COMMENT_BYTES - this.#held.length))
    if (ends) this.#endLine(value)
  }

  /** Where in the part the value of the line is. */
  #beginLine(part: Uint8Array): number {
    let at = 0
    while (this.#line === 'start' && at < part.length) {
      const byte = part[at++]
      if (this.#mark < BYTE_ORDER_MARK.length) {
        if (byte === BYTE_ORDER_MARK[this.#mark]) {
          this.#mark++
          continue
        }
        this.#mark = BYTE_ORDER_MARK.length
      }
      if (this.#named === DATA.length) this.#line = byte === COLON ? 'data' : 'other'
      else if (byte === DATA[this.#named]) this.#named++
      else this.#line = this.#named === 0 && byte === COLON ? 'comment' : 'other'
    }
    if (this.#line !== 'data' || this.#inValue || at === part.length) return at
    this.#inValue = true
    return part[at] === SPACE ? at + 1 : at
  }

  #hold(value: Uint8Array, ends: boolean): void {
    this.#size += value.length + 1
    if (this.#size > MAX_TEXT_BYTES) {
      this.#held.drop()
      this.#data = []
    } else if (!ends || this.#held.length > 0) this.#held.push(value)
  }

  #endLine(value: Uint8Array): void {
    const isBlank = this.#line === 'start' && this.#named === 0
    if (this.#line === 'comment') this.#listener.onComment(`:${this.#held.text()}`)
    else if (this.#line === 'data' && this.#size <= MAX_TEXT_BYTES) {
      this.#data.push(this.#held.length > 0 ? this.#held.text() : decoded(value))
    } else if (this.#line === 'start' && this.#named === DATA.length) {
      this.#size++
      this.#data.push('')
    }
    this.#held.drop()
    this.#line = 'start'
    this.#named = 0
    this.#inValue = false
    if (isBlank) this.#dispatch()
  }

  #dispatch(): void {
    const [data, size] = [this.#data, this.#size]
    this.#data = []
    this.#size = 0
    if (size > MAX_TEXT_BYTES) return this.#listener.onTooLong()
    const text = data.length === 1 ? (data[0] as string) : data.join('\n')
    if (text !== '') this.#listener.onData(text)
  }
}

/** Lines of a byte stream that can hold JSON objects, in bounded memory. */

import { decoded, HeldBytes } from './held-bytes.ts'

/** Longer lines, or events, are passed over. */
export const MAX_TEXT_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a
const BRACE = 0x7b
const NOTHING = new Uint8Array(0)
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d])

/**
 * Calls back with each line that starts with `{`, as text. Whatever else comes, binary output too, is only counted: of a
 * line that cannot be JSON nothing is held, and of one that can at most 64 MiB.
 */
export class JsonLines {
  /** Bytes that came. */
  bytes = 0
  /** Lines that ended. */
  lines = 0
  readonly #onLine: (line: string) => void
  readonly #onTooLong: () => void
  #state: 'start' | 'object' | 'other' = 'start'
  /** The part of a line that came in earlier chunks. */
  readonly #held = new HeldBytes()

  constructor(onLine: (line: string) => void, onTooLong: () => void = () => {}) {
    this.#onLine = onLine
    this.#onTooLong = onTooLong
  }

  /** Whether a line has begun that may be a JSON object. */
  get pending(): boolean {
    return this.#state === 'object'
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length
    let from = 0
    while (from < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, from)
      const to = newline === -1 ? chunk.length : newline
      this.#take(chunk.subarray(from, to), newline !== -1)
      from = to + 1
    }
  }

  /** The stream is over: the last line may lack its newline. */
  end(): void {
    if (this.#state === 'object') this.#take(NOTHING, true)
  }

  #take(part: Uint8Array, ends: boolean): void {
    if (this.#state === 'start') {
      const first = part.find((byte) => !SPACES.has(byte))
      if (first !== undefined) this.#state = first === BRACE ? 'object' : 'other'
    }
    if (this.#state === 'object' && this.#held.length + part.length > MAX_TEXT_BYTES) {
      this.#state = 'other'
      this.#held.drop()
      this.#onTooLong()
    }
    const isObject = this.#state === 'object'
    if (isObject && (!ends || this.#held.length > 0)) this.#held.push(part)
    if (!ends) return
    this.lines++
    this.#state = 'start'
    if (!isObject) return
    const line = this.#held.length > 0 ? this.#held.text() : decoded(part)
    this.#held.drop()
    this.#onLine(line)
  }
}

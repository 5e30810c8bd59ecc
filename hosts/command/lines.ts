/** Lines of a byte stream that can hold JSON objects, in bounded memory. */

/** Longer lines are passed over. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
/** Room that is kept from one line to the next. */
const KEEP_BYTES = 1024 * 1024

const NEWLINE = 0x0a
const BRACE = 0x7b
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
  #state: 'start' | 'object' | 'other' = 'start'
  /** The part of a line that came in earlier chunks. */
  #held = Buffer.alloc(0)
  #length = 0

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  /** Whether a line has begun that may be a JSON object. */
  get pending(): boolean {
    return this.#state === 'object'
  }

  push(chunk: Buffer): void {
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
    if (this.#state === 'object') this.#take(Buffer.alloc(0), true)
  }

  #take(part: Buffer, ends: boolean): void {
    if (this.#state === 'start') {
      const first = part.find((byte) => !SPACES.has(byte))
      if (first !== undefined) this.#state = first === BRACE ? 'object' : 'other'
    }
    if (this.#state === 'object' && this.#length + part.length > MAX_LINE_BYTES) {
      this.#state = 'other'
      this.#drop()
    }
    const isObject = this.#state === 'object'
    if (isObject && (!ends || this.#length > 0)) this.#hold(part)
    if (!ends) return
    this.lines++
    this.#state = 'start'
    if (!isObject) return
    // Decoded only when whole, so that no character is cut in two.
    const line = (this.#length > 0 ? this.#held.subarray(0, this.#length) : part).toString('utf8')
    this.#drop()
    this.#onLine(line)
  }

  #hold(part: Buffer): void {
    const length = this.#length + part.length
    if (length > this.#held.length) {
      const wider = Buffer.allocUnsafe(Math.max(length, this.#held.length * 2, 4096))
      this.#held.copy(wider, 0, 0, this.#length)
      this.#held = wider
    }
    part.copy(this.#held, this.#length)
    this.#length = length
  }

  #drop(): void {
    this.#length = 0
    if (this.#held.length > KEEP_BYTES) this.#held = Buffer.alloc(0)
  }
}

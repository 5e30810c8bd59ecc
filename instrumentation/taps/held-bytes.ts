/** Bytes of a line whose end has not come yet, and the text that bytes are. */

/** Room that is kept from one line to the next. */
const KEEP_BYTES = 1024 * 1024

/** Of a byte order mark within a text it makes the character that it is. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** What is no UTF-8 becomes U+FFFD. */
export function decoded(bytes: Uint8Array): string {
  return UTF8.decode(bytes)
}

export class HeldBytes {
  length = 0
  #room = new Uint8Array(0)

  push(part: Uint8Array): void {
    const length = this.length + part.length
    if (length > this.#room.length) {
      const wider = new Uint8Array(Math.max(length, this.#room.length * 2, 4096))
      wider.set(this.#room.subarray(0, this.length))
      this.#room = wider
    }
    this.#room.set(part, this.length)
    this.length = length
  }

  /** Decoded only when whole, so that no character is cut in two. */
  text(): string {
    return decoded(this.#room.subarray(0, this.length))
  }

  drop(): void {
    this.length = 0
    if (this.#room.length > KEEP_BYTES) this.#room = new Uint8Array(0)
  }
}

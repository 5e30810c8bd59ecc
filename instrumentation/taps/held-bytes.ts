/** Bytes of a line whose end has not come yet. */

/** Room that is kept from one line to the next. */
const KEEP_BYTES = 1024 * 1024

export class HeldBytes {
  length = 0
  #room = Buffer.alloc(0)

  push(part: Buffer): void {
    const length = this.length + part.length
    if (length > this.#room.length) {
      const wider = Buffer.allocUnsafe(Math.max(length, this.#room.length * 2, 4096))
      this.#room.copy(wider, 0, 0, this.length)
      this.#room = wider
    }
    part.copy(this.#room, this.length)
    this.length = length
  }

  /** Decoded only when whole, so that no character is cut in two. */
  text(): string {
    return this.#room.toString('utf8', 0, this.length)
  }

  drop(): void {
    this.length = 0
    if (this.#room.length > KEEP_BYTES) this.#room = Buffer.alloc(0)
  }
}

/** A queue that takes turns between parents, so that one whose messages hang holds up its own only. */

interface Line<T> {
  readonly waiting: T[]
  inFlight: number
}

export class FairQueue<T> {
  readonly #perParent: number
  /** In the order in which they get their turn. */
  readonly #lines = new Map<string, Line<T>>()
  #size = 0

  /** `perParent`: how many of one parent may be in flight. */
  constructor(perParent: number) {
    this.#perParent = perParent
  }

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  add(parent: string, item: T): void {
    this.#line(parent).waiting.push(item)
    this.#size++
  }

  /** The next one whose parent has room; it counts as in flight until `done`. */
  take(): T | undefined {
    for (const [parent, line] of this.#lines) {
      if (line.inFlight >= this.#perParent || line.waiting.length === 0) continue
      const item = line.waiting.shift() as T
      this.#size--
      line.inFlight++
      this.#lines.delete(parent)
      this.#lines.set(parent, line)
      return item
    }
    return undefined
  }

  done(parent: string): void {
    const line = this.#line(parent)
    line.inFlight--
    this.#forget(parent, line)
  }

  /** Takes one that waits out again. */
  remove(parent: string, item: T): void {
    const line = this.#line(parent)
    const at = line.waiting.indexOf(item)
    if (at >= 0) {
      line.waiting.splice(at, 1)
      this.#size--
    }
    this.#forget(parent, line)
  }

  #line(parent: string): Line<T> {
    let line = this.#lines.get(parent)
    if (line === undefined) {
      line = { waiting: [], inFlight: 0 }
      this.#lines.set(parent, line)
    }
    return line
  }

  #forget(parent: string, line: Line<T>): void {
    if (line.inFlight === 0 && line.waiting.length === 0) this.#lines.delete(parent)
  }
}

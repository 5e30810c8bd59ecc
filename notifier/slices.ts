/**
 * Work in slices: ten thousand turns may be stale at once, and the streams must be read meanwhile. A few are handled at
 * once, so that a verdict is told in the tick that finds it.
 */

const AT_ONCE = 16
const SLICE = 100

export class Slices<T> {
  readonly #handle: (item: T) => void
  readonly #sliced: () => void
  readonly #defer: (work: () => void) => void
  readonly #waiting: T[] = []
  #atOnce = AT_ONCE
  #isRunning = false
  #isScheduled = false

  /** `sliced` is called after each slice. */
  constructor(handle: (item: T) => void, sliced: () => void, defer: (work: () => void) => void) {
    this.#handle = handle
    this.#sliced = sliced
    this.#defer = defer
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Once a second: a few more may be handled at once. */
  refill(): void {
    this.#atOnce = AT_ONCE
  }

  push(item: T): void {
    this.#waiting.push(item)
    // What handling brings about, such as a callback that ends the turn, comes after it.
    if (this.#isRunning || this.#isScheduled) return
    if (this.#atOnce > 0) {
      this.#atOnce--
      this.#run()
    } else this.#schedule()
  }

  #schedule(): void {
    this.#isScheduled = true
    this.#defer(() => {
      this.#isScheduled = false
      this.#run()
    })
  }

  #run(): void {
    this.#isRunning = true
    for (const item of this.#waiting.splice(0, SLICE)) this.#handle(item)
    this.#sliced()
    this.#isRunning = false
    if (!this.isEmpty) this.#schedule()
  }
}

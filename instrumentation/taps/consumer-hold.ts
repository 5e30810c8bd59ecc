/**
 * The consumer's own time. A stream from which nothing is asked for cannot be silent, so a hold of a second or two and
 * more is shown as a wait. One that asks at once costs no event, and no timer of its own: a stream in use has one a second.
 */

import type { Later } from './later.ts'

const HELD_MS = 1000

export class ConsumerHold {
  readonly #later: Later
  readonly #onChange: (isHeld: boolean) => void
  #asks = true
  /** Rises with each ask, so that a hold is told from the next one. */
  #asked = 0
  #armed = false
  #told = false

  constructor(later: Later, onChange: (isHeld: boolean) => void) {
    this.#later = later
    this.#onChange = onChange
  }

  /** The consumer asks for more, or nothing more will come. */
  asks(): void {
    this.#asks = true
    this.#asked++
    if (!this.#told) return
    this.#told = false
    this.#onChange(false)
  }

  /** The consumer has all that it asked for. */
  holds(): void {
    this.#asks = false
    if (!this.#armed) this.#arm()
  }

  #arm(): void {
    this.#armed = true
    const seen = this.#asked
    this.#later(HELD_MS, () => {
      this.#armed = false
      if (this.#asks || this.#told) return
      if (this.#asked !== seen) return this.#arm()
      this.#told = true
      this.#onChange(true)
    })
  }
}

/** Tells the caller, once of each silence, that a share of its deadline is used up. */

import { harmless } from './harmless.ts'
import type { Due, StreamState } from './stream-state.ts'

export class StallWarnings {
  readonly #state: StreamState
  readonly #warnAt: number
  readonly #warn: ((due: Due) => void) | null
  /** The silence of each deadline that was warned of. */
  readonly #warned = new Map<string, number>()

  /** `warn` is told of a deadline at that share of it; null: nobody is. */
  constructor(state: StreamState, warnAt: number, warn: ((due: Due) => void) | null) {
    this.#state = state
    this.#warnAt = warnAt
    this.#warn = warn
  }

  /** Ms until the next warning. */
  nextMs(now: number): number {
    let least = Number.POSITIVE_INFINITY
    if (this.#warn === null) return least
    for (const due of this.#state.running(now)) {
      if (this.#isOpen(due)) least = Math.min(least, due.timeoutMs * this.#warnAt - due.elapsedMs)
    }
    return least
  }

  /** Tells what is due, as long as that ends nothing. */
  tell(now: number, isOver: () => boolean): void {
    const warn = this.#warn
    if (warn === null) return
    for (const due of [...this.#state.running(now)]) {
      if (isOver()) return
      if (!this.#isOpen(due) || due.elapsedMs < due.timeoutMs * this.#warnAt) continue
      this.#warned.set(due.setting, due.since)
      harmless(() => warn(due))
    }
  }

  #isOpen({ phase, setting, since }: Due): boolean {
    return phase !== 'drain' && this.#warned.get(setting) !== since
  }
}

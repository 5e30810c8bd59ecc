/** Failures of a store: each is counted, one that lasts is one line. */

import { StoreBusy } from './sample-store.ts'
import type { FaultPlace, SelfCounters } from './self-counters.ts'

export type StoreOp = keyof SelfCounters['storeErrors']

/** What is busy is tried again, which is no news unless it goes on: so often in a row. */
const BUSY_TRIES: Readonly<Partial<Record<StoreOp, number>>> = { save: 20, claim: 3, outbox: 3 }

export class StoreFaults {
  readonly #self: SelfCounters
  readonly #fault: (where: FaultPlace, error: unknown) => void
  /** Failures in a row. */
  readonly #failures = new Map<StoreOp, number>()
  /** What was said of each, until it works again. */
  readonly #said = new Map<StoreOp, string>()

  constructor(self: SelfCounters, fault: (where: FaultPlace, error: unknown) => void) {
    this.#self = self
    this.#fault = fault
  }

  failed(op: StoreOp, error: unknown): void {
    this.#self.storeErrors[op]++
    const failures = (this.#failures.get(op) ?? 0) + 1
    this.#failures.set(op, failures)
    if (error instanceof StoreBusy && failures < (BUSY_TRIES[op] ?? 1)) return
    const text = error instanceof Error ? error.message : String(error)
    // One file serves samples and messages: what is wrong with it is wrong with both.
    const isSaid = this.#said.has(op) || [...this.#said.values()].includes(text)
    this.#said.set(op, text)
    if (!isSaid) this.#fault('store', error)
  }

  worked(op: StoreOp): void {
    this.#failures.delete(op)
    this.#said.delete(op)
  }
}

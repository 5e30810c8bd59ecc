/** Children of one parent that stall together on one provider: their messages wait for each other, and go out as one. */

import type { Message } from './message.ts'

export interface Group {
  /** Key of the first message; the key of the message for all. */
  readonly id: string
  /** Monotonic ms at which it goes out. */
  readonly until: number
}

export class Groups {
  readonly #windowMs: number
  readonly #open = new Map<string, Group>()

  /** `windowMs` 0: no groups. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** The group that a message belongs to; it begins one where none is open. */
  of(message: Message, now: number): Group | null {
    if (this.#windowMs === 0 || message.parent === null) return null
    const cause = `${message.parent}\u0000${message.provider}`
    const open = this.#open.get(cause)
    if (open && open.until > now) return open
    const group = { id: message.key, until: now + this.#windowMs }
    this.#open.set(cause, group)
    return group
  }

  forgetOld(now: number): void {
    for (const [cause, { until }] of this.#open) if (until <= now) this.#open.delete(cause)
  }
}

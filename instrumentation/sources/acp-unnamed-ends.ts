/**
 * Answers to prompts that nobody saw, given while several sessions ran: an answer does not name its session. Whose it is
 * shows later, by which sessions go on, or when as many are answered as could be. Until then it ends nothing.
 */

import type { AcpSession } from './acp-session.ts'
import type { Classified } from './classifier.ts'

/** Answers that stay without an owner; older ones are given up. */
const MAX_ENDS = 100

export interface NamedEnd {
  readonly session: AcpSession
  readonly found: Classified
}

interface UnnamedEnd {
  readonly found: Classified
  /** The sessions whose end it may be. */
  readonly of: Set<AcpSession>
}

export class AcpUnnamedEnds {
  #ends: UnnamedEnd[] = []

  /** An answer that ends one of these sessions. Gives the ends whose sessions are known now. */
  add(found: Classified, of: readonly AcpSession[]): NamedEnd[] {
    this.#ends = [...this.#ends, { found, of: new Set(of) }].slice(-MAX_ENDS)
    return this.#named()
  }

  /** A session is not what was answered so far: it goes on, or its end is known. Gives the ends that this tells. */
  isNot(session: AcpSession): NamedEnd[] {
    if (this.#ends.length === 0) return []
    for (const { of } of this.#ends) of.delete(session)
    this.#ends = this.#ends.filter(({ of }) => of.size > 0)
    return this.#named()
  }

  /** As many answers as there are sessions which they can be of end all of these. */
  #named(): NamedEnd[] {
    for (const { of } of this.#ends) {
      const within = this.#ends.filter((end) => [...end.of].every((session) => of.has(session)))
      if (within.length < of.size) continue
      const found = within.map((end) => end.found)
      this.#ends = this.#ends.filter((end) => !within.includes(end))
      const sessions = [...of]
      const named = sessions.flatMap((session, at) => (found[at] === undefined ? [] : [{ session, found: found[at] }]))
      return [...named, ...sessions.flatMap((session) => this.isNot(session))]
    }
    return []
  }
}

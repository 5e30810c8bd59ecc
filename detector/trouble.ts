/** What only turns in trouble have: their episodes, and what is known against them. */

import type { StaleReason } from '../instrumentation/turn-counters.ts'
import type { ThresholdRow } from './learning.ts'

export interface Trouble {
  episode: number
  /** The ids that the episode opened under; the thread may get another name. */
  openedAs: { readonly threadId: string; readonly turnId: string } | null
  /** Whether the episode was open when the process before this one ended, and nothing has closed it yet. */
  carried: boolean
  reason: StaleReason
  /** The reason that opened the episode. */
  openedBy: StaleReason
  openedPhase: number
  /** The threshold that opened the episode. */
  openedRow: ThresholdRow | null
  staleSince: number
  staleSinceWallMs: number
  /** Phases in which the turn was stale by silence, as bits. */
  stalePhases: number
  everStale: boolean
  goneAt: number | null
  interruptAt: number | null
  errorMessage: string | null
  /** Observed ms at which `verify` was asked and has not answered; null otherwise. */
  verifyAskedAt: number | null
  /** Tells one suspicion from the next. */
  suspicion: number
}

export function newTrouble(): Trouble {
  return {
    episode: 0,
    openedAs: null,
    carried: false,
    reason: 'silence',
    openedBy: 'silence',
    openedPhase: 0,
    openedRow: null,
    staleSince: 0,
    staleSinceWallMs: 0,
    stalePhases: 0,
    everStale: false,
    goneAt: null,
    interruptAt: null,
    errorMessage: null,
    verifyAskedAt: null,
    suspicion: 0,
  }
}

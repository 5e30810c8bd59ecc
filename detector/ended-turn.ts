/** The last known state of a turn that has ended. */

import type { Outcome } from '../instrumentation/events.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'
import type { TurnStats } from '../instrumentation/turn-stats.ts'
import type { ThresholdRow } from './learning.ts'

export interface EndedTurn {
  readonly stats: TurnStats
  readonly outcome: Outcome
  /** Real ms, of the detector's clock, of the turn's last event. */
  readonly lastEventElapsedMs: number
  readonly lastEventKind: string
  /** Null without progress. */
  readonly lastProgressElapsedMs: number | null
  /** The threshold it was judged by last. */
  readonly threshold: ThresholdRow
  /** Stale verdicts it had. */
  readonly episode: number
  /** Why it failed, and since when that shows; null when it did not. The flag stays until the thread's next turn. */
  readonly failed: StaleReason | null
  readonly staleSinceWallMs: number | null
}

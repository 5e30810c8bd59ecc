/** What the detector says of a turn. */

import type { Phase } from '../instrumentation/events.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'
import type { Preset, ThresholdSource } from './thresholds.ts'

export interface Verdict {
  readonly verdict: 'suspect' | 'stale' | 'recovered'
  readonly threadId: string
  readonly turnId: string
  readonly parentThreadId: string | null
  readonly provider: string
  readonly model: string | null
  /** Counts the turn's stale verdicts from 1; 0 while it only was suspect. */
  readonly episode: number
  readonly reason: StaleReason
  readonly phase: Phase
  readonly preset: Preset
  readonly thresholdMs: number
  readonly thresholdSource: ThresholdSource
  /** Samples behind the threshold. */
  readonly samples: number
  /** Observed ms without progress. For `recovered`: how long the turn was stale. */
  readonly silenceMs: number
  /** ISO 8601, wall clock. */
  readonly at: string
  readonly lastEventAt: string
  readonly lastEventKind: string
  /** Null before the first progress. */
  readonly lastProgressAt: string | null
  readonly lastProgressKind: string
  /** What was open: the name or id of the oldest tool, or the reason of the oldest wait; null when nothing was. */
  readonly open: string | null
  /** The provider's final error, when it said one. */
  readonly errorMessage: string | null
}

/** The idempotency key of a stale episode. */
export function episodeKey(verdict: Pick<Verdict, 'threadId' | 'turnId' | 'episode'>): string {
  return `stale/${verdict.threadId}/${verdict.turnId}/${verdict.episode}`
}

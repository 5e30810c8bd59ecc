/** What the detector says of a turn. */

import type { Phase } from '../instrumentation/events.ts'
import type { Turn } from '../instrumentation/turn.ts'
import type { TurnClock } from '../instrumentation/turn-clock.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'
import { isoTime } from '../instrumentation/turn-stats.ts'
import type { ThresholdRow } from './learning.ts'
import type { Preset, ThresholdSource } from './thresholds.ts'
import type { Trouble } from './trouble.ts'

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

/** The idempotency key of a stale episode. A slash in a turn id is escaped, so that no two turns share a key. */
export function episodeKey({ threadId, turnId, episode }: Pick<Verdict, 'threadId' | 'turnId' | 'episode'>): string {
  return `stale/${threadId}/${turnId.replace(/[%/]/g, encodeURIComponent)}/${episode}`.toWellFormed()
}

/** What is said of a turn now, by the threshold in `row`. */
export function describe(
  turns: TurnClock,
  turn: Turn,
  trouble: Trouble | undefined,
  row: ThresholdRow,
  said: Pick<Verdict, 'verdict' | 'reason' | 'silenceMs' | 'preset'>,
): Verdict {
  const facts = turns.read(turn)
  const tool = turn.oldestTool()
  const lastProgressMs = facts.lastProgressElapsedMs
  return {
    verdict: said.verdict,
    threadId: turn.threadId,
    turnId: turn.turnId,
    parentThreadId: turn.parentThreadId,
    provider: turn.provider,
    model: turn.model,
    episode: trouble?.episode ?? 0,
    reason: said.reason,
    phase: row.phase,
    preset: said.preset,
    thresholdMs: row.thresholdMs,
    thresholdSource: row.thresholdSource,
    samples: row.samples,
    silenceMs: Math.round(said.silenceMs),
    at: isoTime(turns.time.wallMs),
    lastEventAt: isoTime(turns.time.wallAt(facts.lastEventElapsedMs)),
    lastEventKind: facts.lastEventKind,
    lastProgressAt: lastProgressMs === null ? null : isoTime(turns.time.wallAt(lastProgressMs)),
    lastProgressKind: facts.lastProgressKind,
    open: tool ? (tool.name ?? tool.id) : (turn.oldestWait()?.reason ?? null),
    errorMessage: trouble?.errorMessage ?? null,
  }
}

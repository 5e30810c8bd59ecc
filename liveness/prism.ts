/** The liveness object of one thread: the fields of the v1b route, and new facts in new fields only. */

import type { Phase, WaitReason } from '../instrumentation/events.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'

export type ThreadState = 'requested' | 'running' | 'tool' | 'waiting' | 'suspect' | 'stale' | 'ended' | 'idle'

/** All times are ISO 8601 of the server's wall clock, all durations ms. */
export interface PrismLiveness {
  threadId: string
  /** The server's clock beside the data, so that no reader needs its own. */
  now: string
  /** The thread's last event of any kind, also after the turn. */
  lastStreamAt: string | null
  silenceMs: number | null
  /** The tool that is open longest. */
  openTool: { itemId: string; itemType: string; title: string | null; startedAt: string } | null
  /** The running turn. */
  turn: { turnId: string | null; provider: string; model: string | null; startedAt: string; eventCount: number } | null
  stale: boolean
  staleSince: string | null
  thresholdMs: number
  thresholdSource: 'measured' | 'default'
  reason: StaleReason | null

  state: ThreadState
  phase: Phase | null
  /** The wait that is open longest. */
  waiting: { reason: WaitReason; id: string; since: string } | null
  lastProgressAt: string | null
  /** What is judged: observed ms without progress, 0 while a tool or wait is open; null without a running turn. */
  progressSilenceMs: number | null
  /** How much longer than the threshold a silence must last to be stale. */
  confirmMs: number
  /** Samples behind the threshold. */
  samples: number
  /** Stale verdicts of the turn so far. */
  episode: number
  parentThreadId: string | null
  /** What this thread was told of its children, newest last. */
  messages: { key: string; at: string; text: string }[]
}

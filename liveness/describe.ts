/** Makes the liveness object of a thread from what the detector knows. */

import type { Detector } from '../detector/detector.ts'
import type { ThresholdRow } from '../detector/learning.ts'
import type { ObservedClock } from '../detector/observed-clock.ts'
import type { Threads } from '../detector/threads.ts'
import { CONFIRM } from '../detector/thresholds.ts'
import type { Turn } from '../instrumentation/turn.ts'
import { isoTime } from '../instrumentation/turn-stats.ts'
import type { PrismLiveness, ThreadState } from './prism.ts'

/** Of a thread whose turn runs. */
export function livenessOfTurn(detector: Detector, turn: Turn, messages: PrismLiveness['messages']): PrismLiveness {
  const { turns, time } = detector
  const facts = turns.read(turn)
  const threshold = detector.thresholdOf(turn)
  const episode = detector.episodeOf(turn)
  const tool = turn.oldestTool()
  const wait = turn.oldestWait()
  return {
    threadId: turn.threadId,
    now: isoTime(time.wallMs),
    ...lastStreamFields(time, facts.lastEventElapsedMs),
    openTool: tool
      ? { itemId: tool.id, itemType: tool.name ?? 'tool', title: tool.name, startedAt: isoTime(tool.startedWallMs) }
      : null,
    turn: {
      turnId: turn.turnId,
      provider: turn.provider,
      model: turn.model,
      startedAt: isoTime(facts.startedWallMs),
      eventCount: facts.eventCount,
    },
    stale: episode !== null,
    staleSince: episode ? isoTime(episode.staleSinceWallMs) : null,
    ...thresholdFields(threshold),
    reason: episode?.reason ?? null,
    state: stateOf(detector, turn),
    phase: threshold.phase,
    waiting: wait ? { reason: wait.reason, id: wait.id, since: isoTime(wait.sinceWallMs) } : null,
    lastProgressAt: timeOf(time, facts.lastProgressElapsedMs),
    progressSilenceMs: Math.round(turns.silenceMs(turn.slot)),
    episode: detector.episodes(turn),
    parentThreadId: turn.parentThreadId,
    messages,
  }
}

/** Of a thread without a running turn, known or not. */
export function livenessOfThread(
  { time, learning }: Detector,
  threads: Threads,
  threadId: string,
  messages: PrismLiveness['messages'],
): PrismLiveness {
  const past = threads.past.get(threadId)
  const last = past?.last ?? null
  const requested = past?.requestedAtWallMs ?? null
  const thresholdMs = learning.unknownThresholdMs()
  return {
    threadId,
    now: isoTime(time.wallMs),
    ...(last ? lastStreamFields(time, last.lastEventElapsedMs) : { lastStreamAt: null, silenceMs: null }),
    openTool: null,
    turn: null,
    stale: last?.failed != null,
    staleSince: last?.staleSinceWallMs == null ? null : isoTime(last.staleSinceWallMs),
    ...thresholdFields(last?.threshold ?? { thresholdMs, thresholdSource: 'default', samples: 0 }),
    reason: last?.failed ?? null,
    state: requested !== null ? 'requested' : last ? 'ended' : 'idle',
    phase: null,
    waiting: null,
    lastProgressAt: timeOf(time, last?.lastProgressElapsedMs ?? null),
    progressSilenceMs: null,
    episode: last?.episode ?? 0,
    parentThreadId: last?.stats.parentThreadId ?? threads.parentOf(threadId),
    messages,
  }
}

function stateOf(detector: Detector, turn: Turn): ThreadState {
  const state = detector.stateOf(turn)
  return state === 'running' ? (detector.turns.coveredBy(turn) ?? state) : state
}

/** From real time, so that a step of the wall clock is no silence. */
function lastStreamFields(time: ObservedClock, elapsedMs: number) {
  return { lastStreamAt: timeOf(time, elapsedMs), silenceMs: Math.max(0, Math.round(time.elapsedMs - elapsedMs)) }
}

function timeOf(time: ObservedClock, elapsedMs: number | null): string | null {
  return elapsedMs === null ? null : isoTime(time.wallAt(elapsedMs))
}

function thresholdFields(row: Pick<ThresholdRow, 'thresholdMs' | 'thresholdSource' | 'samples'>) {
  return {
    // JSON has no infinity; a threshold that is switched off is the largest safe integer.
    thresholdMs: Math.min(row.thresholdMs, Number.MAX_SAFE_INTEGER),
    thresholdSource: row.thresholdSource,
    confirmMs: Math.min(row.thresholdMs * (CONFIRM - 1), Number.MAX_SAFE_INTEGER),
    samples: row.samples,
  }
}

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
export function livenessOfTurn(
  detector: Detector,
  threads: Threads,
  turn: Turn,
  messages: PrismLiveness['messages'],
): PrismLiveness {
  const { turns } = detector
  const time = answerTime(detector.time)
  const facts = turns.read(turn)
  const threshold = detector.thresholdOf(turn)
  const episode = detector.episodeOf(turn)
  const tool = turn.oldestTool()
  const wait = turn.oldestWait()
  return {
    threadId: turn.threadId,
    now: time.now,
    ...lastStreamFields(time, facts.lastEventElapsedMs, threads.past.get(turn.threadId)?.heardElapsedMs),
    openTool: tool
      ? { itemId: tool.id, itemType: tool.name ?? 'tool', title: tool.title, startedAt: isoTime(tool.startedWallMs) }
      : null,
    turn: {
      // An id that was made up here is nobody else's.
      turnId: turn.named ? turn.turnId : null,
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
    lastProgressAt: time.at(facts.lastProgressElapsedMs),
    progressSilenceMs: Math.round(turns.silenceMs(turn.slot)),
    episode: detector.episodes(turn),
    parentThreadId: turn.parentThreadId,
    messages,
  }
}

/** Of a thread without a running turn, known or not. */
export function livenessOfThread(
  detector: Detector,
  threads: Threads,
  threadId: string,
  messages: PrismLiveness['messages'],
): PrismLiveness {
  const time = answerTime(detector.time)
  const past = threads.past.get(threadId)
  const last = past?.last ?? null
  const failed = last?.failed == null ? null : last
  const requested = past?.requestedAtWallMs ?? null
  const thresholdMs = detector.learning.unknownThresholdMs()
  return {
    threadId,
    now: time.now,
    ...lastStreamFields(time, last?.lastEventElapsedMs, past?.heardElapsedMs),
    openTool: null,
    turn: null,
    stale: failed !== null,
    staleSince: failed?.staleSinceWallMs == null ? null : isoTime(failed.staleSinceWallMs),
    // Nothing is judged but the failure that still shows.
    ...thresholdFields(failed?.threshold ?? { thresholdMs, thresholdSource: 'default', samples: 0 }),
    reason: failed?.failed ?? null,
    state: requested !== null ? 'requested' : last ? 'ended' : 'idle',
    phase: null,
    waiting: null,
    lastProgressAt: time.at(last?.lastProgressElapsedMs ?? null),
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

type AnswerTime = ReturnType<typeof answerTime>

/**
 * The clocks, read once, so that the times of an answer agree to the ms whatever part of one the host's clocks show.
 * Moments are counted back from now in real time, so that a step of the wall clock is no silence.
 */
function answerTime(time: ObservedClock) {
  const { elapsedMs, wallMs } = time
  const since = (elapsed: number) => Math.max(0, Math.round(elapsedMs - elapsed))
  return {
    now: isoTime(wallMs),
    since,
    at: (elapsed: number | null) => (elapsed === null ? null : isoTime(wallMs - since(elapsed))),
  }
}

/** The later of the last event of a turn and of the last that no turn took. */
function lastStreamFields(time: AnswerTime, ofTurn: number | undefined, ofThread: number | null | undefined) {
  const known = [ofTurn, ofThread].filter((one) => one != null)
  const elapsedMs = known.length === 0 ? null : Math.max(...known)
  return { lastStreamAt: time.at(elapsedMs), silenceMs: elapsedMs === null ? null : time.since(elapsedMs) }
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

/** What is recorded of a turn at its end: the `prism.stream-stats` record with its ten keys, and the judged maxima. */

import type { Outcome, Phase, Usage } from './events.ts'
import type { Turn } from './turn.ts'
import type { TurnClock } from './turn-clock.ts'

/** Longest judged silence in ms by phase; null where none was judged. */
interface JudgedMaxima {
  readonly firstTokenMs: number | null
  readonly midStreamMs: number | null
  readonly afterToolMs: number | null
}

export interface TurnStats {
  /** `stats/<thread>/<turn>`: the id of its sample and of its activity, so that a live sample and its re-import are one. */
  readonly id: string
  readonly threadId: string
  readonly turnId: string
  readonly parentThreadId: string | null
  readonly provider: string
  readonly model: string | null
  /** As v1b counts them: `incomplete` is completed, `lost` is error. */
  readonly outcome: 'completed' | 'aborted' | 'error'
  /** The end as we saw it. */
  readonly state: Outcome
  /** ISO 8601, wall clock. */
  readonly startedAt: string
  readonly endedAt: string
  /** Real ms from start to end, sleep included. */
  readonly durationMs: number
  /** Observed ms from the start to the first token; null without one. */
  readonly timeToFirstTokenMs: number | null
  /** Longest observed ms between any two events while no tool was open. */
  readonly maxGapMs: number
  readonly eventCount: number
  readonly usage: Usage | null
  /** `stale`: the turn was stale at some time, so that its maxima are no healthy ones. */
  readonly turnwatch: { readonly v: 1; readonly stale?: true } & JudgedMaxima
}

const V1B_OUTCOME = {
  completed: 'completed',
  incomplete: 'completed',
  aborted: 'aborted',
  error: 'error',
  lost: 'error',
} as const satisfies Record<Outcome, TurnStats['outcome']>

/** The record of a turn that ends now with `outcome`. */
export function turnStats(clock: TurnClock, turn: Turn, outcome: Outcome, wasStale: boolean): TurnStats {
  const facts = clock.read(turn)
  const [firstTokenMs, afterToolMs, midStreamMs] = clock.longestMs(turn.slot)
  return {
    id: statsId(turn.threadId, turn.turnId),
    threadId: turn.threadId,
    turnId: turn.turnId,
    parentThreadId: turn.parentThreadId,
    provider: turn.provider,
    model: turn.model,
    outcome: V1B_OUTCOME[outcome],
    state: outcome,
    startedAt: isoTime(facts.startedWallMs),
    endedAt: isoTime(clock.time.wallMs),
    durationMs: Math.round(facts.durationMs),
    timeToFirstTokenMs: facts.firstTokenMs === null ? null : Math.round(facts.firstTokenMs),
    maxGapMs: Math.round(facts.maxGapMs),
    eventCount: facts.eventCount,
    usage: turn.usage,
    turnwatch: { v: 1, firstTokenMs, midStreamMs, afterToolMs, ...(wasStale ? { stale: true } : {}) },
  }
}

export function statsId(threadId: string, turnId: string): string {
  return `stats/${threadId}/${turnId}`
}

/** One healthy turn's longest judged silence in one phase. */
export interface Sample {
  readonly id: string
  readonly provider: string
  readonly model: string | null
  readonly phase: Phase
  readonly silenceMs: number
}

/** A stored record that can give samples: ours, or one of v1b, which has only the two maxima over the whole turn. */
export interface StoredStats {
  readonly id: string
  readonly provider: string
  readonly model?: string | null
  readonly outcome: string
  readonly timeToFirstTokenMs: number | null
  readonly maxGapMs: number
  readonly turnwatch?: unknown
}

/** The largest silence a record may claim; more is taken for a broken clock. */
const MAX_SILENCE_MS = 24 * 3_600_000

/**
 * The samples that a stored record gives: none from failed turns, turns without a token or records with invalid
 * numbers; from a v1b record one to first-token and one each to mid-stream and after-tool.
 */
export function samplesOf(record: unknown): Sample[] {
  if (typeof record !== 'object' || record === null) return []
  const { id, provider, model, outcome, timeToFirstTokenMs, maxGapMs, turnwatch } = record as Record<string, unknown>
  if (typeof id !== 'string' || id === '' || typeof provider !== 'string' || provider === '') return []
  if (model !== undefined && model !== null && typeof model !== 'string') return []
  if (outcome !== 'completed' || !isSilence(timeToFirstTokenMs) || !isSilence(maxGapMs)) return []
  const of = (phase: Phase, silenceMs: number): Sample => ({ id, provider, model: model ?? null, phase, silenceMs })
  if (typeof turnwatch !== 'object' || turnwatch === null) {
    return [of('first-token', timeToFirstTokenMs), of('mid-stream', maxGapMs), of('after-tool', maxGapMs)]
  }
  const judged = turnwatch as Record<string, unknown>
  if (judged.v !== 1 || judged.stale === true) return []
  const samples: Sample[] = []
  if (isSilence(judged.firstTokenMs)) samples.push(of('first-token', judged.firstTokenMs))
  if (isSilence(judged.midStreamMs)) samples.push(of('mid-stream', judged.midStreamMs))
  if (isSilence(judged.afterToolMs)) samples.push(of('after-tool', judged.afterToolMs))
  return samples
}

/** Whether a value can be the ms of a silence. */
export function isSilence(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_SILENCE_MS
}

/** ISO 8601 of epoch ms; a time that no calendar holds becomes the epoch. */
export function isoTime(wallMs: number): string {
  const date = new Date(wallMs)
  return Number.isNaN(date.getTime()) ? '1970-01-01T00:00:00.000Z' : date.toISOString()
}

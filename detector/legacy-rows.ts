/**
 * Rows of a T3 database: `prism.stream-stats` activities `{id, payload}`, whose payload may be JSON text, and rows of
 * v2's `fork_prism_stream_stats`. Those without our own maxima are legacy: they measured other silences than we judge.
 */

import { isRaw } from '../instrumentation/sources/classifier.ts'
import type { StoredStats } from '../instrumentation/turn-stats.ts'

/** Waits for approval are in legacy gaps too; hours of one would switch the detector off. */
const MAX_LEGACY_MS = 1_200_000

export interface StatsRow {
  readonly record: Partial<Record<keyof StoredStats, unknown>>
  readonly isLegacy: boolean
}

/** What a row says; null when it is none. */
export function rowOf(row: unknown): StatsRow | null {
  if (!isRaw(row)) return null
  if (row.payload !== undefined) {
    const payload = typeof row.payload === 'string' ? parsed(row.payload) : row.payload
    return isRaw(payload) ? { record: { ...payload, id: row.id }, isLegacy: !isRaw(payload.turnwatch) } : null
  }
  if (row.run_id === undefined) return { record: row, isLegacy: !isRaw(row.turnwatch) }
  const record = {
    id: `stats/${row.run_id}/${row.provider_turn_id}`,
    provider: row.provider,
    model: row.model,
    outcome: row.outcome,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    maxGapMs: row.max_gap_ms,
  }
  return { record, isLegacy: true }
}

/** Whether a legacy row can be a measure of silence at all. */
export function isPlausible({ timeToFirstTokenMs, maxGapMs }: StatsRow['record']): boolean {
  return [timeToFirstTokenMs, maxGapMs].every((ms) => typeof ms !== 'number' || ms <= MAX_LEGACY_MS)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

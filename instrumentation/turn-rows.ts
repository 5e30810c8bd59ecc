/**
 * The row of a running turn: 16 numbers side by side, two cache lines, because every token touches most of them. Times
 * are observed ms unless the name says real.
 */

export const ROW_SIZE = 16

export const SILENCE_FROM = 0
/** Whether silence is not judged, because a tool or wait is open: 0 or 1. */
export const COVERED = 1
/** Three times the model key; with the phase it is the row of gaps and thresholds. */
export const MODEL_ROW = 2
export const PHASE = 3
/** The pause epoch in which the gap began; `observed(epoch)` once the gap is in the histogram, NO_EPOCH without a sample. */
export const GAP_EPOCH = 4
export const LAST_EVENT = 5
export const LAST_EVENT_REAL = 6
/** NaN before the first progress. */
export const LAST_PROGRESS_REAL = 7
export const EVENTS = 8
/** Longest time between two events while no tool was open. */
export const MAX_GAP = 9
/** Longest judged silence, by phase; -1 where none was judged. */
export const LONGEST = 10
/** NaN before the first token. */
export const FIRST_TOKEN_AT = 13
/** Attempts in a row without progress. */
export const ATTEMPTS = 14
/** Unknown events in a row that counted as progress. */
export const UNKNOWNS = 15

/** An epoch that equals none. */
export const NO_EPOCH = Number.NaN

/** Marks an epoch as that of a gap which is in the histogram already; twice is not at all. */
export function observed(epoch: number): number {
  return -1 - epoch
}

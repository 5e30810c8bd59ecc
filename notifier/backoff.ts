/** When a message is tried again. */

const FIRST_MS = 1000
const LONGEST_MS = 300_000
const BUSY_FIRST_MS = 2000
const BUSY_LONGEST_MS = 30_000
/** What a receiver may ask for with Retry-After; nothing is ever due later than this from now. */
export const MAX_PAUSE_MS = 3_600_000

/** Doubles up to 5 minutes; up to half of it is taken off at random, so that what failed together does not come together. */
export function retryDelayMs(attempt: number, random: () => number): number {
  return doubled(FIRST_MS, LONGEST_MS, attempt) * (1 - random() / 2)
}

/** A parent that is busy is asked more often: it is there, and the message is short. */
export function busyDelayMs(attempt: number, random: () => number): number {
  return doubled(BUSY_FIRST_MS, BUSY_LONGEST_MS, attempt) * (1 - random() / 2)
}

function doubled(first: number, longest: number, attempt: number): number {
  return Math.min(longest, first * 2 ** Math.min(30, attempt - 1))
}

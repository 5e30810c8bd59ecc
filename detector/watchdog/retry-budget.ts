/** How often streams may be issued again, all callers together: an outage must not double the load on a provider. */

import { shown } from '../../instrumentation/shown.ts'
import { observedTime, type StreamClock } from './observed-time.ts'

/** Anything that says whether one more retry is allowed. */
export interface RetryBudget {
  /** Takes one retry; false where none is left. */
  take(): boolean
}

export interface RetryBudgetOptions {
  /** Retries in each period; unused ones do not add up beyond. */
  readonly retries: number
  /** The period in ms, over which they come back evenly. @default 60000 */
  readonly perMs?: number | undefined
  /** @default the clock of this process */
  readonly clock?: StreamClock | undefined
}

/** Makes a budget for many calls to share. Throws RangeError for numbers that are not positive. */
export function createRetryBudget({ retries, perMs = 60_000, clock }: RetryBudgetOptions): RetryBudget {
  for (const [name, value] of Object.entries({ retries, perMs })) {
    if (!(typeof value === 'number' && value > 0))
      throw new RangeError(`${name}: ${shown(value)} is no positive number`)
  }
  const time = observedTime(clock)
  // Less than one in a period is one in several.
  const most = Math.max(1, retries)
  let left = most
  let at = time.monoMs()
  return {
    take() {
      const now = time.monoMs()
      left = Math.min(most, left + (retries * (now - at)) / perMs)
      at = now
      if (left < 1) return false
      left--
      return true
    },
  }
}

/** Calls of what is not ours: whatever it throws, or rejects with, harms nothing. */

import { isThenable } from '../../instrumentation/thenable.ts'

export function harmless(work: () => unknown): void {
  try {
    const result = work()
    if (isThenable(result)) result.then(undefined, () => {})
  } catch {
    // It has nobody to tell.
  }
}

/** Calls of what is not ours: whatever it throws, or rejects with, harms nothing. */

export function harmless(work: () => unknown): void {
  try {
    const result = work()
    if (isThenable(result)) result.then(undefined, () => {})
  } catch {
    // It has nobody to tell.
  }
}

/** Whether a value is a promise, or stands in for one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

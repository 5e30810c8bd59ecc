/** What the bridges read: a watch, or anything else that tells its metrics. */

import type { Family } from './family.ts'
import { PER_THREAD_MODES, type PerThreadSeries } from './measured.ts'

export interface CollectOptions {
  /** Series per running thread: all (at most 500), only stale ones, or none. @default 'all' */
  readonly perThread?: PerThreadSeries
}

export interface MetricSource {
  metrics(options?: CollectOptions): Family[]
}

/** Throws TypeError for a mode that is none, where a bridge or a server is made: at a scrape nobody would see it. */
export function refuseBadCollectOptions({ perThread = 'all' }: { perThread?: PerThreadSeries | undefined }): void {
  if (PER_THREAD_MODES.includes(perThread)) return
  throw new TypeError(`perThread: ${JSON.stringify(perThread) ?? perThread} is none of ${PER_THREAD_MODES.join(', ')}`)
}

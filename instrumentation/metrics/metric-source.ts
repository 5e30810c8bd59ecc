/** What the bridges read: a watch, or anything else that tells its metrics. */

import type { Family } from './family.ts'
import type { PerThreadSeries } from './measured.ts'

export interface CollectOptions {
  /** Series per running thread: all (at most 500), only stale ones, or none. @default 'all' */
  readonly perThread?: PerThreadSeries
}

export interface MetricSource {
  metrics(options?: CollectOptions): Family[]
}

/** What has become of watched streams, by source. */

import type { Families } from './families.ts'
import { distinctLabels } from './label-book.ts'
import type { MeasuredStreams } from './measured.ts'

/** Sources are never forgotten, so the order in which they came gives each its label for good. */
export function collectStreams(streams: readonly MeasuredStreams[], families: Families): void {
  const labels = distinctLabels(streams.map(({ source }) => source))
  streams.forEach(({ started, stalled, retried }, i) => {
    const source = labels[i] as string
    families.add('streams_started_total', started, { source })
    for (const [phase, count] of Object.entries(stalled)) {
      families.add('streams_stalled_total', count, { source, phase })
    }
    for (const [result, count] of Object.entries(retried)) {
      families.add('stream_retries_total', count, { source, result })
    }
  })
}

/** What the watch tells of itself: its detector, its notifier, its store. */

import { CATALOGUE_VERSION } from './catalogue.ts'
import type { Families } from './families.ts'
import { distinctLabels } from './label-book.ts'
import type { Measured, MeasuredNotifier } from './measured.ts'

export function collectNotifier({ suppressed, channels }: MeasuredNotifier, families: Families): void {
  for (const [reason, count] of Object.entries(suppressed)) {
    families.add('notifications_suppressed_total', count, { reason })
  }
  const labels = distinctLabels(channels.map(({ name }) => name))
  channels.forEach(({ tries, failed, delaySeconds, pending, oldestPendingMs }, i) => {
    const channel = labels[i] as string
    families.add('notifications_total', tries, { channel })
    for (const [reason, count] of Object.entries(failed)) {
      families.add('notifications_failed_total', count, { channel, reason })
    }
    families.add('notifications_pending', pending, { channel })
    families.add('notification_oldest_pending_seconds', oldestPendingMs / 1000, { channel })
    families.addHistogram('notification_delay_seconds', delaySeconds, { channel })
  })
}

export function collectSelf({ self }: Measured, families: Families, version: string): void {
  families.add('ticks_total', self.ticks)
  families.add('observed_seconds_total', self.observedMs / 1000)
  families.add('host_suspends_total', self.suspends)
  families.add('host_suspend_seconds_total', self.suspendedMs / 1000)
  families.add('last_tick_timestamp_seconds', self.lastTickWallMs / 1000)
  families.addHistogram('tick_lag_seconds', self.lagSeconds)
  for (const [where, count] of Object.entries(self.faults)) families.add('internal_errors_total', count, { where })
  for (const [op, count] of Object.entries(self.storeErrors)) families.add('store_errors_total', count, { op })
  collectUnclassified(self.unclassified, families)
  families.add('build_info', 1, { version, node_version: process.version, catalogue: CATALOGUE_VERSION })
}

/** Types are never forgotten, so the order in which they came gives each its label for good. */
function collectUnclassified(unclassified: Measured['self']['unclassified'], families: Families): void {
  const all = [...unclassified.values()]
  const sources = [...new Set(all.map(({ source }) => source))]
  const labelOfSource = distinctLabels(sources)
  for (const [i, of] of sources.entries()) {
    const mine = all.filter(({ source }) => source === of)
    const types = distinctLabels(mine.map(({ type }) => type))
    const source = labelOfSource[i] as string
    mine.forEach(({ count }, at) => {
      families.add('unclassified_events_total', count, { source, type: types[at] as string })
    })
  }
}

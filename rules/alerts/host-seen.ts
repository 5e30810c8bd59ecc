/** Whether a host is seen, what it last said, or whether it has just slept. */

import type { PackKnobs } from '../alert.ts'
import { metric } from '../metric.ts'

/** A host shows it as long as it is seen. */
export const SEEN = metric('build_info')

/**
 * Matches series of one host. Not by all labels of its target: with the first label that is added there, every host would
 * look vanished. Nor by job and instance alone: two clusters may both have a job `agents` with an instance `10.0.0.1:9464`.
 */
export function sameHost({ clusterLabels }: PackKnobs): string {
  return `on (job, instance, ${clusterLabels})`
}

/**
 * A series, and for the window what it last said if its host is not seen: scrapes get lost, and a host that is gone has not
 * taken anything back. One that is seen without the series has restarted.
 */
export function present(series: string, window: string, pack: PackKnobs): string {
  return `(${series} or (last_over_time(${series}[${window}]) unless ${sameHost(pack)} ${SEEN}))`
}

/** Hosts that woke within a window. Across a sleep longer than the window there is nothing for `increase` to begin with. */
export function woken(window: string): string {
  const suspends = metric('host_suspends_total')
  return `increase(${suspends}[${window}]) > 0\nor\n${suspends} > last_over_time(${suspends}[1d] offset ${window})`
}

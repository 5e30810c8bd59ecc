/**
 * Whether a host is seen, or has just slept. Matched by all labels that Prometheus has put on a target, that is by
 * `ignoring` those of turnwatch: two clusters may both have a job `agents` with an instance `10.0.0.1:9464`, and they are
 * not the same host.
 */

import { catalogue, type MetricName } from '../../instrumentation/metrics/catalogue.ts'
import { metric } from '../metric.ts'

/** A host shows it as long as it is seen. */
export const SEEN = metric('build_info')

/** Matches series of a metric with those of `SEEN` from the same host. */
export function sameHostAs(...names: readonly MetricName[]): string {
  const own = [...names, 'build_info' as const].flatMap((name): readonly string[] => catalogue[name].labels)
  return `ignoring (${[...new Set(own)].join(', ')})`
}

/** Hosts that woke within a window. Across a sleep longer than the window there is nothing for `increase` to begin with. */
export function woken(window: string): string {
  const suspends = metric('host_suspends_total')
  return `increase(${suspends}[${window}]) > 0\nor\n${suspends} > last_over_time(${suspends}[1d] offset ${window})`
}

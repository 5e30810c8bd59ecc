/** What is known of a metric by its name: of the catalogue, of Prometheus itself, or recorded. */

import { catalogue, type MetricName, PREFIX } from '../../../instrumentation/metrics/catalogue.ts'

export interface Known {
  readonly type: 'counter' | 'gauge'
  /** Labels that it brings itself, besides those of its target. */
  readonly labels: readonly string[]
  /** Its name in the catalogue. */
  readonly metric?: MetricName
}

/** Undefined for a name that nothing exports. Recorded names are not metrics; they have a colon. */
export function knownMetric(name: string): Known | undefined {
  if (name === 'up') return { type: 'gauge', labels: [] }
  if (!name.startsWith(PREFIX)) return undefined
  const plain = name.slice(PREFIX.length)
  const own = entryOf(plain)
  if (own && own.type !== 'histogram') return { type: own.type, labels: own.labels, metric: plain as MetricName }
  const [, base, part] = /^(.*)_(bucket|count|sum)$/.exec(plain) ?? []
  const histogram = base === undefined ? undefined : entryOf(base)
  if (histogram?.type !== 'histogram') return undefined
  const labels = part === 'bucket' ? [...histogram.labels, 'le'] : histogram.labels
  return { type: 'counter', labels, metric: base as MetricName }
}

function entryOf(name: string) {
  return Object.hasOwn(catalogue, name) ? catalogue[name as MetricName] : undefined
}

/** What the names in PromQL may be, and their labels. */

import { catalogue, PREFIX } from '../../../instrumentation/metrics/catalogue.ts'
import { makePack, PACK_KNOBS } from '../../../rules/pack.ts'

/** Put on by the scrape, or by the operator. */
const OF_SCRAPE = ['job', 'instance', ...PACK_KNOBS.clusterLabels.split(', ')]
/** Of any alert of the pack, by what its expression keeps. */
const OF_ALERTS = ['alertname', 'alertstate', 'severity', 'provider', 'model', 'channel', ...OF_SCRAPE]

interface Known {
  readonly labels: readonly string[]
  readonly isCounter: boolean
}

const known = new Map<string, Known>([['ALERTS', { labels: OF_ALERTS, isCounter: false }]])
for (const [name, { type, labels }] of Object.entries(catalogue)) {
  const all = [...labels, ...OF_SCRAPE]
  if (type !== 'histogram') known.set(PREFIX + name, { labels: all, isCounter: type === 'counter' })
  else {
    known.set(`${PREFIX + name}_bucket`, { labels: [...all, 'le'], isCounter: true })
    for (const part of ['sum', 'count']) known.set(`${PREFIX + name}_${part}`, { labels: all, isCounter: true })
  }
}
// The level before the first colon names the labels that are kept besides the job: provider_model, instance.
for (const { record } of makePack().recordings) {
  const level = record.split(':')[0] ?? ''
  known.set(record, { labels: [...level.split('_'), 'job'], isCounter: false })
}

/** Labels of a metric of the catalogue, of its parts, or of a recorded series; undefined for another name. */
export function labelsOfMetric(name: string): readonly string[] | undefined {
  return known.get(name)?.labels
}

export function isCounter(name: string): boolean {
  return known.get(name)?.isCounter === true
}

export function isRecorded(name: string): boolean {
  return name.includes(':')
}

/** `/metrics`: one collection of a watch as the text that Prometheus reads, in the format it asked for. */

import { setImmediate } from 'node:timers/promises'
import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { type Metric, Registry, type RegistryContentType } from 'prom-client'
import { BridgedMetric } from '../instrumentation/metrics/bridged-metric.ts'
import type { Family } from '../instrumentation/metrics/family.ts'

const CLASSIC = 'text/plain'
const OPEN_METRICS = 'application/openmetrics-text'
/** Ends an OpenMetrics document. */
const END = '# EOF\n'

export interface Exposition {
  readonly contentType: string
  readonly text: string
}

/** Classic text 0.0.4, unless the scraper prefers OpenMetrics. Throws when the collection does. */
export async function metricsText(c: Context, collect: () => Family[]): Promise<Exposition> {
  const wanted = accepts(c, { header: 'Accept', supports: [CLASSIC, OPEN_METRICS], default: CLASSIC })
  // Collected before any of it is written, so that a fault is an error and not an empty page.
  return writeMetrics(collect(), wanted === OPEN_METRICS)
}

/** The text of the families, as prom-client writes it. */
export async function writeMetrics(families: readonly Family[], openMetrics: boolean): Promise<Exposition> {
  const texts: string[] = []
  for (const family of families) {
    texts.push(await familyText(family, openMetrics))
    // Thousands of series take tens of ms to write; between two families the event loop gets its turn.
    await setImmediate()
  }
  const contentType = openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE
  return { contentType, text: texts.join('') + (openMetrics ? END : '') }
}

/** A registry of its own, because one that has written OpenMetrics has changed the names of its counters. */
async function familyText(family: Family, openMetrics: boolean): Promise<string> {
  const registry = new Registry<RegistryContentType>()
  if (openMetrics) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  // The registry types its argument as one of its own classes; all it uses is `name` and the getters.
  registry.registerMetric(new BridgedMetric(family, () => family) as unknown as Metric)
  const text = await registry.metrics()
  return openMetrics ? text.slice(0, -END.length) : text
}

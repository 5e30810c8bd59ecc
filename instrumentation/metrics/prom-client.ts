/**
 * The prom-client bridge: metrics whose values are computed at scrape, nothing is kept. Accepts the registry of
 * prom-client 15 and of its successor structurally, so it imports neither.
 */

import { BridgedMetric } from './bridged-metric.ts'
import { catalogue, type MetricName, PREFIX } from './catalogue.ts'
import type { Family } from './family.ts'
import { type CollectOptions, type MetricSource, refuseBadCollectOptions } from './metric-source.ts'

interface Registry {
  // The registries type their argument as their own classes; all they use is `name` and `get()`.
  // biome-ignore lint/suspicious/noExplicitAny: structural, see above
  registerMetric(metric: any): void
  getSingleMetric(name: string): unknown
  removeSingleMetric(name: string): void
}

/**
 * Registers every metric of the source; returns its undo. All of them are read once per scrape. A source that throws
 * gives a scrape without its series, never a broken one; a watch counts and reports the fault itself. Throws where the
 * registry has metrics of turnwatch already, and TypeError for an option that is none.
 */
export function registerTurnwatch(registry: Registry, source: MetricSource, options: CollectOptions = {}): () => void {
  refuseBadCollectOptions(options)
  const scrape = new Scrape(source, options)
  const metrics = (Object.keys(catalogue) as MetricName[]).map((key) => {
    const name = PREFIX + key
    return new BridgedMetric({ ...catalogue[key], name }, () => scrape.family(name))
  })
  const taken = metrics.find(({ name }) => registry.getSingleMetric(name) !== undefined)
  if (taken) throw new Error(`the registry has ${taken.name} already: a registry takes one watch, once`)
  for (const metric of metrics) registry.registerMetric(metric)
  return () => {
    for (const metric of metrics) {
      if (registry.getSingleMetric(metric.name) === metric) registry.removeSingleMetric(metric.name)
    }
  }
}

/** The families of one scrape, shared by the metrics that are read in the same turn of the event loop. */
class Scrape {
  readonly #source: MetricSource
  readonly #options: CollectOptions
  #families: Map<string, Family> | null = null

  constructor(source: MetricSource, options: CollectOptions) {
    this.#source = source
    this.#options = options
  }

  family(name: string): Family | undefined {
    if (this.#families === null) {
      this.#families = new Map(this.#read().map((family) => [family.name, family]))
      queueMicrotask(() => {
        this.#families = null
      })
    }
    return this.#families.get(name)
  }

  #read(): Family[] {
    try {
      return this.#source.metrics(this.#options)
    } catch {
      // One metric that rejects would take every other metric of the registry with it.
      return []
    }
  }
}

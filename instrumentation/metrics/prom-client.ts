/**
 * The prom-client bridge: metrics whose values are computed at scrape, nothing is kept. Accepts the registry of
 * prom-client 15 and of its successor structurally, so it imports neither.
 */

import type { Family, Point } from './family.ts'

interface Registry {
  // The registries type their argument as their own classes; all they use is `name` and `get()`.
  // biome-ignore lint/suspicious/noExplicitAny: structural, see above
  registerMetric(metric: any): void
}

/** What is bridged: a watch, or anything else that tells its metrics. */
export interface MetricSource {
  metrics(): Family[]
}

/** A sample as prom-client's text format takes it. */
interface Value {
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels?: Readonly<Record<string, string>>
  readonly value: number
  readonly metricName?: string
}

/**
 * Registers every metric of the source. All of them are read once per scrape. A source that throws gives an empty
 * scrape, never a broken one; it reports the fault itself.
 */
export function registerTurnwatch(registry: Registry, source: MetricSource): void {
  const scrape = new Scrape(source)
  for (const family of source.metrics()) registry.registerMetric(new BridgedMetric(family, scrape))
}

/** The families of one scrape, shared by the metrics that are read in the same turn of the event loop. */
class Scrape {
  readonly #source: MetricSource
  #families: Map<string, Family> | null = null

  constructor(source: MetricSource) {
    this.#source = source
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
      return this.#source.metrics()
    } catch {
      // One metric that rejects would take every other metric of the registry with it.
      return []
    }
  }
}

class BridgedMetric {
  /** Not constant: for OpenMetrics the registry takes `_total` off and puts it back. */
  name: string
  readonly help: string
  readonly type: Family['type']
  readonly aggregator = 'sum'
  readonly #fullName: string
  readonly #scrape: Scrape

  constructor(family: Family, scrape: Scrape) {
    this.name = family.name
    this.help = family.help
    this.type = family.type
    this.#fullName = family.name
    this.#scrape = scrape
  }

  async get() {
    const { values, ...metric } = await this.getForPromString()
    return {
      ...metric,
      values: values.map(({ sharedLabels, labels, ...value }) => ({
        ...value,
        labels: { ...sharedLabels, ...labels },
      })),
    }
  }

  /** What the registry asks for when it writes text: the labels that a histogram's series share are formatted once. */
  async getForPromString() {
    const family = this.#scrape.family(this.#fullName)
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values: family ? valuesOf(family, this.name) : [],
    }
  }

  /** prom-client resets metrics on request; there is nothing to reset. */
  reset(): void {}
}

function valuesOf(family: Family, name: string): Value[] {
  if (family.type !== 'histogram')
    return family.points.map(({ labels, value }: Point) => ({ labels, value, metricName: name }))
  return family.points.flatMap(({ labels, bounds, counts, sum }) => {
    let total = 0
    const values: Value[] = bounds.map((bound, i) => {
      total += counts[i] as number
      return { labels: { le: bound }, sharedLabels: labels, value: total, metricName: `${name}_bucket` }
    })
    total += counts[bounds.length] as number
    values.push({ labels: { le: '+Inf' }, sharedLabels: labels, value: total, metricName: `${name}_bucket` })
    values.push({ labels: {}, sharedLabels: labels, value: sum, metricName: `${name}_sum` })
    values.push({ labels: {}, sharedLabels: labels, value: total, metricName: `${name}_count` })
    return values
  })
}

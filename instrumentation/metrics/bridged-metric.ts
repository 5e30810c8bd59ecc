/** One metric as the registries of prom-client 15 and of its successor take it: an object with a name and `get()`. */

import { catalogue, PREFIX } from './catalogue.ts'
import type { Family, HistogramPoint, Labels } from './family.ts'

/** A sample as prom-client's text format takes it. */
interface Value {
  readonly labels: Readonly<Record<string, string | number>>
  /** Formatted once for as long as it is the same object. */
  readonly sharedLabels: Labels
  readonly value: number
  readonly metricName: string
}

/** Without `_total`, the name of a counter may be that of another metric. */
const NAMES: ReadonlySet<string> = new Set(Object.keys(catalogue).map((name) => PREFIX + name))

export class BridgedMetric {
  readonly help: string
  readonly type: Family['type']
  /** How a registry that gathers several processes makes one metric of theirs: times are no amounts. */
  readonly aggregator: 'sum' | 'max'
  readonly #fullName: string
  readonly #read: () => Family | undefined
  #name: string

  /** `read` gives the family as it is now; undefined where it could not be had. */
  constructor(of: Pick<Family, 'name' | 'help' | 'type' | 'unit'>, read: () => Family | undefined) {
    const { name, help, type, unit } = of
    this.help = help
    this.type = type
    this.aggregator = type === 'gauge' && (unit === 's' || unit === '') ? 'max' : 'sum'
    this.#name = name
    this.#fullName = name
    this.#read = read
  }

  get name(): string {
    return this.#name
  }

  /**
   * A registry that is about to write OpenMetrics takes `_total` off, and puts it back on each line. This holds for
   * the one reading that follows at once: the registry may write the classic text next.
   */
  set name(name: string) {
    this.#name = name
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

  /** What the registry asks for when it writes text. */
  async getForPromString() {
    const asked = this.#name
    this.#name = this.#fullName
    // Two families of one name are no OpenMetrics, and one of type `unknown` keeps its whole name.
    const isTaken = asked !== this.#fullName && NAMES.has(asked)
    const name = isTaken ? this.#fullName : asked
    const family = this.#read()
    const values = family ? valuesOf(family, name) : []
    const type = isTaken ? ('unknown' as const) : this.type
    return { name, help: this.help, type, aggregator: this.aggregator, values }
  }

  /** prom-client resets metrics on request; there is nothing to reset. */
  reset(): void {}
}

const NONE: Labels = {}

function valuesOf(family: Family, name: string): Value[] {
  if (family.type !== 'histogram') {
    return family.points.map(({ labels, value }) => ({ labels: NONE, sharedLabels: labels, value, metricName: name }))
  }
  const [bucket, sumName, count] = [`${name}_bucket`, `${name}_sum`, `${name}_count`]
  const values: Value[] = []
  for (const { labels, bounds, counts, sum } of family.points) {
    const upper = boundLabels(bounds)
    let total = 0
    for (let i = 0; i < upper.length; i++) {
      total += counts[i] as number
      values.push({ labels: upper[i] as Value['labels'], sharedLabels: labels, value: total, metricName: bucket })
    }
    values.push({ labels: NONE, sharedLabels: labels, value: sum, metricName: sumName })
    values.push({ labels: NONE, sharedLabels: labels, value: total, metricName: count })
  }
  return values
}

const labelsOfBounds = new WeakMap<HistogramPoint['bounds'], readonly Value['labels'][]>()

/** The labels of the buckets, the last one among them. */
function boundLabels(bounds: HistogramPoint['bounds']): readonly Value['labels'][] {
  let labels = labelsOfBounds.get(bounds)
  if (labels === undefined) {
    labels = [...bounds.map((le) => ({ le })), { le: '+Inf' }]
    labelsOfBounds.set(bounds, labels)
  }
  return labels
}

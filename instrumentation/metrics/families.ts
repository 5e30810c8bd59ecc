/** The families of one collection under way. */

import type { Histogram } from '../histogram.ts'
import { catalogue, type MetricName, PREFIX } from './catalogue.ts'
import { type Family, type HistogramPoint, histogramPoint, type Labels, type Point } from './family.ts'

const NONE: Labels = {}

export class Families {
  readonly #points = new Map<MetricName, (Point | HistogramPoint)[]>()

  add(name: MetricName, value: number, labels: Labels = NONE): void {
    this.#of(name).push({ labels, value })
  }

  addHistogram(name: MetricName, histogram: Histogram, labels: Labels = NONE): void {
    this.#of(name).push(histogramPoint(labels, histogram))
  }

  /** Every metric of the catalogue, those without a point too. */
  all(): Family[] {
    return (Object.keys(catalogue) as MetricName[]).map((name) => {
      const { type, unit, help } = catalogue[name]
      return { name: PREFIX + name, type, unit, help, points: this.#points.get(name) ?? [] } as Family
    })
  }

  #of(name: MetricName): (Point | HistogramPoint)[] {
    let points = this.#points.get(name)
    if (points === undefined) {
      points = []
      this.#points.set(name, points)
    }
    return points
  }
}

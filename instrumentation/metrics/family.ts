/** A metric family as it is now: what every bridge turns into its own format. */

import type { Histogram } from '../histogram.ts'

export type Labels = Readonly<Record<string, string>>

export interface Point {
  readonly labels: Labels
  readonly value: number
}

export interface HistogramPoint {
  readonly labels: Labels
  /** Upper bounds in the metric's unit. */
  readonly bounds: readonly number[]
  /** Not cumulative; one more than bounds. */
  readonly counts: ArrayLike<number>
  readonly sum: number
}

export type Family = { readonly name: string; readonly help: string; readonly unit: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly points: readonly Point[] }
  | { readonly type: 'histogram'; readonly points: readonly HistogramPoint[] }
)

/** A copy: the histogram goes on counting while what was collected is written. */
export function histogramPoint(labels: Labels, { bounds, counts, sum }: Histogram): HistogramPoint {
  return { labels, bounds, counts: counts.slice(), sum }
}

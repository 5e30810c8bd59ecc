/** Annotations: what is drawn over every chart of a dashboard. */

import { colour, type Theme } from './colours.ts'
import type { AnnotationQuery } from './dashboard.ts'
import type { PrometheusApi, Series } from './prometheus-api.ts'
import { durationMs, stepMs as stepOf } from './step.ts'
import { builtIn, interpolateQuery, type Variables } from './variables.ts'

export interface Annotation {
  readonly name: string
  /** Epoch ms; the same for a moment. */
  readonly from: number
  readonly to: number
  readonly colour: string
  readonly title: string
  readonly text: string
}

/** The least time between two points, and how many there are at most. */
const STEP = '60s'
const POINTS = 100

export async function annotationsOf(
  queries: readonly AnnotationQuery[],
  api: PrometheusApi,
  range: { readonly fromMs: number; readonly toMs: number; readonly scrapeMs: number },
  variables: Variables,
  theme: Theme,
): Promise<Annotation[]> {
  const wanted = queries.filter((query) => query.enable !== false && query.builtIn !== 1 && query.expr !== undefined)
  const found = await Promise.all(
    wanted.map(async (query) => {
      const stepMs = stepOf(range.toMs - range.fromMs, POINTS, durationMs(query.step || STEP))
      const expr = interpolateQuery(query.expr as string, new Map([...variables, ...builtIn({ ...range, stepMs })]))
      const series = await api.range(expr, range.fromMs, range.toMs, stepMs)
      return series.flatMap((one) => regions(one, stepMs).map(([from, to]) => annotation(query, one, from, to, theme)))
    }),
  )
  return found.flat()
}

/** One for each time without a break in which it was there, and not 0. */
function regions({ points }: Series, stepMs: number): [number, number][] {
  const found: [number, number][] = []
  for (const [atMs, value] of points) {
    if (value === 0 || Number.isNaN(value)) continue
    const last = found.at(-1)
    if (last !== undefined && atMs - last[1] <= stepMs) last[1] = atMs
    else found.push([atMs, atMs])
  }
  return found
}

function annotation(
  { name, iconColor = 'red', titleFormat = '', textFormat = '' }: AnnotationQuery,
  { labels }: Series,
  from: number,
  to: number,
  theme: Theme,
): Annotation {
  const filled = (format: string) =>
    format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_all, label: string) => labels[label] ?? '')
  return {
    name,
    from,
    to,
    colour: colour(iconColor, theme),
    title: filled(titleFormat),
    text: filled(textFormat).trim(),
  }
}

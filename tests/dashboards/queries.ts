/** Every query of the built dashboards, and whether a Prometheus answers it with something to show. */

import { type Dashboard, dashboards, panelsOf, type Variable } from './dashboard.ts'
import { type Interpolation, interpolated, type Value } from './interpolate.ts'

export interface DashboardQuery {
  readonly dashboard: string
  readonly kind: 'panel' | 'variable' | 'annotation'
  /** Of the panel, or the name of the variable or annotation. */
  readonly title: string
  readonly refId: string
  /** Interpolated; for a variable the selector that it takes labels of, or what it takes results of. */
  readonly expr: string
  /** A query of one moment, the end of the time shown. */
  readonly instant: boolean
  /** The label that a variable takes values of; without it, it takes results. */
  readonly label?: string
  /** What the panel says where there is nothing to show; without it there must be something. */
  readonly empty?: string
}

/** All queries of a dashboard with its variables replaced, in its order. */
export function queriesOf(dashboard: Dashboard, how: Omit<Interpolation, 'variables'>): DashboardQuery[] {
  const variables = dashboard.templating.list
  const uid = dashboard.uid
  const put = (text: string) => interpolated(text, { ...how, variables })
  return [
    ...variables
      .filter(({ type }) => type === 'query')
      .map(({ name, query }): DashboardQuery => {
        const { expr, label } = variableQuery(query)
        const base = { dashboard: uid, kind: 'variable', title: name, refId: 'A', expr: put(expr) } as const
        return label === undefined ? { ...base, instant: true } : { ...base, instant: false, label }
      }),
    ...dashboard.annotations.list.map(({ name, expr }): DashboardQuery => {
      return { dashboard: uid, kind: 'annotation', title: name, refId: 'A', expr: put(expr), instant: false }
    }),
    ...panelsOf(dashboard).flatMap(({ title, targets = [], fieldConfig }) => {
      const empty = fieldConfig?.defaults.noValue
      return targets.map(({ refId, expr, instant = false }): DashboardQuery => {
        const query = { dashboard: uid, kind: 'panel', title, refId, expr: put(expr), instant } as const
        return empty === undefined ? query : { ...query, empty }
      })
    }),
  ]
}

/** `label_values(selector, label)`, or `query_result(expression)`, which has no label. */
export function variableQuery(query: string): { readonly expr: string; readonly label?: string } {
  const [, selector, label] = /^label_values\((.+), (\w+)\)$/s.exec(query) ?? []
  if (selector !== undefined && label !== undefined) return { expr: selector, label }
  const [, expr] = /^query_result\((.+)\)$/s.exec(query) ?? []
  if (expr === undefined) throw new Error(`no label_values(selector, label) and no query_result(expression): ${query}`)
  return { expr }
}

export interface Check {
  /** Unix seconds. */
  readonly from: number
  readonly to: number
  /** Seconds between points. */
  readonly step: number
  /** For `$__rate_interval`, as Prometheus writes times. @default four steps */
  readonly rateInterval?: string
  /** What is chosen; a variable without All that is not named has the first of its values. */
  readonly variables?: Readonly<Record<string, Value>>
}

export interface Failure extends DashboardQuery {
  readonly problem: string
}

/**
 * What did not come back with something to show, of every query of all dashboards: an error, nothing, or nothing but
 * NaN. A failure with `empty` is one of a panel that has words for it.
 */
export async function checkQueries(prometheus: string, check: Check): Promise<Failure[]> {
  const failures: Failure[] = []
  for (const dashboard of dashboards()) {
    const values = await chosen(prometheus, dashboard.templating.list, check)
    for (const query of queriesOf(dashboard, { ...timesOf(check), values })) {
      const problem = await problemOf(prometheus, query, check)
      if (problem !== null) failures.push({ ...query, problem })
    }
  }
  return failures
}

/** For a report. */
export function describeFailure({ dashboard, kind, title, refId, problem, empty, expr }: Failure): string {
  const words = empty === undefined ? '' : ` (shows "${empty}")`
  return `${dashboard}: ${kind} "${title}" ${refId}: ${problem}${words}\n  ${expr}`
}

/** For the README: what there is to be checked. */
export function counts(): { readonly dashboards: number; readonly panels: number; readonly queries: number } {
  const all = dashboards()
  const queries = all.map((one) => {
    const values = Object.fromEntries(one.templating.list.map(({ name }) => [name, 'any']))
    return queriesOf(one, { values, rateInterval: '1m', range: '1h' }).length
  })
  return {
    dashboards: all.length,
    panels: all.flatMap(panelsOf).length,
    queries: queries.reduce((sum, count) => sum + count, 0),
  }
}

function timesOf({ from, to, step, rateInterval = `${4 * step}s` }: Check) {
  return { rateInterval, range: `${Math.max(1, Math.round(to - from))}s` }
}

async function chosen(prometheus: string, variables: readonly Variable[], check: Check) {
  const values: Record<string, Value> = { ...check.variables }
  for (const { name, type, query, regex, includeAll } of variables) {
    if (type !== 'query' || includeAll || values[name] !== undefined) continue
    const { expr, label } = variableQuery(query)
    const put = interpolated(expr, { ...timesOf(check), values, variables })
    // What is refused is reported with its query.
    const found =
      label === undefined
        ? await results(prometheus, put, check).catch(() => [])
        : ((await get(prometheus, valuesPath(put, label, check))) as string[])
    // One that has none is reported with its query; its panels then are of a thread that there is not.
    values[name] = matched(found, regex)[0] ?? ''
  }
  return values
}

/** Results of a query in the text that a variable takes its values from. */
async function results(prometheus: string, expr: string, { to }: Check): Promise<string[]> {
  const path = `query?${new URLSearchParams({ query: expr, time: `${to}` })}`
  const { result } = (await get(prometheus, path)) as { result: Series[] }
  return result.map(({ metric: { __name__: name = '', ...labels } = {}, value: [seconds, value] = [0, ''] }) => {
    const inside = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
    return `${name}{${inside.join(',')}} ${value} ${seconds * 1000}`
  })
}

/** The first group of a pattern between slashes, of what matches it. */
function matched(found: readonly string[], regex = ''): readonly string[] {
  if (regex === '') return found
  const pattern = new RegExp(regex.slice(1, -1))
  return found.flatMap((text) => pattern.exec(text)?.[1] ?? [])
}

async function problemOf(prometheus: string, query: DashboardQuery, check: Check): Promise<string | null> {
  try {
    if (query.label !== undefined) {
      const values = (await get(prometheus, valuesPath(query.expr, query.label, check))) as unknown[]
      return values.length === 0 ? 'empty' : null
    }
    const { from, to, step } = check
    const path = query.instant
      ? `query?${new URLSearchParams({ query: query.expr, time: `${to}` })}`
      : `query_range?${new URLSearchParams({ query: query.expr, start: `${from}`, end: `${to}`, step: `${step}` })}`
    const { result } = (await get(prometheus, path)) as { result: Series[] }
    const numbers = result.flatMap(({ value, values = value ? [value] : [] }) => values.map(([, text]) => text))
    if (numbers.length === 0) return 'empty'
    return numbers.every((text) => text === 'NaN') ? 'only NaN' : null
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

type Point = readonly [number, string]

interface Series {
  readonly metric?: Readonly<Record<string, string>>
  readonly value?: Point
  readonly values?: readonly Point[]
}

function valuesPath(selector: string, label: string, { from, to }: Check): string {
  return `label/${label}/values?${new URLSearchParams({ 'match[]': selector, start: `${from}`, end: `${to}` })}`
}

async function get(prometheus: string, path: string): Promise<unknown> {
  const response = await fetch(`${prometheus}/api/v1/${path}`, { signal: AbortSignal.timeout(60_000) })
  const body = (await response.json()) as { status: string; data?: unknown; error?: string }
  if (body.status !== 'success') throw new Error(body.error ?? `status ${response.status}`)
  return body.data
}

/** Rules over the PromQL of panels and annotations. */

import { type Expr, errors, parts, type Selector, selectors } from '../../promql/promql.ts'
import { asked, expressions, RANGE, RATE_INTERVAL, type Rule, read, targetsOf } from './lint.ts'
import { isCounter, isRecorded, labelsOfMetric } from './metrics.ts'

const RATES = ['rate', 'irate', 'increase', 'resets']

const canBeRead: Rule = (dashboard) =>
  asked(dashboard).flatMap(({ where, expr }) => {
    const put = expr.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll('$__range', RANGE)
    return errors(put).map((error) => `${where}: ${error}`)
  })

/** Rates follow the width of a point; only totals may be over all that is shown. */
const ratesFollowThePoints: Rule = (dashboard) =>
  eachSelector(dashboard, ({ range }, within) => {
    const call = within.findLast((one) => one.kind === 'call')
    if (range === undefined || call?.kind !== 'call' || !RATES.includes(call.name)) return null
    return range === RATE_INTERVAL || (call.name === 'increase' && range === RANGE)
      ? null
      : `${call.name} over ${range}`
  })

/** Host and model can be chosen wherever a series has them; recorded series are over all hosts. */
const followsTheVariables: Rule = (dashboard) =>
  eachSelector(dashboard, ({ name, matchers }) => {
    const chosen = ['job', ...(isRecorded(name) ? [] : ['instance']), 'provider', 'model']
    const has = labelsOfMetric(name) ?? []
    // An alert over a fleet lacks labels, which must not hide it.
    const value = (label: string) => `$${label}${name === 'ALERTS' ? '|' : ''}`
    const missing = chosen.filter(
      (label) =>
        has.includes(label) &&
        !matchers.some((one) => one.label === label && one.op === '=~' && one.value === value(label)),
    )
    return missing.length === 0 ? null : `${name} does not follow ${missing.join(', ')}`
  })

/** A counter says nothing by itself: it starts anew with its host. */
const countersAreRates: Rule = (dashboard) =>
  eachSelector(dashboard, ({ name, range }, within) => {
    const around = within.at(-1)
    const isRate = around?.kind === 'call' && RATES.includes(around.name) && range !== undefined
    return isCounter(name) && !isRate ? `${name} outside of a rate` : null
  })

/** A name or label that nobody exports shows nothing, for ever. */
const namesWhatThereIs: Rule = (dashboard) => [
  ...eachSelector(dashboard, ({ name, matchers }) => {
    const labels = labelsOfMetric(name)
    if (!labels) return `no metric ${name}`
    const unknown = matchers.filter(({ label }) => !labels.includes(label)).map(({ label }) => label)
    return unknown.length === 0 ? null : `${name} has no label ${unknown.join(', ')}`
  }),
  ...[...expressions(dashboard)].flatMap(({ where, expr }) => {
    const labels = labelsWithin(expr)
    return grouped(expr)
      .filter((label) => !labels.has(label))
      .map((label) => `${where}: grouped by ${label}, which nothing in it has`)
  }),
]

/** The labels in a legend are among those that are left. */
const legendsNameLabels: Rule = (dashboard) =>
  targetsOf(dashboard).flatMap(({ panel, target }) => {
    const named = [...(target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
    if (named.length === 0) return []
    try {
      const expr = read(target.expr)
      const by = parts(expr, 'aggregation').flatMap((one) => one.labels)
      const left = by.length > 0 ? new Set(by) : labelsWithin(expr)
      return named.filter((label) => !left.has(label)).map((label) => `${panel.title}: no ${label} for the legend`)
    } catch {
      return []
    }
  })

export const rules = {
  canBeRead,
  ratesFollowThePoints,
  followsTheVariables,
  countersAreRates,
  namesWhatThereIs,
  legendsNameLabels,
}

function eachSelector(
  dashboard: Parameters<Rule>[0],
  wrong: (selector: Selector, within: readonly Expr[]) => string | null,
): string[] {
  return [...expressions(dashboard)].flatMap(({ where, expr }) =>
    selectors(expr).flatMap(({ selector, within }) => {
      const problem = wrong(selector, within)
      return problem === null ? [] : [`${where}: ${problem}`]
    }),
  )
}

function labelsWithin(expr: Expr): ReadonlySet<string> {
  return new Set(parts(expr, 'selector').flatMap(({ name }) => labelsOfMetric(name) ?? []))
}

function grouped(expr: Expr): string[] {
  return [
    ...parts(expr, 'aggregation').flatMap(({ labels }) => labels),
    ...parts(expr, 'binary').flatMap(({ matching }) => [...(matching?.labels ?? []), ...(matching?.include ?? [])]),
  ]
}

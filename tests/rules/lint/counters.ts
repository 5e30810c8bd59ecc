/** Counters are read by how they rise, over windows that hold enough scrapes. */

import { type Binary, durationMs, type Expr, selectors, walk } from '../../promql/promql.ts'
import { knownMetric } from './metrics.ts'
import { type LintedRule, nameOf } from './rule.ts'
import { SCRAPE_MS } from './waits.ts'

const RISES = ['rate', 'increase', 'irate']

/** Its value is an accident of when the process began. */
export function countersRise(rule: LintedRule): string[] {
  return selectors(rule.tree)
    .filter(({ selector, within }) => {
      const isCounter = knownMetric(selector.name)?.type === 'counter'
      return isCounter && !isRising(within.at(-1)) && !within.some((part) => isFirstSeen(part) || isRisen(part))
    })
    .map(({ selector }) => `${nameOf(rule)} reads the counter ${selector.name} as it stands`)
}

/** What falls, too, rises for no reason. */
export function gaugesDoNot(rule: LintedRule): string[] {
  return selectors(rule.tree)
    .filter(({ selector, within }) => knownMetric(selector.name)?.type === 'gauge' && isRising(within.at(-1)))
    .map(({ selector }) => `${nameOf(rule)} takes the gauge ${selector.name} for a counter`)
}

/** The restart of one host would be a fall of the sum. */
export function noRateOfSums(rule: LintedRule): string[] {
  return [...walk(rule.tree)].flatMap(({ expr }) => {
    if (!isRising(expr) || expr.kind !== 'call') return []
    const [of] = expr.args
    const isRecorded = of?.kind === 'selector' && of.name.includes(':')
    return of?.kind === 'selector' && !isRecorded
      ? []
      : [`${nameOf(rule)} takes the ${expr.name} of what is no counter`]
  })
}

/** Two samples are needed, and one of four scrapes may fail. */
export function wideWindows(rule: LintedRule): string[] {
  return selectors(rule.tree)
    .filter(({ selector }) => selector.range !== undefined && !(durationMs(selector.range) >= 4 * SCRAPE_MS))
    .map(({ selector }) => `${nameOf(rule)} looks at ${selector.name} over ${selector.range}`)
}

function isRising(expr: Expr | undefined): boolean {
  return expr?.kind === 'call' && RISES.includes(expr.name)
}

/** `c > 0 unless c offset 5m`: a counter that was not there before, so that all of it is new. */
function isFirstSeen(expr: Expr): boolean {
  if (expr.kind !== 'binary' || expr.op !== 'unless' || expr.matching) return false
  const { left, right } = expr
  const isAboveZero =
    left.kind === 'binary' && left.op === '>' && left.right.kind === 'number' && left.right.text === '0'
  return isAboveZero && right.offset !== undefined && sameSelector((left as Binary).left, right)
}

/** `c > last_over_time(c[1d] offset 10m)`: across a time in which nothing was scraped. */
function isRisen(expr: Expr): boolean {
  if (expr.kind !== 'binary' || expr.op !== '>' || expr.right.kind !== 'call') return false
  const [before] = expr.right.args
  const isBefore = expr.right.name === 'last_over_time' && before?.offset !== undefined
  return isBefore && sameSelector(expr.left, before as Expr)
}

function sameSelector(one: Expr, other: Expr): boolean {
  if (one.kind !== 'selector' || other.kind !== 'selector') return false
  return one.name === other.name && JSON.stringify(one.matchers) === JSON.stringify(other.matchers)
}

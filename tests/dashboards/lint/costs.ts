/** Rules over PromQL that is right and still misleads, or costs more than a panel is worth on a hundred hosts. */

import { type Expr, parts, selectors, walk } from '../../promql/promql.ts'
import { panelsOf } from '../dashboard.ts'
import { asked, expressions, RANGE, RATE_INTERVAL, type Rule, read, targetsOf } from './lint.ts'
import { overridden } from './panels.ts'

/** `time()` counts the time since the scrape as the host's; `timestamp` of the sample does not. */
const measuresAges: Rule = (dashboard) =>
  [...expressions(dashboard)]
    .filter(({ expr }) => parts(expr, 'call').some(({ name }) => name === 'time'))
    .map(({ where }) => `${where}: time() has the age of the scrape in it`)

/** Over time they choose other series in each point, of which dots remain. */
const choosesOnce: Rule = (dashboard) =>
  overTime(dashboard).flatMap(({ where, expr }) =>
    parts(expr, 'aggregation')
      .filter(({ op, modifier }) => (op === 'topk' || op === 'bottomk') && modifier === undefined)
      .map(({ op }) => `${where}: ${op} in each point`),
  )

/** What lies further back than one point is never found between two of them. */
const looksBackFarEnough: Rule = (dashboard) =>
  [...expressions(dashboard)].flatMap(({ where, expr }) =>
    selectors(expr)
      .filter(({ selector: { offset } }) => offset !== undefined && offset !== RATE_INTERVAL && offset !== RANGE)
      .map(({ selector: { offset } }) => `${where}: offset ${offset}`),
  )

/** Hosts times models times states, in every point: the recorded sums are a hundredth of it. */
const readsSums: Rule = (dashboard) => {
  const isMuch = ({ name }: { readonly name: string }) => name === 'turnwatch_turns_running'
  const points = overTime(dashboard).filter(({ expr }) => parts(expr, 'selector').some(isMuch))
  const windows = [...expressions(dashboard)].filter(({ expr }) =>
    parts(expr, 'selector').some((one) => isMuch(one) && one.range !== undefined),
  )
  return [...points, ...windows].map(({ where }) => `${where}: reads what is recorded as a sum`)
}

/** There is no third of a turn, but `increase` extrapolates. */
const countsWholes: Rule = (dashboard) =>
  targetsOf(dashboard).flatMap(({ panel, target }) => {
    const own = overridden(panel, 'byName', 'unit').find(({ options }) => options === target.legendFormat)
    if ((own?.value ?? panel.fieldConfig?.defaults.unit) !== 'short') return []
    const isBroken = [...walk(readable(target.expr))].some(
      ({ expr, within }) => isCall(expr, 'increase') && !within.some((around) => isCall(around, 'round')),
    )
    return isBroken ? [`${panel.title} ${target.refId}: a broken count`] : []
  })

/** Where metrics are pushed, a host has two of these for some minutes after an upgrade. */
const countsHostsOnce: Rule = (dashboard) =>
  [...expressions(dashboard)]
    .filter(({ expr }) =>
      parts(expr, 'aggregation').some(({ op, modifier, args: [of] }) => {
        return op === 'count' && modifier === undefined && of?.kind === 'selector' && of.name === 'turnwatch_build_info'
      }),
    )
    .map(({ where }) => `${where}: counts versions, not hosts`)

/** Grafana escapes no double quotes in the value of a variable that takes one; between backticks none need it. */
const quotesSafely: Rule = (dashboard) =>
  asked(dashboard)
    .filter(({ expr }) => /!?="\$/.test(expr))
    .map(({ where }) => `${where}: a value between double quotes`)

export const rules = {
  measuresAges,
  choosesOnce,
  looksBackFarEnough,
  readsSums,
  countsWholes,
  countsHostsOnce,
  quotesSafely,
}

function overTime(dashboard: Parameters<Rule>[0]): { readonly where: string; readonly expr: Expr }[] {
  const instant = new Set(
    panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.filter((target) => target.instant).map(({ refId }) => `${title} ${refId}`),
    ),
  )
  return [...expressions(dashboard)].filter(({ where }) => !instant.has(where))
}

/** What cannot be read is for another rule to say. */
function readable(expr: string): Expr {
  try {
    return read(expr)
  } catch {
    return read('0')
  }
}

function isCall(expr: Expr, name: string): boolean {
  return expr.kind === 'call' && expr.name === name
}

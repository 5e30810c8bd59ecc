/** What all rules over dashboards have in common: a rule takes a dashboard and says what is wrong with it, a line each. */

import { type Expr, parse } from '../../promql/promql.ts'
import { type Dashboard, type Panel, panelsOf, type Target } from '../dashboard.ts'

export type Rule = (dashboard: Dashboard) => string[]

/** Stands for `$__rate_interval`: a time that nobody writes. */
export const RATE_INTERVAL = '8869990787ms'
/** Stands for `$__range`. */
export const RANGE = '8869990786ms'

/** PromQL with Grafana's times replaced; other variables stand in strings, where anything may. */
export function read(expr: string): Expr {
  return parse(expr.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll('$__range', RANGE))
}

export interface Asked {
  /** Of what, for messages. */
  readonly where: string
  readonly expr: string
}

export function targetsOf(dashboard: Dashboard): { readonly panel: Panel; readonly target: Target }[] {
  return panelsOf(dashboard).flatMap((panel) => (panel.targets ?? []).map((target) => ({ panel, target })))
}

/** Every expression of panels and annotations that can be read; what cannot is for one rule to say. */
export function* expressions(dashboard: Dashboard): Generator<{ readonly where: string; readonly expr: Expr }> {
  for (const { where, expr } of asked(dashboard)) {
    try {
      yield { where, expr: read(expr) }
    } catch {}
  }
}

export function asked(dashboard: Dashboard): Asked[] {
  return [
    ...targetsOf(dashboard).map(({ panel, target }) => ({
      where: `${panel.title} ${target.refId}`,
      expr: target.expr,
    })),
    ...dashboard.annotations.list.map(({ name, expr }) => ({ where: name, expr })),
  ]
}

/** A message for each of the panels that something is wrong with. */
export function ofPanels(wrong: (panel: Panel) => string | null | false | undefined): Rule {
  return (dashboard) =>
    panelsOf(dashboard).flatMap((panel) => {
      const problem = wrong(panel)
      return problem ? [`${panel.title || `panel ${panel.id}`}: ${problem}`] : []
    })
}

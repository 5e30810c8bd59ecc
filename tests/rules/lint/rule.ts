/** What the lint functions look at: a rule as Prometheus reads it, and the world that it must fit. */

import { parse as parseYaml } from 'yaml'
import { type Expr, parse } from '../../promql/promql.ts'

export interface LintedRule {
  readonly group: string
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly keep_firing_for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The expression, read. */
  readonly tree: Expr
}

export interface LintedGroup {
  readonly name: string
  readonly interval?: string
  readonly rules: readonly LintedRule[]
}

type Plain = Partial<Omit<LintedRule, 'tree' | 'group'>> & { readonly expr: string }

/** A rule of a group, as it stands in a file. */
export function linted(rule: Plain, group = 'a-group'): LintedRule {
  return { labels: {}, annotations: {}, ...rule, group, tree: parse(rule.expr) }
}

/** The groups of a rule file, or of the spec of a PrometheusRule. */
export function groupsOf(text: string): LintedGroup[] {
  const { groups } = parseYaml(text) as { groups: { name: string; interval?: string; rules: Plain[] }[] }
  return groups.map(({ rules, ...rest }) => ({ ...rest, rules: rules.map((rule) => linted(rule, rest.name)) }))
}

/** How a rule is called in what a check says. */
export function nameOf({ alert, record }: LintedRule): string {
  return alert ?? record ?? 'a rule without a name'
}

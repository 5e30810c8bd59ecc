/** What holds of all rules together. */

import { metricNames } from '../../promql/promql.ts'
import { type LintedGroup, type LintedRule, nameOf } from './rule.ts'

/** Names of groups, alerts and records, and whole expressions, each once. */
export function noDuplicates(groups: readonly LintedGroup[]): string[] {
  const rules = groups.flatMap((group) => group.rules)
  const names = [
    ...groups.map(({ name }) => `the group ${name}`),
    ...rules.map((rule) => nameOf(rule)),
    ...rules.map(({ expr }) => expr.replace(/\s+/g, ' ')),
  ]
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))].map((name) => `${name} is there twice`)
}

/** What is recorded is read by an alert or another record, or said to be for somebody else. */
export function recordsAreRead(rules: readonly LintedRule[], documented: (record: string) => boolean): string[] {
  const read = new Set(rules.flatMap(({ tree }) => metricNames(tree)))
  return rules
    .flatMap(({ record }) => record ?? [])
    .filter((record) => !read.has(record) && !documented(record))
    .map((record) => `${record} is recorded for nobody`)
}

/** level:metric:operations, as Prometheus advises. */
export function recordNames({ record }: LintedRule): string[] {
  if (record === undefined || /^[a-z_]+:[a-z][a-z_]*[a-z]:[a-z][a-z0-9_]*$/.test(record)) return []
  return [`${record} is not level:metric:operations`]
}

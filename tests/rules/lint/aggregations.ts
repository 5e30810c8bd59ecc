/** Aggregations keep the labels that operators have added. */

import { parts } from '../../promql/promql.ts'
import { labelsOf, type Records } from './labels.ts'
import { type LintedRule, nameOf } from './rule.ts'

/** `by` would drop cluster, namespace and team. */
export function withoutAlone(rule: LintedRule): string[] {
  return parts(rule.tree, 'aggregation')
    .filter(({ modifier }) => modifier !== 'without')
    .map(({ op }) => `${nameOf(rule)} has ${op}, and drops the labels that operators have added`)
}

/** What is taken off was there: a label of turnwatch, or one of those that tell hosts apart. */
export function withoutWhatIsThere(rule: LintedRule, records: Records, hostLabels: readonly string[]): string[] {
  return parts(rule.tree, 'aggregation').flatMap(({ op, labels, args: [of] }) => {
    const own = of && labelsOf(of, records)?.own
    return labels
      .filter((label) => !own?.has(label) && !hostLabels.includes(label))
      .map((label) => `${nameOf(rule)} has ${op} without ${label}, which is not there`)
  })
}

/** Which series are the largest changes all the time. */
export function noneOfTheLargest(rule: LintedRule): string[] {
  return parts(rule.tree, 'aggregation')
    .filter(({ op }) => ['topk', 'bottomk', 'limitk', 'limit_ratio'].includes(op))
    .map(({ op }) => `${nameOf(rule)} takes a ${op}, which is another one all the time`)
}

/** Both sides of an operation have labels by which they can meet. */

import { type Binary, type Expr, parts } from '../../promql/promql.ts'
import { has, type Labels, labelsOf, type Records } from './labels.ts'
import { type LintedRule, nameOf } from './rule.ts'

/** Sides with different labels never meet, and the alert never fires. */
export function sidesMeet(rule: LintedRule, records: Records, clusterLabels: readonly string[]): string[] {
  return parts(rule.tree, 'binary').flatMap((binary) => {
    const [left, right] = [labelsOf(binary.left, records), labelsOf(binary.right, records)]
    if (left === null || right === null) return []
    const why = parted(binary, left, right, clusterLabels)
    return why === null ? [] : [`${nameOf(rule)}: the sides of ${binary.op} ${why}`]
  })
}

/** A division by zero is NaN, or infinite, which is more than any limit. */
export function noDivisionByZero(rule: LintedRule): string[] {
  return parts(rule.tree, 'binary')
    .filter(({ op, right }) => ['/', '%'].includes(op) && !isAboveZero(right))
    .map(({ op }) => `${nameOf(rule)} has a ${op} by what may be zero`)
}

function parted(
  { op, matching }: Binary,
  left: Labels,
  right: Labels,
  clusterLabels: readonly string[],
): string | null {
  const { how, labels = [] } = matching ?? {}
  if (how === 'on') {
    const isThere = (side: Labels, label: string) => has(side, label) || (side.target && clusterLabels.includes(label))
    const missing = labels.filter((label) => !isThere(left, label) || !isThere(right, label))
    return missing.length > 0 ? `do not both have ${missing.join(', ')}` : null
  }
  const unknown = labels.filter((label) => !left.own.has(label) && !right.own.has(label))
  if (unknown.length > 0) return `ignore ${unknown.join(', ')}, which neither has`
  const rest = (side: Labels) => [...side.own].filter((label) => !labels.includes(label)).toSorted()
  if (rest(left).join() !== rest(right).join()) return `have the labels [${rest(left)}] and [${rest(right)}]`
  const target = (side: Labels) => (side.target === null ? 'none' : [...side.target.without].toSorted().join())
  // What one side lacks of the target's, the other must lack too. For `or` that makes two alerts of one.
  return target(left) === target(right) ? null : `keep different labels of the target at ${op}`
}

function isAboveZero(expr: Expr): boolean {
  if (expr.kind === 'number') return Number(expr.text) !== 0
  return expr.kind === 'binary' && expr.op === '>' && expr.right.kind === 'number' && Number(expr.right.text) >= 0
}

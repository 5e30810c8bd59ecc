/** An alert must say what it is compared with, or it fires for whatever exists. */

import type { Expr } from '../../promql/promql.ts'
import { type LintedRule, nameOf } from './rule.ts'

const COMPARISONS = ['==', '!=', '>', '<', '>=', '<=']

export function comparison(rule: LintedRule): string[] {
  if (rule.alert === undefined || isCompared(rule.tree)) return []
  return [`${nameOf(rule)} compares nothing in ${rule.expr}`]
}

function isCompared(expr: Expr): boolean {
  switch (expr.kind) {
    case 'binary':
      if (COMPARISONS.includes(expr.op)) return !expr.bool
      if (expr.op === 'or') return isCompared(expr.left) && isCompared(expr.right)
      // Whether the right side of unless is compared says nothing of what is left.
      return isCompared(expr.left) || (expr.op === 'and' && isCompared(expr.right))
    case 'call':
      return expr.name === 'absent' || expr.args.some(isCompared)
    case 'aggregation':
      return expr.args.some(isCompared)
    case 'unary':
    case 'subquery':
      return isCompared(expr.of)
    default:
      return false
  }
}

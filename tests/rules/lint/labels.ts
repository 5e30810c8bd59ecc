/**
 * Which labels the result of an expression has. Those of turnwatch are known one by one; those of a target are whatever
 * the operator has put there, of which it is known whether they are kept.
 */

import { type Expr, parse } from '../../promql/promql.ts'
import { knownMetric } from './metrics.ts'

export interface Labels {
  readonly own: ReadonlySet<string>
  /** Whether the labels of the target are still there, and without which. */
  readonly target: { readonly without: ReadonlySet<string> } | null
}

/** Expressions of recording rules by their names. */
export type Records = ReadonlyMap<string, string>

/** Null for a number. */
export function labelsOf(expr: Expr, records: Records): Labels | null {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return null
    case 'selector': {
      const recorded = records.get(expr.name)
      if (recorded !== undefined) return labelsOf(parse(recorded), records)
      return { own: new Set(knownMetric(expr.name)?.labels), target: { without: new Set() } }
    }
    case 'subquery':
    case 'unary':
      return labelsOf(expr.of, records)
    case 'call':
      return ofCall(expr.name, expr.args, records)
    case 'aggregation': {
      const of = labelsOf(expr.args.at(-1) as Expr, records)
      if (of === null) return null
      if (expr.modifier === 'without') return less(of, expr.labels)
      return { own: new Set(expr.labels), target: null }
    }
    case 'binary': {
      const [left, right] = [labelsOf(expr.left, records), labelsOf(expr.right, records)]
      if (left === null || right === null) return left ?? right
      if (expr.op === 'or') return both(left, right)
      if (['and', 'unless'].includes(expr.op) || expr.matching === undefined) return left
      const { how, labels, group } = expr.matching
      if (group !== undefined) return group === 'left' ? left : right
      return how === 'on' ? { own: new Set(labels), target: null } : less(left, labels)
    }
    default:
      return expr satisfies never
  }
}

/** Whether a label can be relied on: of turnwatch, or one that every target has. */
export function has({ own, target }: Labels, label: string): boolean {
  return own.has(label) || (target !== null && ['job', 'instance'].includes(label) && !target.without.has(label))
}

function ofCall(name: string, args: readonly Expr[], records: Records): Labels | null {
  const [vector] = args.map((arg) => labelsOf(arg, records)).filter((labels) => labels !== null)
  if (vector === undefined) return null
  if (name === 'histogram_quantile') return less(vector, ['le'])
  if (name !== 'absent' && name !== 'absent_over_time') return vector
  const [of] = args
  const matchers = of?.kind === 'selector' ? of.matchers.filter(({ op }) => op === '=') : []
  return { own: new Set(matchers.map(({ label }) => label)), target: null }
}

function less({ own, target }: Labels, labels: readonly string[]): Labels {
  return {
    own: new Set([...own].filter((label) => !labels.includes(label))),
    target: target && { without: new Set([...target.without, ...labels.filter((label) => !own.has(label))]) },
  }
}

function both(left: Labels, right: Labels): Labels {
  const own = new Set([...left.own].filter((label) => right.own.has(label)))
  if (left.target === null || right.target === null) return { own, target: null }
  return { own, target: { without: new Set([...left.target.without, ...right.target.without]) } }
}

/**
 * Reads PromQL: the tree of an expression, and what checks ask of it. Grafana's variables must be replaced before.
 * Types and regular expressions are not checked; promtool does that.
 */

import { parser } from '@prometheus-io/lezer-promql'
import { read } from './tree.ts'

export interface Matcher {
  readonly label: string
  readonly op: '=' | '!=' | '=~' | '!~'
  readonly value: string
}

interface At {
  /** Where it stands in the text. */
  readonly from: number
  readonly to: number
  /** As written, such as `5m` or `-1h`; only on selectors and subqueries. */
  readonly offset?: string
}

export interface Selector extends At {
  readonly kind: 'selector'
  /** Empty where the selector gives none. */
  readonly name: string
  readonly matchers: readonly Matcher[]
  /** As written, such as `5m`; absent on an instant vector. */
  readonly range?: string
}

interface Subquery extends At {
  readonly kind: 'subquery'
  readonly of: Expr
  readonly range: string
  readonly step?: string
}

interface Call extends At {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Expr[]
}

export interface Aggregation extends At {
  readonly kind: 'aggregation'
  readonly op: string
  /** Absent: everything becomes one. */
  readonly modifier?: 'by' | 'without'
  readonly labels: readonly string[]
  readonly args: readonly Expr[]
}

export interface Matching {
  readonly how: 'on' | 'ignoring'
  readonly labels: readonly string[]
  readonly group?: 'left' | 'right'
  /** Labels taken from the side of the one. */
  readonly include: readonly string[]
}

export interface Binary extends At {
  readonly kind: 'binary'
  /** `+`, `>`, `and`, … */
  readonly op: string
  readonly bool: boolean
  readonly matching?: Matching
  readonly left: Expr
  readonly right: Expr
}

export type Expr =
  | Selector
  | Subquery
  | Call
  | Aggregation
  | Binary
  | (At & { readonly kind: 'unary'; readonly op: string; readonly of: Expr })
  | (At & { readonly kind: 'number' | 'string'; readonly text: string })

/** The tree of an expression. Throws a SyntaxError that quotes what cannot be read. */
export function parse(text: string): Expr {
  const [error] = errors(text)
  if (error !== undefined) throw new SyntaxError(`${error} in PromQL: ${text}`)
  return read(parser.parse(text).topNode, text)
}

/** What is wrong with an expression, one line each; empty when it can be read. */
export function errors(text: string): string[] {
  const found: string[] = []
  const tree = parser.parse(text)
  tree.iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) found.push(`cannot read ${JSON.stringify(text.slice(from, Math.max(to, from + 1)))} at ${from}`)
    },
  })
  return tree.topNode.firstChild === null ? ['nothing to read'] : found
}

/** Every part of an expression with those that it stands in, the outermost first. */
export function* walk(expr: Expr, within: readonly Expr[] = []): Generator<{ expr: Expr; within: readonly Expr[] }> {
  yield { expr, within }
  for (const part of partsOf(expr)) yield* walk(part, [...within, expr])
}

/** All selectors of an expression, each with what it stands in. */
export function selectors(expr: Expr): { selector: Selector; within: readonly Expr[] }[] {
  return [...walk(expr)].flatMap(({ expr: selector, within }) =>
    selector.kind === 'selector' ? [{ selector, within }] : [],
  )
}

/** Names of the metrics that an expression reads, each once. */
export function metricNames(expr: Expr): string[] {
  return [...new Set(selectors(expr).map(({ selector }) => selector.name))]
}

/** The parts of a kind, the outermost first. */
export function parts<K extends Expr['kind']>(expr: Expr, kind: K): Extract<Expr, { kind: K }>[] {
  return [...walk(expr)].flatMap(({ expr: part }) => (part.kind === kind ? [part as Extract<Expr, { kind: K }>] : []))
}

/** A Prometheus duration such as `1h30m` in milliseconds; NaN for what is none. */
export function durationMs(text: string): number {
  const all = [...text.matchAll(/(\d+)(ms|[smhdwy])/g)]
  if (text === '' || all.map(([part]) => part).join('') !== text) return Number.NaN
  return all.reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit as keyof typeof UNIT_MS] as number),
    0,
  )
}

const UNIT_MS = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5, y: 31536e6 } as const

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'selector':
    case 'number':
    case 'string':
      return []
    case 'subquery':
    case 'unary':
      return [expr.of]
    case 'call':
    case 'aggregation':
      return expr.args
    case 'binary':
      return [expr.left, expr.right]
    default:
      return expr satisfies never
  }
}

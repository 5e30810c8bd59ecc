/**
 * From Lezer's tree of PromQL to ours. Lezer binds `offset`, `@` and ranges to all that stands before them (`a > b
 * offset 5m` is `(a > b) offset 5m` there), Prometheus to the last operand alone: so operands and operators are taken
 * one by one, and bound anew as Prometheus does.
 */

import type { SyntaxNode } from '@lezer/common'
import type { Expr, Matcher, Matching, Selector } from './promql.ts'

interface Operand {
  readonly expr: Expr
}

interface Operator {
  readonly op: string
  readonly from: number
  readonly bool: boolean
  readonly matching?: Matching
}

/** The first expression below a node. */
export function read(top: SyntaxNode, text: string): Expr {
  const [node] = children(top)
  return bind(flat(node as SyntaxNode, text))
}

/** Operands and operators in their order, up to parentheses. */
function flat(node: SyntaxNode, text: string): (Operand | Operator)[] {
  const of = (part: SyntaxNode | null | undefined) => text.slice(part?.from, part?.to)
  const [first, second, third] = children(node)
  switch (node.name) {
    case 'BinaryExpr':
      return [
        ...flat(first as SyntaxNode, text),
        binaryOperator(node, of(second).toLowerCase(), text),
        ...flat(children(node).at(-1) as SyntaxNode, text),
      ]
    case 'UnaryExpr':
      return [{ op: of(first), from: node.from, bool: false }, ...flat(second as SyntaxNode, text)]
    case 'OffsetExpr':
      return onLast(flat(first as SyntaxNode, text), (expr) => ({
        ...expr,
        to: node.to,
        offset: of(node.getChild('OffsetDurationExpr')),
      }))
    case 'StepInvariantExpr':
      return onLast(flat(first as SyntaxNode, text), (expr) => ({ ...expr, to: node.to }))
    case 'MatrixSelector':
      return onLast(flat(first as SyntaxNode, text), (expr) => ({
        ...(expr as Selector),
        to: node.to,
        range: of(second),
      }))
    case 'SubqueryExpr':
      return onLast(flat(first as SyntaxNode, text), (expr) => ({
        kind: 'subquery',
        from: expr.from,
        to: node.to,
        of: expr,
        range: of(second),
        ...(third ? { step: of(third) } : {}),
      }))
    default:
      return [{ expr: operand(node, text) }]
  }
}

function onLast(all: (Operand | Operator)[], change: (expr: Expr) => Expr): (Operand | Operator)[] {
  const last = all.at(-1) as Operand
  return [...all.slice(0, -1), { expr: change(last.expr) }]
}

const BINDING: readonly (readonly string[])[] = [
  ['or'],
  ['and', 'unless'],
  ['==', '!=', '<=', '<', '>=', '>'],
  ['+', '-'],
  ['*', '/', '%', 'atan2'],
  ['^'],
]
const POWER = 5

/** Binds operators as Prometheus does: `^` the tightest and from the right, then signs. */
function bind(all: readonly (Operand | Operator)[]): Expr {
  let at = 0
  const climb = (loosest: number): Expr => {
    const first = all[at++] as Operand | Operator
    let left = 'expr' in first ? first.expr : signed(first, climb(POWER))
    for (let next = all[at] as Operator | undefined; next; next = all[at] as Operator | undefined) {
      const { op, bool, matching } = next
      const tight = BINDING.findIndex((ops) => ops.includes(op))
      if (tight < loosest) break
      at++
      const right = climb(tight === POWER ? POWER : tight + 1)
      const { from } = left
      left = { kind: 'binary', from, to: right.to, op, bool, ...(matching ? { matching } : {}), left, right }
    }
    return left
  }
  return climb(0)
}

function signed({ op, from }: Operator, of: Expr): Expr {
  return { kind: 'unary', from, to: of.to, op, of }
}

function operand(node: SyntaxNode, text: string): Expr {
  const { from, to, name } = node
  const of = (part: SyntaxNode | null | undefined) => text.slice(part?.from, part?.to)
  const [first] = children(node)
  switch (name) {
    case 'ParenExpr':
      return read(node, text)
    case 'VectorSelector':
      return selector(node, text)
    case 'FunctionCall':
      return { kind: 'call', from, to, name: of(first), args: argsOf(node, text) }
    case 'AggregateExpr': {
      const modifier = node.getChild('AggregateModifier')
      const labels = labelsOf(modifier?.getChild('GroupingLabels') ?? null, text)
      const word = modifier && { modifier: modifier.getChild('By') ? ('by' as const) : ('without' as const) }
      return { kind: 'aggregation', from, to, op: of(first).toLowerCase(), labels, args: argsOf(node, text), ...word }
    }
    case 'NumberDurationLiteral':
      return { kind: 'number', from, to, text: of(node) }
    case 'StringLiteral':
      return { kind: 'string', from, to, text: unquoted(of(node)) }
    default:
      throw new SyntaxError(`no PromQL that checks know: ${name} in ${text}`)
  }
}

function selector(node: SyntaxNode, text: string): Selector {
  const of = (part: SyntaxNode | null | undefined) => text.slice(part?.from, part?.to)
  const listed = children(node.getChild('LabelMatchers'))
  const quoted = listed.find(({ name }) => name === 'QuotedLabelName')
  const matchers = listed
    .filter((one) => one !== quoted)
    .map((matcher): Matcher => {
      const label = of(matcher.firstChild)
      return {
        label: matcher.name === 'QuotedLabelMatcher' ? unquoted(label) : label,
        op: of(matcher.getChild('MatchOp')) as Matcher['op'],
        value: unquoted(of(matcher.lastChild)),
      }
    })
  const plain = node.getChild('Identifier')
  const named = matchers.find(({ label, op }) => label === '__name__' && op === '=')
  const name = plain ? of(plain) : quoted ? unquoted(of(quoted)) : (named?.value ?? '')
  return { kind: 'selector', from: node.from, to: node.to, name, matchers: matchers.filter((one) => one !== named) }
}

function binaryOperator(node: SyntaxNode, op: string, text: string): Operator {
  const clause = node.getChild('MatchingModifierClause')
  const bool = node.getChild('BoolModifier') !== null
  return { op, from: node.from, bool, ...(clause ? { matching: matchingOf(clause, text) } : {}) }
}

function matchingOf(clause: SyntaxNode, text: string): Matching {
  const [labels, include] = clause.getChildren('GroupingLabels')
  const group = clause.getChild('GroupLeft') ? 'left' : clause.getChild('GroupRight') ? 'right' : null
  return {
    how: clause.getChild('On') ? 'on' : 'ignoring',
    labels: labelsOf(labels ?? null, text),
    include: labelsOf(include ?? null, text),
    ...(group ? { group } : {}),
  }
}

function argsOf(node: SyntaxNode, text: string): Expr[] {
  return children(node.getChild('FunctionCallBody')).map((part) => bind(flat(part, text)))
}

function labelsOf(list: SyntaxNode | null, text: string): string[] {
  return children(list).map(({ name, from, to }) => {
    const label = text.slice(from, to)
    return name === 'QuotedLabelName' ? unquoted(label) : label
  })
}

function children(node: SyntaxNode | null): SyntaxNode[] {
  const all: SyntaxNode[] = []
  for (let one = node?.firstChild ?? null; one; one = one.nextSibling) if (one.name !== 'LineComment') all.push(one)
  return all
}

function unquoted(text: string): string {
  const inner = text.slice(1, -1)
  if (text.startsWith('`')) return inner
  return inner.replace(/\\(.)/gs, (_all, character: string) => ESCAPED[character] ?? character)
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

import { describe, expect, it } from 'vitest'
import {
  type Aggregation,
  type Binary,
  durationMs,
  type Expr,
  errors,
  metricNames,
  parse,
  parts,
  selectors,
} from './promql.ts'

describe('PromQL is read', () => {
  it('with the names, matchers, ranges and offsets of its selectors', () => {
    const expr = parse('rate(a_total{x="1", y=~"b|c", z!="\\"q\\""}[5m] offset -1h) > b{x!~`\\d`} offset 30s')
    expect(selectors(expr).map(({ selector: { from, to, ...rest } }) => rest)).toEqual([
      {
        kind: 'selector',
        name: 'a_total',
        matchers: [
          { label: 'x', op: '=', value: '1' },
          { label: 'y', op: '=~', value: 'b|c' },
          { label: 'z', op: '!=', value: '"q"' },
        ],
        range: '5m',
        offset: '-1h',
      },
      { kind: 'selector', name: 'b', matchers: [{ label: 'x', op: '!~', value: '\\d' }], offset: '30s' },
    ])
  })

  it('with names that only quotes can hold', () => {
    expect(metricNames(parse('{"a.b", x="1"} + {__name__="c"} + {x="2"}'))).toEqual(['a.b', 'c', ''])
  })

  it('with what each selector stands in, the outermost first', () => {
    const [found] = selectors(parse('sum by (a) (max_over_time(rate(b[5m])[1h:30s]))'))
    expect(found?.within.map((one) => (one.kind === 'call' ? one.name : one.kind))).toEqual([
      'aggregation',
      'max_over_time',
      'subquery',
      'rate',
    ])
  })

  it('with its aggregations, whichever side their labels stand on', () => {
    const all = parts(parse('sum without (a, b) (x) + count(x) by (c) + topk(5, x)'), 'aggregation')
    const read = ({ op, modifier, labels, args }: Aggregation) => [op, modifier, labels, args.length]
    expect(all.map(read)).toEqual([
      ['sum', 'without', ['a', 'b'], 1],
      ['count', 'by', ['c'], 1],
      ['topk', undefined, [], 2],
    ])
  })

  it('with its operations, by precedence, and how they match', () => {
    const all = parts(
      parse('a / on (job) group_left (v) b > bool 0 unless ignoring (x) (c or on () d) # why\n'),
      'binary',
    )
    expect(all.map(({ op, bool, matching }: Binary) => ({ op, bool, matching }))).toEqual([
      { op: 'unless', bool: false, matching: { how: 'ignoring', labels: ['x'], include: [] } },
      { op: '>', bool: true, matching: undefined },
      { op: '/', bool: false, matching: { how: 'on', labels: ['job'], group: 'left', include: ['v'] } },
      { op: 'or', bool: false, matching: { how: 'on', labels: [], include: [] } },
    ])
  })

  it('bound as Prometheus binds it, where an offset or a range belongs to the last operand alone', () => {
    const bound = (text: string): string => shape(parse(text))
    expect(bound('a > b offset 5m + 1')).toBe('(a > (b offset 5m + 1))')
    expect(bound('a and b offset 5m unless c')).toBe('((a and b offset 5m) unless c)')
    expect(bound('a or b and c == d + e * f ^ g ^ h')).toBe('(a or (b and (c == (d + (e * (f ^ (g ^ h)))))))')
    expect(bound('-a ^ b * c')).toBe('(-(a ^ b) * c)')
    expect(bound('a - b - (c - d)')).toBe('((a - b) - (c - d))')
    expect(bound('max_over_time(-a[1h:1m])')).toBe('max_over_time(-a[1h:1m])')
  })

  it('with @, numbers, strings and signs', () => {
    const expr = parse('-x @ end() ^ 2 == 1e3 or label_replace(x, "a", "b", "c", "")')
    expect(parts(expr, 'number').map(({ text }) => text)).toEqual(['2', '1e3'])
    expect(parts(expr, 'string').map(({ text }) => text)).toEqual(['a', 'b', 'c', ''])
    expect(parts(expr, 'unary').map(({ op }) => op)).toEqual(['-'])
  })
})

function shape(expr: Expr): string {
  const offset = expr.offset ? ` offset ${expr.offset}` : ''
  switch (expr.kind) {
    case 'selector':
      return `${expr.name}${expr.range ? `[${expr.range}]` : ''}${offset}`
    case 'binary':
      return `(${shape(expr.left)} ${expr.op} ${shape(expr.right)})${offset}`
    case 'unary':
      return `${expr.op}${shape(expr.of)}${offset}`
    case 'subquery':
      return `${shape(expr.of)}[${expr.range}:${expr.step ?? ''}]${offset}`
    case 'call':
      return `${expr.name}(${expr.args.map(shape).join(', ')})${offset}`
    case 'aggregation':
      return `${expr.op}(${expr.args.map(shape).join(', ')})`
    default:
      return expr.text
  }
}

describe('what is no PromQL is refused', () => {
  it.each(['', '  ', 'a +', 'rate(a[5m)', 'a{b=c}', 'sum by a (b)', 'a b', '$x', 'rate(a[$__rate_interval])'])(
    '%j',
    (text) => {
      expect(errors(text)).not.toEqual([])
      expect(() => parse(text)).toThrow(SyntaxError)
    },
  )

  it('in words that quote it', () => {
    expect(errors('rate(a[5m])\n> §')).toEqual(['cannot read "§" at 14'])
  })

  it('and what is some is not', () => {
    expect(errors('sum(a) > 0')).toEqual([])
  })
})

it('durations are told in milliseconds', () => {
  const all = ['5m', '1h30m', '8869990787ms', '1d', '0s', '', '5', '5m!', 'm'].map(durationMs)
  expect(all).toEqual([300_000, 5_400_000, 8_869_990_787, 86_400_000, 0, NaN, NaN, NaN, NaN])
})

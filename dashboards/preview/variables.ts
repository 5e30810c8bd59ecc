/** Variables in queries, titles and links, put in as Grafana and its Prometheus data source do. */

/** A variable with what is chosen of it. */
export interface Variable {
  readonly name: string
  /** Where several may be chosen, values are patterns. */
  readonly isPattern: boolean
  /** What is chosen; the text of `allValue` where that stands for all. */
  readonly values: readonly string[]
  /** Whether `values` is an `allValue`, which is put in as it is. */
  readonly isRaw?: boolean
  readonly text?: string
}

export type Variables = ReadonlyMap<string, Variable>

/** What a query is asked over. */
export interface Span {
  /** Epoch ms. */
  readonly fromMs: number
  readonly toMs: number
  /** Between two points. */
  readonly stepMs: number
  /** How often samples are taken. */
  readonly scrapeMs: number
}

const REFERENCE = /\$(\w+)|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}|\[\[(\w+)(?::(\w+))?\]\]/g

/** The variables that Grafana itself brings. */
export function builtIn({ fromMs, toMs, stepMs, scrapeMs }: Span): Map<string, Variable> {
  const rangeS = Math.round((toMs - fromMs) / 1000)
  // A rate needs four scrapes, and no gap between two steps.
  const rateMs = Math.max(stepMs + scrapeMs, 4 * scrapeMs)
  const values = {
    __interval: duration(stepMs),
    __interval_ms: String(stepMs),
    __rate_interval: duration(rateMs),
    __range: `${rangeS}s`,
    __range_s: String(rangeS),
    __range_ms: String(toMs - fromMs),
    __from: String(fromMs),
    __to: String(toMs),
  }
  return new Map(Object.entries(values).map(([name, value]) => [name, { name, isPattern: false, values: [value] }]))
}

/** A query with its variables put in. Throws for one that is not known. */
export function interpolateQuery(expr: string, variables: Variables): string {
  return replaced(expr, (name, format) => {
    const variable = known(name, variables)
    return format === undefined ? inQuery(variable) : formatted(variable, format)
  })
}

/** A title or a link with its variables put in. `others` answers what is no variable of the dashboard. */
export function interpolateText(
  text: string,
  variables: Variables,
  others: (name: string, path: string | undefined, format: string | undefined) => string | undefined = () => undefined,
): string {
  return replaced(text, (name, format, path) => {
    const other = others(name, path, format)
    if (other !== undefined) return other
    return formatted(known(name, variables), format ?? 'glob')
  })
}

function replaced(text: string, value: (name: string, format?: string, path?: string) => string): string {
  return text.replace(REFERENCE, (_all, bare, braced, path, format, bracketed, bracketedFormat) =>
    value(bare ?? braced ?? bracketed, format ?? bracketedFormat, path),
  )
}

function known(name: string, variables: Variables): Variable {
  const variable = variables.get(name)
  if (variable === undefined) throw new Error(`$${name} is no variable of this dashboard that has a value`)
  return variable
}

/** As the Prometheus data source does where no format is asked for: double quotes stay as they are. */
function inQuery({ values, isPattern, isRaw }: Variable): string {
  if (isRaw) return values.join('|')
  if (!isPattern) return values.map((value) => value.replace(/\\/g, '\\\\').replace(/'/g, "\\\\'")).join('|')
  // Escaped twice: for the expression, and for the string that it stands in.
  const patterns = values.map((value) => value.replace(/\\/g, '\\\\\\\\').replace(/[$^*{}[\]'+?.()|]/g, '\\\\$&'))
  return patterns.length === 1 ? (patterns[0] as string) : `(${patterns.join('|')})`
}

function formatted({ name, values, isRaw, text }: Variable, format: string): string {
  if (isRaw && format !== 'queryparam' && format !== 'text') return values.join('|')
  switch (format) {
    case 'glob':
      return values.length === 1 ? (values[0] as string) : `{${values.join(',')}}`
    case 'raw':
    case 'csv':
      return values.join(',')
    case 'pipe':
      return values.join('|')
    case 'regex':
      return values.length === 1 ? pattern(values[0] as string) : `(${values.map(pattern).join('|')})`
    case 'text':
      return text ?? values.join(' + ')
    case 'percentencode':
      return encodeURIComponent(values.join(','))
    case 'queryparam':
      return (isRaw ? ['$__all'] : values).map((value) => `var-${name}=${encodeURIComponent(value)}`).join('&')
    default:
      throw new Error(`\${${name}:${format}}: the preview knows no such format`)
  }
}

function pattern(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function duration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

/** Selectors of the catalogue's metrics, so that a rule or panel cannot name one, or a label, that does not exist. */

import { type catalogue, type MetricName, PREFIX } from '../instrumentation/metrics/catalogue.ts'

type LabelOf<N extends MetricName> = (typeof catalogue)[N]['labels'][number]

/** A value, one of several, what a regular expression matches, or anything but a value. */
type Matcher = string | readonly string[] | RegExp | { readonly not: string }

type Matchers<N extends MetricName> = Readonly<Partial<Record<LabelOf<N>, Matcher>>>

/** `metric('turns_stale', { reason: 'silence' })` is `turnwatch_turns_stale{reason="silence"}`. */
export function metric<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return PREFIX + name + braces(matchers)
}

/** The buckets of a histogram. */
export function buckets<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return `${PREFIX + name}_bucket${braces(matchers)}`
}

/** How many values a histogram has seen. */
export function count<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return `${PREFIX + name}_count${braces(matchers)}`
}

function braces(matchers: Readonly<Record<string, Matcher | undefined>> = {}): string {
  const all = Object.entries(matchers).map(([label, matcher]) => label + operation(matcher as Matcher))
  return all.length === 0 ? '' : `{${all.join(', ')}}`
}

function operation(matcher: Matcher): string {
  if (typeof matcher === 'string') return `="${matcher}"`
  if (matcher instanceof RegExp) return `=~"${matcher.source}"`
  return 'not' in matcher ? `!="${matcher.not}"` : `=~"${matcher.join('|')}"`
}

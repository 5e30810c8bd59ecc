/** Selectors name what there is, in the simplest way. */

import { labelValues } from '../../../instrumentation/metrics/label-values.ts'
import { type Matcher, selectors } from '../../promql/promql.ts'
import { labelsOf, type Records } from './labels.ts'
import { knownMetric } from './metrics.ts'
import { type LintedRule, nameOf } from './rule.ts'

/** Every metric is in the catalogue, every recorded name is recorded. */
export function namesExist(rule: LintedRule, records: Records): string[] {
  return selectors(rule.tree)
    .filter(({ selector: { name } }) => !records.has(name) && knownMetric(name) === undefined)
    .map(
      ({ selector: { name } }) => `${nameOf(rule)} reads ${name || 'a selector without a name'}, which nobody writes`,
    )
}

/** With labels that it has, and values that these can have. */
export function matchersMatch(rule: LintedRule, records: Records): string[] {
  return selectors(rule.tree).flatMap(({ selector }) => {
    const { metric } = knownMetric(selector.name) ?? {}
    const own = labelsOf(selector, records)?.own
    return selector.matchers.flatMap((matcher) => {
      if (!own?.has(matcher.label) && !['job', 'instance'].includes(matcher.label)) {
        return [`${nameOf(rule)} asks ${selector.name} for the label ${matcher.label}`]
      }
      const values =
        metric && own?.has(matcher.label) && matcher.label !== 'le' ? labelValues(metric, matcher.label) : null
      const named = matcher.op.endsWith('~') ? matcher.value.split('|') : [matcher.value]
      // The catalogue of another version is what CatalogueMismatch looks for.
      const missing = named.filter((one) => !values?.some((value) => new RegExp(`^(?:${one})$`).test(value)))
      return values === null || missing.length === 0
        ? []
        : [`${nameOf(rule)} asks ${selector.name} for ${matcher.label} ${missing.join(', ')}, which it never is`]
    })
  })
}

/** A regular expression that matches one string is a string. */
export function noNeedlessRegex(rule: LintedRule): string[] {
  const isNeedless = ({ op, value }: Matcher) =>
    op.endsWith('~') && (!/[.*+?|()[\]{}^$\\]/.test(value) || /^\.[*+]$/.test(value))
  return selectors(rule.tree).flatMap(({ selector }) =>
    selector.matchers
      .filter(isNeedless)
      .map(({ label, op, value }) => `${nameOf(rule)} needs no regular expression in ${label}${op}"${value}"`),
  )
}

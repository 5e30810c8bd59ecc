/** How long alerts wait, and how often groups are evaluated. */

import { durationMs, parts } from '../../promql/promql.ts'
import { type LintedGroup, type LintedRule, nameOf } from './rule.ts'

/** What the pack is made for. */
export const SCRAPE_MS = 15_000
/** How far back Prometheus looks for a sample: what is recorded less often is not found. */
const LOOKBACK_MS = 300_000

/** What is absent at one scrape may be there at the next. */
export function absentWaits(rule: LintedRule): string[] {
  const isAbsent = parts(rule.tree, 'call').some(({ name }) => name.startsWith('absent'))
  if (rule.alert === undefined || !isAbsent || durationMs(rule.for ?? '0s') >= 2 * SCRAPE_MS) return []
  return [`${nameOf(rule)} waits for less than two scrapes`]
}

/** Says nothing that is so anyway, and nothing that vmalert 1.79 refuses. */
export function plainWaits(rule: LintedRule): string[] {
  if (rule.keep_firing_for !== undefined) return [`${nameOf(rule)} has keep_firing_for`]
  if (rule.for === undefined) return []
  return durationMs(rule.for) > 0 ? [] : [`${nameOf(rule)} waits for ${JSON.stringify(rule.for)}`]
}

export function groupInterval({ name, interval }: LintedGroup): string[] {
  if (interval === undefined || durationMs(interval) <= LOOKBACK_MS) return []
  return [`${name} is evaluated every ${interval}`]
}

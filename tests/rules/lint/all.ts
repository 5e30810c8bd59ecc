/** Every check of a single rule, by its name, and all of them over a whole pack. */

import { existsSync, readdirSync } from 'node:fs'
import { DASHBOARD_UIDS } from '../../../rules/dashboard-link.ts'
import { RULES } from '../rule-tests.ts'
import { noneOfTheLargest, withoutAlone, withoutWhatIsThere } from './aggregations.ts'
import { dashboard, description, runbook, summary } from './annotations.ts'
import { comparison } from './comparison.ts'
import { countersRise, gaugesDoNot, noRateOfSums, wideWindows } from './counters.ts'
import { labelsOf, type Records } from './labels.ts'
import { noDivisionByZero, sidesMeet } from './matching.ts'
import { noDuplicates, recordNames } from './pack.ts'
import type { LintedGroup, LintedRule } from './rule.ts'
import { matchersMatch, namesExist, noNeedlessRegex } from './selectors.ts'
import { steadyLabels, templateLabels } from './templates.ts'
import { absentWaits, groupInterval, plainWaits } from './waits.ts'

/** What rules must fit. */
export interface World {
  readonly records: Records
  readonly hostLabels: readonly string[]
  /** Labels of targets besides job and instance, of which it is no matter whether they are there. */
  readonly clusterLabels: readonly string[]
  /** Files in rules/runbooks. */
  readonly runbooks: readonly string[]
}

export const CHECKS = {
  absentWaits,
  comparison,
  countersRise,
  dashboard: (rule) => dashboard(rule, Object.values(DASHBOARD_UIDS)),
  description: (rule, { records }) => {
    const labels = labelsOf(rule.tree, records)
    return description(rule, labels !== null && (labels.target !== null || labels.own.size > 0))
  },
  gaugesDoNot,
  matchersMatch: (rule, { records }) => matchersMatch(rule, records),
  namesExist: (rule, { records }) => namesExist(rule, records),
  noDivisionByZero,
  noNeedlessRegex,
  noRateOfSums,
  noneOfTheLargest,
  plainWaits,
  recordNames,
  runbook: (rule, { runbooks }) => runbook(rule, runbooks),
  sidesMeet: (rule, { records, clusterLabels }) => sidesMeet(rule, records, clusterLabels),
  steadyLabels,
  summary,
  templateLabels: (rule, { records }) => templateLabels(rule, records),
  wideWindows,
  withoutAlone,
  withoutWhatIsThere: (rule, { records, hostLabels }) => withoutWhatIsThere(rule, records, hostLabels),
} satisfies Record<string, (rule: LintedRule, world: World) => string[]>

export type Check = keyof typeof CHECKS

/** What every check finds in these groups. */
export function lint(
  groups: readonly LintedGroup[],
  { hostLabels, clusterLabels }: Omit<World, 'records' | 'runbooks'>,
): string[] {
  const rules = groups.flatMap((group) => group.rules)
  const records = new Map(rules.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, expr] as const])))
  const world: World = { records, hostLabels, clusterLabels, runbooks: runbookPages() }
  return [
    ...groups.flatMap(groupInterval),
    ...noDuplicates(groups),
    ...rules.flatMap((rule) => Object.values(CHECKS).flatMap((check) => check(rule, world))),
  ]
}

function runbookPages(): string[] {
  const folder = `${RULES}runbooks`
  return existsSync(folder) ? readdirSync(folder) : []
}

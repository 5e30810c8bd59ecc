/** How large the rules and dashboards are, as the README says: `npx node docs/counts.ts`. */

import { counts as dashboardCounts } from '../tests/dashboards/queries.ts'
import { counts as ruleCounts } from '../tests/rules/counts.ts'

/** The line of the README. */
export function countsLine(): string {
  const { alerts, recordingRules, ruleTests } = ruleCounts()
  const { dashboards, panels, queries } = dashboardCounts()
  return (
    `${alerts} alerts and ${recordingRules} recording rules with ${ruleTests} promtool tests, ` +
    `${dashboards} dashboards with ${panels} panels and ${queries} queries, each of them run`
  )
}

if (import.meta.main) process.stdout.write(`${countsLine()}\n`)

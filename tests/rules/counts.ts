/** How large the pack is, for whoever says so: `node tests/rules/counts.ts`. */

import { ALERTS, makePack } from '../../rules/pack.ts'
import { ruleTestFiles } from './rule-tests.ts'

export interface RuleCounts {
  readonly alerts: number
  readonly recordingRules: number
  /** Tests of promtool, each a scenario of its own. */
  readonly ruleTests: number
  /** What they assert: an expression or an alert at one time. */
  readonly ruleAssertions: number
}

export function counts(): RuleCounts {
  const files = ruleTestFiles()
  return {
    alerts: ALERTS.length,
    recordingRules: makePack().recordings.length,
    ruleTests: files.reduce((sum, { comments }) => sum + comments.length, 0),
    ruleAssertions: files.reduce((sum, { text }) => sum + [...text.matchAll(/\beval_time:/g)].length, 0),
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(counts())}\n`)

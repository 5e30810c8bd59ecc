/** Which alerts of the rules fire now, the most severe first. */

import { type Link, ROW_RUNBOOK, toRow } from './links.ts'
import type { Placeable } from './panels.ts'
import { firing } from './scope.ts'
import { table } from './table.ts'

/** Severities as numbers, so that a table can be sorted by them. */
const SEVERITIES = { critical: 3, warning: 2, info: 1 } as const
const SEVERITY_WORDS = [
  {
    type: 'value',
    options: {
      3: { text: 'critical', color: 'red', index: 0 },
      2: { text: 'warning', color: 'orange', index: 1 },
      1: { text: 'info', color: 'blue', index: 2 },
    },
  },
] as never

const alertsBySeverity = (Object.keys(SEVERITIES) as (keyof typeof SEVERITIES)[])
  .map(
    (severity) =>
      `${SEVERITIES[severity]} * max by (alertname, instance, provider, model, channel) (${firing([severity])})`,
  )
  .join(' or ')

export function alertsThatFire(links: readonly Link[]): Placeable {
  return table({
    title: 'Alerts that fire',
    description:
      'Alerts of the rules that fire now, the most severe first: critical pages, warning is a ticket, info a note. The name leads to what to do. None is good, if the rules are loaded: see below.',
    labels: {
      alertname: 'Alert',
      instance: 'Host',
      provider: 'Provider',
      model: 'Model',
      channel: 'Channel',
    },
    labelLinks: { alertname: [ROW_RUNBOOK], provider: [toRow('thread', 'Its running turns', ['provider'])] },
    columns: [{ title: 'Severity', expr: alertsBySeverity, unit: 'none', mappings: SEVERITY_WORDS, width: 90 }],
    valuesFirst: true,
    sortedBy: 'Severity',
    links,
    empty: 'No alert fires',
    width: 12,
    height: 10,
  })
}

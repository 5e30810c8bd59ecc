/** The smallest dashboard that no rule complains about, to break in one place. */

import { ALERTS } from '../../../rules/pack.ts'
import type { Annotation, Dashboard, Panel, Target, Variable } from '../dashboard.ts'

const DATASOURCE = { type: 'prometheus', uid: '$datasource' }
/** As Grafana writes them in addresses. */
export const TIME = `\${__url_time_range}`
export const CHOICE = `\${__all_variables}`
const SCOPE = 'job=~"$job", instance=~"$instance", provider=~"$provider", model=~"$model"'

export const PANEL: Panel = {
  id: 2,
  type: 'timeseries',
  title: 'Stale turns by model',
  description: 'Which model the stale turns belong to.',
  gridPos: { x: 0, y: 1, w: 24, h: 8 },
  datasource: DATASOURCE,
  targets: [
    {
      refId: 'A',
      datasource: DATASOURCE,
      expr: `sum by (provider, model) (turnwatch_turns_stale{${SCOPE}})`,
      legendFormat: '{{provider}} {{model}}',
    },
  ],
  links: [{ title: 'Running turns', url: `/d/turnwatch-thread?${TIME}&${CHOICE}` }],
  options: { legend: { displayMode: 'table', sortBy: 'Max' } },
  fieldConfig: {
    defaults: { unit: 'short', links: [], thresholds: { steps: [{ value: null, color: 'blue' }] } },
    overrides: [],
  },
}

const ROW: Panel = { id: 1, type: 'row', title: 'Is anything stale?', gridPos: { x: 0, y: 0, w: 24, h: 1 } }

export const OVERLAY: Annotation = {
  name: 'Alerts',
  datasource: DATASOURCE,
  expr: `ALERTS{alertname=~"${ALERTS.map(({ name }) => name).join('|')}", alertstate="firing", job=~"$job|", instance=~"$instance|", provider=~"$provider|", model=~"$model|"}`,
}

function variable(name: string, query: string, allValue: string): Variable {
  return {
    name,
    type: 'query',
    query,
    datasource: DATASOURCE,
    multi: true,
    includeAll: true,
    allValue,
    refresh: 2,
  }
}

export const VARIABLES: readonly Variable[] = [
  { name: 'datasource', label: 'Data Source', type: 'datasource', query: 'prometheus' },
  variable('job', 'label_values(turnwatch_build_info, job)', '.+'),
  variable('instance', 'label_values(turnwatch_build_info{job=~"$job"}, instance)', '.+'),
  variable('provider', 'label_values(turnwatch_turns_started_total, provider)', '.*'),
  variable('model', 'label_values(turnwatch_turns_started_total{provider=~"$provider"}, model)', '.*'),
]

export const GOOD: Dashboard = {
  uid: 'turnwatch-overview',
  title: 'turnwatch / Overview',
  description: 'Agent turns.',
  schemaVersion: 39,
  editable: false,
  tags: ['turnwatch'],
  links: [{ type: 'dashboards', tags: ['turnwatch'], keepTime: true, includeVars: true }],
  annotations: { list: [OVERLAY] },
  templating: { list: VARIABLES },
  panels: [ROW, PANEL],
}

/** The good dashboard with its panel changed. */
export function withPanel(change: Partial<Panel>): Dashboard {
  return { ...GOOD, panels: [ROW, { ...PANEL, ...change }] }
}

/** With its query changed. */
export function withTarget(change: Partial<Target>): Dashboard {
  return withPanel({ targets: (PANEL.targets ?? []).map((target) => ({ ...target, ...change })) })
}

/** With a variable changed. */
export function withVariable(name: string, change: Partial<Variable>): Dashboard {
  return {
    ...GOOD,
    templating: { list: VARIABLES.map((one) => (one.name === name ? { ...one, ...change } : one)) },
  }
}

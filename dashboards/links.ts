/** Where a panel leads: the next dashboard with time and variables kept, the same one narrowed, or a runbook. */

import { DASHBOARD_UIDS } from '../rules/dashboard-link.ts'
import { ALERTS, PACK_KNOBS } from '../rules/pack.ts'

export interface Link {
  readonly title: string
  readonly url: string
  readonly targetBlank?: true
}

type Dashboard = keyof typeof DASHBOARD_UIDS

export const TITLES: Readonly<Record<Dashboard, string>> = {
  overview: 'turnwatch / Overview',
  thread: 'turnwatch / One thread',
  health: 'turnwatch / Detector and notifier',
  cache: 'turnwatch / Prompt cache',
}

/** From a panel's title: everything that is chosen stays chosen. */
export function toDashboard(name: Dashboard, title: string): Link {
  return { title, url: `/d/${DASHBOARD_UIDS[name]}?\${__url_time_range}&\${__all_variables}` }
}

/** From a value: what its labels say is chosen. */
export function toLabels(name: Dashboard, title: string, labels: readonly string[]): Link {
  return withChosen(
    name,
    title,
    labels,
    labels.map((label) => `\${__field.labels.${label}:percentencode}`),
  )
}

/** From a cell of a table: what its row says is chosen. */
export function toRow(name: Dashboard, title: string, labels: readonly string[]): Link {
  return withChosen(
    name,
    title,
    labels,
    labels.map((label) => `\${__data.fields.${label}:percentencode}`),
  )
}

/** Another thread of the same host: that its model is another one must not hide it. */
export function toThread(title: string, label: string): Link {
  const values = [`\${__data.fields.${label}:percentencode}`, ALL, ALL]
  return withChosen('thread', title, ['thread', 'provider', 'model'], values)
}

/** `$__all`, escaped so that it is no variable. */
const ALL = '%24__all'

function withChosen(name: Dashboard, title: string, variables: readonly string[], values: readonly string[]): Link {
  const kept = ['job', 'instance', 'provider', 'model'].filter((variable) => !variables.includes(variable))
  const parameters = [
    `\${__url_time_range}`,
    ...['datasource', ...kept].map((variable) => `\${${variable}:queryparam}`),
    ...variables.map((variable, i) => `var-${variable}=${values[i]}`),
  ]
  return { title, url: `/d/${DASHBOARD_UIDS[name]}?${parameters.join('&')}` }
}

/** Throws for an alert that the pack does not have. */
export function toRunbook(alert: string): Link {
  if (!ALERTS.some(({ name }) => name === alert)) throw new Error(`${alert} is no alert`)
  return { title: `Runbook: ${alert}`, url: `${PACK_KNOBS.runbooks}/${alert}.md`, targetBlank: true }
}

/** The runbook of the alert that a row of a table is about. */
export const ROW_RUNBOOK: Link = {
  title: 'Runbook',
  url: `${PACK_KNOBS.runbooks}/\${__data.fields.alertname}.md`,
  targetBlank: true,
}

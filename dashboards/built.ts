/** The dashboards as files that any Grafana takes. */

import { cacheDashboard } from './cache.ts'
import { dashboardOf } from './dashboard.ts'
import { healthDashboard } from './health.ts'
import { overviewDashboard } from './overview.ts'
import { threadDashboard } from './thread.ts'

/** The text of every built file by its name under `dashboards/`. */
export function dashboardFiles(): Record<string, string> {
  const all = [overviewDashboard(), threadDashboard(), healthDashboard(), cacheDashboard()].map(dashboardOf)
  return Object.fromEntries(all.map((built) => [`${built.uid}.json`, `${JSON.stringify(built, null, 2)}\n`]))
}

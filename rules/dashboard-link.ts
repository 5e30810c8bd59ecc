/** Where the dashboards are in any Grafana: their uids are stable. */

export const DASHBOARD_UIDS = {
  overview: 'turnwatch-overview',
  thread: 'turnwatch-thread',
  health: 'turnwatch-health',
  cache: 'turnwatch-cache',
} as const

export type DashboardUid = (typeof DASHBOARD_UIDS)[keyof typeof DASHBOARD_UIDS]

/** The path of a dashboard, in an annotation's template: each label's value becomes the variable of its name. */
export function pathOf(uid: DashboardUid, labels: readonly string[]): string {
  const variables = labels.map((label) => `var-${label}={{ $labels.${label} | urlquery }}`)
  return `/d/${uid}${variables.length === 0 ? '' : `?${variables.join('&')}`}`
}

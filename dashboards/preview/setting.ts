/** What every panel of a page is drawn in. */

import type { Theme } from './colours.ts'
import type { Variables } from './variables.ts'

export interface Setting {
  readonly theme: Theme
  readonly fromMs: number
  readonly toMs: number
  /** What counts as now for times told from it. */
  readonly nowMs: number
  /** Between two points of this panel. */
  readonly stepMs: number
  readonly variables: Variables
  /** Addresses of dashboards carry the time range and what is chosen. */
  readonly timeRange: string
  readonly chosen: string
}

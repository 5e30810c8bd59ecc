/** A dashboard from its rows: every row asks a question, the panels below answer it. */

import type { Dashboard, Panel, RowPanel } from '@grafana/schema'
import { DASHBOARD_UIDS } from '../rules/dashboard-link.ts'
import { TITLES } from './links.ts'
import type { Placeable } from './panels.ts'
import { annotations, threadVariable, variables } from './variables.ts'

/** Grafana's grid. */
const COLUMNS = 24

interface Row {
  /** A question. */
  readonly title: string
  readonly panels: readonly Placeable[]
}

export interface DashboardSource {
  readonly name: keyof typeof DASHBOARD_UIDS
  readonly description: string
  readonly rows: readonly Row[]
  readonly from: string
}

/** Classic JSON for Grafana 10 and later, which brings it up to its own version when it loads. */
export function dashboardOf({ name, description, rows, from }: DashboardSource) {
  return {
    id: null,
    uid: DASHBOARD_UIDS[name],
    title: TITLES[name],
    description,
    tags: ['turnwatch'],
    schemaVersion: 39,
    version: 1,
    editable: false,
    graphTooltip: 1,
    refresh: '30s',
    time: { from, to: 'now' },
    timezone: 'browser',
    timepicker: {},
    links: [
      {
        title: 'turnwatch',
        type: 'dashboards',
        tags: ['turnwatch'],
        asDropdown: false,
        icon: 'external link',
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        tooltip: '',
        url: '',
      },
    ],
    annotations: { list: annotations() },
    templating: { list: name === 'thread' ? [...variables(), threadVariable()] : variables() },
    panels: placed(rows),
  } satisfies Dashboard
}

/** Ids by order. Each panel goes as far up, and then as far left, as it fits. */
function placed(rows: readonly Row[]): (Panel | RowPanel)[] {
  const all: (Panel | RowPanel)[] = []
  let top = 0
  for (const { title, panels } of rows) {
    all.push({
      id: all.length + 1,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y: top, w: COLUMNS, h: 1 },
    })
    const filled = new Array<number>(COLUMNS).fill(top + 1)
    for (const { panel, width, height } of panels) {
      const { x, y } = highest(filled, width)
      filled.fill(y + height, x, x + width)
      const { datasource, targets, ...rest } = plain(panel)
      all.push({ id: all.length + 1, ...rest, gridPos: { x, y, w: width, h: height }, datasource, targets } as Panel)
    }
    top = Math.max(...filled)
  }
  return all
}

function highest(filled: readonly number[], width: number): { x: number; y: number } {
  const places = Array.from({ length: COLUMNS - width + 1 }, (_, x) => ({
    x,
    y: Math.max(...filled.slice(x, x + width)),
  }))
  return places.reduce((best, place) => (place.y < best.y ? place : best))
}

/** As JSON has it: nothing undefined, no methods, nothing shared. */
function plain(panel: Placeable['panel']) {
  return JSON.parse(JSON.stringify(panel)) as Panel
}

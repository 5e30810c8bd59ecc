/** A dashboard with its answers, as the page draws it: everything is decided here but where the pixels go. */

import { type Annotation, annotationsOf } from './annotations.ts'
import { type Choice, chooseVariables } from './choices.ts'
import type { Theme } from './colours.ts'
import { type Dashboard, type Panel, panelsOf, type Target } from './dashboard.ts'
import { type Frame, seriesFrame, tableFrame } from './fields.ts'
import { type Graph, graphOf } from './graph.ts'
import { type Box, boxOf } from './layout.ts'
import { type Link, linksOf } from './links.ts'
import { PrometheusApi } from './prometheus-api.ts'
import type { Setting } from './setting.ts'
import { type Stat, statOf } from './stat.ts'
import { type StateTimeline, stateTimelineOf } from './state-timeline.ts'
import { durationMs, stepMs } from './step.ts'
import { type Table, tableOf } from './table.ts'
import { transform } from './transformations.ts'
import { builtIn, interpolateQuery, interpolateText, type Variables } from './variables.ts'

export interface ViewOptions {
  /** Address of the Prometheus. */
  readonly prometheus: string
  /** Epoch ms. */
  readonly fromMs: number
  readonly toMs: number
  /** Dashboards that its links may lead to. */
  readonly others?: readonly Dashboard[]
  /** Values of variables that are not as the dashboard has them. */
  readonly chosen?: ReadonlyMap<string, readonly string[]>
  /** Px. @default 1400 */
  readonly width?: number
  /** @default 'light' */
  readonly theme?: Theme
  /** How often Prometheus scrapes. @default 15000 */
  readonly scrapeMs?: number
}

interface PanelView {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly box: Box
  readonly links: readonly Link[]
  readonly body:
    | Graph
    | Stat
    | Table
    | StateTimeline
    | { readonly kind: 'row' }
    | { readonly kind: 'empty'; readonly text: string; readonly isMeant: boolean }
    | { readonly kind: 'error'; readonly text: string }
}

export interface View {
  readonly uid: string
  readonly title: string
  readonly theme: Theme
  readonly width: number
  readonly height: number
  readonly fromMs: number
  readonly toMs: number
  readonly variables: readonly { readonly label: string; readonly text: string }[]
  readonly panels: readonly PanelView[]
  readonly links: readonly Link[]
  readonly annotations: readonly Annotation[]
  readonly annotationNames: readonly { readonly name: string; readonly colour: string }[]
}

const WIDTH = 1400
/** On either side of the grid. */
const PAGE_PADDING = 16
const SCRAPE_MS = 15_000

/** Asks everything. An error of a panel stands in the panel; one of the dashboard itself is thrown. */
export async function viewOf(dashboard: Dashboard, options: ViewOptions): Promise<View> {
  const {
    prometheus,
    fromMs,
    toMs,
    others = [],
    chosen = new Map(),
    width = WIDTH,
    theme = 'light',
    scrapeMs = SCRAPE_MS,
  } = options
  const api = new PrometheusApi(prometheus)
  const gridWidth = width - 2 * PAGE_PADDING
  const span = { fromMs, toMs, scrapeMs }
  const global = builtIn({ ...span, stepMs: stepMs(toMs - fromMs, gridWidth, scrapeMs) })
  const choices = await chooseVariables(dashboard, { api, fromMs, toMs, chosen, builtIn: global })
  const variables: Variables = new Map(choices.map((choice) => [choice.name, choice]))
  const address = new URLSearchParams(choices.flatMap(addressOf))
  const base = {
    theme,
    fromMs,
    toMs,
    nowMs: toMs,
    variables,
    timeRange: `from=${fromMs}&to=${toMs}`,
    chosen: `${address}`,
  }
  const panels = await Promise.all(
    panelsOf(dashboard, false).map(async (panel): Promise<PanelView> => {
      const box = boxOf(panel.gridPos, gridWidth)
      const setting = { ...base, stepMs: stepOf(panel, box, toMs - fromMs, scrapeMs) }
      return {
        id: panel.id,
        title: interpolateText(panel.title ?? '', variables),
        description: panel.description ?? '',
        box,
        links: linksOf(panel.links, setting),
        body: await bodyOf(panel, box, setting, api, scrapeMs).catch((error: Error) => ({
          kind: 'error' as const,
          text: error.message,
        })),
      }
    }),
  )
  const annotations = await annotationsOf(dashboard.annotations?.list ?? [], api, span, variables, theme)
  return {
    uid: dashboard.uid,
    title: dashboard.title,
    theme,
    width,
    height: Math.max(...panels.map(({ box }) => box.top + box.height)),
    fromMs,
    toMs,
    variables: choices.filter(({ shown }) => shown).map(({ label, text = '' }) => ({ label, text })),
    panels,
    links: (dashboard.links ?? []).flatMap(({ type, tags = [] }) => {
      if (type !== 'dashboards') throw new Error(`the preview knows no links of type ${type}`)
      const linked = others.filter((one) => one.uid !== dashboard.uid && tags.every((tag) => one.tags?.includes(tag)))
      return linked.map(({ uid, title }) => ({ title, url: `/d/${uid}?${base.timeRange}&${base.chosen}` }))
    }),
    annotations,
    annotationNames: [...new Map(annotations.map(({ name, colour }) => [name, { name, colour }])).values()],
  }
}

function addressOf({ name, values, isRaw }: Choice): [string, string][] {
  return (isRaw ? ['$__all'] : values).map((value) => [`var-${name}`, value])
}

function stepOf({ interval, maxDataPoints }: Panel, { width }: Box, rangeMs: number, scrapeMs: number): number {
  const least = interval ? Math.max(durationMs(interval), scrapeMs) : scrapeMs
  return stepMs(rangeMs, maxDataPoints ?? width, least)
}

async function bodyOf(
  panel: Panel,
  box: Box,
  setting: Setting,
  api: PrometheusApi,
  scrapeMs: number,
): Promise<PanelView['body']> {
  if (panel.type === 'row') return { kind: 'row' }
  if (panel.repeat || panel.timeFrom)
    throw new Error('the preview knows neither repeated panels nor times of their own')
  const targets = (panel.targets ?? []).filter(({ hide }) => !hide)
  const answers = await Promise.all(targets.map((target) => ask(target, targets.length > 1, setting, api, scrapeMs)))
  const frames = transform(answers.flat(), panel.transformations)
  return (
    drawn(panel, frames, box, setting) ?? {
      kind: 'empty',
      text: panel.fieldConfig?.defaults?.noValue ?? 'No data',
      isMeant: panel.fieldConfig?.defaults?.noValue !== undefined,
    }
  )
}

function drawn(panel: Panel, frames: readonly Frame[], box: Box, setting: Setting): PanelView['body'] | null {
  switch (panel.type) {
    case 'timeseries':
      return graphOf(panel, frames, box, setting)
    case 'stat':
      return statOf(panel, frames, setting)
    case 'table':
      return tableOf(panel, frames, setting)
    case 'state-timeline':
      return stateTimelineOf(panel, frames, box, setting)
    default:
      throw new Error(`the preview knows no panel of type ${panel.type}`)
  }
}

async function ask(
  target: Target,
  isOneOfMany: boolean,
  setting: Setting,
  api: PrometheusApi,
  scrapeMs: number,
): Promise<Frame[]> {
  const { fromMs, toMs, stepMs, variables } = setting
  const own = builtIn({ fromMs, toMs, stepMs, scrapeMs })
  const query = interpolateQuery(target.expr, new Map([...variables, ...own]))
  const isTable = target.format === 'table'
  if (target.format !== undefined && !isTable && target.format !== 'time_series') {
    throw new Error(`the preview knows no format ${target.format}`)
  }
  const series = target.instant ? await api.instant(query, toMs) : await api.range(query, fromMs, toMs, stepMs)
  if (isTable && !target.instant) throw new Error('the preview makes tables of instant queries only')
  return isTable ? [tableFrame(target, series, isOneOfMany)] : series.map((one) => seriesFrame(target, one))
}

/** Time series panels: lines on a common grid of times, with what the page needs to draw them. */

import { type Axis, timeAxis, valueAxis } from './axis.ts'
import { colour } from './colours.ts'
import type { FieldConfig, Panel } from './dashboard.ts'
import { seriesColour, show } from './display.ts'
import { configOf, type Field, type Frame } from './fields.ts'
import { type Known, refuseUnknown } from './known.ts'
import type { Box } from './layout.ts'
import { reduce, reducerTitle } from './reducers.ts'
import type { Setting } from './setting.ts'

interface Line {
  readonly name: string
  readonly colour: string
  /** In place of the values, where lines are drawn on top of one another: their sums. */
  readonly drawn: readonly (number | null)[]
  /** 0 to 1. */
  readonly fill: number
  readonly width: number
  readonly dash: readonly number[] | null
  readonly isStepped: boolean
  /** The line that it stands on; null for the ground. */
  readonly on: number | null
  /** What the legend says of it. */
  readonly calcs: readonly string[]
}

export interface Graph {
  readonly kind: 'graph'
  /** Epoch ms. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly x: Axis
  readonly y: Axis
  readonly limits: readonly { readonly at: number; readonly colour: string; readonly dashed: boolean }[]
  readonly legend: {
    readonly columns: readonly string[]
    /** Lines by their place in the legend. */
    readonly order: readonly number[]
    readonly isTable: boolean
    /** Px beside the chart; null below it. */
    readonly width: number | null
  } | null
}

const CUSTOM: Known = {
  drawStyle: ['line'],
  lineInterpolation: ['linear', 'stepAfter'],
  lineWidth: 'any',
  fillOpacity: 'any',
  gradientMode: ['none'],
  showPoints: ['auto', 'never'],
  pointSize: 'any',
  spanNulls: [false],
  lineStyle: 'any',
  stacking: 'any',
  thresholdsStyle: 'any',
  axisPlacement: ['auto'],
  axisSoftMax: 'any',
}
const OPTIONS: Known = { legend: 'any', tooltip: 'any' }
const LEGEND_HEIGHT = 26
const RIGHT_WIDTH = 200
const PAD_TOP = 8
const AXIS_HEIGHT = 24

/** Null where no series has a value. */
export function graphOf(panel: Panel, frames: readonly Frame[], box: Box, setting: Setting): Graph | null {
  const { theme, fromMs, toMs, stepMs } = setting
  refuseUnknown(`${panel.title}`, panel.options ?? {}, OPTIONS)
  const fields = frames.flatMap(({ fields: [time, ...values] }) => values.map((field) => ({ time, field })))
  if (!fields.some(({ field }) => field.values.some((value) => value !== null))) return null
  const times = gridOf(fromMs, toMs, stepMs)
  const legend = legendOf(panel)
  const series = fields.map(({ time, field }, i) => {
    const config = configOf(panel, field)
    refuseUnknown(`${panel.title}`, config.custom ?? {}, CUSTOM)
    return { config, values: onGrid(times, time as Field, field), name: config.displayName ?? field.name, i }
  })
  const stacks = stacked(series.map(({ values, config }) => (isStacked(config) ? values : null)))
  const lines = series.map(({ config, values, name, i }): Line => {
    const { lineWidth = 1, fillOpacity = 0, lineInterpolation, lineStyle } = config.custom as Custom
    const below = stacks[i]?.below ?? null
    return {
      name,
      colour: seriesColour(config, { i, name, last: reduce(values, 'lastNotNull') as number | null }, theme),
      drawn: stacks[i]?.sums ?? values,
      fill: fillOpacity / 100,
      width: lineWidth,
      dash: lineStyle?.fill === 'dash' ? (lineStyle.dash ?? [10, 10]) : null,
      isStepped: lineInterpolation === 'stepAfter',
      on: below,
      calcs: legend.calcs.map((calc) => show(reduce(values, calc), config, setting).text),
    }
  })
  const { config } = series[0] as (typeof series)[number]
  const height = box.height - PAD_TOP - AXIS_HEIGHT - (legend.isShown && legend.width === null ? LEGEND_HEIGHT : 0) - 40
  const drawn = lines.flatMap((line) => line.drawn.filter((value) => value !== null))
  return {
    kind: 'graph',
    times,
    lines,
    x: timeAxis(fromMs, toMs, box.width - (legend.width ?? 0) - 60),
    y: valueAxis([...drawn, ...softMax(config)], { ...config, unit: config.unit ?? 'none', length: height }),
    limits: limitsOf(config, setting),
    legend: legend.isShown
      ? {
          columns: legend.calcs.map(reducerTitle),
          order: legendOrder(
            legend,
            series.map(({ values }) => values),
          ),
          isTable: legend.isTable,
          width: legend.width,
        }
      : null,
  }
}

/** What the axis goes up to at least. */
function softMax({ custom, max }: FieldConfig): number[] {
  const { axisSoftMax } = custom as Custom
  return axisSoftMax === undefined || max != null ? [] : [axisSoftMax]
}

/** Lines as they come, or by what the legend says of them. */
function legendOrder(
  { calcs, sortBy, isDescending }: ReturnType<typeof legendOf>,
  all: readonly (readonly (number | null)[])[],
): number[] {
  const order = [...all.keys()]
  if (sortBy === undefined) return order
  const calc = calcs.find((one) => reducerTitle(one) === sortBy)
  if (calc === undefined) throw new Error(`the preview cannot sort a legend by ${sortBy}`)
  const of = (i: number) => (reduce(all[i] ?? [], calc) as number | null) ?? Number.NEGATIVE_INFINITY
  return order.sort((a, b) => (isDescending ? of(b) - of(a) : of(a) - of(b)))
}

interface Custom {
  readonly axisSoftMax?: number
  readonly lineWidth?: number
  readonly fillOpacity?: number
  readonly lineInterpolation?: string
  readonly lineStyle?: { readonly fill?: string; readonly dash?: readonly number[] }
  readonly stacking?: { readonly mode: string }
  readonly thresholdsStyle?: { readonly mode: string }
}

function isStacked({ custom }: FieldConfig): boolean {
  const mode = (custom as Custom).stacking?.mode ?? 'none'
  if (!['none', 'normal'].includes(mode)) throw new Error(`the preview knows no stacking ${mode}`)
  return mode === 'normal'
}

function gridOf(fromMs: number, toMs: number, stepMs: number): number[] {
  const times: number[] = []
  for (let at = Math.floor(fromMs / stepMs) * stepMs; at <= toMs; at += stepMs) times.push(at)
  return times
}

function onGrid(times: readonly number[], time: Field, { values }: Field): (number | null)[] {
  const byTime = new Map(time.values.map((at, i) => [at, values[i]]))
  return times.map((at) => {
    const value = byTime.get(at)
    return typeof value === 'number' && Number.isFinite(value) ? value : null
  })
}

/** Sums from the first series up, and which one each stands on. Nothing counts as 0 where another one has a value. */
function stacked(all: readonly (readonly (number | null)[] | null)[]) {
  let below: number | null = null
  let sums: readonly (number | null)[] = []
  return all.map((values, i) => {
    if (values === null) return null
    const under = sums
    const isEmpty = (at: number) => all.every((one) => one === null || one[at] === null)
    sums = values.map((value, at) => (isEmpty(at) ? null : (under[at] ?? 0) + (value ?? 0)))
    const stack = { sums, below }
    below = i
    return stack
  })
}

/** Lines at the steps of the thresholds, where the panel has them drawn. */
function limitsOf({ custom, thresholds }: FieldConfig, { theme }: Setting): Graph['limits'] {
  const mode = (custom as Custom).thresholdsStyle?.mode ?? 'off'
  if (mode === 'off') return []
  if (mode !== 'line' && mode !== 'dashed') throw new Error(`the preview draws no thresholds as ${mode}`)
  return (thresholds?.steps ?? []).flatMap(({ value, color }) =>
    value === null ? [] : [{ at: value, colour: colour(color, theme), dashed: mode === 'dashed' }],
  )
}

function legendOf({ title, options }: Panel) {
  const legend = (options?.legend ?? {}) as {
    showLegend?: boolean
    displayMode?: string
    placement?: string
    calcs?: string[]
    sortBy?: string
    sortDesc?: boolean
    width?: number
  }
  refuseUnknown(`${title}: legend`, legend, LEGEND)
  return {
    isShown: legend.showLegend !== false && legend.displayMode !== 'hidden',
    isTable: legend.displayMode === 'table',
    width: legend.placement === 'right' ? (legend.width ?? RIGHT_WIDTH) : null,
    calcs: legend.calcs ?? [],
    sortBy: legend.sortBy,
    isDescending: legend.sortDesc === true,
  }
}

const LEGEND: Known = {
  showLegend: 'any',
  displayMode: ['list', 'table', 'hidden'],
  placement: ['bottom', 'right'],
  calcs: 'any',
  sortBy: 'any',
  sortDesc: 'any',
  width: 'any',
}

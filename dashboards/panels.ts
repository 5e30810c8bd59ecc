/** The kinds of panels that the dashboards are made of. What every panel needs cannot be left out. */

import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  LineInterpolation,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DashboardLink,
  type DynamicConfigValue,
  FieldColorBuilder,
  FieldColorModeId,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stats from '@grafana/grafana-foundation-sdk/stat'
import * as stateTimeline from '@grafana/grafana-foundation-sdk/statetimeline'
import * as timeSeries from '@grafana/grafana-foundation-sdk/timeseries'
import type { Link } from './links.ts'
import { NOTHING_COLOUR, PLAIN, UNKNOWN_COLOUR } from './states.ts'
import { DATASOURCE } from './variables.ts'

/** Px: a provider, a model and a number. */
const RANKED_WIDTH = 290

interface Query {
  readonly expr: string
  /** Name of a series, with labels in double braces. */
  readonly legend: string
}

/** How the series of some legends look. */
export interface Look {
  readonly legends: RegExp
  readonly colour?: string
  readonly dashed?: true
  readonly unit?: string
  readonly steps?: Threshold[]
  readonly mappings?: ValueMapping[]
}

export interface PanelText {
  readonly title: string
  /** What is shown, and what is good or bad. */
  readonly description: string
  /** A unit of Grafana. */
  readonly unit: string
  /** One level deeper. */
  readonly links: readonly Link[]
  /** From a value one level deeper. */
  readonly valueLinks?: readonly Link[]
  /** Shown where nothing is there to be shown. A panel without it is never empty while a host is up. */
  readonly empty?: string
  readonly width: number
  readonly height: number
}

interface Shown extends PanelText {
  readonly queries: readonly Query[]
  readonly steps?: Threshold[]
  readonly mappings?: ValueMapping[]
  readonly looks?: readonly Look[]
  /** The shortest time that a point stands for, where less would hold too little to say anything. */
  readonly interval?: string
}

/** A panel before it has its place. */
export interface Placeable {
  readonly panel: Panel
  readonly width: number
  readonly height: number
}

interface Stat extends Shown {
  /** In place of `empty`: said in the colour of what is unknown, where more than a missing host can be the reason. */
  readonly blind?: string
}

/**
 * One big number, or a few side by side, of the end of the time shown. Never the last one there was: where a host or a
 * turn is gone, an old number must not stand for it. Where nothing is known the words for it have a colour of their own:
 * Grafana would give them that of the lowest step, which is often the green of what is well.
 */
export function stat(shown: Stat): Placeable {
  const { steps = PLAIN, mappings = [], queries, empty, blind } = shown
  const nothing: ValueMapping = {
    type: 'special',
    options: {
      match: 'null+nan',
      result: { text: empty ?? blind ?? 'No host is seen', color: empty ? NOTHING_COLOUR : UNKNOWN_COLOUR, index: 99 },
    },
  } as never
  const builder = new stats.PanelBuilder()
    .thresholds(thresholdsOf(steps))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .colorMode(queries.length > 1 ? BigValueColorMode.Value : BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .textMode(queries.length > 1 ? BigValueTextMode.ValueAndName : BigValueTextMode.Value)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields('').values(false))
    .mappings([...mappings, nothing])
  const words = empty ?? blind
  return finished(withQueries(builder, queries, 'instant'), { ...shown, ...(words ? { empty: words } : {}) })
}

export interface Chart extends Shown {
  /** Drawn on top of one another. @default false */
  readonly stacked?: true
  readonly max?: number
  /** Steps that are drawn as dashed lines, in place of `steps`. The description says what they are. */
  readonly limits?: Threshold[]
  /** The axis goes up to here at least, so that a limit is seen before it is reached. */
  readonly softMax?: number
  /** So many series that the legend is a list by their largest value, which can be scrolled. */
  readonly ranked?: true
  /** Steps instead of slopes: a value that is set, not measured. */
  readonly level?: true
}

/** Lines over time. */
export function chart(shown: Chart): Placeable {
  const { queries, stacked, max, limits, softMax, steps = PLAIN, level, ranked, interval } = shown
  const builder = new timeSeries.PanelBuilder()
    // By its name a model has one colour on every chart, whichever others there are.
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassicByName))
    .thresholds(thresholdsOf(limits ?? steps))
    .min(0)
    // A line would be drawn around a series of zeros too, on top of all others.
    .lineWidth(stacked ? 0 : 2)
    .fillOpacity(stacked ? 70 : 0)
    .showPoints(VisibilityMode.Auto)
    .lineInterpolation(level ? LineInterpolation.StepAfter : LineInterpolation.Linear)
    .stacking(new StackingConfigBuilder().mode(stacked ? StackingMode.Normal : StackingMode.None).group('A'))
    .legend(ranked ? rankedLegend() : plainLegend())
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
  if (limits) {
    builder.thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed))
  }
  if (max !== undefined) builder.max(max)
  if (softMax !== undefined) builder.axisSoftMax(softMax)
  if (interval) builder.interval(interval)
  return finished(withQueries(builder, queries), shown)
}

/** One bar for every series, in the colours of what it was. */
export function timeline(shown: Shown & { readonly mappings: ValueMapping[] }): Placeable {
  const builder = new stateTimeline.PanelBuilder()
    .mappings(shown.mappings)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(thresholdsOf(PLAIN))
    .showValue(VisibilityMode.Auto)
    .mergeValues(true)
    .fillOpacity(80)
    .lineWidth(0)
    .rowHeight(0.9)
    .legend(plainLegend())
  return finished(withQueries(builder, shown.queries), shown)
}

function plainLegend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
}

function rankedLegend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Right)
    .showLegend(true)
    .width(RANKED_WIDTH)
    .calcs(['max'])
    .sortBy('Max')
    .sortDesc(true)
}

interface Querying extends Builder<Panel> {
  withTarget(target: DataqueryBuilder): this
}

function withQueries<B extends Querying>(builder: B, queries: readonly Query[], how: 'range' | 'instant' = 'range'): B {
  queries.forEach(({ expr, legend }, i) => {
    const query = new DataqueryBuilder().refId(refId(i)).datasource(DATASOURCE).expr(expr).legendFormat(legend)
    builder.withTarget(how === 'instant' ? query.instant() : query.range())
  })
  return builder
}

/** The letter of a panel's query. */
export function refId(i: number): string {
  return String.fromCharCode(65 + i)
}

export function thresholdsOf(steps: Threshold[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps)
}

/** The panel with what all kinds share. */
export function finished(builder: Builder<Panel>, shown: PanelText & { readonly looks?: readonly Look[] }): Placeable {
  const { title, description, unit, links, valueLinks = [], empty, looks = [], width, height } = shown
  const { transparent: _, repeatDirection: __, fieldConfig, ...panel } = builder.build()
  const { defaults = {}, overrides = [] } = fieldConfig ?? {}
  return {
    width,
    height,
    panel: {
      ...panel,
      title,
      description,
      datasource: DATASOURCE,
      // Of a dashboard's link, a panel's needs no more than these.
      links: links as unknown as DashboardLink[],
      fieldConfig: {
        defaults: {
          ...defaults,
          unit,
          ...decimalsOf(unit),
          ...(empty ? { noValue: empty } : {}),
          links: [...valueLinks] as unknown as DashboardLink[],
        },
        overrides: [
          ...overrides,
          ...looks.map((look) => ({
            matcher: { id: 'byRegexp', options: String(look.legends) },
            properties: propertiesOf(look),
          })),
        ],
      },
    },
  }
}

/** Tenths of a percent say nothing that anybody acts on. */
export function decimalsOf(unit: string): { decimals?: number } {
  return unit === 'percentunit' ? { decimals: 0 } : {}
}

function propertiesOf({ colour, dashed, unit, steps, mappings }: Look): DynamicConfigValue[] {
  return [
    ...(colour ? [{ id: 'color', value: { mode: 'fixed', fixedColor: colour } }] : []),
    ...(dashed ? [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 6] } }] : []),
    ...(unit ? [{ id: 'unit', value: unit }] : []),
    ...(steps ? [{ id: 'thresholds', value: { mode: 'absolute', steps } }] : []),
    ...(mappings ? [{ id: 'mappings', value: mappings }] : []),
  ]
}

/** State timelines: a bar for each series, in the colours of its values. */

import { type Axis, timeAxis } from './axis.ts'
import { colour, textOn } from './colours.ts'
import type { FieldConfig, Panel } from './dashboard.ts'
import { show } from './display.ts'
import { configOf, type Field, type Frame } from './fields.ts'
import { type Known, refuseUnknown } from './known.ts'
import type { Box } from './layout.ts'
import type { Setting } from './setting.ts'

interface Stretch {
  /** Epoch ms. */
  readonly from: number
  readonly to: number
  readonly text: string
  readonly colour: string
  readonly textColour: string
}

export interface StateTimeline {
  readonly kind: 'state-timeline'
  readonly rows: readonly { readonly name: string; readonly stretches: readonly Stretch[] }[]
  readonly x: Axis
  readonly legend: readonly { readonly name: string; readonly colour: string }[]
}

const OPTIONS: Known = {
  showValue: ['auto', 'never', 'always'],
  rowHeight: 'any',
  mergeValues: [true],
  alignValue: ['left', 'center'],
  legend: 'any',
  tooltip: 'any',
  perPage: 'any',
}
const CUSTOM: Known = { lineWidth: 'any', fillOpacity: 'any', insertNulls: [false], spanNulls: [false] }
const NAME_WIDTH = 120

/** Null where no series has a value. */
export function stateTimelineOf(
  panel: Panel,
  frames: readonly Frame[],
  { width }: Box,
  setting: Setting,
): StateTimeline | null {
  refuseUnknown(`${panel.title}`, panel.options ?? {}, OPTIONS)
  const rows = frames.flatMap(({ fields: [time, ...values] }) =>
    values.map((field) => {
      const config = configOf(panel, field)
      refuseUnknown(`${panel.title}`, config.custom ?? {}, CUSTOM)
      return {
        name: config.displayName ?? field.name,
        config,
        stretches: stretches(time as Field, field, config, setting),
      }
    }),
  )
  const [first] = rows
  if (first === undefined) return null
  return {
    kind: 'state-timeline',
    rows: rows.map(({ name, stretches }) => ({ name, stretches })),
    x: timeAxis(setting.fromMs, setting.toMs, width - NAME_WIDTH),
    legend: legendOf(first.config, setting),
  }
}

function stretches(time: Field, { values }: Field, config: FieldConfig, setting: Setting): Stretch[] {
  const found: { from: number; to: number; text: string; colour: string }[] = []
  values.forEach((value, i) => {
    if (value === null) return
    const { text, colour } = show(value, config, setting)
    const from = time.values[i] as number
    const last = found.at(-1)
    if (last !== undefined && last.to >= from && last.text === text) last.to = from + setting.stepMs
    else found.push({ from, to: from + setting.stepMs, text, colour })
  })
  return found.map((one) => ({ ...one, to: Math.min(one.to, setting.toMs), textColour: textOn(one.colour) ?? '' }))
}

/** Every value that has a name. */
function legendOf({ mappings = [] }: FieldConfig, { theme }: Setting): StateTimeline['legend'] {
  return mappings.flatMap(({ type, options }) => {
    if (type !== 'value') throw new Error(`the preview has no legend for mappings of ${type}`)
    const results = Object.values(options as Record<string, { text?: string; color?: string }>)
    return results.map(({ text = '', color = 'text' }) => ({ name: text, colour: colour(color, theme) }))
  })
}

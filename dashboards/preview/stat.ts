/** Stat panels: one big value, or several with their names. */

import { textOn } from './colours.ts'
import type { Panel } from './dashboard.ts'
import { show } from './display.ts'
import { configOf, type Frame } from './fields.ts'
import { type Known, refuseUnknown } from './known.ts'
import { type Link, linksOf } from './links.ts'
import { reduce } from './reducers.ts'
import type { Setting } from './setting.ts'

interface Tile {
  readonly name: string | null
  readonly text: string
  readonly colour: string
  readonly background: string | null
  /** Values over time behind it; null where none are drawn. */
  readonly spark: readonly (number | null)[] | null
  readonly links: readonly Link[]
}

export interface Stat {
  readonly kind: 'stat'
  readonly tiles: readonly Tile[]
  /** No series: the one tile has the words for it, and whatever colour the panel's defaults have for nothing. */
  readonly isEmpty: boolean
}

const OPTIONS: Known = {
  graphMode: ['none', 'area'],
  colorMode: ['value', 'background', 'background_solid', 'none'],
  textMode: ['auto', 'value', 'value_and_name', 'name'],
  reduceOptions: 'any',
  orientation: ['auto', 'horizontal'],
  justifyMode: ['auto', 'center'],
  wideLayout: [true],
  showPercentChange: [false],
  percentChangeColorMode: 'any',
}

export function statOf(panel: Panel, frames: readonly Frame[], setting: Setting): Stat {
  const options = panel.options ?? {}
  refuseUnknown(`${panel.title}`, options, OPTIONS)
  const { calcs, values, fields } = options.reduceOptions as { calcs: string[]; values: boolean; fields: string }
  const [reducer, ...others] = calcs
  if (reducer === undefined || others.length > 0 || values || fields !== '') {
    throw new Error(`${panel.title}: the preview reduces every number to one, by one reducer`)
  }
  const numbers = frames.flatMap((frame) =>
    frame.fields.filter(({ type }) => type === 'number').map((field) => ({ frame, field })),
  )
  const isGround = String(options.colorMode).startsWith('background')
  const painted = (colour: string) => ({
    colour: isGround ? (textOn(colour) ?? '') : options.colorMode === 'none' ? '' : colour,
    background: isGround ? colour : null,
  })
  if (numbers.length === 0) {
    const { text, colour } = show(null, panel.fieldConfig?.defaults ?? {}, setting)
    const tile = { name: null, text: text || 'No data', ...painted(colour), spark: null, links: [] }
    return { kind: 'stat', tiles: [tile], isEmpty: true }
  }
  const tiles = numbers.map(({ frame, field }): Tile => {
    const config = configOf(panel, field)
    const shown = show(reduce(field.values, reducer), config, setting)
    const hasName = options.textMode === 'value_and_name' || (options.textMode === 'auto' && numbers.length > 1)
    return {
      name: hasName ? (config.displayName ?? field.name) : null,
      text: shown.text,
      ...painted(shown.colour),
      spark: options.graphMode === 'area' && field.values.length > 1 ? (field.values as (number | null)[]) : null,
      links: linksOf(config.links, setting, { panel, frame, field, row: field.values.length - 1 }),
    }
  })
  return { kind: 'stat', tiles, isEmpty: false }
}

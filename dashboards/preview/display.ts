/** A value as a panel shows it: its text by mapping and unit, its colour by mapping and thresholds. */

import { colour, paletteColour, type Theme } from './colours.ts'
import type { FieldConfig, Thresholds } from './dashboard.ts'
import { mapped, type Value } from './fields.ts'
import { write } from './units.ts'

export interface Shown {
  readonly text: string
  readonly colour: string
}

export interface Look {
  readonly theme: Theme
  readonly nowMs: number
}

export function show(value: Value, config: FieldConfig, { theme, nowMs }: Look): Shown {
  const mapping = mapped(value, config.mappings)
  const ofValue = typeof value === 'number' ? thresholdColour(value, config.thresholds, theme) : colour('text', theme)
  return {
    text: mapping?.text ?? written(value, config, nowMs),
    colour: mapping?.color === undefined ? ofValue : colour(mapping.color, theme),
  }
}

function written(value: Value, { unit = 'none', decimals, noValue }: FieldConfig, nowMs: number): string {
  if (value === null) return noValue ?? '-'
  return typeof value === 'string' ? value : write(value, { unit, decimals, nowMs })
}

/** The colour of the last step that the value has reached. */
function thresholdColour(value: number, thresholds: Thresholds | undefined, theme: Theme): string {
  if (thresholds?.mode === 'percentage') throw new Error('the preview knows no thresholds in percent')
  const reached = thresholds?.steps.filter((step) => step.value === null || value >= step.value).at(-1)
  return colour(reached?.color ?? 'green', theme)
}

/** The colour of the `i`th series of a panel. */
export function seriesColour({ color, thresholds }: FieldConfig, i: number, last: number | null, theme: Theme): string {
  switch (color?.mode) {
    case undefined:
    case 'palette-classic':
      return paletteColour(i, theme)
    case 'fixed':
    case 'shades':
      return colour(color.fixedColor ?? 'text', theme)
    case 'thresholds':
      return last === null ? colour('text', theme) : thresholdColour(last, thresholds, theme)
    default:
      throw new Error(`the preview knows no colour mode ${color?.mode}`)
  }
}

/** A value as a panel shows it: its text by mapping and unit, its colour by mapping and thresholds. */

import { colour, nameColour, paletteColour, type Theme } from './colours.ts'
import type { FieldConfig, Thresholds } from './dashboard.ts'
import { type Field, mapped, type Value } from './fields.ts'
import { write } from './units.ts'

export interface Shown {
  readonly text: string
  readonly colour: string
}

export interface Look {
  readonly theme: Theme
  readonly nowMs: number
}

/**
 * In the order in which Grafana decides: a mapping, then the unit, then the text as it is, then `noValue`, for an empty
 * text too. Text that reads as a number is one, unless the unit is `string`, which text without a unit has.
 */
export function show(value: Value, config: FieldConfig, { theme, nowMs }: Look, type: Field['type'] = 'number'): Shown {
  const { unit = type === 'string' ? 'string' : 'none', decimals, noValue, thresholds } = config
  const number = unit === 'string' ? Number.NaN : numberOf(value)
  const mapping = mapped(value, config.mappings)
  const own = Number.isNaN(number) ? String(value ?? '') : write(number, { unit, decimals, nowMs })
  return {
    text: mapping?.text ?? (own || noValue || ''),
    colour: mapping?.color
      ? colour(mapping.color, theme)
      : thresholdColour(Number.isNaN(number) ? Number.NEGATIVE_INFINITY : number, thresholds, theme),
  }
}

function numberOf(value: Value): number {
  return value === null || value === '' ? Number.NaN : Number(value)
}

/** The colour of the last step that the value has reached. */
function thresholdColour(value: number, thresholds: Thresholds | undefined, theme: Theme): string {
  if (thresholds?.mode === 'percentage') throw new Error('the preview knows no thresholds in percent')
  const reached = thresholds?.steps.filter((step) => step.value === null || value >= step.value).at(-1)
  return colour(reached?.color ?? 'green', theme)
}

/** The colour of the `i`th series of a panel, by its name and its last value. */
export function seriesColour(
  { color, thresholds }: FieldConfig,
  { i, name, last }: { readonly i: number; readonly name: string; readonly last: number | null },
  theme: Theme,
): string {
  switch (color?.mode) {
    case undefined:
    case 'palette-classic':
      return paletteColour(i, theme)
    case 'palette-classic-by-name':
      return nameColour(name, theme)
    case 'fixed':
    case 'shades':
      return colour(color.fixedColor ?? 'text', theme)
    case 'thresholds':
      return last === null ? colour('text', theme) : thresholdColour(last, thresholds, theme)
    default:
      throw new Error(`the preview knows no colour mode ${color?.mode}`)
  }
}

/** Colours by the names that dashboards use, for a light and a dark ground, and the palette of series. */

export type Theme = 'light' | 'dark'

/** By hue: darkest first. A plain name is the middle one on dark ground, one darker on light ground. */
const HUES: Readonly<Record<string, readonly string[]>> = {
  red: ['#c4162a', '#e02f44', '#f2495c', '#ff7383', '#ffa6b0'],
  orange: ['#fa6400', '#ff780a', '#ff9830', '#ffb357', '#ffcb7d'],
  yellow: ['#cc9d00', '#e0b400', '#f2cc0c', '#fade2a', '#ffee52'],
  green: ['#37872d', '#56a64b', '#73bf69', '#96d98d', '#c8f2c2'],
  blue: ['#1f60c4', '#3274d9', '#5794f2', '#8ab8ff', '#c0d8ff'],
  purple: ['#8f3bb8', '#a352cc', '#b877d9', '#ca95e5', '#deb6f2'],
}
const SHADES = ['dark', 'semi-dark', '', 'light', 'super-light']
const MIDDLE = 2

/** Of series that no override gives a colour: hues far apart first. */
const PALETTE = [
  ['blue', MIDDLE],
  ['green', MIDDLE],
  ['purple', MIDDLE],
  ['yellow', 1],
  ['orange', MIDDLE],
  ['blue', 4],
  ['red', MIDDLE],
  ['green', 0],
  ['purple', 4],
  ['blue', 0],
  ['orange', 4],
  ['yellow', 0],
] as const

/** A colour as the page draws it. Throws for a name that it does not know. */
export function colour(name: string, theme: Theme): string {
  if (/^(#|rgb)/.test(name)) return name
  if (name === 'transparent') return 'transparent'
  if (name === 'text') return theme === 'light' ? '#24292e' : '#ccccdc'
  const [, shade = '', hue = ''] = /^(?:(dark|semi-dark|light|super-light)-)?(\w+)$/.exec(name) ?? []
  const shades = HUES[hue]
  if (shades === undefined) throw new Error(`the preview knows no colour ${name}`)
  return shadeOf(shades, SHADES.indexOf(shade), theme)
}

export function paletteColour(i: number, theme: Theme): string {
  const [hue, shade] = PALETTE[i % PALETTE.length] as (typeof PALETTE)[number]
  return shadeOf(HUES[hue] as readonly string[], shade, theme)
}

/** Text that can be read on it; null where nothing is painted. */
export function textOn(ground: string): string | null {
  if (ground === 'transparent') return null
  const [red = 0, green = 0, blue = 0] = (ground.match(/[0-9a-f]{2}/gi) ?? []).map((part) => Number.parseInt(part, 16))
  return 0.299 * red + 0.587 * green + 0.114 * blue > 150 ? '#1f1f20' : '#ffffff'
}

function shadeOf(shades: readonly string[], shade: number, theme: Theme): string {
  return shades[Math.max(0, theme === 'light' ? shade - 1 : shade)] as string
}

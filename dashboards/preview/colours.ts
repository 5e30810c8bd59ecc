/** Colours by the names that dashboards use, for a light and a dark ground, and the palette of series, as Grafana has them. */

export type Theme = 'light' | 'dark'

/** By hue: darkest first. Each ground has five of the six, the light one the darker ones. */
const HUES: Readonly<Record<string, readonly string[]>> = {
  red: ['#ad0317', '#c4162a', '#e02f44', '#f2495c', '#ff7383', '#ffa6b0'],
  orange: ['#e55400', '#fa6400', '#ff780a', '#ff9830', '#ffb357', '#ffcb7d'],
  yellow: ['#cc9d00', '#e0b400', '#f2cc0c', '#fade2a', '#ffee52', '#fff899'],
  green: ['#19730e', '#37872d', '#56a64b', '#73bf69', '#96d98d', '#c8f2c2'],
  blue: ['#1250b0', '#1f60c4', '#3274d9', '#5794f2', '#8ab8ff', '#c0d8ff'],
  purple: ['#7c2ea3', '#8f3bb8', '#a352cc', '#b877d9', '#ca95e5', '#deb6f2'],
}
const SHADES = ['dark', 'semi-dark', '', 'light', 'super-light']
const GROUNDS: Readonly<Record<Theme, string>> = { light: '#ffffff', dark: '#181b1f' }

const ORDER = ['green', 'yellow', 'blue', 'orange', 'red', 'purple']
/** The classic palette: the hues, then their dark and their lightest shades, then these. */
const PALETTE = [
  ...['', 'dark-', 'super-light-'].flatMap((shade) => ORDER.map((hue) => shade + hue)),
  ...'447ebc c15c17 890f02 0a437c 6d1f62 584477 b7dbab f4d598 70dbed f9ba8f f29191 82b5d8 e5a8e2 aea2e0 629e51'.split(
    ' ',
  ),
  ...'e5ac0e 64b0c8 e0752d bf1b00 0a50a1 962d82 614d93 9ac48a f2c96d 65c5db f9934e ea6460 5195ce d683ce'.split(' '),
  ...'806eb7 3f6833 967302 2f575e 99440a 58140c 052b51 511749 3f2b5b e0f9d7 fceaca cffaff f9e2d2 fce2de'.split(' '),
  ...'badff4 f9d9f9 dedaf7'.split(' '),
].map((name) => (/^[0-9a-f]{6}$/.test(name) ? `#${name}` : name))
/** What is too near to the ground is no colour of a name. */
const CONTRAST = 3

/** A colour as the page draws it. Throws for a name that it does not know. */
export function colour(name: string, theme: Theme): string {
  if (/^(#|rgb)/.test(name)) return name
  if (name === 'transparent') return 'transparent'
  if (name === 'text') return theme === 'light' ? '#24292e' : '#ccccdc'
  const [, shade = '', hue = ''] = /^(?:(dark|semi-dark|light|super-light)-)?(\w+)$/.exec(name) ?? []
  const shades = HUES[hue]
  if (shades === undefined) throw new Error(`the preview knows no colour ${name}`)
  return shades[SHADES.indexOf(shade) + (theme === 'light' ? 0 : 1)] as string
}

/** Of the `i`th series of a panel. */
export function paletteColour(i: number, theme: Theme): string {
  return colour(PALETTE[i % PALETTE.length] as string, theme)
}

/** The same one for a name wherever it is drawn. */
export function nameColour(name: string, theme: Theme): string {
  const all = PALETTE.map((one) => colour(one, theme)).filter((one) => contrast(one, GROUNDS[theme]) >= CONTRAST)
  return all[hash(name) % all.length] as string
}

/** Text that can be read on it; null where nothing is painted. */
export function textOn(ground: string): string | null {
  if (ground === 'transparent') return null
  const [red = 0, green = 0, blue = 0] = parts(ground)
  return 0.299 * red + 0.587 * green + 0.114 * blue > 150 ? '#1f1f20' : '#ffffff'
}

/** The xor variant of Bernstein's hash, from the end. */
function hash(text: string): number {
  let value = 5381
  for (let i = text.length - 1; i >= 0; i--) value = Math.imul(value, 33) ^ text.charCodeAt(i)
  return value >>> 0
}

/** As the Web Content Accessibility Guidelines define it. */
function contrast(a: string, b: string): number {
  const [one, other] = [luminance(a), luminance(b)]
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

function luminance(of: string): number {
  const linear = (part: number) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)
  const [red = 0, green = 0, blue = 0] = parts(of).map(linear)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function parts(hex: string): number[] {
  return (hex.match(/[0-9a-f]{2}/gi) ?? []).map((part) => Number.parseInt(part, 16))
}

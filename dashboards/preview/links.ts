/** Links of panels and values, with what they carry along put in. */

import type { DataLink, Panel } from './dashboard.ts'
import { show } from './display.ts'
import { configOf, type Field, type Frame } from './fields.ts'
import type { Setting } from './setting.ts'
import { interpolateText } from './variables.ts'

export interface Link {
  readonly title: string
  readonly url: string
}

/** Where a value leads; its row and its field answer `__data`, `__field` and `__value`. Throws for what nothing answers. */
export function linksOf(links: readonly DataLink[] | undefined, setting: Setting, value?: At): Link[] {
  const { variables, timeRange, chosen } = setting
  const answer = (name: string, path?: string, format?: string): string | undefined => {
    if (name === '__url_time_range') return timeRange
    if (name === '__all_variables') return chosen
    const text = value === undefined ? undefined : ofValue(name, path ?? '', value, setting)
    return text === undefined || format === undefined ? text : formatted(text, format)
  }
  return (links ?? []).map(({ title = '', url = '' }) => ({
    title: interpolateText(title, variables, answer),
    url: interpolateText(url, variables, answer),
  }))
}

interface At {
  readonly panel: Panel
  readonly frame: Frame
  readonly field: Field
  readonly row: number
}

function ofValue(name: string, path: string, { panel, frame, field, row }: At, setting: Setting): string | undefined {
  const [kind, ...rest] = path.split('.')
  const key = rest.join('.').replace(/^\["?|"?\]$/g, '')
  if (name === '__field' && kind === 'name') return field.title ?? field.name
  if (name === '__field' && kind === 'labels') return field.labels[key] ?? ''
  if (name === '__value' && (kind === 'raw' || kind === 'text')) return String(field.values[row])
  if (name === '__data' && kind === 'fields') {
    const found = frame.fields.find((one) => one.name === key || one.title === key)
    if (found === undefined) throw new Error(`a link asks for the field ${key}, which is not in its row`)
    // Its row as it is shown, so that what is shown wrongly leads astray.
    return show(found.values[row] ?? null, configOf(panel, found), setting, found.type).text
  }
  return undefined
}

function formatted(text: string, format: string): string {
  if (format === 'percentencode') return encodeURIComponent(text)
  if (format === 'raw') return text
  throw new Error(`the preview knows no format ${format} of a value`)
}

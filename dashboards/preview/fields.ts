/** What queries give, as panels take it: fields with names and labels, and how each is to be shown. */

import type { FieldConfig, Override, Panel, Target, ValueMapping } from './dashboard.ts'
import type { Series } from './prometheus-api.ts'

export type Value = number | string | null

export interface Field {
  readonly name: string
  /** What a transformation has called it. */
  readonly title?: string
  readonly type: 'time' | 'number' | 'string'
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly Value[]
  /** Of the target that it comes from. */
  readonly refId: string
}

/** Fields of one length. */
export interface Frame {
  readonly refId: string
  readonly fields: readonly Field[]
}

/** One series on its own times. */
export function seriesFrame(target: Target, { labels, points }: Series): Frame {
  const { refId } = target
  return {
    refId,
    fields: [
      { name: 'Time', type: 'time', labels: {}, refId, values: points.map(([atMs]) => atMs) },
      {
        name: seriesName(target, labels),
        type: 'number',
        labels,
        refId,
        values: points.map(([, value]) => (Number.isNaN(value) ? null : value)),
      },
    ],
  }
}

/** All series of an instant query as one table: a column for each label. */
export function tableFrame({ refId }: Target, series: readonly Series[], several: boolean): Frame {
  const names = [...new Set(series.flatMap(({ labels }) => Object.keys(labels)))].sort()
  const column = (name: string): Field => ({
    name,
    type: 'string',
    labels: {},
    refId,
    values: series.map(({ labels }) => labels[name] ?? ''),
  })
  return {
    refId,
    fields: [
      { name: 'Time', type: 'time', labels: {}, refId, values: series.map(({ points }) => points[0]?.[0] ?? null) },
      ...names.map(column),
      {
        name: several ? `Value #${refId}` : 'Value',
        type: 'number',
        labels: {},
        refId,
        values: series.map(({ points }) => points[0]?.[1] ?? null),
      },
    ],
  }
}

function seriesName({ legendFormat, expr }: Target, labels: Readonly<Record<string, string>>): string {
  if (legendFormat !== undefined && legendFormat !== '' && legendFormat !== '__auto') {
    return legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_all, label: string) => labels[label] ?? '').trim()
  }
  const { __name__: name = '', ...others } = labels
  const inside = Object.entries(others).map(([label, value]) => `${label}="${value}"`)
  return inside.length === 0 ? name || expr : `${name}{${inside.join(', ')}}`
}

/** The panel's defaults with every override that matches the field. Throws for what the preview does not know. */
export function configOf(panel: Panel, field: Field): FieldConfig {
  const { defaults = {}, overrides = [] } = panel.fieldConfig ?? {}
  const config = { ...defaults, custom: { ...defaults.custom } } as Record<string, unknown>
  for (const override of overrides) {
    if (!matches(override, field)) continue
    for (const { id, value } of override.properties) {
      if (id.startsWith('custom.')) (config.custom as Record<string, unknown>)[id.slice(7)] = value
      else if (PROPERTIES.includes(id)) config[id] = value
      else throw new Error(`${panel.title}: the preview knows no property ${id}`)
    }
  }
  return config as FieldConfig
}

const PROPERTIES = [
  'unit',
  'decimals',
  'min',
  'max',
  'noValue',
  'displayName',
  'color',
  'thresholds',
  'mappings',
  'links',
]

function matches({ matcher: { id, options } }: Override, { name, title = name, refId, type }: Field): boolean {
  switch (id) {
    case 'byName':
      return name === options || title === options
    case 'byRegexp':
      return pattern(String(options)).test(title)
    case 'byFrameRefID':
      return refId === options
    case 'byType':
      return type === options
    default:
      throw new Error(`the preview knows no matcher ${id}`)
  }
}

/** As Grafana reads one: with slashes and flags, or bare and then for the whole name. */
function pattern(text: string): RegExp {
  const [, body, flags] = /^\/(.*)\/(\w*)$/s.exec(text) ?? []
  return body === undefined ? new RegExp(`^${text}$`) : new RegExp(body, flags)
}

/** The text and colour that a mapping gives a value; undefined where none does. */
export function mapped(
  value: Value,
  mappings: readonly ValueMapping[] = [],
): { readonly text?: string; readonly color?: string } | undefined {
  for (const { type, options } of mappings) {
    const found = MAPPERS[type]
    if (found === undefined) throw new Error(`the preview knows no mapping ${type}`)
    const result = found(value, options)
    if (result !== undefined) return result
  }
  return undefined
}

interface Mapping {
  readonly text?: string
  readonly color?: string
}

const MAPPERS: Readonly<Record<string, (value: Value, options: unknown) => Mapping | undefined>> = {
  value: (value, options) => (value === null ? undefined : (options as Record<string, Mapping>)[String(value)]),
  range: (value, options) => {
    const { from, to, result } = options as { from: number | null; to: number | null; result: Mapping }
    const isIn = typeof value === 'number' && value >= (from ?? -Infinity) && value <= (to ?? Infinity)
    return isIn ? result : undefined
  },
  special: (value, options) => {
    const { match, result } = options as { match: string; result: Mapping }
    const isNothing = value === null ? match.startsWith('null') : Number.isNaN(Number(value)) && match.endsWith('nan')
    return isNothing || (value === '' && match === 'empty') ? result : undefined
  },
}

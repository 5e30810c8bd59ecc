/** Tables: columns of one frame, cells with their text, colour and links. */

import { textOn } from './colours.ts'
import type { FieldConfig, Panel } from './dashboard.ts'
import { show } from './display.ts'
import { configOf, type Field, type Frame, type Value } from './fields.ts'
import { type Known, refuseUnknown } from './known.ts'
import { type Link, linksOf } from './links.ts'
import type { Setting } from './setting.ts'

interface Cell {
  readonly text: string
  readonly colour: string | null
  readonly background: string | null
  readonly links: readonly Link[]
}

export interface Table {
  readonly kind: 'table'
  readonly columns: readonly {
    readonly title: string
    /** Px; null where it takes its share. */
    readonly width: number | null
    readonly isRight: boolean
  }[]
  readonly rows: readonly (readonly Cell[])[]
}

const OPTIONS: Known = {
  showHeader: [true],
  frameIndex: [0],
  showTypeIcons: [false],
  footer: 'any',
  cellHeight: ['sm', 'md'],
  sortBy: 'any',
}
const CUSTOM: Known = {
  align: ['auto', 'left', 'right', 'center'],
  inspect: [false],
  filterable: 'any',
  width: 'any',
  minWidth: 'any',
  hidden: [false],
  cellOptions: 'any',
}

/** Null where there is no row. */
export function tableOf(panel: Panel, frames: readonly Frame[], setting: Setting): Table | null {
  refuseUnknown(`${panel.title}`, panel.options ?? {}, OPTIONS)
  const [frame] = frames
  if (frame === undefined || (frame.fields[0]?.values.length ?? 0) === 0) return null
  const columns = frame.fields.map((field) => ({ field, config: configOf(panel, field) }))
  for (const { config } of columns) refuseUnknown(`${panel.title}`, config.custom ?? {}, CUSTOM)
  const order = sorted(panel, columns)
  const cellAt = (row: number) => (column: Column) => cellOf(panel, frame, column, row, setting)
  return {
    kind: 'table',
    columns: columns.map(({ field, config: { displayName, custom } }) => ({
      title: displayName ?? field.title ?? field.name,
      width: (custom?.width as number | undefined) ?? null,
      isRight: custom?.align === 'right' || (isAuto(custom?.align) && field.type === 'number'),
    })),
    rows: order.map((row) => columns.map(cellAt(row))),
  }
}

function isAuto(align: unknown): boolean {
  return align === undefined || align === 'auto'
}

interface Column {
  readonly field: Field
  readonly config: FieldConfig
}

function cellOf(panel: Panel, frame: Frame, { field, config }: Column, row: number, setting: Setting): Cell {
  const value = field.values[row] ?? null
  const { type = 'auto', ...others } = (config.custom?.cellOptions ?? {}) as { type?: string; mode?: string }
  refuseUnknown('cell', { type, ...others }, CELLS)
  const shown = show(value, config, setting, field.type)
  const isGround = type === 'color-background'
  return {
    text: shown.text,
    colour: isGround ? textOn(shown.colour) : type === 'color-text' ? shown.colour : null,
    background: isGround && shown.colour !== 'transparent' ? shown.colour : null,
    links: linksOf(config.links, setting, { panel, frame, field, row }),
  }
}

const CELLS: Known = {
  type: ['auto', 'color-background', 'color-text'],
  mode: ['basic', 'gradient'],
  applyToRow: [false],
}

function sorted(panel: Panel, columns: readonly Column[]): number[] {
  const [by, ...others] = (panel.options?.sortBy ?? []) as { displayName: string; desc?: boolean }[]
  const rows = Array.from(columns[0]?.field.values ?? [], (_, row) => row)
  if (by === undefined) return rows
  const field = columns.find((column) => (column.field.title ?? column.field.name) === by.displayName)?.field
  if (field === undefined || others.length > 0) throw new Error(`${panel.title}: cannot sort by ${by.displayName}`)
  const sign = by.desc ? -1 : 1
  return rows.sort((a, b) => sign * compare(field.values[a] ?? null, field.values[b] ?? null))
}

function compare(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  return String(a).localeCompare(String(b), 'en', { numeric: true })
}

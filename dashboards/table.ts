/** Tables: one row for every set of labels, one column for each label and each query. */

import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common'
import type { DynamicConfigValue, Threshold, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/table'
import type { Link } from './links.ts'
import { decimalsOf, finished, type PanelText, type Placeable, refId, thresholdsOf } from './panels.ts'
import { PLAIN, quiet } from './states.ts'
import { DATASOURCE } from './variables.ts'

interface Column {
  readonly title: string
  readonly expr: string
  readonly unit: string
  /** Colours of its cells. */
  readonly steps?: Threshold[]
  readonly mappings?: ValueMapping[]
  /** Px. */
  readonly width?: number
}

export interface Table extends Omit<PanelText, 'unit'> {
  /** Column titles of labels, in their order before the values; every query is by these. */
  readonly labels: Readonly<Record<string, string>>
  /** Px of a label's column, where the values are long. */
  readonly labelWidths?: Readonly<Record<string, number>>
  /** Links of a label's cells. */
  readonly labelLinks?: Readonly<Record<string, readonly Link[]>>
  readonly columns: readonly Column[]
  /** The title of the column of values by which rows are sorted, the largest first. */
  readonly sortedBy?: string
  /** The values stand before the labels. */
  readonly valuesFirst?: true
  /** The values say nothing; only the labels are shown. */
  readonly labelsOnly?: true
}

export function table(shown: Table): Placeable {
  const { labels, columns, sortedBy, empty } = shown
  const builder = new PanelBuilder().thresholds(thresholdsOf(quiet(PLAIN)))
  if (sortedBy) builder.sortBy([new TableSortByFieldStateBuilder().displayName(sortedBy).desc(true)])
  columns.forEach(({ expr, title }, i) => {
    const query = new DataqueryBuilder().refId(refId(i)).datasource(DATASOURCE).expr(expr).legendFormat(title)
    builder.withTarget(query.instant().format(PromQueryFormat.Table))
  })
  if (columns.length > 1) builder.withTransformation({ id: 'merge', options: {} })
  builder.withTransformation({ id: 'organize', options: organised(shown) })
  // The words for an empty table would stand in every empty cell of one that has rows, and go along with its links.
  for (const type of empty ? ['string', 'number'] : []) {
    builder.withOverride({ matcher: { id: 'byType', options: type }, properties: [{ id: 'noValue', value: '' }] })
  }
  for (const [label, links] of Object.entries(shown.labelLinks ?? {})) {
    builder.overrideByName(labels[label] ?? label, [{ id: 'links', value: links }])
  }
  for (const [label, width] of Object.entries(shown.labelWidths ?? {})) {
    builder.overrideByName(labels[label] ?? label, [{ id: 'custom.width', value: width }])
  }
  for (const column of columns) builder.overrideByName(column.title, propertiesOf(column))
  // Every column of values has its own. Labels are text: a thread called 20240611 is no number.
  return finished(builder, { ...shown, unit: 'string' })
}

function organised({ labels, columns, labelsOnly, valuesFirst }: Table) {
  // Grafana calls the values of a lone query Value, of several Value #A and so on.
  const values = columns.map(({ title }, i) => [columns.length > 1 ? `Value #${refId(i)}` : 'Value', title] as const)
  const fields = values.map(([field]) => field)
  const order = valuesFirst ? [...fields, ...Object.keys(labels)] : [...Object.keys(labels), ...fields]
  return {
    excludeByName: { Time: true, ...(labelsOnly ? { Value: true } : {}) },
    indexByName: Object.fromEntries(order.map((field, i) => [field, i])),
    renameByName: { ...labels, ...Object.fromEntries(values) },
  }
}

function propertiesOf({ unit, steps, mappings, width }: Column): DynamicConfigValue[] {
  return [
    { id: 'unit', value: unit },
    ...Object.entries(decimalsOf(unit)).map(([id, value]) => ({ id, value })),
    ...(steps ? [{ id: 'thresholds', value: { mode: 'absolute', steps } }] : []),
    ...(mappings ? [{ id: 'mappings', value: mappings }] : []),
    ...(steps || mappings ? [{ id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } }] : []),
    ...(width ? [{ id: 'custom.width', value: width }] : []),
  ]
}

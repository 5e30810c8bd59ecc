/** Tables: one row for every set of labels, one column for each label and each query. */

import { TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common'
import type { DynamicConfigValue, Threshold, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/table'
import type { Link } from './links.ts'
import { decimalsOf, finished, type PanelText, type Placeable, refId } from './panels.ts'
import { DATASOURCE } from './variables.ts'

interface Column {
  readonly title: string
  readonly expr: string
  readonly unit: string
  /** Colours of its cells. */
  readonly steps?: Threshold[]
  readonly mappings?: ValueMapping[]
  readonly links?: readonly Link[]
}

export interface Table extends Omit<PanelText, 'unit'> {
  /** Column titles of labels, in their order before the values; every query is by these. */
  readonly labels: Readonly<Record<string, string>>
  /** Px of a label's column, where the values are long. */
  readonly labelWidths?: Readonly<Record<string, number>>
  /** Links of a label's cells. */
  readonly labelLinks?: Readonly<Record<string, readonly Link[]>>
  readonly columns: readonly Column[]
  /** The title of the column by which rows are sorted, the largest first unless it says otherwise. */
  readonly sortedBy: string
  readonly ascending?: true
  /** The values say nothing; only the labels are shown. */
  readonly labelsOnly?: true
}

export function table(shown: Table): Placeable {
  const { labels, columns, sortedBy, ascending = false } = shown
  const builder = new PanelBuilder().sortBy([new TableSortByFieldStateBuilder().displayName(sortedBy).desc(!ascending)])
  columns.forEach(({ expr, title }, i) => {
    const query = new DataqueryBuilder().refId(refId(i)).datasource(DATASOURCE).expr(expr).legendFormat(title)
    builder.withTarget(query.instant().format(PromQueryFormat.Table))
  })
  if (columns.length > 1) builder.withTransformation({ id: 'merge', options: {} })
  builder.withTransformation({ id: 'organize', options: organised(shown) })
  for (const [label, links] of Object.entries(shown.labelLinks ?? {})) {
    builder.overrideByName(labels[label] ?? label, [{ id: 'links', value: links }])
  }
  for (const [label, width] of Object.entries(shown.labelWidths ?? {})) {
    builder.overrideByName(labels[label] ?? label, [{ id: 'custom.width', value: width }])
  }
  for (const column of columns) builder.overrideByName(column.title, propertiesOf(column))
  // Every column of values has its own.
  return finished(builder, { ...shown, unit: 'short' })
}

function organised({ labels, columns, labelsOnly }: Table) {
  // Grafana calls the values of a lone query Value, of several Value #A and so on.
  const values = columns.map(({ title }, i) => [columns.length > 1 ? `Value #${refId(i)}` : 'Value', title] as const)
  const order = [...Object.keys(labels), ...values.map(([field]) => field)]
  return {
    excludeByName: { Time: true, ...(labelsOnly ? { Value: true } : {}) },
    indexByName: Object.fromEntries(order.map((field, i) => [field, i])),
    renameByName: { ...labels, ...Object.fromEntries(values) },
  }
}

function propertiesOf({ unit, steps, mappings, links }: Column): DynamicConfigValue[] {
  return [
    { id: 'unit', value: unit },
    ...Object.entries(decimalsOf(unit)).map(([id, value]) => ({ id, value })),
    ...(steps ? [{ id: 'thresholds', value: { mode: 'absolute', steps } }] : []),
    ...(mappings ? [{ id: 'mappings', value: mappings }] : []),
    ...(steps || mappings ? [{ id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } }] : []),
    ...(links ? [{ id: 'links', value: links }] : []),
  ]
}

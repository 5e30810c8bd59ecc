/** What panels do to the answers before they show them. Throws for a transformation that it does not know. */

import type { Transformation } from './dashboard.ts'
import type { Field, Frame, Value } from './fields.ts'

export function transform(frames: readonly Frame[], transformations: readonly Transformation[] = []): Frame[] {
  return transformations
    .filter(({ disabled }) => !disabled)
    .reduce<Frame[]>(
      (before, { id, options }) => {
        switch (id) {
          case 'merge':
            return merged(before)
          case 'organize':
            return before.map((frame) => organised(frame, options))
          default:
            throw new Error(`the preview knows no transformation ${id}`)
        }
      },
      [...frames],
    )
}

/** One table of all: rows that agree in the fields that all have become one. */
function merged(frames: readonly Frame[]): Frame[] {
  const filled = frames.filter(({ fields }) => (fields[0]?.values.length ?? 0) > 0)
  if (filled.length < 2) return filled.length === 0 ? frames.slice(0, 1) : filled
  const columns = new Map<string, Field>()
  for (const field of filled.flatMap(({ fields }) => fields)) {
    if (!columns.has(field.name)) columns.set(field.name, field)
  }
  const common = [...columns.keys()].filter((name) => filled.every(({ fields }) => fields.some((f) => f.name === name)))
  const rows = new Map<string, Map<string, Value>>()
  for (const { fields } of filled) {
    for (let row = 0; row < (fields[0]?.values.length ?? 0); row++) {
      const cells = new Map(fields.map(({ name, values }) => [name, values[row] ?? null]))
      const key = JSON.stringify(common.map((name) => cells.get(name)))
      rows.set(key, new Map([...(rows.get(key) ?? []), ...cells]))
    }
  }
  const fields = [...columns.values()].map((field) => ({
    ...field,
    values: [...rows.values()].map((cells) => cells.get(field.name) ?? null),
  }))
  return [{ refId: 'merged', fields }]
}

/** Leaves out, renames and puts in order; what has no place comes last. */
function organised({ refId, fields }: Frame, options: Transformation['options']): Frame {
  const { excludeByName, includeByName, indexByName, renameByName, ...others } = options as Organisation
  const unknown = Object.keys(others)
  if (unknown.length > 0) throw new Error(`organize: the preview knows no ${unknown.join(', ')}`)
  const isIncluded = (name: string) => Object.keys(includeByName ?? {}).length === 0 || includeByName?.[name]
  const place = ({ name }: Field) => indexByName?.[name] ?? Number.MAX_SAFE_INTEGER
  const kept = fields
    .filter(({ name }) => !excludeByName?.[name] && isIncluded(name))
    .map((field) => {
      const title = renameByName?.[field.name]
      return title ? { ...field, title } : field
    })
    .sort((a, b) => place(a) - place(b))
  return { refId, fields: kept }
}

interface Organisation {
  readonly excludeByName?: Readonly<Record<string, boolean>>
  readonly includeByName?: Readonly<Record<string, boolean>>
  readonly indexByName?: Readonly<Record<string, number>>
  readonly renameByName?: Readonly<Record<string, string>>
}

/** One number for a whole series. */

import type { Value } from './fields.ts'

const REDUCERS: Readonly<Record<string, (values: readonly number[]) => number | null>> = {
  lastNotNull: (values) => values.at(-1) ?? null,
  firstNotNull: (values) => values[0] ?? null,
  max: (values) => (values.length === 0 ? null : Math.max(...values)),
  min: (values) => (values.length === 0 ? null : Math.min(...values)),
  mean: (values) => (values.length === 0 ? null : sum(values) / values.length),
  sum,
  count: (values) => values.length,
  range: (values) => (values.length === 0 ? null : Math.max(...values) - Math.min(...values)),
}

const TITLES: Readonly<Record<string, string>> = {
  lastNotNull: 'Last *',
  firstNotNull: 'First *',
  sum: 'Total',
}

/** Throws for a reducer that it does not know. */
export function reduce(values: readonly Value[], reducer: string): Value {
  const reduced = Object.hasOwn(REDUCERS, reducer) ? REDUCERS[reducer] : undefined
  if (reduced === undefined) throw new Error(`the preview knows no reducer ${reducer}`)
  return reduced(values.filter((value) => typeof value === 'number'))
}

export function reducerTitle(reducer: string): string {
  return TITLES[reducer] ?? reducer.charAt(0).toUpperCase() + reducer.slice(1)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

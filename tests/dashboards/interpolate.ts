/** Puts values into PromQL where Grafana does, as its Prometheus data source does. */

import { type Variable as Chosen, interpolateQuery } from '../../dashboards/preview/variables.ts'
import type { Variable } from './dashboard.ts'

export type Value = string | readonly string[]

export interface Interpolation {
  /** Values by the variables' names; what is missing is All. */
  readonly values: Readonly<Record<string, Value>>
  readonly variables: readonly Variable[]
  /** For `$__rate_interval`, as Prometheus writes times. */
  readonly rateInterval: string
  /** For `$__range`. */
  readonly range: string
}

/** Throws for a variable that the dashboard does not have, or that has neither a value nor an All. */
export function interpolated(text: string, { values, variables, rateInterval, range }: Interpolation): string {
  const times = [plain('__rate_interval', rateInterval), plain('__range', range)]
  const chosen = variables.flatMap((variable): Chosen[] => {
    const { name, allValue, multi = false, includeAll = false } = variable
    const value = values[name]
    if (value !== undefined) return [{ name, values: [value].flat(), isPattern: multi || includeAll }]
    return allValue === undefined ? [] : [{ name, values: [allValue], isPattern: true, isRaw: true }]
  })
  return interpolateQuery(text, new Map([...times, ...chosen].map((one) => [one.name, one])))
}

function plain(name: string, value: string): Chosen {
  return { name, values: [value], isPattern: false }
}

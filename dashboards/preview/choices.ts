/** What is chosen of a dashboard's variables: what the address asks for, else what the dashboard has, else the first. */

import type { Dashboard, TemplateVariable } from './dashboard.ts'
import type { PrometheusApi } from './prometheus-api.ts'
import { interpolateQuery, type Variable, type Variables } from './variables.ts'

const ALL = '$__all'

export interface Choice extends Variable {
  readonly label: string
  readonly shown: boolean
  /** What could be chosen; empty where nothing is looked up. */
  readonly options: readonly string[]
}

export interface Asked {
  readonly api: PrometheusApi
  readonly fromMs: number
  readonly toMs: number
  /** Chosen values by variable. */
  readonly chosen: ReadonlyMap<string, readonly string[]>
  /** Grafana's own variables, which queries of variables may use. */
  readonly builtIn: Variables
}

/** In their order, because the later ones ask with what is chosen of the earlier. */
export async function chooseVariables(dashboard: Dashboard, asked: Asked): Promise<Choice[]> {
  const known = new Map<string, Variable>(asked.builtIn)
  const choices: Choice[] = []
  for (const variable of dashboard.templating?.list ?? []) {
    const options = await optionsOf(variable, asked, known)
    const choice = choose(variable, options, asked.chosen.get(variable.name))
    known.set(variable.name, choice)
    choices.push(choice)
  }
  return choices
}

function choose(variable: TemplateVariable, options: readonly string[], wanted: readonly string[] | undefined): Choice {
  const { name, includeAll = false, multi = false, allValue } = variable
  const isOffered = (value: string) => (value === ALL ? includeAll : options.includes(value))
  const preset = [variable.current?.value ?? []].flat().filter((value) => isOffered(value) || variable.type !== 'query')
  const first = includeAll ? [ALL] : options.slice(0, 1)
  const values = wanted ?? (preset.length > 0 ? preset : first)
  const base = {
    name,
    label: variable.label ?? name,
    shown: variable.hide !== 2,
    options,
    isPattern: multi || includeAll,
  }
  if (!values.includes(ALL)) return { ...base, values, text: values.join(' + ') }
  if (allValue) return { ...base, values: [allValue], isRaw: true, text: 'All' }
  return { ...base, values: options, text: 'All' }
}

async function optionsOf(variable: TemplateVariable, asked: Asked, known: Variables): Promise<string[]> {
  const query = typeof variable.query === 'string' ? variable.query : (variable.query?.query ?? '')
  switch (variable.type) {
    case 'datasource':
      return ['Prometheus']
    case 'constant':
    case 'textbox':
      return [query]
    case 'custom':
    case 'interval':
      return query.split(',').map((value) => value.trim())
    case 'query':
      return ordered(filtered(await lookUp(query, asked, known), variable.regex), variable.sort)
    default:
      throw new Error(`variable ${variable.name}: the preview knows no type ${variable.type}`)
  }
}

async function lookUp(query: string, { api, fromMs, toMs }: Asked, known: Variables): Promise<string[]> {
  const [, selector, label] = /^\s*label_values\((?:(.+),)?\s*(\w+)\s*\)\s*$/s.exec(query) ?? []
  if (label !== undefined) {
    const of = selector === undefined ? null : interpolateQuery(selector, known)
    return api.labelValues(label, of, fromMs, toMs)
  }
  const [, expr] = /^\s*query_result\((.+)\)\s*$/s.exec(query) ?? []
  if (expr === undefined) throw new Error(`the preview knows no such query of a variable: ${query}`)
  const found = await api.instant(interpolateQuery(expr, known), toMs)
  return found.map(({ labels: { __name__ = '', ...labels }, points }) => {
    const inside = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
    return `${__name__}{${inside.join(',')}} ${points[0]?.[1]} ${points[0]?.[0]}`
  })
}

/** A pattern takes out what does not match it, and takes its first group, or the one called `value`, where there is one. */
function filtered(values: readonly string[], regex: string | undefined): string[] {
  if (!regex) return [...new Set(values)]
  const [, pattern = regex, flags = ''] = /^\/(.*)\/(\w*)$/.exec(regex) ?? []
  const found = values.flatMap((value) => {
    const match = new RegExp(pattern, flags.replace('g', '')).exec(value)
    return match ? [match.groups?.value ?? match[1] ?? value] : []
  })
  return [...new Set(found)]
}

function ordered(values: readonly string[], sort = 0): string[] {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
  switch (sort) {
    case 0:
      return [...values]
    case 1:
      return [...values].sort(order)
    case 2:
      return [...values].sort((a, b) => order(b, a))
    case 3:
      return [...values].sort((a, b) => Number.parseFloat(a) - Number.parseFloat(b))
    case 7:
      return [...values].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    case 5:
      return [...values].sort((a, b) => order(a.toLowerCase(), b.toLowerCase()))
    default:
      throw new Error(`the preview knows no sort ${sort} of a variable`)
  }
}

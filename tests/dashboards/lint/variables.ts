/** Rules over the variables at the top of a dashboard. */

import { parts } from '../../promql/promql.ts'
import type { Dashboard, Variable } from '../dashboard.ts'
import { variableQuery } from '../queries.ts'
import type { Rule } from './lint.ts'
import { read } from './lint.ts'
import { labelsOfMetric } from './metrics.ts'

/** Every query goes to the one data source that is chosen. */
const hasOneDatasource: Rule = ({ templating }) => {
  const all = templating.list.filter(({ type }) => type === 'datasource')
  const [one] = all
  if (all.length !== 1 || !one) return [`${all.length} variables of data sources`]
  return one.name === 'datasource' && one.label === 'Data Source' && one.query === 'prometheus'
    ? []
    : ['the data source is not called datasource and Data Source, or is no Prometheus']
}

/** Hosts are chosen by these, several at once; every series has both. */
const choosesHosts: Rule = (dashboard) => several(dashboard, ['job', 'instance'], '.+')

/** Models too, and All has those that have no name. */
const choosesModels: Rule = (dashboard) => several(dashboard, ['provider', 'model'], '.*')

/** What can be chosen is what the time shown has. */
const reloadsOnTime: Rule = ({ templating }) =>
  queried(templating.list)
    .filter(({ refresh }) => refresh !== 2)
    .map(({ name }) => `${name} does not follow the time shown`)

/** Values of a label that its metric has, or that is left of a result and that the pattern reads. */
const asksForLabels: Rule = ({ templating }) =>
  queried(templating.list).flatMap(({ name, query, regex = '' }) => {
    try {
      const { expr, label } = variableQuery(query)
      const [of] = parts(read(expr), 'selector')
      if (label === undefined) {
        const [, named] = /^\/\^\\\{(\w+)="\(\.\*\)"\\\} \/$/.exec(regex) ?? []
        return named && labelsOfMetric(of?.name ?? '')?.includes(named)
          ? []
          : [`${name}: no label is read from ${query}`]
      }
      return labelsOfMetric(of?.name ?? '')?.includes(label) ? [] : [`${name}: ${of?.name} has no label ${label}`]
    } catch (error) {
      return [`${name}: ${(error as Error).message}`]
    }
  })

/** The order of results says which is first chosen; a thread by the alphabet is no answer to which is stale. */
const hasTheWorstFirst: Rule = ({ templating }) =>
  queried(templating.list)
    .filter(({ includeAll }) => !includeAll)
    .filter(({ query, sort }) => sort !== 0 || !query.startsWith('query_result(sort_desc('))
    .map(({ name }) => `${name} begins with any`)

export const rules = {
  hasOneDatasource,
  choosesHosts,
  choosesModels,
  reloadsOnTime,
  asksForLabels,
  hasTheWorstFirst,
}

function several({ templating }: Dashboard, names: readonly string[], allValue: string): string[] {
  return names.flatMap((name) => {
    const one = templating.list.find((variable) => variable.name === name)
    if (!one) return [`no variable ${name}`]
    const good = one.multi && one.includeAll && one.allValue === allValue && one.datasource?.uid === '$datasource'
    return good ? [] : [`${name} takes not several values, ${allValue} for all, of $datasource`]
  })
}

function queried(all: readonly Variable[]): Variable[] {
  return all.filter(({ type }) => type === 'query')
}

/** Rules over a dashboard as a whole. */

import { ALERTS } from '../../../rules/pack.ts'
import { parts } from '../../promql/promql.ts'
import { panelsOf } from '../dashboard.ts'
import { expressions, type Rule } from './lint.ts'

/** A copy can be saved; what is provisioned would fall back at the next start. */
const isUneditable: Rule = ({ editable }) => (editable ? ['can be edited'] : [])

/** Grafana's limit, and nothing that a path would have to escape. */
const hasSlugUid: Rule = ({ uid }) => (/^[a-z][a-z0-9-]{1,39}$/.test(uid) ? [] : [`uid ${uid} is no slug`])

/** Classic JSON that Grafana 10 reads; later ones bring it up to date. */
const isClassic: Rule = ({ schemaVersion }) => (schemaVersion === 39 ? [] : [`schemaVersion ${schemaVersion}`])

const hasUniqueIds: Rule = ({ panels }) => repeated(panels.map(({ id }) => `id ${id}`))

/** Titles tell panels apart in links, reports and tests. */
const hasUniqueTitles: Rule = (dashboard) => repeated(panelsOf(dashboard).map(({ title }) => `title ${title}`))

/** All dashboards of the tag, with time and variables kept. */
const linksToItsSiblings: Rule = ({ tags, links }) => {
  const kept = links.some((link) => link.type === 'dashboards' && link.keepTime && link.includeVars)
  const tagged = tags.includes('turnwatch') && links.some((link) => link.tags.includes('turnwatch'))
  return kept && tagged ? [] : ['no links to the dashboards of its tag that keep time and variables']
}

/** Alerts of the pack are drawn over every chart while they fire. */
const showsAlerts: Rule = (dashboard) => {
  const overlays = [...expressions(dashboard)].filter(({ where }) => {
    return dashboard.annotations.list.some(({ name }) => name === where)
  })
  const firing = overlays.flatMap(({ expr }) => parts(expr, 'selector')).find(({ name }) => name === 'ALERTS')
  if (!firing) return ['no overlay of alerts']
  const value = (label: string) => firing.matchers.find((one) => one.label === label)?.value ?? ''
  const named = value('alertname').split('|')
  return [
    ...(value('alertstate') === 'firing' ? [] : ['the overlay of alerts shows more than those that fire']),
    ...ALERTS.filter(({ name }) => !named.includes(name)).map(({ name }) => `the overlay of alerts lacks ${name}`),
  ]
}

/** What a row is for is said by the question that its panels answer. */
const rowsAsk: Rule = ({ panels }) =>
  panels.filter(({ type, title }) => type === 'row' && !title.endsWith('?')).map(({ title }) => `no question: ${title}`)

export const rules = {
  isUneditable,
  hasSlugUid,
  isClassic,
  hasUniqueIds,
  hasUniqueTitles,
  linksToItsSiblings,
  showsAlerts,
  rowsAsk,
}

function repeated(all: readonly string[]): string[] {
  return all.filter((one, i) => all.indexOf(one) !== i).map((one) => `${one} is there twice`)
}

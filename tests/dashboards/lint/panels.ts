/** Rules over panels: what each says of itself, where it stands, where it leads. */

import * as units from '@grafana/grafana-foundation-sdk/units'
import { DASHBOARD_UIDS } from '../../../rules/dashboard-link.ts'
import { ALERTS, PACK_KNOBS } from '../../../rules/pack.ts'
import { type Dashboard, type Panel, panelsOf } from '../dashboard.ts'
import { ofPanels, type Rule } from './lint.ts'

const COLUMNS = 24
const UNITS = new Set<unknown>(Object.values(units))
const UIDS = new Set<string>(Object.values(DASHBOARD_UIDS))

const readsTheDatasource: Rule = ofPanels(({ datasource, targets = [] }) => {
  const all = [datasource, ...targets.map((target) => target.datasource)]
  return all.some((one) => one?.type !== 'prometheus' || one.uid !== '$datasource') && 'reads not $datasource'
})

const saysWhatItIs: Rule = ofPanels(({ title, description }) => {
  return (!title || !description?.endsWith('.')) && 'no title, or no description in whole sentences'
})

/** A number without a unit is read wrongly; text has none. */
const hasUnit: Rule = ofPanels(({ type, fieldConfig }) => {
  const { unit, mappings = [] } = fieldConfig?.defaults ?? {}
  if (!UNITS.has(unit)) return `unit ${unit}`
  const foreign = (fieldConfig?.overrides ?? [])
    .flatMap(({ properties }) => properties)
    .find(({ id, value }) => id === 'unit' && !UNITS.has(value))
  if (foreign) return `unit ${foreign.value}`
  return unit === 'none' && type !== 'table' && mappings.length === 0 && 'no unit'
})

const asksSomething: Rule = ofPanels(({ targets = [] }) => targets.length === 0 && 'no queries')

/** Each query has a letter of its own, and its series have names. */
const namesItsQueries: Rule = ofPanels(({ targets = [] }) => {
  const letters = targets.map(({ refId }) => refId)
  if (new Set(letters).size !== letters.length) return `queries ${letters.join(', ')}`
  return targets.some(({ legendFormat }) => !legendFormat || legendFormat === '__auto') && 'a query without a legend'
})

/** To another dashboard, to this one for something chosen, or to what to do. */
const leadsDeeper: Rule = (dashboard) =>
  ofPanels(({ links = [], ...panel }) => {
    const all = [...links, ...valueLinks(panel)]
    const broken = all.find(({ url }) => !leads(url))
    if (broken) return `a link to nothing: ${broken.url}`
    return !links.some(({ url }) => !isTo(url, dashboard.uid)) && 'leads nowhere'
  })(dashboard)

const VARIABLES = ['datasource', 'job', 'instance', 'provider', 'model', 'thread']

/** What a link chooses can be chosen. */
const choosesWhatThereIs: Rule = (dashboard) =>
  panelsOf(dashboard).flatMap((panel) =>
    [...(panel.links ?? []), ...valueLinks(panel)]
      .flatMap(({ url }) => [...url.matchAll(/\bvar-(\w+)=/g)].map(([, name]) => name as string))
      .filter((name) => !VARIABLES.includes(name))
      .map((name) => `${panel.title}: no variable ${name}`),
  )

/** A link to a dashboard shows the same time and the same choices. */
const keepsTheChoice: Rule = (dashboard) =>
  panelsOf(dashboard).flatMap((panel) =>
    [...(panel.links ?? []), ...valueLinks(panel)]
      .filter(({ url }) => url.startsWith('/d/'))
      .filter(
        ({ url }) => !/\$\{__url_time_range\}/.test(url) || !/\$\{(__all_variables|datasource:queryparam)\}/.test(url),
      )
      .map(({ url }) => `${panel.title}: ${url} loses time or data source`),
  )

/** Within the grid, and none over another. */
const standsByItself: Rule = ({ panels }) => {
  const outside = panels.filter(({ gridPos: { x, y, w, h } }) => x < 0 || y < 0 || w < 1 || h < 1 || x + w > COLUMNS)
  const over = panels.flatMap((one, i) => panels.slice(i + 1).filter((other) => overlap(one, other)))
  return [
    ...outside.map(({ title }) => `${title}: outside of the grid`),
    ...over.map(({ title }) => `${title}: over another`),
  ]
}

export const rules = {
  readsTheDatasource,
  saysWhatItIs,
  hasUnit,
  asksSomething,
  namesItsQueries,
  leadsDeeper,
  choosesWhatThereIs,
  keepsTheChoice,
  standsByItself,
}

/** What overrides of one kind set a property to, with what each matches. */
export function overridden({ fieldConfig }: Panel, matcher: string, property: string) {
  return (fieldConfig?.overrides ?? [])
    .filter((one) => one.matcher.id === matcher)
    .flatMap(({ matcher: { options }, properties }) =>
      properties.filter(({ id }) => id === property).map(({ value }) => ({ options, value })),
    )
}

function valueLinks({ fieldConfig }: Pick<Panel, 'fieldConfig'>): readonly { readonly url: string }[] {
  const inColumns = (fieldConfig?.overrides ?? [])
    .flatMap(({ properties }) => properties)
    .filter(({ id }) => id === 'links')
    .flatMap(({ value }) => value as { url: string }[])
  return [...(fieldConfig?.defaults.links ?? []), ...inColumns]
}

function leads(url: string): boolean {
  const [, uid] = /^\/d\/([\w-]+)\?/.exec(url) ?? []
  if (uid !== undefined) return UIDS.has(uid)
  // In a table the row has the name.
  const name = url.replace(/\$\{__data\.fields\.alertname\}/, 'TurnStale')
  return ALERTS.some((alert) => name === `${PACK_KNOBS.runbooks}/${alert.name}.md`)
}

function isTo(url: string, uid: Dashboard['uid']): boolean {
  return url.startsWith(`/d/${uid}?`)
}

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

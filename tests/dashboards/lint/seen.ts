/** Rules over what a viewer takes from a panel: colours, words for nothing, limits, order. Each is a way in which one can lie. */

import { panelsOf } from '../dashboard.ts'
import { ofPanels, type Rule } from './lint.ts'
import { overridden } from './panels.ts'

/** Without data Grafana paints a number in the colour of its lowest step, which is often green. */
const isNotGreenWhenBlind: Rule = ofPanels(({ type, fieldConfig }) => {
  if (type !== 'stat') return false
  const results = (fieldConfig?.defaults.mappings ?? [])
    .filter((mapping) => mapping.type === 'special')
    .map(({ options }) => options as { match: string; result: { text?: string; color?: string } })
  const ofNothing = results.find(({ match }) => match.startsWith('null'))?.result
  return (
    !(ofNothing?.text && ofNothing.color && ofNothing.color !== 'green') && 'no words and colour where nothing is known'
  )
})

/** Grafana writes the words for an empty panel into every empty cell of a table, and into the links of its row. */
const leavesCellsEmpty: Rule = ofPanels((panel) => {
  if (panel.type !== 'table' || !panel.fieldConfig?.defaults.noValue) return false
  const cleared = overridden(panel, 'byType', 'noValue').filter(({ value }) => value === '')
  return cleared.length < 2 && 'its words for nothing stand in empty cells'
})

/** In any other unit, Grafana takes text that looks like a number for one. */
const keepsTextAsText: Rule = ofPanels(({ type, fieldConfig }) => {
  return type === 'table' && fieldConfig?.defaults.unit !== 'string' && 'labels that look like numbers are changed'
})

/** By text, `critical` comes before `info` and `warning` last. */
const sortsByNumbers: Rule = ofPanels(({ options, targets = [] }) => {
  const values = targets.map(({ legendFormat }) => legendFormat)
  return (options?.sortBy ?? []).some(({ displayName }) => !values.includes(displayName)) && 'sorted by text'
})

/** Two lines of one colour are one line to whoever looks. */
const hasColoursOnce: Rule = ofPanels((panel) => {
  const colours = overridden(panel, 'byRegexp', 'color').map(
    ({ value }) => (value as { fixedColor: string }).fixedColor,
  )
  const twice = colours.find((one, i) => colours.indexOf(one) !== i)
  return twice && `${twice} is there twice`
})

/** Without its own, a panel has Grafana's: red from 80 up. */
const hasThresholds: Rule = ofPanels(({ fieldConfig }) => {
  const [first] = fieldConfig?.defaults.thresholds?.steps ?? []
  return first?.value !== null && 'no thresholds'
})

/** A limit of a chart is a line, and the description says what it is. */
const namesItsLimits: Rule = ofPanels(({ type, description = '', fieldConfig }) => {
  const limits = (fieldConfig?.defaults.thresholds?.steps ?? []).length - 1
  const isDrawn = fieldConfig?.defaults.custom?.thresholdsStyle?.mode === 'dashed'
  if (type !== 'timeseries' || limits < 1) return false
  if (!isDrawn) return 'a limit that is not drawn'
  return !/\(\w+ line\b/.test(description) && 'a line that the description does not name'
})

/** There may be fifty of them. */
const ranksModels: Rule = ofPanels(({ type, targets = [], options }) => {
  const isOfModels = type === 'timeseries' && targets.some(({ legendFormat }) => legendFormat?.includes('{{model}}'))
  const { displayMode, sortBy } = options?.legend ?? {}
  return isOfModels && !(displayMode === 'table' && sortBy) && 'a legend that grows with the models'
})

/** Who started a thread may run another model: what is chosen must not hide it. */
const findsOtherThreads: Rule = (dashboard) =>
  panelsOf(dashboard).flatMap((panel) =>
    overridden(panel, 'byName', 'links')
      .flatMap(({ value }) => value as { url: string }[])
      .filter(({ url }) => /var-thread=\$\{__data\.fields\.(?!thread\b)/.test(url))
      .filter(({ url }) => !/var-provider=%24__all/.test(url) || !/var-model=%24__all/.test(url))
      .map(() => `${panel.title}: a link to another thread keeps the model`),
  )

export const rules = {
  isNotGreenWhenBlind,
  leavesCellsEmpty,
  keepsTextAsText,
  sortsByNumbers,
  hasColoursOnce,
  hasThresholds,
  namesItsLimits,
  ranksModels,
  findsOtherThreads,
}

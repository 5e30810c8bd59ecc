/** Rules over the text: a word that only the initiated know is explained in the same panel. */

import { type Panel, panelsOf } from '../dashboard.ts'
import type { Rule } from './lint.ts'

/** A word, and what explains it. */
const GLOSSARY: readonly (readonly [string, RegExp, RegExp])[] = [
  ['a quantile', /\bp\d\d\b/, /of twenty|of 100|in a hundred/],
  ['a phase', /\bphases?\b|first-token|after-tool|mid-stream/i, /first-token is the time/],
  ['suspect', /\bsuspect\b/i, /threshold/i],
  ['a tick', /\bticks?\b/i, /second|not ticked/],
]
/** No description makes up for these. */
const JARGON = /\bTTFT\b|\bTTL\b|\bEWMA\b|\bM\b|\bcardinality\b|\bhistogram\b|\bseries\b(?! of their own)/

const explainsItself: Rule = (dashboard) =>
  panelsOf(dashboard).flatMap((panel) => {
    const text = textOf(panel)
    const unexplained = GLOSSARY.filter(([, word, explanation]) => {
      return word.test(text) && !explanation.test(panel.description ?? '')
    })
    return [
      ...unexplained.map(([name]) => `${panel.title}: ${name} is not explained`),
      ...(JARGON.exec(text) ?? []).map((word) => `${panel.title}: "${word}" is for the initiated`),
    ]
  })

/** Titles are read from afar, and cut off where they do not fit. */
const hasShortTitles: Rule = (dashboard) =>
  panelsOf(dashboard)
    .filter(({ title, gridPos }) => title.length > Math.min(65, 7 * gridPos.w))
    .map(({ title }) => `a long title: ${title}`)

export const rules = { explainsItself, hasShortTitles }

/** All that a reader sees of a panel besides its numbers. */
function textOf({ title, description = '', targets = [] }: Panel): string {
  return [title, description, ...targets.map(({ legendFormat = '' }) => legendFormat)].join('\n')
}

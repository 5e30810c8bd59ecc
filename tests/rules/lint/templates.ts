/** Templates of labels and annotations. */

import { has, labelsOf, type Records } from './labels.ts'
import { type LintedRule, nameOf } from './rule.ts'

/** A label that the expression does not leave is empty in the text. */
export function templateLabels(rule: LintedRule, records: Records): string[] {
  const labels = labelsOf(rule.tree, records)
  return Object.entries({ ...rule.labels, ...rule.annotations }).flatMap(([where, text]) =>
    [...text.matchAll(/\$labels\.(\w+)/g)]
      .filter(([, label]) => labels === null || !has(labels, label as string))
      .map(([, label]) => `${where} of ${nameOf(rule)} has the label ${label}, which its expression does not leave`),
  )
}

/** Every value would be an alert of its own, and the one before would resolve. */
export function steadyLabels(rule: LintedRule): string[] {
  return Object.entries(rule.labels)
    .filter(([, text]) => /\$value|\.Value/.test(text))
    .map(([label]) => `the label ${label} of ${nameOf(rule)} changes with the value`)
}

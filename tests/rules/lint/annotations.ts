/** What an alert tells whoever is woken by it. */

import { type LintedRule, nameOf } from './rule.ts'

/** The same for all alerts of a group, so a sentence without templates. */
export function summary(rule: LintedRule): string[] {
  if (rule.alert === undefined) return []
  const { summary } = rule.annotations
  if (summary !== undefined && /^[A-Z][^{}\n]*\.$/.test(summary)) return []
  return [`the summary of ${nameOf(rule)} is no plain sentence: ${JSON.stringify(summary)}`]
}

/** Says which one it is: with templates, where there is anything to tell apart. */
export function description(rule: LintedRule, isOfSomething: boolean): string[] {
  if (rule.alert === undefined) return []
  const { description = '' } = rule.annotations
  if (/[.]$/.test(description) && description.includes('{{') === isOfSomething) return []
  return [`the description of ${nameOf(rule)} does not say which: ${JSON.stringify(description)}`]
}

/** The page of the runbook is there; `pages` are the names of those that are. */
export function runbook(rule: LintedRule, pages: readonly string[]): string[] {
  if (rule.alert === undefined) return []
  const { runbook_url: url = '' } = rule.annotations
  const page = /^https:\/\/[^\s{}]+\/rules\/runbooks\/([^/]+)$/.exec(url)?.[1]
  if (page === `${rule.alert}.md` && pages.includes(page)) return []
  return [`${nameOf(rule)} has no runbook at ${JSON.stringify(url)}`]
}

/** The dashboard is one of ours. */
export function dashboard(rule: LintedRule, uids: readonly string[]): string[] {
  if (rule.alert === undefined) return []
  const { dashboard_url: url = '' } = rule.annotations
  const uid = /^https?:\/\/[^/]+(?:\/[\w.-]+)*\/d\/([\w-]+)(?:\?|$)/.exec(url)?.[1]
  return uid !== undefined && uids.includes(uid) ? [] : [`${nameOf(rule)} has no dashboard at ${JSON.stringify(url)}`]
}

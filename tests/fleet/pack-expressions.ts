/** Every expression of the pack by itself. */

import { alertGroups, recordingGroups } from '../../rules/files.ts'
import { makePack, type PackChanges } from '../../rules/pack.ts'

interface PackExpression {
  /** Of the alert or the recorded series. */
  readonly name: string
  readonly expr: string
}

export function packExpressions(changes: PackChanges = {}): PackExpression[] {
  const alerts = alertGroups(makePack(changes)).flatMap(({ rules }) => rules)
  return [...recordings(), ...alerts.map(({ alert, expr }) => ({ name: alert, expr }))]
}

/** What is recorded, told from what is scraped alone: a recorded series in an expression gives way to its own. */
export function recordingsFromScrapes(): PackExpression[] {
  const all = recordings()
  // Longest first, because one name may begin as another is.
  const names = all.toSorted((a, b) => b.name.length - a.name.length)
  const inlined = (expr: string): string => {
    const recorded = names.find(({ name }) => expr.includes(name))
    return recorded ? inlined(expr.replaceAll(recorded.name, `(${recorded.expr})`)) : expr
  }
  return all.map(({ name, expr }) => ({ name, expr: inlined(expr) }))
}

function recordings(): PackExpression[] {
  const rules = recordingGroups(makePack()).flatMap((group) => group.rules)
  return rules.map(({ record, expr }) => ({ name: record, expr }))
}

/** Starts and ends of tools on wires that give each of them an event of its own. */

import type { TurnEvent } from '../events.ts'
import { text } from './classifier.ts'

/** A tool that starts. Without an id nothing could end it: then it is only progress. */
export function toolStarted(id: unknown, name: unknown, what: string): TurnEvent {
  const [known, called] = [text(id), text(name)]
  if (known === undefined) return { kind: 'progress', what }
  return called === undefined ? { kind: 'tool.started', id: known } : { kind: 'tool.started', id: known, name: called }
}

/** A tool that ended. Without an id it ended none that is open: then it is only progress. */
export function toolEnded(id: unknown, what: string): TurnEvent {
  const known = text(id)
  return known === undefined ? { kind: 'progress', what } : { kind: 'tool.ended', id: known }
}

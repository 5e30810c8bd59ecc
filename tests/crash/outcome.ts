/** What came of a part of the run. */

import type { Ledger } from './ledger.ts'

export interface Outcome {
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  /** What went wrong besides: a host that ended otherwise than by its kill, a store that failed. */
  readonly faults: readonly string[]
  readonly figures: Figures
  /** Where the kills fell. */
  readonly killedAt: Readonly<Record<string, number>>
}

interface Figures {
  readonly kills: number
  /** Messages that arrived, those that came again after a kill, and those taken over from a dead process by another. */
  readonly arrived: number
  readonly again: number
  readonly takenOver: number
}

export const NO_OUTCOME: Outcome = {
  lost: [],
  doubled: [],
  faults: [],
  figures: { kills: 0, arrived: 0, again: 0, takenOver: 0 },
  killedAt: {},
}

export function outcomeOf(
  ledger: Ledger,
  killedAt: readonly string[],
  takenOver: number,
  faults: readonly string[],
): Outcome {
  const { lost, doubled, arrived, again } = ledger
  const counts: Record<string, number> = {}
  for (const place of killedAt) counts[place] = (counts[place] ?? 0) + 1
  return { lost, doubled, faults, figures: { kills: killedAt.length, arrived, again, takenOver }, killedAt: counts }
}

export function sumOf(outcomes: readonly Outcome[]): Outcome {
  return outcomes.reduce(
    (sum, one) => ({
      lost: [...sum.lost, ...one.lost],
      doubled: [...sum.doubled, ...one.doubled],
      faults: [...sum.faults, ...one.faults],
      figures: {
        kills: sum.figures.kills + one.figures.kills,
        arrived: sum.figures.arrived + one.figures.arrived,
        again: sum.figures.again + one.figures.again,
        takenOver: sum.figures.takenOver + one.figures.takenOver,
      },
      killedAt: added(sum.killedAt, one.killedAt),
    }),
    NO_OUTCOME,
  )
}

function added(a: Outcome['killedAt'], b: Outcome['killedAt']): Outcome['killedAt'] {
  const sum = { ...a }
  for (const [place, count] of Object.entries(b)) sum[place] = (sum[place] ?? 0) + count
  return sum
}

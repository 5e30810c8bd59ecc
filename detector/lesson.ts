/** What the end of a turn teaches: samples if it was healthy, quarantine if it recovered, nothing if it was killed. */

import { PHASES } from '../instrumentation/events.ts'
import type { Turn } from '../instrumentation/turn.ts'
import type { TurnClock } from '../instrumentation/turn-clock.ts'
import type { Sample, TurnStats } from '../instrumentation/turn-stats.ts'
import type { Learning } from './learning.ts'
import type { Trouble } from './trouble.ts'

/** `isStale`: the turn ends while it is stale. Returns the samples that were taken. */
export function learnFrom(
  learning: Learning,
  turns: TurnClock,
  turn: Turn,
  stats: TurnStats,
  trouble: Trouble | undefined,
  isStale: boolean,
): Sample[] {
  const key = turns.keyAt(turn.slot)
  const { provider, model } = turns.keys.at(key)
  const longest = turns.longestMs(turn.slot)
  const learned: Sample[] = []
  const isNew = learning.isNew(stats.id)
  const take = (phase: number, silenceMs: number) => {
    if (!isNew) return
    learning.add(key * 3 + phase, silenceMs)
    learned.push({ id: stats.id, provider, model, phase: PHASES[phase] as (typeof PHASES)[number], silenceMs })
  }
  const completed = stats.outcome === 'completed' && stats.timeToFirstTokenMs !== null
  longest.forEach((silenceMs, phase) => {
    if (!trouble?.everStale) {
      if (completed && silenceMs !== null) take(phase, silenceMs)
      return
    }
    if ((trouble.stalePhases & (1 << phase)) === 0) return
    const row = key * 3 + phase
    if (completed && silenceMs !== null) {
      const confirmed = learning.quarantine(row, silenceMs)
      if (confirmed !== null) take(phase, confirmed)
    } else if (isStale && trouble.openedPhase === phase) learning.censor(row)
  })
  return learned
}

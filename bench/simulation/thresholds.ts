/** Detectors with a threshold, over healthy turns: the package's own presets as they learn, and a fixed limit. */

import { Learning } from '../../detector/learning.ts'
import { CONFIRM, type Preset } from '../../detector/thresholds.ts'
import { PHASES } from '../../instrumentation/events.ts'
import { KEYS, type Turns } from './turns.ts'

export interface Score {
  turns: number
  /** Healthy turns that were flagged. */
  flags: number
  /** Sum over the turns of the silence after which a dead one would have been flagged. */
  delayMs: number
}

export function sum(scores: readonly Score[]): Score {
  const total = { turns: 0, flags: 0, delayMs: 0 }
  for (const { turns, flags, delayMs } of scores) {
    total.turns += turns
    total.flags += flags
    total.delayMs += delayMs
  }
  return total
}

/**
 * A preset: thresholds, window, quarantine are the detector's own code. Each turn is judged by what the turns before it
 * taught; a flagged one goes on and completes. A tick more or less is left out, which counts a few flags too many.
 */
export function scorePreset(preset: Preset, { tail, key, longestMs }: Turns): Score {
  const learning = new Learning({ preset })
  for (let i = 0; i < KEYS; i++) learning.addKey(i, null)
  const phase = PHASES.indexOf(tail.phase)
  const score: Score = { turns: key.length, flags: 0, delayMs: 0 }
  for (let i = 0; i < key.length; i++) {
    const row = (key[i] as number) * PHASES.length + phase
    const silence = longestMs[i] as number
    const limit = CONFIRM * (learning.limits[row] as number)
    score.delayMs += limit
    if (silence <= limit) learning.add(row, silence)
    else {
      score.flags++
      const confirmed = learning.quarantine(row, silence)
      if (confirmed !== null) learning.add(row, confirmed)
    }
  }
  return score
}

export function scoreFixed(limitMs: number, { longestMs }: Turns): Score {
  let flags = 0
  for (const silence of longestMs) if (silence > limitMs) flags++
  return { turns: longestMs.length, flags, delayMs: limitMs * longestMs.length }
}

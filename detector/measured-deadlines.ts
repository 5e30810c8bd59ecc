/** The thresholds of a model's turns as deadlines of one stream of it. */

import { PHASES, type Phase } from '../instrumentation/events.ts'
import type { ModelKeys } from '../instrumentation/model-keys.ts'
import type { Learning } from './learning.ts'
import { CONFIRM, defaultMs, type ThresholdOptions, type ThresholdSource } from './thresholds.ts'

export interface MeasuredDeadlines {
  /** Ms from the first read of a stream to its first content. Infinite where thresholds are switched off. */
  readonly firstContentMs: number
  /** Ms between two pieces of content. Infinite where thresholds are switched off. */
  readonly contentIntervalMs: number
  /** Whether each is a default, or was measured on 20 turns or more. */
  readonly sources: {
    readonly firstContentMs: ThresholdSource
    readonly contentIntervalMs: ThresholdSource
  }
}

/** What a threshold and its source are read from. */
interface Known {
  readonly keys: ModelKeys
  readonly learning: Learning
  /** As the learning has them: defaults of a model of which no turn has been seen. */
  readonly options: ThresholdOptions
}

/**
 * A stream may stall for as long as a turn of the model may be silent: its deadlines are the silence at which the turn
 * is stale, threshold x 1.25. A piece of content may come after a tool or in mid-stream, so the larger of the two holds.
 * A model that was never seen stays so.
 */
export function measuredDeadlines(known: Known, provider: string, model: string | null): MeasuredDeadlines {
  // Not `indexOf`: that would make a row, and with it series. One that shares the row of the rest has its defaults.
  const key = known.keys.find(provider, model)
  const first = staleAfter('first-token')
  const [midStream, afterTool] = [staleAfter('mid-stream'), staleAfter('after-tool')]
  const interval = afterTool.ms > midStream.ms ? afterTool : midStream
  return {
    firstContentMs: first.ms,
    contentIntervalMs: interval.ms,
    sources: { firstContentMs: first.source, contentIntervalMs: interval.source },
  }

  function staleAfter(phase: Phase): { ms: number; source: ThresholdSource } {
    if (key === undefined) return { ms: CONFIRM * defaultMs(known.options, model, false, phase), source: 'default' }
    const row = known.learning.rowOf(key, known.keys.at(key), PHASES.indexOf(phase))
    return { ms: CONFIRM * row.thresholdMs, source: row.thresholdSource }
  }
}

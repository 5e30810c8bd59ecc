/** What a replay found in one file. All times are ms on the file's own scale. */

import type { ThresholdSource } from '../../detector/thresholds.ts'
import type { Verdict } from '../../detector/verdict.ts'
import type { Outcome, Phase } from '../../instrumentation/events.ts'
import type { StaleReason } from '../../instrumentation/turn-counters.ts'
import type { TurnStats } from '../../instrumentation/turn-stats.ts'
import type { Turnwatch } from '../../turnwatch.ts'

export interface ReplayVerdict {
  readonly turn: string
  readonly verdict: Verdict['verdict']
  readonly reason: StaleReason
  readonly at: number
  readonly phase: Phase
  readonly thresholdMs: number
  readonly thresholdSource: ThresholdSource
  readonly silenceMs: number
}

export interface ReplayTurn {
  readonly turn: string
  readonly thread: string
  readonly provider: string
  readonly model: string | null
  /** Null while it runs at the end of the file. */
  readonly outcome: Outcome | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly durationMs: number | null
  readonly timeToFirstTokenMs: number | null
  readonly maxGapMs: number
  readonly eventCount: number
}

export interface ReplayResult {
  readonly file: string
  readonly id: string
  readonly verdicts: readonly ReplayVerdict[]
  readonly turns: readonly ReplayTurn[]
}

/** Writes down what a watch says, with the times of its virtual host. */
export class ReplayLog {
  readonly verdicts: ReplayVerdict[] = []
  readonly turns: ReplayTurn[] = []
  /** The full records of the turns that ended. */
  readonly stats: TurnStats[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  listen(watch: Turnwatch, onVerdict: (verdict: Verdict) => void = () => {}): void {
    for (const name of ['suspect', 'stale', 'recovered'] as const) {
      watch.on(name, (verdict) => {
        this.verdicts.push({
          turn: verdict.turnId,
          verdict: verdict.verdict,
          reason: verdict.reason,
          at: Math.round(this.#now()),
          phase: verdict.phase,
          thresholdMs: verdict.thresholdMs,
          thresholdSource: verdict.thresholdSource,
          silenceMs: verdict.silenceMs,
        })
        onVerdict(verdict)
      })
    }
    watch.on('turn-ended', ({ stats, outcome }) => {
      const endedAt = Math.round(this.#now())
      this.stats.push(stats)
      this.turns.push({
        turn: stats.turnId,
        thread: stats.threadId,
        provider: stats.provider,
        model: stats.model,
        outcome,
        startedAt: endedAt - stats.durationMs,
        endedAt,
        durationMs: stats.durationMs,
        timeToFirstTokenMs: stats.timeToFirstTokenMs,
        maxGapMs: stats.maxGapMs,
        eventCount: stats.eventCount,
      })
    })
  }

  /** The result, with the turns that still run. */
  result(file: string, id: string, watch: Turnwatch): ReplayResult {
    const now = Math.round(this.#now())
    const running: ReplayTurn[] = watch.running().map((stats) => ({
      turn: stats.turnId,
      thread: stats.threadId,
      provider: stats.provider,
      model: stats.model,
      outcome: null,
      startedAt: now - stats.durationMs,
      endedAt: null,
      durationMs: null,
      timeToFirstTokenMs: stats.timeToFirstTokenMs,
      maxGapMs: stats.maxGapMs,
      eventCount: stats.eventCount,
    }))
    return { file, id, verdicts: this.verdicts, turns: [...this.turns, ...running] }
  }
}

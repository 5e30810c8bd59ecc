/** What happened to turns, counted per (provider, model): starts, ends, verdicts and how long things took. */

import { OUTCOMES, type Outcome, PHASES, type Phase } from './events.ts'
import { Histogram } from './histogram.ts'

export const STALE_REASONS = ['silence', 'provider-dead', 'provider-error'] as const
/** Why a turn is stale. */
export type StaleReason = (typeof STALE_REASONS)[number]

export const RESOLUTIONS = ['recovered', 'ended', 'lost'] as const
/** How a stale episode closed. */
export type Resolution = (typeof RESOLUTIONS)[number]

const DURATION_SECONDS = [1, 5, 15, 60, 180, 600, 1800, 7200, 21_600]
const FIRST_TOKEN_SECONDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 120, 240, 480, 1200]
const DELAY_SECONDS = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60]
const STALE_SECONDS = [10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 43200, 86400]

type ByReason = Record<StaleReason, Record<Phase, number>>

export interface KeyCounters {
  started: number
  readonly ended: Record<Outcome, number>
  readonly suspected: Record<Phase, number>
  readonly stale: ByReason
  readonly recovered: ByReason
  readonly durations: Record<Outcome, Histogram>
  readonly firstToken: Histogram
}

function each<K extends string, V>(names: readonly K[], value: () => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value()])) as Record<K, V>
}

const zero = () => 0

export class TurnCounters {
  /** By model key. */
  readonly byKey: KeyCounters[] = []
  readonly staleSeconds = each(RESOLUTIONS, () => new Histogram(STALE_SECONDS))
  readonly detectionDelay = new Histogram(DELAY_SECONDS)

  addKey(): void {
    this.byKey.push({
      started: 0,
      ended: each(OUTCOMES, zero),
      suspected: each(PHASES, zero),
      stale: each(STALE_REASONS, () => each(PHASES, zero)),
      recovered: each(STALE_REASONS, () => each(PHASES, zero)),
      durations: each(OUTCOMES, () => new Histogram(DURATION_SECONDS)),
      firstToken: new Histogram(FIRST_TOKEN_SECONDS),
    })
  }

  at(key: number): KeyCounters {
    return this.byKey[key] as KeyCounters
  }
}

/** What happened to turns, counted per (provider, model): starts, ends, verdicts, how long things took, cached tokens. */

import { OUTCOMES, type Outcome, PHASES, type Phase, type Usage } from './events.ts'
import { Histogram } from './histogram.ts'

export const STALE_REASONS = ['silence', 'provider-dead', 'provider-error'] as const
/** Why a turn is stale. */
export type StaleReason = (typeof STALE_REASONS)[number]

export const RESOLUTIONS = ['recovered', 'ended', 'lost'] as const
/** How a stale episode closed. */
export type Resolution = (typeof RESOLUTIONS)[number]

export const CACHE_TTLS = ['5m', '1h', 'unknown'] as const
/** How long what is written to a prompt cache lives in it. */
export type CacheTtl = (typeof CACHE_TTLS)[number]

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
  /** Input tokens of ended turns: read from a prompt cache, written to it, or neither. */
  cacheRead: number
  readonly cacheWritten: Record<CacheTtl, number>
  uncached: number
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
      cacheRead: 0,
      cacheWritten: each(CACHE_TTLS, zero),
      uncached: 0,
    })
  }

  /** Counts what a turn has used, once, at its end. Hosts may say anything: what is no number of tokens is none. */
  used(key: number, usage: Usage): void {
    const counters = this.at(key)
    const { '5m': short, '1h': long } = usage.cacheWriteByTtl ?? {}
    const [shortTokens, longTokens] = [tokens(short), tokens(long)]
    counters.uncached += tokens(usage.inputTokens)
    counters.cacheRead += tokens(usage.cacheReadTokens)
    counters.cacheWritten['5m'] += shortTokens
    counters.cacheWritten['1h'] += longTokens
    counters.cacheWritten.unknown += Math.max(0, tokens(usage.cacheWriteTokens) - shortTokens - longTokens)
  }

  at(key: number): KeyCounters {
    return this.byKey[key] as KeyCounters
  }
}

function tokens(value: unknown): number {
  return typeof value === 'number' && value > 0 && value < Number.MAX_SAFE_INTEGER ? value : 0
}

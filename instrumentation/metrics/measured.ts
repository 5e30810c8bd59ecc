/** What metrics need of the watch: of its detector, its notifier and its host. */

import type { Histogram } from '../histogram.ts'
import type { Turn } from '../turn.ts'
import type { TurnClock } from '../turn-clock.ts'
import type { StaleReason, TurnCounters } from '../turn-counters.ts'

export const PER_THREAD_MODES = ['all', 'stale', 'off'] as const
export type PerThreadSeries = (typeof PER_THREAD_MODES)[number]

export interface Measured {
  readonly turns: TurnClock
  readonly counters: TurnCounters
  readonly time: { readonly now: number; read(): void }
  readonly self: {
    readonly ticks: number
    readonly observedMs: number
    readonly suspends: number
    readonly suspendedMs: number
    readonly lastTickWallMs: number
    readonly lagSeconds: Histogram
    readonly faults: Readonly<Record<string, number>>
    readonly storeErrors: Readonly<Record<string, number>>
    readonly unclassified: ReadonlyMap<string, { source: string; type: string; count: number }>
  }
  readonly learning: {
    rowOf(key: number, model: { provider: string; model: string | null }, phase: number): MeasuredRow
  }
  stateOf(turn: Turn): 'running' | 'suspect' | 'stale'
  thresholdOf(turn: Turn): MeasuredRow
  episodeOf(turn: Turn): { reason: StaleReason } | null
  interruptRequested(turn: Turn): boolean
}

/** A threshold and what it was measured from. */
interface MeasuredRow {
  readonly thresholdMs: number
  readonly largestMs: number
  readonly samples: number
}

export interface MeasuredNotifier {
  readonly suppressed: Readonly<Record<string, number>>
  readonly channels: readonly {
    readonly name: string
    readonly tries: number
    readonly failed: Readonly<Record<string, number>>
    readonly delaySeconds: Histogram
    readonly pending: number
    readonly oldestPendingMs: number
  }[]
}

export interface MeasuredStreams {
  readonly source: string
  readonly started: number
  readonly stalled: Readonly<Record<string, number>>
  readonly retried: Readonly<Record<string, number>>
}

export interface MeasuredHost {
  readonly notifier: MeasuredNotifier
  readonly streams: readonly MeasuredStreams[]
  readonly notStarted: number
  readonly unsettled: number
  readonly perThread: PerThreadSeries
  readonly version: string
}

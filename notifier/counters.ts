/** What the notifier counts of itself, per channel where the channel matters. */

import { Histogram } from '../instrumentation/histogram.ts'
import { FAILURE_REASONS, type FailureReason } from './channel.ts'

const SUPPRESSIONS = ['managed', 'no-parent', 'recovered', 'ended', 'expired'] as const
export type Suppression = (typeof SUPPRESSIONS)[number]

const DELAY_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200, 86_400]

export interface ChannelCounters {
  readonly name: string
  /** Tries, those that repeat a state included. */
  tries: number
  readonly failed: Record<FailureReason, number>
  /** From the verdict to the delivery. */
  readonly delaySeconds: Histogram
  /** As of the last `measure`. */
  pending: number
  oldestPendingMs: number
}

export class NotifierCounters {
  readonly suppressed = Object.fromEntries(SUPPRESSIONS.map((reason) => [reason, 0])) as Record<Suppression, number>
  readonly channels: readonly ChannelCounters[]

  constructor(names: readonly string[]) {
    this.channels = names.map((name) => ({
      name,
      tries: 0,
      failed: Object.fromEntries(FAILURE_REASONS.map((reason) => [reason, 0])) as Record<FailureReason, number>,
      delaySeconds: new Histogram(DELAY_SECONDS),
      pending: 0,
      oldestPendingMs: 0,
    }))
  }
}

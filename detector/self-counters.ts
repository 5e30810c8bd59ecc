/** What the detector counts and times of itself. */

import { Histogram } from '../instrumentation/histogram.ts'
import type { Pause } from './observed-clock.ts'

const FAULT_PLACES = ['source', 'clock', 'tick', 'listener', 'verify', 'store', 'collector', 'notifier'] as const
/** Where something of ours or of the host's threw. */
export type FaultPlace = (typeof FAULT_PLACES)[number]

/** Unknown types counted apart; later ones are `other`. */
const MAX_UNKNOWN_TYPES = 100

const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60]

export class SelfCounters {
  ticks = 0
  lateTicks = 0
  /** Judgements put off because queued input may still be unread. */
  deferrals = 0
  /** Silences restarted after a sleep of the machine, by turn. */
  restarts = 0
  /** Verdicts held after a pause without evidence of sleep, by turn. */
  holds = 0
  suspends = 0
  suspendedMs = 0
  observedMs = 0
  lastTickWallMs = 0
  readonly lagSeconds = new Histogram(LAG_SECONDS)
  /** Events of types that their source does not know, by source and type. */
  readonly unclassified = new Map<string, { source: string; type: string; count: number }>()
  readonly storeErrors = { load: 0, save: 0, close: 0, claim: 0, outbox: 0 }
  readonly faults = Object.fromEntries(FAULT_PLACES.map((place) => [place, 0])) as Record<FaultPlace, number>

  ticked(gapMs: number, pause: Pause, periodMs: number, at: { wallMs: number; now: number }): void {
    this.ticks++
    this.lastTickWallMs = at.wallMs
    this.observedMs = at.now
    this.lagSeconds.observe(Math.max(0, gapMs - periodMs) / 1000)
    if (pause === 'late') this.lateTicks++
    if (pause === 'suspend') {
      this.suspends++
      this.suspendedMs += gapMs
    }
  }

  unknownEvent(source: string, type: string): void {
    const key = `${source.length} ${source}${type}`
    const known = this.unclassified.get(key)
    if (known) known.count++
    else if (this.unclassified.size < MAX_UNKNOWN_TYPES || type === 'other') {
      this.unclassified.set(key, { source, type, count: 1 })
    } else this.unknownEvent(source, 'other')
  }

  fault(where: FaultPlace): void {
    this.faults[where]++
  }
}

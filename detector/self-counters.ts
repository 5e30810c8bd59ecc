/** What the detector counts and times of itself. */

import { Histogram } from '../instrumentation/histogram.ts'
import type { Pause } from './observed-clock.ts'

const FAULT_PLACES = ['source', 'clock', 'tick', 'listener', 'verify', 'store', 'collector', 'notifier'] as const
/** Where something of ours or of the host's threw. */
export type FaultPlace = (typeof FAULT_PLACES)[number]

/** Unknown types counted apart; later ones are `other`, and so are sources that had none before. */
const MAX_UNKNOWN_TYPES = 100
const OTHER = 'other'

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
  /** The sources among them. */
  readonly #sources = new Set<string>()
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
    const isFull = this.unclassified.size >= MAX_UNKNOWN_TYPES
    if (!isFull || this.#isCounted(source, type)) return this.#countUnknown(source, type)
    if (this.#sources.has(source)) this.#countUnknown(source, OTHER)
    else this.#countUnknown(OTHER, OTHER)
  }

  #isCounted(source: string, type: string): boolean {
    return this.unclassified.has(unknownKey(source, type))
  }

  #countUnknown(source: string, type: string): void {
    const key = unknownKey(source, type)
    const known = this.unclassified.get(key)
    if (known) known.count++
    else this.unclassified.set(key, { source, type, count: 1 })
    this.#sources.add(source)
  }

  fault(where: FaultPlace): void {
    this.faults[where]++
  }
}

/** Names may hold anything, a separator too. */
function unknownKey(source: string, type: string): string {
  return `${source.length} ${source}${type}`
}

/**
 * The label sets of a provider/model pair. They are the same objects at every scrape, so that a writer of text that
 * remembers what it made of a set, as prom-client does, makes it once.
 */

import { OUTCOMES, type Outcome, PHASES, type Phase } from '../events.ts'
import { EVENT_CLASSES, type EventClass } from '../turn-clock.ts'
import { CACHE_TTLS, type CacheTtl, STALE_REASONS, type StaleReason } from '../turn-counters.ts'
import type { Labels } from './family.ts'
import { RUNNING_STATES } from './label-values.ts'

export type RunningState = (typeof RUNNING_STATES)[number]

export class ModelLabels {
  readonly own: { readonly provider: string; readonly model: string }
  readonly state: Readonly<Record<RunningState, Labels>>
  readonly eventClass: Readonly<Record<EventClass, Labels>>
  readonly outcome: Readonly<Record<Outcome, Labels>>
  readonly phase: Readonly<Record<Phase, Labels>>
  readonly reason: Readonly<Record<StaleReason, Labels>>
  readonly reasonAndPhase: Readonly<Record<StaleReason, Readonly<Record<Phase, Labels>>>>
  readonly ttl: Readonly<Record<CacheTtl, Labels>>

  constructor(provider: string, model: string) {
    this.own = { provider, model }
    this.state = each(RUNNING_STATES, (state) => ({ ...this.own, state }))
    this.eventClass = each(EVENT_CLASSES, (name) => ({ ...this.own, class: name }))
    this.outcome = each(OUTCOMES, (outcome) => ({ ...this.own, outcome }))
    this.phase = each(PHASES, (phase) => ({ ...this.own, phase }))
    this.reason = each(STALE_REASONS, (reason) => ({ ...this.own, reason }))
    this.reasonAndPhase = each(STALE_REASONS, (reason) => each(PHASES, (phase) => ({ ...this.own, reason, phase })))
    this.ttl = each(CACHE_TTLS, (ttl) => ({ ...this.own, ttl }))
  }
}

function each<K extends string, V>(names: readonly K[], value: (name: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>
}

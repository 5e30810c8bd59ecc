/**
 * The label sets of a provider/model pair. They are the same objects at every scrape, so that a writer of text that
 * remembers what it made of a set, as prom-client does, makes it once.
 */

import { OUTCOMES, type Outcome, PHASES, type Phase } from '../events.ts'
import { EVENT_CLASSES, type EventClass, type TurnClock } from '../turn-clock.ts'
import { CACHE_TTLS, type CacheTtl, STALE_REASONS, type StaleReason } from '../turn-counters.ts'
import type { Labels } from './family.ts'
import { distinctLabels } from './label-book.ts'
import { MAX_PAIRS, RUNNING_STATES } from './label-values.ts'

const OTHER = 'other'

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

/** Model keys that share one label set. */
export interface ModelGroup {
  readonly labels: ModelLabels
  readonly keys: number[]
}

export class ModelGroups {
  readonly #groups: ModelGroup[] = []
  /** The group of every pair beyond the cap, and of one that is really called so. */
  #other: ModelGroup | undefined
  #size = 0

  /** The groups, the keys that came since the last call in them. */
  of({ keys }: TurnClock): readonly ModelGroup[] {
    if (this.#size === keys.size) return this.#groups
    const all = Array.from({ length: Math.min(keys.size, MAX_PAIRS) }, (_, key) => keys.at(key))
    const providers = labelsOf(all.map(({ provider }) => provider))
    const models = labelsOf(all.map(({ model }) => model ?? ''))
    for (; this.#size < keys.size; this.#size++) {
      const { provider, model } = keys.at(this.#size)
      if (this.#size < MAX_PAIRS) this.#add(providers.get(provider) ?? OTHER, models.get(model ?? '') ?? OTHER)
      else this.#add(OTHER, OTHER)
    }
    return this.#groups
  }

  #add(provider: string, model: string): void {
    const isOther = provider === OTHER && model === OTHER
    if (isOther && this.#other) {
      this.#other.keys.push(this.#size)
      return
    }
    const group = { labels: new ModelLabels(provider, model), keys: [this.#size] }
    this.#groups.push(group)
    if (isOther) this.#other = group
  }
}

/** The label of each value, by the order in which they came. */
function labelsOf(values: readonly string[]): ReadonlyMap<string, string> {
  const distinct = [...new Set(values)]
  const labels = distinctLabels(distinct)
  return new Map(distinct.map((value, i) => [value, labels[i] as string]))
}

function each<K extends string, V>(names: readonly K[], value: (name: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>
}

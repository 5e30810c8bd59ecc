/**
 * Which provider/model pairs have series of their own. Those that have run come first and keep theirs for good; those
 * that are only known from samples have them while there is room.
 */

import { OUTCOMES } from '../events.ts'
import type { ModelKey } from '../model-keys.ts'
import { EVENT_CLASSES } from '../turn-clock.ts'
import { distinctLabels } from './label-book.ts'
import { MAX_PAIRS } from './label-values.ts'
import type { Measured } from './measured.ts'
import { ModelLabels } from './model-labels.ts'

const OTHER = 'other'

/** Model keys that share one label set. */
export interface ModelGroup {
  readonly labels: ModelLabels
  readonly keys: number[]
}

export class ModelGroups {
  readonly #groups: ModelGroup[] = []
  /** The groups of the pairs that have a place, by their key, in the order in which they got it. */
  readonly #places = new Map<number, ModelGroup>()
  /** The group of every pair beyond the cap that has run, and of one that is really called so. */
  #other: ModelGroup | undefined
  /** Keys of pairs that have run. */
  readonly #ran = new Set<number>()
  /** Keys that have been looked at lie below this. */
  #size = 0
  /** Names that have been given labels, which stay theirs: few more than there are places. */
  readonly #providers = new Set<string>()
  readonly #models = new Set<string>()

  /** The groups as they are now. Every running turn is in one. */
  of(detector: Measured): readonly ModelGroup[] {
    const { keys } = detector.turns
    let running: ReadonlySet<number> | undefined
    for (let key = 0; key < keys.size; key++) {
      if (this.#ran.has(key)) continue
      running ??= runningKeys(detector)
      if (running.has(key) || hasRun(detector, key)) this.#run(key, keys.at(key))
    }
    for (; this.#size < keys.size; this.#size++) {
      if (!this.#ran.has(this.#size) && this.#hasRoom) this.#place(this.#size, keys.at(this.#size))
    }
    return this.#groups
  }

  get #hasRoom(): boolean {
    return this.#places.size < MAX_PAIRS
  }

  /** The first turn of a pair was seen. */
  #run(key: number, pair: ModelKey): void {
    this.#ran.add(key)
    if (this.#places.has(key)) return
    if (!this.#hasRoom) this.#makeRoom()
    if (this.#hasRoom) this.#place(key, pair)
    else this.#join(key, OTHER, OTHER)
  }

  /** Takes the place of the last pair that no turn has had, if there is one. */
  #makeRoom(): void {
    const key = [...this.#places.keys()].findLast((one) => !this.#ran.has(one))
    const group = key === undefined ? undefined : this.#places.get(key)
    if (key === undefined || group === undefined) return
    this.#places.delete(key)
    group.keys.splice(group.keys.indexOf(key), 1)
    if (group.keys.length > 0) return
    this.#groups.splice(this.#groups.indexOf(group), 1)
    if (group === this.#other) this.#other = undefined
  }

  #place(key: number, { provider, model }: ModelKey): void {
    const group = this.#join(key, labelOf(provider, this.#providers), labelOf(model ?? '', this.#models))
    this.#places.set(key, group)
  }

  #join(key: number, provider: string, model: string): ModelGroup {
    const isOther = provider === OTHER && model === OTHER
    if (isOther && this.#other) {
      this.#other.keys.push(key)
      return this.#other
    }
    const group = { labels: new ModelLabels(provider, model), keys: [key] }
    this.#groups.push(group)
    if (isOther) this.#other = group
    return group
  }
}

function runningKeys({ turns }: Measured): ReadonlySet<number> {
  const keys = new Set<number>()
  for (const turn of turns.turns) if (turn !== undefined) keys.add(turns.keyAt(turn.slot))
  return keys
}

/** Whether anything was counted of a pair: a turn may have begun or ended as one of another. */
function hasRun({ counters, turns }: Measured, key: number): boolean {
  const { started, ended } = counters.at(key)
  return (
    started > 0 ||
    OUTCOMES.some((outcome) => ended[outcome] > 0) ||
    EVENT_CLASSES.some((name) => turns.eventCount(key, name) > 0)
  )
}

/** The label of a value, by the order in which values came. */
function labelOf(value: string, values: Set<string>): string {
  values.add(value)
  const all = [...values]
  return distinctLabels(all)[all.indexOf(value)] as string
}

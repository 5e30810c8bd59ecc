/** Every (provider, model) pair seen, as a small number: the row of its histograms, counters and thresholds. */

/** Pairs kept apart; later ones share the row `other`, so that ids made up per turn cannot exhaust memory. */
const MAX_MODEL_KEYS = 1000
const OTHER = 'other'

export interface ModelKey {
  readonly provider: string
  /** Null when the wire does not name one. */
  readonly model: string | null
}

export class ModelKeys {
  readonly #indexes = new Map<string, number>()
  readonly #keys: ModelKey[] = []
  readonly #onAdded: (index: number) => void

  constructor(onAdded: (index: number) => void) {
    this.#onAdded = onAdded
  }

  get size(): number {
    return this.#keys.length
  }

  at(index: number): ModelKey {
    return this.#keys[index] as ModelKey
  }

  /** The row that a pair has of its own; undefined where it has none. */
  find(provider: string, model: string | null): number | undefined {
    return this.#indexes.get(pairOf(provider, model))
  }

  /** The row of a pair, made when it is new. */
  indexOf(provider: string, model: string | null): number {
    const known = this.find(provider, model)
    if (known !== undefined) return known
    const isOther = provider === OTHER && model === OTHER
    if (this.#keys.length >= MAX_MODEL_KEYS && !isOther) return this.indexOf(OTHER, OTHER)
    const index = this.#keys.length
    this.#keys.push({ provider, model })
    this.#indexes.set(pairOf(provider, model), index)
    this.#onAdded(index)
    return index
  }
}

/** Names may hold anything, a separator too. */
function pairOf(provider: string, model: string | null): string {
  return `${provider.length} ${provider}${model ?? ''}`
}

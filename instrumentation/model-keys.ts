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

  /** The row of a pair, made when it is new. */
  indexOf(provider: string, model: string | null): number {
    // Names may hold anything, a separator too.
    const pair = `${provider.length} ${provider}${model ?? ''}`
    const known = this.#indexes.get(pair)
    if (known !== undefined) return known
    const isOther = provider === OTHER && model === OTHER
    if (this.#keys.length >= MAX_MODEL_KEYS && !isOther) return this.indexOf(OTHER, OTHER)
    const index = this.#keys.length
    this.#keys.push({ provider, model })
    this.#indexes.set(pair, index)
    this.#onAdded(index)
    return index
  }
}

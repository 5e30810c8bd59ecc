/** Healthy turns: to each its key and its longest silence, the only thing that a threshold sees of it. */

import { Random, zipf } from './random.ts'
import { burst, GAPS, TAILS, type Tail } from './tails.ts'

export const KEYS = 200
const ZIPF = 1.1
const KEY_SCALE = 0.5
const TURN_SCALE = 0.25

export interface Turns {
  readonly tail: Tail
  readonly key: Uint8Array
  readonly longestMs: Float64Array
}

/** What differs from key to key and turn to turn besides the silences themselves. */
export class Population {
  readonly random: Random
  readonly #scales: Float64Array
  readonly #draw = zipf(KEYS, ZIPF)

  constructor(tail: Tail, seed: number) {
    this.random = new Random(seed, TAILS.indexOf(tail) + 1)
    this.#scales = Float64Array.from({ length: KEYS }, () => this.random.lognormal(KEY_SCALE))
  }

  key(): number {
    return this.#draw(this.random)
  }

  /** By how much a turn of this key is slower than the plain distribution. */
  scale(key: number): number {
    return (this.#scales[key] as number) * this.random.lognormal(TURN_SCALE)
  }

  gaps(): number {
    return Math.max(1, Math.round(GAPS.median * this.random.lognormal(GAPS.sigma)))
  }
}

/**
 * Draws turns. The largest of k gaps is drawn at once, from the exact distribution of a maximum; the number of pauses
 * among many gaps is Poisson.
 */
export function drawTurns(tail: Tail, seed: number, count: number): Turns {
  const population = new Population(tail, seed)
  const key = new Uint8Array(count)
  const longestMs = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const of = population.key()
    key[i] = of
    longestMs[i] = population.scale(of) * longest(tail, population)
  }
  return { tail, key, longestMs }
}

function longest(tail: Tail, population: Population): number {
  const { random } = population
  if (tail.phase === 'first-token') return tail.pause(random.uniform())
  const gaps = population.gaps()
  const pauses = Math.min(gaps, random.poisson(gaps * GAPS.pauses))
  let silence = gaps > pauses ? burst(random.tailOfLargest(gaps - pauses)) : 0
  if (pauses > 0) silence = Math.max(silence, tail.pause(random.tailOfLargest(pauses)))
  if (tail.rare && random.uniform() < tail.rare.share) silence = Math.max(silence, tail.rare.silence(random.uniform()))
  return silence
}

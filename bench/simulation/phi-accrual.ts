/**
 * The phi accrual detector as Akka has it: a normal distribution fitted to the last 1000 gaps, suspicion at phi 8, an
 * acceptable pause of 3 s. It learns gaps, not turns, so every gap is drawn; its rate is so high that few turns do.
 */

import { burst, GAPS, type Tail } from './tails.ts'
import type { Score } from './thresholds.ts'
import { KEYS, Population } from './turns.ts'

const WINDOW = 1000
const PHI = 8
const LEAST_DEVIATION_MS = 100
const ACCEPTABLE_PAUSE_MS = 3000
/** The gap that is expected before any was seen. */
const FIRST_GAP_MS = 1000

/** How many deviations over the mean phi reaches 8, by Akka's logistic approximation of the normal distribution. */
const DEVIATIONS = solve((y) => y * (1.5976 + 0.070566 * y * y) - Math.log(10 ** PHI - 1))

/** Turns in which every gap is drawn; a turn has 150 of them. */
const TURNS_GAP_BY_GAP = 20_000

export function scorePhiAccrual(tail: Tail, seed: number, turns: number): Score {
  const population = new Population(tail, seed)
  const windows = Array.from({ length: KEYS }, () => new GapWindow())
  const firstToken = tail.phase === 'first-token'
  const count = firstToken ? turns : Math.min(turns, TURNS_GAP_BY_GAP)
  const score: Score = { turns: count, flags: 0, delayMs: 0 }
  for (let i = 0; i < count; i++) {
    const key = population.key()
    const window = windows[key] as GapWindow
    const scale = population.scale(key)
    const gaps = firstToken ? 1 : population.gaps()
    const rareAt =
      tail.rare && population.random.uniform() < tail.rare.share ? Math.floor(population.random.uniform() * gaps) : -1
    let flagged = false
    for (let gap = 0; gap < gaps; gap++) {
      const q = population.random.uniform()
      const pauses = firstToken || population.random.uniform() < GAPS.pauses
      const silence = scale * (gap === rareAt && tail.rare ? tail.rare.silence(q) : pauses ? tail.pause(q) : burst(q))
      if (silence > window.limitMs) flagged = true
      else window.add(silence)
    }
    if (flagged) score.flags++
    score.delayMs += window.limitMs
  }
  return score
}

/** The gaps of one key. One that was suspected is not learned. */
class GapWindow {
  limitMs = 0
  readonly #gaps = new Float64Array(WINDOW)
  #count = 0
  #sum = 0
  #squares = 0

  constructor() {
    // Akka starts from two made up gaps, a quarter of the expected one apart on either side.
    this.add(FIRST_GAP_MS * 0.75)
    this.add(FIRST_GAP_MS * 1.25)
  }

  add(gapMs: number): void {
    const at = this.#count++ % WINDOW
    const oldest = this.#gaps[at] as number
    this.#gaps[at] = gapMs
    this.#sum += gapMs - oldest
    this.#squares += gapMs * gapMs - oldest * oldest
    const size = Math.min(this.#count, WINDOW)
    const mean = this.#sum / size
    const deviation = Math.sqrt(Math.max(0, this.#squares / size - mean * mean))
    this.limitMs = mean + ACCEPTABLE_PAUSE_MS + DEVIATIONS * Math.max(deviation, LEAST_DEVIATION_MS)
  }
}

/** Where a rising function of 0 to 100 is 0. */
function solve(rising: (x: number) => number): number {
  let low = 0
  let high = 100
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (rising(middle) < 0) low = middle
    else high = middle
  }
  return low
}

/** The seven shapes of healthy silence that are simulated, from light to heavy tails. All in ms, before scaling. */

import type { Phase } from '../../instrumentation/events.ts'
import { upperNormalQuantile } from './random.ts'

/** The silence that a draw exceeds with probability `q`. */
export type Exceeded = (q: number) => number

export interface Tail {
  readonly name: string
  readonly about: string
  readonly phase: Phase
  readonly pause: Exceeded
  /** A silence of another kind that a share of the turns has once. */
  readonly rare?: { readonly share: number; readonly silence: Exceeded }
}

const lognormal =
  (median: number, sigma: number): Exceeded =>
  (q) =>
    median * Math.exp(sigma * upperNormalQuantile(q))
const pareto =
  (least: number, index: number): Exceeded =>
  (q) =>
    least * q ** (-1 / index)
const weibull =
  (scale: number, shape: number): Exceeded =>
  (q) =>
    scale * (-Math.log(q)) ** (1 / shape)

const mid = 'mid-stream'

export const TAILS: readonly Tail[] = [
  { name: 'A', about: 'lognormal(3 s, 0.6)', phase: mid, pause: lognormal(3000, 0.6) },
  { name: 'B', about: 'lognormal(3.5 s, 0.9)', phase: mid, pause: lognormal(3500, 0.9) },
  { name: 'C', about: 'Pareto(2 s, 3)', phase: mid, pause: pareto(2000, 3) },
  { name: 'D', about: 'Pareto(1.5 s, 2.2)', phase: mid, pause: pareto(1500, 2.2) },
  { name: 'E', about: 'Weibull(2.5 s, 0.6)', phase: mid, pause: weibull(2500, 0.6) },
  {
    name: 'F',
    about: 'A, and in 0.2 % of turns one lognormal(60 s, 0.4)',
    phase: mid,
    pause: lognormal(3000, 0.6),
    rare: { share: 0.002, silence: lognormal(60_000, 0.4) },
  },
  { name: 'first token', about: '0.3 s + lognormal(2.5 s, 0.9)', phase: 'first-token', pause: firstToken },
]

function firstToken(q: number): number {
  return 300 + 2500 * Math.exp(0.9 * upperNormalQuantile(q))
}

/** Gaps between two tokens of a burst. */
const BURST = { medianMs: 25, sigma: 0.6 } as const
export const burst: Exceeded = lognormal(BURST.medianMs, BURST.sigma)

/** Gaps of a mid-stream turn: lognormal around a median; this share of them are pauses, the others bursts. */
export const GAPS = { median: 150, sigma: 0.8, pauses: 0.015 } as const

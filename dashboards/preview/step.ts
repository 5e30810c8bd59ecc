/** How far apart the points of a query are, as Grafana chooses it. */

/** Up to the first number of a pair, in ms, the second one is taken. */
const STEPS_MS = [
  [1500, 1000],
  [3500, 2000],
  [7500, 5000],
  [12_500, 10_000],
  [17_500, 15_000],
  [25_000, 20_000],
  [45_000, 30_000],
  [90_000, 60_000],
  [210_000, 120_000],
  [450_000, 300_000],
  [750_000, 600_000],
  [1_050_000, 900_000],
  [1_500_000, 1_200_000],
  [2_700_000, 1_800_000],
  [5_400_000, 3_600_000],
  [9_000_000, 7_200_000],
  [16_200_000, 10_800_000],
  [32_400_000, 21_600_000],
] as const
const LONGEST_MS = 43_200_000

/** About one point for each of `points`, and none closer than `leastMs`. */
export function stepMs(rangeMs: number, points: number, leastMs: number): number {
  const wanted = rangeMs / points
  const rounded = STEPS_MS.find(([below]) => wanted < below)?.[1] ?? LONGEST_MS
  return Math.max(leastMs, rounded)
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `30s` as ms; Grafana writes `>30s` for at least that. */
export function durationMs(text: string): number {
  const [, count, unit] = /^>?(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (count === undefined) throw new Error(`cannot read the interval ${text}`)
  return Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]
}

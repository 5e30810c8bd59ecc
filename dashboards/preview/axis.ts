/** Where the axes of a chart have their marks, and what stands there. */

import { isTime, write } from './units.ts'

interface Mark {
  readonly at: number
  readonly label: string
}

export interface Axis {
  readonly min: number
  readonly max: number
  readonly marks: readonly Mark[]
}

const MINUTE_S = 60
const HOUR_S = 3600
const TIME_STEPS_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_S),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * HOUR_S),
]

export interface AxisOptions {
  readonly unit: string
  readonly decimals?: number | null | undefined
  readonly min?: number | null | undefined
  readonly max?: number | null | undefined
  /** Px along the axis. */
  readonly length: number
}

/** From the values' least to their largest, or from and to what the panel says, on round numbers. */
export function valueAxis(values: readonly number[], { unit, decimals, min, max, length }: AxisOptions): Axis {
  const finite = values.filter(Number.isFinite)
  const least = min ?? (finite.length === 0 ? 0 : finite.reduce((a, b) => Math.min(a, b)))
  const largest = max ?? (finite.length === 0 ? 1 : finite.reduce((a, b) => Math.max(a, b)))
  const top = largest > least ? largest : least + (Math.abs(least) || 1)
  const isWhole = finite.every(Number.isInteger) && unit !== 'percentunit'
  const step = roundStep((top - least) / Math.max(2, Math.floor(length / 38)), unit, isWhole)
  const from = min ?? Math.floor(least / step) * step
  // Some air above the highest line, unless that is the end of the scale.
  const to = max ?? Math.ceil((top + (top - from) * 0.04) / step - 1e-9) * step
  const marks: Mark[] = []
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-6; at += step) {
    const value = Number(at.toPrecision(12))
    marks.push({ at: value, label: write(value, { unit, decimals, nowMs: 0 }) })
  }
  return { min: from, max: to, marks }
}

/** Every so many minutes or hours, in UTC. */
export function timeAxis(fromMs: number, toMs: number, length: number): Axis {
  const leastS = (toMs - fromMs) / 1000 / Math.max(2, Math.floor(length / 80))
  const stepMs = (TIME_STEPS_S.find((step) => step >= leastS) ?? 604_800) * 1000
  const marks: Mark[] = []
  for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= toMs; at += stepMs) {
    const iso = new Date(at).toISOString()
    marks.push({ at, label: stepMs >= 86_400_000 ? iso.slice(5, 10) : iso.slice(11, stepMs < 60_000 ? 19 : 16) })
  }
  return { min: fromMs, max: toMs, marks }
}

function roundStep(least: number, unit: string, isWhole: boolean): number {
  if (isTime(unit) && least > 1) {
    const step = TIME_STEPS_S.find((one) => one >= least)
    if (step !== undefined) return step
  }
  if (unit === 'bytes') return 2 ** Math.ceil(Math.log2(least))
  const power = 10 ** Math.floor(Math.log10(least))
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= least - 1e-12) as number) * power
  return isWhole ? Math.max(1, step === 2.5 ? 5 : step) : step
}

/** The pack with its times divided, so that its very rules can be seen at work within a test. */

import type { Knob } from '../../rules/knob.ts'
import { makePack, type Pack } from '../../rules/pack.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
}

/** Bound to how long the detector itself holds its verdicts back, which nothing divides. */
const UNDIVIDED = ['DetectorDisagrees.margin', 'DetectorDisagrees.mute']

/** Every `for`, window, interval and limit in seconds by the divisor; 1 is the pack as it is shipped. */
export function scaledPack(divisor: number): Pack {
  if (divisor === 1) return makePack()
  const { knobs: packKnobs, alerts } = makePack()
  const set = alerts.flatMap(({ alert: { name }, knobs }) =>
    Object.entries(knobs).flatMap(([knob, value]) => {
      const scaled = UNDIVIDED.includes(`${name}.${knob}`) ? null : scaledKnob(knob, value, divisor)
      return scaled === null ? [] : `${name}.${knob}=${scaled}`
    }),
  )
  const pack = makePack({ set: [...set, `gap=${scaledTime(packKnobs.gap, divisor)}`] })
  const recordings = pack.recordings.map(({ interval, ...recording }) =>
    interval === undefined ? recording : { ...recording, interval: scaledTime(interval, divisor) },
  )
  return { ...pack, recordings }
}

/** A time as Prometheus and Alertmanager write it, divided. */
export function scaledTime(time: string, divisor: number): string {
  const parts = [...time.matchAll(/(\d+)(ms|[smhdwy])/g)]
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[String(unit)] ?? Number.NaN), 0)
  return `${Math.round(ms / divisor)}ms`
}

function scaledKnob(knob: string, value: Knob, divisor: number): Knob | null {
  if (typeof value === 'number') return knob === 'seconds' ? value / divisor : null
  return /^(\d+(ms|[smhdwy]))+$/.test(value) && value !== '0s' ? scaledTime(value, divisor) : null
}

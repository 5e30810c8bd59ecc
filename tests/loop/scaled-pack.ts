/** The pack with its times divided, so that its very rules can be seen at work within a test. */

import type { Knob } from '../../rules/knob.ts'
import { makePack, type Pack } from '../../rules/pack.ts'
import { durationMs } from '../promql/promql.ts'

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
  return `${Math.round(durationMs(time) / divisor)}ms`
}

function scaledKnob(knob: string, value: Knob, divisor: number): Knob | null {
  if (typeof value === 'number') return knob === 'seconds' ? value / divisor : null
  return durationMs(value) > 0 ? scaledTime(value, divisor) : null
}

/** Limits that charts draw: those of the pack's alerts as they are shipped, and the detector's own. */

import { makePack } from '../rules/pack.ts'

/** Of an alert's knob. Throws for one that it does not have, or that is no number. */
export function limitOf(name: string, knob: string): number {
  const value = makePack().alerts.find(({ alert }) => alert.name === name)?.knobs[knob]
  if (typeof value !== 'number') throw new Error(`${name}.${knob} is no limit`)
  return value
}

/** Ticks that are later than this are not on time, and verdicts wait for those that are. */
export const TICK_LATE_S = 2

/** A detector that has not ticked for this long stands still, as its own /healthz says too. */
export const TICK_GONE_S = 30

/** Of one tick a second, and of the time that is observed: below it a host sleeps, or is blocked. */
export const TICKS_WELL = 0.9

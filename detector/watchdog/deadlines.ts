/** The deadlines of one stream, as its caller sets them. */

import { shown } from '../../instrumentation/shown.ts'

/**
 * Each in ms, and off unless it is set: 0, negative numbers, NaN and infinity are off as well. There is no largest value.
 * All but `headersMs` and `totalMs` are silences: they run only while the stream is read, not paused, and no tool is open.
 */
export interface StreamDeadlines {
  /** From the call to the response, where a promise of one is watched. */
  readonly headersMs?: number | null | undefined
  /** From the first read to the first content. Nothing else satisfies it. */
  readonly firstContentMs?: number | null | undefined
  /** Between two pieces of content, once there was one. Nothing but content sets it off anew. */
  readonly contentIntervalMs?: number | null | undefined
  /** Between any two signs of life: events of any class, comments, any bytes. */
  readonly livenessMs?: number | null | undefined
  /** From the call to the end of the stream, except while it is paused. */
  readonly totalMs?: number | null | undefined
  /** From the terminal event to the end of the stream. When it runs out, the stream just ends. */
  readonly drainMs?: number | null | undefined
}

export type DeadlineName = keyof StreamDeadlines

export const DEADLINES = [
  'headersMs',
  'firstContentMs',
  'contentIntervalMs',
  'livenessMs',
  'totalMs',
  'drainMs',
] as const satisfies readonly DeadlineName[]

/** Ms of every deadline; infinite where it is off. */
export type ReadyDeadlines = Readonly<Record<DeadlineName, number>>

/** Throws TypeError for a deadline that is no number. */
export function readyDeadlines(deadlines: StreamDeadlines): ReadyDeadlines {
  return Object.fromEntries(DEADLINES.map((name) => [name, activeMs(name, deadlines[name])])) as ReadyDeadlines
}

function activeMs(name: DeadlineName, value: unknown): number {
  if (value === undefined || value === null) return Number.POSITIVE_INFINITY
  if (typeof value !== 'number') throw new TypeError(`${name}: ${shown(value)} is not a number of ms`)
  return value > 0 ? value : Number.POSITIVE_INFINITY
}

/** Whether any of these can run out. */
export function anyActive(deadlines: ReadyDeadlines, names: readonly DeadlineName[] = DEADLINES): boolean {
  return names.some((name) => deadlines[name] < Number.POSITIVE_INFINITY)
}

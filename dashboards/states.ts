/** How states and outcomes look, the same on every dashboard. */

import type { Threshold } from '@grafana/grafana-foundation-sdk/dashboard'

/** A turn is stale at this multiple of its threshold, suspect at the threshold itself. */
export const STALE_AT = 1.25

/** States of a running turn, in the order of their numbers on a timeline. */
export const STATES = ['running', 'tool', 'waiting', 'suspect', 'stale'] as const
export type State = (typeof STATES)[number]

export const STATE_COLOURS: Readonly<Record<State, string>> = {
  running: 'green',
  tool: 'blue',
  waiting: 'purple',
  suspect: 'orange',
  stale: 'red',
}

/** How turns begin and end. */
export const STARTED_COLOUR = 'blue'
export const OUTCOME_COLOURS = {
  completed: 'green',
  incomplete: 'dark-yellow',
  aborted: 'purple',
  error: 'red',
  lost: 'dark-orange',
} as const

/** Of quantiles: the lower one, and the one that few exceed. */
export const QUANTILE_COLOURS = { half: 'blue', most: 'purple' } as const

/** What is not known, where it should be. */
export const UNKNOWN_COLOUR = 'orange'
/** What there is nothing to say about, and that may well be so. */
export const NOTHING_COLOUR = '#7b8087'

/** What a panel says where nothing is good or bad. */
export const PLAIN: Threshold[] = [{ value: null, color: 'blue' }]

/** Silence as a share of the threshold. */
export const SHARE: Threshold[] = [
  { value: null, color: STATE_COLOURS.running },
  { value: 1, color: STATE_COLOURS.suspect },
  { value: STALE_AT, color: STATE_COLOURS.stale },
]

/** Green up to here, then orange, then red. */
export function upTo(orange: number, red: number): Threshold[] {
  return [
    { value: null, color: 'green' },
    { value: orange, color: 'orange' },
    { value: red, color: 'red' },
  ]
}

/** Green up to where an alert fires by default, then red. */
export function alertsAt(value: number): Threshold[] {
  return noneIsGood('red', value)
}

/** Green from here up, orange below. */
export function wellFrom(value: number): Threshold[] {
  return [
    { value: null, color: 'orange' },
    { value, color: 'green' },
  ]
}

/** None is well, or less than so many. */
export function noneIsGood(color: 'orange' | 'red', from = 1): Threshold[] {
  return [
    { value: null, color: 'green' },
    { value: from, color },
  ]
}

/** In a table what is well has no colour, so that the rest is seen. */
export function quiet([first, ...rest]: Threshold[]): Threshold[] {
  return first ? [{ ...first, color: 'transparent' }, ...rest] : []
}

/** For descriptions. */
export const SHARE_IN_WORDS = `Green is running, orange from 100 % of the threshold is suspect, red from ${STALE_AT * 100} % is stale.`

export const PHASE_IN_WORDS =
  'first-token is the time up to the first output of a turn, after-tool the time from the end of a tool or a wait to the next output, mid-stream any later pause.'

/** The number of a state, as a query that gives it for every running turn. */
export function stateNumber(ofState: (state: State) => string): string {
  return STATES.map((state, i) => `${i + 1} * ${ofState(state)}`).join(' or ')
}

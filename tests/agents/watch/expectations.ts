/** What the tests hold every run against: the provider's own log, generously upwards, because machines are slow at times. */

import { expect } from 'vitest'
import { TICK_MS } from '../../../detector/observed-clock.ts'
import type { Ended } from './watched-run.ts'

/** What two pipes, a tick and a message may take on a slow machine. */
export const SLACK_MS = 5000
/** What an agent may take there to show what the provider did. */
export const AGENT_SLACK_MS = 30_000

/** A run of one turn that completed, without a word of ours. */
export function expectHealthy({ code, notes, told, statistics }: Ended): void {
  const { started, outcomes, unknownTypes } = statistics
  expect({ code, notes, told, started, outcomes, unknownTypes }).toEqual({
    code: 0,
    notes: [],
    told: [],
    started: 1,
    outcomes: { completed: 1 },
    unknownTypes: [],
  })
}

/** A measured time against the provider's own: an agent may show late what began it, or what ended it. */
export function expectAbout(measuredMs: number | null | undefined, providerMs: number): void {
  expect(measuredMs).toBeGreaterThan(providerMs / 2)
  expect(measuredMs).toBeLessThan(providerMs + AGENT_SLACK_MS)
}

interface Silence {
  readonly reason: string
  readonly phase: string
  readonly silenceMs: number
  readonly thresholdMs: number
  readonly at: number
}

/**
 * A verdict of silence in its time. The wire fell silent between two moments of the provider's log, which are one where
 * the wire shows every delta.
 */
export function expectStaleInTime(
  verdict: Silence,
  phase: string,
  limitMs: number,
  earliest: number,
  latest = earliest,
): void {
  const dueMs = limitMs * 1.25
  expect(verdict).toMatchObject({ reason: 'silence', phase, thresholdMs: limitMs })
  expect(verdict.silenceMs).toBeGreaterThanOrEqual(dueMs)
  expect(verdict.at - earliest).toBeGreaterThanOrEqual(dueMs)
  expect(verdict.at - latest).toBeLessThan(dueMs + 2 * TICK_MS + SLACK_MS)
}

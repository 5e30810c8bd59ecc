/** What the parent thread is told of a stale turn. */

import { episodeKey, type Verdict } from '../detector/verdict.ts'
import type { Phase } from '../instrumentation/events.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'

/** Also the body of the webhook. */
export interface StaleMessage {
  readonly verdict: 'stale'
  /** The idempotency key: `stale/<thread>/<turn>/<episode>`. */
  readonly key: string
  readonly thread: string
  readonly turn: string
  readonly parent: string | null
  readonly provider: string
  readonly model: string | null
  readonly reason: StaleReason
  readonly phase: Phase
  readonly lastEventAt: string
  readonly lastEventKind: string
  readonly silenceMs: number
  readonly thresholdMs: number
  readonly thresholdSource: 'default' | 'measured'
  /** The same for a reader. */
  readonly text: string
}

export function staleMessage(verdict: Verdict): StaleMessage {
  return {
    verdict: 'stale',
    key: episodeKey(verdict),
    thread: verdict.threadId,
    turn: verdict.turnId,
    parent: verdict.parentThreadId,
    provider: verdict.provider,
    model: verdict.model,
    reason: verdict.reason,
    phase: verdict.phase,
    lastEventAt: verdict.lastEventAt,
    lastEventKind: verdict.lastEventKind,
    silenceMs: verdict.silenceMs,
    thresholdMs: verdict.thresholdMs,
    thresholdSource: verdict.thresholdSource,
    text: staleText(verdict),
  }
}

/** One line: who is stale, why, since when, and by which limit. */
export function staleText(verdict: Verdict): string {
  const who = `${clean(verdict.threadId)} (${clean(verdict.provider)}${verdict.model ? ` ${clean(verdict.model)}` : ''})`
  const progress =
    verdict.lastProgressAt === null
      ? `no progress since the turn started`
      : `last progress ${verdict.lastProgressAt} (${clean(verdict.lastProgressKind)})`
  return `stale: ${who}: ${why(verdict)}; ${progress}`
}

function why(verdict: Verdict): string {
  const limit = `threshold ${seconds(verdict.thresholdMs)} ${verdict.thresholdSource}, ${verdict.preset}, ${verdict.phase}`
  const silent = `silent for ${seconds(verdict.silenceMs)}`
  // While a tool or wait is open nothing is judged, so there is no silence to speak of.
  const before = verdict.open ? `${clean(verdict.open)} was open` : silent
  switch (verdict.reason) {
    case 'silence':
      return `reason silence: ${silent} (${limit})`
    case 'provider-dead':
      return `reason provider-dead: its process or session is gone, ${before} (${limit})`
    case 'provider-error':
      return `reason provider-error: ${clean(verdict.errorMessage ?? 'the provider reported a final error')}, ${before} (${limit})`
    default:
      return verdict.reason satisfies never
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Values come from the wire: no line breaks or control characters, and a bounded length. */
function clean(value: string): string {
  const plain = value.replace(/\p{Cc}+/gu, ' ')
  return plain.length > 200 ? `${plain.slice(0, 199)}…` : plain
}

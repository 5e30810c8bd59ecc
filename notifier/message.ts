/** A message of a stale turn, as every channel gets it; also the body of the webhook. */

import type { Verdict } from '../detector/verdict.ts'
import type { Phase } from '../instrumentation/events.ts'
import type { StaleReason } from '../instrumentation/turn-counters.ts'

export interface Message {
  readonly verdict: 'stale' | 'recovered'
  /** The idempotency key: `stale/<thread>/<turn>/<episode>`; `recovered/…` for the message that follows it. */
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
  /** Observed ms without progress; of `recovered`, how long the turn was stale. */
  readonly silenceMs: number
  readonly thresholdMs: number
  readonly thresholdSource: 'default' | 'measured'
  /** The same for a reader, be it an agent or a person. */
  readonly text: string
  /** The messages that this one stands for, itself among them, where children of one parent are grouped. */
  readonly group?: readonly Message[]
}

/** Names of tools and of events; anything longer could be a command or a text. */
export function nameOr(name: string, otherwise: string): string {
  return /^[\w.:/-]{1,64}$/.test(name) ? name : otherwise
}

/** A verdict of which the notifier speaks. */
export type ToldVerdict = Verdict & { readonly verdict: Message['verdict'] }

/** A thread that is its own parent has nobody to tell. */
export function parentToTell({ threadId, parentThreadId }: Verdict): string | null {
  return parentThreadId === threadId ? null : parentThreadId
}

export function messageOf(verdict: ToldVerdict, key: string, text: string): Message {
  return {
    verdict: verdict.verdict,
    key,
    thread: verdict.threadId,
    turn: verdict.turnId,
    parent: parentToTell(verdict),
    provider: verdict.provider,
    model: verdict.model,
    reason: verdict.reason,
    phase: verdict.phase,
    lastEventAt: verdict.lastEventAt,
    lastEventKind: nameOr(verdict.lastEventKind, 'event'),
    silenceMs: verdict.silenceMs,
    thresholdMs: verdict.thresholdMs,
    thresholdSource: verdict.thresholdSource,
    text,
  }
}

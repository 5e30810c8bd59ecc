/**
 * Commands to T3's engine. Their ids are made of what they speak of, because the engine keeps a receipt for each: the
 * same id again is the same command, and one that was rejected stays rejected under its id.
 */

import type { TurnStats } from '../../instrumentation/turn-stats.ts'
import type { Message } from '../../notifier/message.ts'

const STATS_KIND = 'prism.stream-stats'

/** Typed so that a host may take a command for one of its own contract's. */
const NO_ATTACHMENTS: readonly unknown[] = []

/** What the parent's next turn runs as. */
export interface T3Modes {
  readonly runtimeMode: string
  readonly interactionMode: string
}

/** v1: a turn of the parent that a message starts. */
export interface T3TurnStart extends T3Modes {
  readonly type: 'thread.turn.start'
  readonly commandId: string
  readonly threadId: string
  readonly message: {
    readonly messageId: string
    readonly role: 'user'
    readonly text: string
    readonly attachments: readonly unknown[]
  }
  readonly createdAt: string
}

/** v1: the statistics of a turn, as an activity of its thread. */
export interface T3StatsAppend {
  readonly type: 'thread.activity.append'
  readonly commandId: string
  readonly threadId: string
  readonly activity: {
    readonly id: string
    readonly tone: 'info'
    readonly kind: typeof STATS_KIND
    readonly summary: string
    /** The ten keys of v1b and our own. `state` is the provider's own word for the end. */
    readonly payload: Pick<TurnStats, StatsKey> & { readonly state: string }
    readonly turnId: string | null
    readonly createdAt: string
  }
  readonly createdAt: string
}

type StatsKey =
  | 'provider'
  | 'model'
  | 'outcome'
  | 'startedAt'
  | 'endedAt'
  | 'durationMs'
  | 'timeToFirstTokenMs'
  | 'maxGapMs'
  | 'eventCount'
  | 'turnwatch'

/** v2: a message that waits for the turn of the parent that runs. */
export interface T3MessageDispatch {
  readonly type: 'message.dispatch'
  readonly commandId: string
  readonly threadId: string
  readonly messageId: string
  readonly text: string
  readonly attachments: readonly unknown[]
  readonly createdBy: 'system'
  readonly creationSource: 'server'
  readonly dispatchMode: { readonly type: 'queue_after_active' }
}

/** `n` counts the definite rejections, after which the next try needs an id of its own. */
function staleId({ verdict, thread, turn, key }: Message, n: number): string {
  const episode = key.slice(key.lastIndexOf('/') + 1)
  // The rest is read from its end, so only the thread must not hold what separates it.
  return `server:prism-${verdict}:${thread.replace(/[%:]/g, encodeURIComponent)}:${turn}:${episode}:${n}`
}

export function turnStartCommand(
  message: Message,
  parent: string,
  modes: T3Modes,
  n: number,
  createdAt: string,
): T3TurnStart {
  const commandId = staleId(message, n)
  return {
    type: 'thread.turn.start',
    commandId,
    threadId: parent,
    message: { messageId: commandId, role: 'user', text: message.text, attachments: NO_ATTACHMENTS },
    runtimeMode: modes.runtimeMode,
    interactionMode: modes.interactionMode,
    createdAt,
  }
}

export function messageCommand(message: Message, parent: string, n: number): T3MessageDispatch {
  const commandId = staleId(message, n)
  return {
    type: 'message.dispatch',
    commandId,
    threadId: parent,
    messageId: commandId,
    text: message.text,
    attachments: NO_ATTACHMENTS,
    createdBy: 'system',
    creationSource: 'server',
    dispatchMode: { type: 'queue_after_active' },
  }
}

export function statsCommand(stats: TurnStats, turnId: string | null, state: string): T3StatsAppend {
  const { provider, model, outcome, startedAt, endedAt, durationMs, timeToFirstTokenMs, maxGapMs, eventCount } = stats
  return {
    type: 'thread.activity.append',
    commandId: `server:prism-stream-stats:${stats.id}`,
    threadId: stats.threadId,
    activity: {
      id: stats.id,
      tone: 'info',
      kind: STATS_KIND,
      summary: summaryOf(stats),
      payload: {
        provider,
        model,
        outcome,
        state,
        startedAt,
        endedAt,
        durationMs,
        timeToFirstTokenMs,
        maxGapMs,
        eventCount,
        turnwatch: stats.turnwatch,
      },
      turnId,
      createdAt: endedAt,
    },
    createdAt: endedAt,
  }
}

function summaryOf({ outcome, timeToFirstTokenMs, maxGapMs, eventCount }: TurnStats): string {
  const first = timeToFirstTokenMs === null ? 'no tokens' : `first token ${seconds(timeToFirstTokenMs)}`
  return `Stream ${outcome}: ${first}, max gap ${seconds(maxGapMs)}, ${eventCount} events`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

const REJECTED = /CommandInvariantError|PreviouslyRejectedError|CommandRejected|ThreadNotFound/

/** Whether the engine has refused a command for good, as opposed to not having answered. */
export function isRejection(error: unknown): boolean {
  let at = error
  for (let depth = 0; depth < 4 && typeof at === 'object' && at !== null; depth++) {
    const { _tag, name, cause } = at as { _tag?: unknown; name?: unknown; cause?: unknown }
    if (REJECTED.test(`${_tag} ${name}`)) return true
    at = cause
  }
  return false
}

/** What is shown of the messages that have not arrived. */

import { isoTime } from '../instrumentation/turn-stats.ts'
import type { Delivery, Moment } from './delivery.ts'
import type { Lane } from './lane.ts'

export interface NotifierView {
  readonly channels: readonly ChannelView[]
  /** Those that wait, oldest first, then those that are dead, newest first; at most 50 of each. */
  readonly messages: readonly UndeliveredMessage[]
}

export interface ChannelView {
  readonly name: string
  readonly pending: number
  /** Age of the oldest that is pending; 0 when none is. */
  readonly oldestPendingMs: number
  /** Messages of this process that never arrived. */
  readonly dead: number
  /** Why the last try failed; null when it did not. */
  readonly failing: string | null
}

export interface UndeliveredMessage {
  readonly key: string
  readonly thread: string
  readonly parent: string | null
  readonly channel: string
  readonly state: 'pending' | 'dead'
  /** When the episode opened, ISO 8601. */
  readonly since: string
  readonly attempts: number
  /** Why the last try failed, or why it is dead; null before the first failure. */
  readonly failure: string | null
  /** ISO 8601; null while a try is under way, and when it is dead. */
  readonly nextTryAt: string | null
}

const SHOWN = 50

/** Where nobody is told. */
export const NOTHING_UNDELIVERED: NotifierView = { channels: [], messages: [] }

/** What is shown of the lanes now. */
export function viewOf(lanes: readonly Lane[], now: Moment): NotifierView {
  const pending = lanes.flatMap((lane) => first(lane.pending, SHOWN).map((one) => show(lane, one, now)))
  const dead = lanes.flatMap((lane) => lane.lastDead.map((one) => show(lane, one, now)))
  const bySince = (a: UndeliveredMessage, b: UndeliveredMessage) => a.since.localeCompare(b.since)
  return {
    channels: lanes.map((lane) => ({
      name: lane.channel.name,
      pending: lane.pending.size,
      oldestPendingMs: lane.oldestPendingMs(),
      dead: lane.dead,
      failing: lane.failing,
    })),
    messages: [...pending.sort(bySince).slice(0, SHOWN), ...dead.sort(bySince).reverse().slice(0, SHOWN)],
  }
}

function first<T>(items: Iterable<T>, count: number): T[] {
  const found: T[] = []
  for (const item of items) {
    if (found.length === count) break
    found.push(item)
  }
  return found
}

function show({ channel }: Lane, delivery: Delivery, { wallMs, monoMs }: Moment): UndeliveredMessage {
  const { key, message, since, attempts, failure, dueAt, inFlight } = delivery
  const isDead = delivery.state === 'dead'
  return {
    key,
    thread: message.thread,
    parent: message.parent,
    channel: channel.name,
    state: isDead ? 'dead' : 'pending',
    since: isoTime(since),
    attempts,
    failure,
    nextTryAt: isDead || inFlight ? null : isoTime(wallMs + Math.max(0, dueAt - monoMs)),
  }
}

/** What goes out in one try: one message, or those of a group as one. */

import type { Try } from './channel.ts'
import type { Delivery } from './delivery.ts'
import type { Flight } from './flight.ts'
import type { Message } from './message.ts'
import { groupText, withSequel } from './message-text.ts'

export interface Parcel {
  /** Not empty; grows until the first try. */
  readonly deliveries: Delivery[]
  /** Whose messages take turns: the parent's, or the thread's own where it has none. */
  readonly line: string
  /** Monotonic ms of the next try. */
  dueAt: number
  /** Tries in a row that failed. */
  failures: number
  /** Monotonic ms since which the parent is unknown to the host; null when it is not. */
  unknownSince: number | null
  /** Null while no try is under way. */
  flight: Flight | null
}

export function parcelOf(delivery: Delivery): Parcel {
  const { parent, thread } = delivery.message
  return {
    deliveries: [delivery],
    line: parent === null ? `thread ${thread}` : `parent ${parent}`,
    dueAt: delivery.dueAt,
    failures: 0,
    unknownSince: null,
    flight: null,
  }
}

/** The delivery that a parcel is accounted by. */
export function firstOf({ deliveries }: Parcel): Delivery {
  return deliveries[0] as Delivery
}

/** The key of the first of a group stands for all of it, also when that one has been withdrawn. */
function keyOf(parcel: Parcel): string {
  const first = firstOf(parcel)
  return first.group ?? first.key
}

/** What is said now: with what has happened since, and of all in the group. */
export function messageOfParcel(parcel: Parcel): Message {
  if (parcel.deliveries.length === 1) return messageNow(firstOf(parcel))
  const messages = parcel.deliveries.map(messageNow)
  const [first] = messages as [Message, ...Message[]]
  return { ...first, key: keyOf(parcel), text: groupText(messages), group: messages }
}

function messageNow({ message, endedAt, sequel }: Delivery): Message {
  const isOver = endedAt !== null && sequel !== null && message.verdict === 'stale'
  return !isOver ? message : { ...message, text: withSequel(message.text, sequel) }
}

export function tryOf(parcel: Parcel, flight: Flight): Try {
  const first = firstOf(parcel)
  return {
    key: keyOf(parcel),
    attempt: first.attempts,
    rejections: first.rejections,
    since: new Date(first.since).toISOString(),
    endedAt: first.endedAt === null ? null : new Date(first.endedAt).toISOString(),
    get signal() {
      return flight.signal
    },
  }
}

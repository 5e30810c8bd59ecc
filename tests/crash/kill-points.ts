/** Where a host can die: around everything that it does to its store and its receivers, and within. */

import { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Channel, DeliveryFailed } from '../../notifier/channel.ts'
import { channelId } from '../../notifier/channel-id.ts'
import type { Message } from '../../notifier/message.ts'
import type { OutboxBatch } from '../../notifier/outbox-store.ts'
import type { Store } from '../../storage/store.ts'
import type { Entry } from './journal.ts'

/** `start` reads what earlier processes left, `write` opens episodes, `mark` says what became of messages. */
const OPS = ['start', 'claim', 'write', 'mark', 'close'] as const
type Op = (typeof OPS)[number]

export type Point = 'at verdict' | `${'before' | 'in' | 'after'} ${Op | 'send'}`

export const POINTS: readonly Point[] = [
  'at verdict',
  ...(['send', ...OPS] as const).flatMap((op): Point[] => [`before ${op}`, `in ${op}`, `after ${op}`]),
]

/** At no point of these. */
export const ANY_TIME = 'any time'

/** Does not return where the host dies. */
export type Reach = (point: Point) => void

/** A fault put in on purpose, to see that the accounts find it. */
export const SABOTAGES = ['unwritten', 'unmarked', 'twice', 'rekeyed', 'dropped'] as const
export type Sabotage = (typeof SABOTAGES)[number]

/** What is reached at each SQL statement, which is within a transaction where the store does something. */
let within: (() => void) | null = null

/** Once in a realm, before the first store is made. */
export function reachStatements(): void {
  for (const [prototype, name] of [
    [DatabaseSync.prototype, 'exec'],
    [StatementSync.prototype, 'run'],
    [StatementSync.prototype, 'all'],
  ] as const) {
    const original: unknown = Reflect.get(prototype, name)
    if (typeof original !== 'function') throw new TypeError(`node:sqlite has no ${name}`)
    Reflect.set(prototype, name, function (this: unknown, ...args: unknown[]) {
      // What a dead process had not committed is taken back, whoever asks for it.
      if (args[0] !== 'ROLLBACK') within?.()
      return Reflect.apply(original, this, args)
    })
  }
}

export function mortalStore(store: Required<Store>, reach: Reach, sabotage: Sabotage | null): Required<Store> {
  const { outbox } = store
  const during = <T>(op: Op, work: () => T): T => {
    reach(`before ${op}`)
    const outer = within
    within = () => reach(`in ${op}`)
    try {
      return work()
    } finally {
      within = outer
      reach(`after ${op}`)
    }
  }
  return {
    load: () => during('start', () => store.load()),
    save: (samples, extras) => store.save(samples, extras),
    close: () => store.close(),
    outbox: {
      episodes: (since) => during('start', () => outbox.episodes(since)),
      claim: (request) => during('claim', () => outbox.claim(request)),
      release: (owner) => outbox.release(owner),
      save: (batch) => during(opOf(batch), () => outbox.save(sabotaged(batch, sabotage))),
    },
  }
}

function opOf({ opened, changed }: OutboxBatch): Op {
  return opened.length > 0 ? 'write' : changed.length > 0 ? 'mark' : 'close'
}

function sabotaged(batch: OutboxBatch, sabotage: Sabotage | null): OutboxBatch {
  if (sabotage === 'unwritten') return { ...batch, opened: [] }
  return sabotage === 'unmarked' ? { ...batch, changed: [] } : batch
}

export function mortalChannel(
  channel: Channel,
  reach: Reach,
  write: (entry: Entry) => void,
  sabotage: Sabotage | null,
): Channel {
  return {
    ...channel,
    async deliver(message, attempt) {
      reach('before send')
      const key = sabotage === 'rekeyed' ? `${attempt.key}~${Math.random()}` : attempt.key
      const sent = sabotage === 'rekeyed' ? { ...message, key } : message
      if (sabotage === 'twice') await channel.deliver(sent, { ...attempt, key })
      const answer = await channel.deliver(sent, { ...attempt, key })
      if (answer === undefined || answer === 'delivered')
        write({ did: 'send', channel: channelId(channel), keys: keysOf(message) })
      reach('after send')
      return answer
    },
  }
}

/** Keys of what is in a request. */
export function keysOf(message: Message): readonly string[] {
  return message.group?.map(({ key }) => key) ?? [message.key]
}

/** What a receiver makes of a request. Slow ones take it, too. */
export const ANSWERS = { taken: 66, slow: 10, error: 8, 'too many': 4, reset: 8 } as const
export type Answer = keyof typeof ANSWERS

export function isTaken(answer: Answer): boolean {
  return answer === 'taken' || answer === 'slow'
}

/** What a channel makes of an answer that is none. */
export function failureOf(answer: Exclude<Answer, 'taken' | 'slow'>): DeliveryFailed {
  switch (answer) {
    case 'error':
      return new DeliveryFailed('server_error', 'HTTP 500')
    case 'too many':
      return new DeliveryFailed('client_error', 'HTTP 429', { retryAfterMs: 1000 })
    case 'reset':
      return new DeliveryFailed('connection', 'closed without an answer')
    default:
      return answer satisfies never
  }
}

/** Whether a line of a watch says no more than that a receiver has refused a message. */
export function isRefusal(line: string): boolean {
  return line.startsWith('turnwatch: notifier: ') && line.endsWith('will be tried again')
}

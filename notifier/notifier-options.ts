/** What the notifier can be told when a watch is made. */

import type { Channel, Try } from './channel.ts'
import { channelId } from './channel-id.ts'
import type { Message } from './message.ts'
import type { MessageTemplate } from './message-text.ts'

/** Takes a message in this process. A throw or rejection is tried again. */
export type NotifyCallback = (message: Message, attempt: Try) => void | Promise<void>

export interface NotifierOptions {
  /** Where messages go: callbacks, `webhookChannel`, `alertmanagerChannel`, or a dispatch of the host's own. */
  readonly channels: readonly (Channel | NotifyCallback)[]
  /** One message for each stale episode, or for the first of a turn only. @default 'episode' */
  readonly per?: 'episode' | 'turn'
  /** Whether a second, shorter message says that the turn goes on. @default false */
  readonly recovered?: boolean
  /**
   * What becomes of a message of silence whose turn has ended or gone on before it was delivered: it is withdrawn, or it
   * is delivered and says so. A provider's failure is always delivered. @default 'withdraw'
   */
  readonly whenOver?: 'withdraw' | 'say'
  /**
   * Messages of children of one parent on one provider that come within so many ms of the first go out as one, which
   * names all. They wait that long. @default 0, each by itself
   */
  readonly groupMs?: number
  /** Makes the text. A throw, or what is no string, gives the default text. */
  readonly text?: MessageTemplate
  /**
   * Whether another supervisor tells the parent of this thread. No answer within 1 s, a throw, or undefined is undecided:
   * the message is sent and says that the parent may have been told already. @default what the thread's title says
   */
  readonly isManagedElsewhere?: (
    threadId: string,
    title: string | null,
  ) => boolean | undefined | Promise<boolean | undefined>
  /** A message that has not been delivered by then is dead, in ms. @default 86400000 (24 h) */
  readonly expireMs?: number
  /** How long a store remembers what became of messages, in ms. @default 604800000 (7 days) */
  readonly keepMs?: number
  /** After so many ms without a sign of a process, others that share its store take its messages over. @default 30000 */
  readonly leaseMs?: number
  /** How long `stop` waits for messages that are under way or due, in ms. @default 5000 */
  readonly closeMs?: number
}

export type NotifyOption = NotifyCallback | Channel | NotifierOptions

/** The same with every default channel made. */
export interface ReadyOptions extends Omit<NotifierOptions, 'channels'> {
  readonly channels: readonly Channel[]
}

const DURATIONS = ['groupMs', 'expireMs', 'keepMs', 'leaseMs', 'closeMs'] as const

/** The channels and options that a host gave in any of the forms. Throws TypeError or RangeError for bad ones. */
export function notifierOptions(notify: NotifyOption): ReadyOptions {
  const given = isChannel(notify) || typeof notify === 'function' ? { channels: [notify] } : notify
  if (typeof given !== 'object' || given === null || !Array.isArray(given.channels)) {
    throw new TypeError(`notify: ${kindOf(notify)} is neither a function, a channel, nor an object with channels`)
  }
  const options = given as NotifierOptions
  const channels = options.channels.map((channel, i) => {
    if (typeof channel === 'function') return callbackChannel(channel, i === 0 ? 'callback' : `callback-${i + 1}`)
    if (isChannel(channel)) return channel
    throw new TypeError(`notify.channels[${i}]: ${kindOf(channel)} is neither a function nor a channel`)
  })
  const names = new Set<string>()
  const receivers = new Map<string, string>()
  for (const channel of channels) {
    refuseBadChannel(channel)
    const name = JSON.stringify(channel.name)
    if (names.has(channel.name)) throw new TypeError(`notify.channels: two are named ${name}; give one another name`)
    const other = receivers.get(channelId(channel))
    if (other !== undefined) throw new TypeError(`notify.channels: ${other} and ${name} have the same receiver`)
    names.add(channel.name)
    receivers.set(channelId(channel), name)
  }
  oneOf('per', options.per, ['episode', 'turn'])
  oneOf('whenOver', options.whenOver, ['withdraw', 'say'])
  for (const name of DURATIONS) {
    const value = options[name]
    const least = name === 'groupMs' || name === 'closeMs' ? 0 : 1
    if (value !== undefined && !(typeof value === 'number' && value >= least)) {
      throw new RangeError(`notify.${name}: ${JSON.stringify(value) ?? value} is not a number of ms from ${least} on`)
    }
  }
  for (const name of ['text', 'isManagedElsewhere'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new TypeError(`notify.${name}: ${JSON.stringify(options[name])} is not a function`)
    }
  }
  return { ...options, channels }
}

/** A callback as a channel, under a name of its own. What it returns counts only when it is a promise. */
export function callbackChannel(callback: NotifyCallback, name = 'callback'): Channel {
  return {
    name,
    deliver: (message, attempt) => {
      const result = callback(message, attempt)
      return typeof result === 'object' ? Promise.resolve(result).then(() => {}) : undefined
    },
  }
}

function isChannel(value: unknown): value is Channel {
  const { name, deliver } = Object(value) as Partial<Channel>
  return typeof value === 'object' && typeof name === 'string' && typeof deliver === 'function'
}

function refuseBadChannel({ name, concurrency, timeoutMs, repeatMs }: Channel): void {
  if (name.trim() === '') throw new TypeError('notify.channels: a channel has an empty name')
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new RangeError(`${name}.concurrency: ${concurrency} is not a whole number from 1 on`)
  }
  for (const [option, value] of Object.entries({ timeoutMs, repeatMs })) {
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw new RangeError(`${name}.${option}: ${value} is not a positive number of ms`)
    }
  }
}

function oneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || (allowed as readonly unknown[]).includes(value)) return
  throw new TypeError(`notify.${name}: ${JSON.stringify(value)} is none of ${allowed.join(', ')}`)
}

/** A value that may hold a secret is not quoted. */
function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value
}

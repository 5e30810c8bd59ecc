/** What the notifier can be told when a watch is made. */

import type { Channel, Try } from './channel.ts'
import { channelId } from './channel-id.ts'
import { refuseBadChannel, shown } from './channel-options.ts'
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

/** 30 days. */
const MAX_MS = 2_592_000_000
/** The least of each, in ms. Only what is kept may be kept for ever. */
const DURATIONS = { groupMs: 0, closeMs: 0, leaseMs: 100, expireMs: 1000, keepMs: 1000 } as const
const UNBOUNDED: readonly string[] = ['expireMs', 'keepMs']
const KNOWN = ['channels', 'per', 'recovered', 'whenOver', 'text', 'isManagedElsewhere', ...Object.keys(DURATIONS)]

/** The channels and options that a host gave in any of the forms. Throws TypeError or RangeError for bad ones. */
export function notifierOptions(notify: NotifyOption): ReadyOptions {
  const given = isChannel(notify) || typeof notify === 'function' ? { channels: [notify] } : notify
  if (typeof given !== 'object' || given === null || !Array.isArray(given.channels)) {
    throw new TypeError(`notify: ${shown(notify)} is neither a function, a channel, nor an object with channels`)
  }
  const options: NotifierOptions = given
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name))
  if (unknown !== undefined) throw new TypeError(`notify.${unknown}: is no option; there are ${KNOWN.join(', ')}`)
  const channels = readyChannels(options.channels)
  oneOf('per', options.per, ['episode', 'turn'])
  oneOf('whenOver', options.whenOver, ['withdraw', 'say'])
  oneOf('recovered', options.recovered, [true, false])
  for (const [name, least] of Object.entries(DURATIONS)) {
    const value = options[name as keyof typeof DURATIONS]
    const most = UNBOUNDED.includes(name) ? Number.POSITIVE_INFINITY : MAX_MS
    if (value !== undefined && !(typeof value === 'number' && value >= least && value <= most)) {
      throw new RangeError(`notify.${name}: ${shown(value)} is not a number of ms from ${least} to ${most}`)
    }
  }
  for (const name of ['text', 'isManagedElsewhere'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new TypeError(`notify.${name}: ${shown(options[name])} is not a function`)
    }
  }
  return { ...options, channels }
}

function readyChannels(given: readonly (Channel | NotifyCallback)[]): Channel[] {
  const names = new Set<string>()
  const receivers = new Map<string, string>()
  return given.map((one, i) => {
    if (typeof one !== 'function' && !isChannel(one)) {
      throw new TypeError(`notify.channels[${i}]: ${shown(one)} is neither a function nor a channel`)
    }
    const channel = typeof one === 'function' ? callbackChannel(one, i === 0 ? 'callback' : `callback-${i + 1}`) : one
    refuseBadChannel(channel)
    const name = JSON.stringify(channel.name)
    if (names.has(channel.name)) throw new TypeError(`notify.channels: two are named ${name}; give one another name`)
    const other = receivers.get(channelId(channel))
    if (other !== undefined) throw new TypeError(`notify.channels: ${other} and ${name} have the same receiver`)
    names.add(channel.name)
    receivers.set(channelId(channel), name)
    return channel
  })
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

function oneOf(name: string, value: unknown, allowed: readonly unknown[]): void {
  if (value === undefined || allowed.includes(value)) return
  throw new TypeError(`notify.${name}: ${shown(value)} is none of ${allowed.join(', ')}`)
}

/** A watch on a virtual clock whose messages go to receivers that do as they are told. Time passes second by second. */

import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import type { TurnEvent } from '../../instrumentation/events.ts'
import type { Channel, Delivered, Try } from '../../notifier/channel.ts'
import type { Message } from '../../notifier/message.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { createTurnwatch, type TurnHandle, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'

export const token: TurnEvent = { kind: 'token', stream: 'text' }
export const completed: TurnEvent = { kind: 'turn.ended', outcome: 'completed' }
export const failure: TurnEvent = { kind: 'error', message: 'overloaded' }

export const settle = async () => {
  for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve))
}

type Answer = Delivered | void | Promise<Delivered | void>

/** A channel that writes down what it gets, and answers as a test says. */
export class Receiver implements Channel {
  readonly name: string
  readonly got: { readonly message: Message; readonly attempt: Try }[] = []
  answer: (message: Message, attempt: Try) => Answer = () => {}
  readonly concurrency?: number
  readonly timeoutMs?: number
  readonly needsParent?: boolean
  readonly repeatMs?: number

  constructor(name = 'receiver', options: Partial<Channel> = {}) {
    this.name = name
    Object.assign(this, options)
  }

  deliver(message: Message, attempt: Try): Answer {
    this.got.push({ message, attempt })
    return this.answer(message, attempt)
  }

  get keys(): string[] {
    return this.got.map(({ attempt }) => attempt.key)
  }

  get threads(): string[] {
    return this.got.map(({ message }) => message.thread)
  }
}

export type NotifiedHostOptions = Omit<TurnwatchOptions, 'notify'> &
  Omit<NotifierOptions, 'channels'> & {
    readonly channels?: NotifierOptions['channels']
    readonly virtual?: VirtualHost
  }

export class NotifiedHost {
  readonly virtual: VirtualHost
  readonly receiver: Receiver
  readonly watch: Turnwatch
  readonly faults: string[] = []

  constructor(options: NotifiedHostOptions = {}) {
    const { channels, virtual, clock, onError, store, thresholds, verify, parentOf, runningThreads, ...notify } =
      options
    const watchOptions = { store, thresholds, verify, parentOf, runningThreads }
    this.virtual = virtual ?? new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
    this.receiver = new Receiver()
    this.watch = createTurnwatch({
      clock: clock ?? this.virtual.clock,
      onError: onError ?? ((fault) => this.faults.push(fault.message)),
      ...(Object.fromEntries(
        Object.entries(watchOptions).filter(([, value]) => value !== undefined),
      ) as TurnwatchOptions),
      notify: { channels: channels ?? [this.receiver], isManagedElsewhere: () => false, ...notify },
    })
  }

  /** Lets seconds pass, and the event loop have its turn in each. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.virtual.run(this.virtual.now + 1000, () => this.watch.tick())
      await settle()
    }
  }

  /** Lets time pass in which nothing of interest happens in between. */
  async leap(seconds: number): Promise<void> {
    this.virtual.run(this.virtual.now + seconds * 1000, () => this.watch.tick())
    await settle()
  }

  start(threadId = 'sub.boss.one', turnId = 't', fields: { title?: string; model?: string } = {}): TurnHandle {
    return this.watch.startTurn({ threadId, turnId, provider: 'codex', model: 'm', ...fields })
  }

  /** A turn that has just become stale by silence, after its first token: threshold 90 s, limit 112.5 s. */
  async stale(threadId?: string, turnId?: string, fields?: { title?: string }): Promise<TurnHandle> {
    const turn = this.start(threadId, turnId, fields)
    turn.observe(token)
    await this.leap(113)
    return turn
  }

  /** Value of a counter or gauge, summed over the points that have these labels. */
  metric(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const family = this.watch.metrics().find((one) => one.name === `turnwatch_${name}`)
    if (family === undefined) throw new Error(`no metric ${name}`)
    return family.points
      .filter((point) => Object.entries(labels).every(([key, is]) => point.labels[key] === is))
      .reduce((sum, point) => sum + ('value' in point ? point.value : count(point.counts)), 0)
  }
}

function count(counts: ArrayLike<number>): number {
  return Array.from(counts).reduce((sum, n) => sum + n, 0)
}

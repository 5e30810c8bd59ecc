/** A host that lives in this process, on a virtual clock, and dies at a point: from then on nothing that it does has an effect. */

import type { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import type { Channel, Try } from '../../notifier/channel.ts'
import type { Message } from '../../notifier/message.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import type { Store } from '../../storage/store.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import type { Chance } from './chance.ts'
import { HostTurns, turnOf } from './host-turns.ts'
import type { Entry, TurnIds } from './journal.ts'
import {
  ANSWERS,
  ANY_TIME,
  failureOf,
  isRefusal,
  isTaken,
  keysOf,
  mortalChannel,
  mortalStore,
  type Point,
  type Sabotage,
} from './kill-points.ts'
import type { Receipt } from './ledger.ts'

const THRESHOLD_MS = 2000
const SLOWEST_MS = 20_000
/** As a parent thread or an operating system may do besides. */
const ODD_ANSWERS = { ...ANSWERS, busy: 4, silent: 2 } as const

export interface LifeSettings {
  readonly run: string
  readonly host: VirtualHost
  readonly file: string
  readonly channels: readonly string[]
  readonly options: Omit<NotifierOptions, 'channels'>
  readonly restores: readonly TurnIds[]
  readonly chance: Chance
  /** Where it dies, and at which time that it gets there; null for one that is left alone. */
  readonly dies: { readonly point: Point; readonly nth: number } | null
  readonly sabotage: Sabotage | null
  readonly receives: (receipt: Receipt) => void
}

export class VirtualLife {
  readonly run: string
  readonly entries: Entry[] = []
  /** What its watch complained of while it lived. */
  readonly faults: string[] = []
  diedAt: Point | typeof ANY_TIME | null = null
  readonly #settings: LifeSettings
  readonly #store: Required<Store>
  readonly #watch: Turnwatch
  readonly #turns: HostTurns
  #left: number

  constructor(settings: LifeSettings) {
    const { run, host, file, channels, options, restores, chance, dies, sabotage } = settings
    this.run = run
    this.#settings = settings
    this.#left = dies?.nth ?? 0
    this.#store = sqliteStore(file)
    this.#watch = createTurnwatch({
      clock: host.clock,
      store: mortalStore(this.#store, this.#reach, sabotage),
      thresholds: { firstTokenMs: THRESHOLD_MS, midStreamMs: THRESHOLD_MS, afterToolMs: THRESHOLD_MS },
      lostAfterExitMs: 86_400_000,
      notify: {
        ...options,
        isManagedElsewhere: (threadId) => {
          this.#write({ did: 'judge', turn: turnOf(threadId) })
          this.#reach('at verdict')
          return false
        },
        channels: channels.map((name) => mortalChannel(this.#channel(name), this.#reach, this.#write, sabotage)),
      },
      onError: ({ message }) => {
        if (this.diedAt === null && !isRefusal(message)) this.faults.push(`${run}: ${message}`)
      },
    })
    this.#turns = new HostTurns(this.#watch, chance, this.#write, run)
    this.#turns.restore(restores)
  }

  tick(): void {
    if (this.diedAt !== null) return
    this.#turns.tick()
    if (this.#settings.dies !== null) this.#turns.act()
  }

  kill(): void {
    this.diedAt ??= ANY_TIME
  }

  /** The operating system closes the files of a dead process. */
  bury(): void {
    this.#store.close()
  }

  stop(): Promise<void> {
    return this.#watch.stop()
  }

  readonly #write = (entry: Entry): void => {
    if (this.diedAt === null) this.entries.push(entry)
  }

  readonly #reach = (point: Point): void => {
    const { dies } = this.#settings
    if (this.diedAt === null && point === dies?.point && --this.#left <= 0) this.diedAt = point
    if (this.diedAt !== null) throw new Error('killed')
  }

  #channel(name: string): Channel {
    return { name, deliver: (message, attempt) => this.#deliver(name, message, attempt) }
  }

  async #deliver(channel: string, message: Message, { key: wireKey, signal }: Try): Promise<'busy' | undefined> {
    const { run, host, chance, sabotage, receives } = this.#settings
    const answer = this.#settings.dies === null ? 'taken' : chance.weighted(ODD_ANSWERS)
    const taken = answer !== 'busy' && answer !== 'silent' && isTaken(answer)
    if (!(taken && sabotage === 'dropped')) receives({ run, channel, wireKey, keys: keysOf(message), isTaken: taken })
    this.#reach('in send')
    switch (answer) {
      case 'taken':
        return
      case 'busy':
        return answer
      case 'slow':
        return new Promise((resolve) => host.after(chance.between(1, SLOWEST_MS), () => resolve(undefined)))
      case 'silent':
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      default:
        throw failureOf(answer)
    }
  }
}

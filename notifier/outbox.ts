/**
 * Carries messages between memory and a store: writes each episode with its messages before they go out, then what
 * became of them; takes over what dead processes left. What cannot be written goes out from memory and is tried again.
 */

import { StoreBusy } from '../detector/sample-store.ts'
import { MAX_PAUSE_MS } from './backoff.ts'
import { type Delivery, fromStored, isOpen, type Moment, toStored } from './delivery.ts'
import type { Claimed, KnownEpisode, OutboxStore, StoredEpisode } from './outbox-store.ts'

/** Episodes, and other changes, of one transaction: some ms at most. */
const BATCH = 100
/** Episodes that wait for a store that does not take them; what is beyond lives in memory only. */
const MAX_UNWRITTEN = 10_000
/** A store that does not answer for this long holds messages up no longer. */
const SLOW_MS = 2000
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000
/** Messages taken over at a time. */
const CLAIM = 1000
/** How often a store that does not take what is left is tried again at the end. */
const CLOSE_TRIES = 10

export interface Opened {
  /** Null for a message that follows another of the same episode. */
  readonly episode: StoredEpisode | null
  readonly deliveries: readonly Delivery[]
  /** Monotonic ms of the first time it was to be written. */
  since: number
  /** Whether its messages may go out. */
  released: boolean
  /** Whether they are in the store, if there is one. */
  saved: boolean
}

/** What a store is asked to do. */
export type OutboxOp = 'claim' | 'outbox'

export interface OutboxEnvironment {
  moment(): Moment
  defer(work: () => void): void
  /** The messages are written, or cannot be: they may go out. */
  release(opened: Opened): void
  /** Another process had opened the episode before; `open` says whether it still lasts. */
  known(opened: Opened, open: boolean): void
  /** Messages taken over from a dead process. */
  claimed(deliveries: readonly Delivery[]): void
  /** Our lease had run out: only these, `<key>\n<channel>`, are still ours. */
  held(keys: ReadonlySet<string>): void
  /** Messages of channels that nobody has any more are dead. */
  expired(count: number): void
  failed(op: OutboxOp, error: unknown): void
  worked(op: OutboxOp): void
}

export interface OutboxOptions {
  readonly owner: string
  /** The channels of this process, as the store names them. */
  readonly channels: readonly string[]
  readonly leaseMs: number
  readonly expireMs: number
  readonly keepMs: number
}

export class Outbox {
  readonly #store: OutboxStore | null
  readonly #options: OutboxOptions
  readonly #env: OutboxEnvironment
  /** Oldest first. */
  #opened: Opened[] = []
  readonly #closed = new Map<string, Pick<StoredEpisode, 'key' | 'closedAt' | 'resolution'>>()
  readonly #changed = new Set<Delivery>()
  #writing: Promise<void> | null = null
  /** What a slow store is writing. */
  #underWay: readonly Opened[] = []
  #scheduled = false
  #failures = 0
  /** Whether the last failure may pass, as a lock does. */
  #isBusyStore = false
  /** Monotonic ms. */
  #retryAt = 0
  #claimAt = 0
  #claimFailures = 0
  /** Epoch ms of the same: a machine that slept has a monotonic clock that did not go on. */
  #claimAtWall = 0
  #claiming: Promise<void> | null = null
  #ended = false

  constructor(store: OutboxStore | null, options: OutboxOptions, env: OutboxEnvironment) {
    this.#store = store
    this.#options = options
    this.#env = env
  }

  /** Takes an episode with its messages, which may go out once they are written. */
  add(episode: StoredEpisode | null, deliveries: readonly Delivery[]): void {
    const opened = {
      episode,
      deliveries,
      since: this.#env.moment().monoMs,
      released: false,
      saved: this.#store === null,
    }
    this.#opened.push(opened)
    if (this.#opened.length > MAX_UNWRITTEN) this.#release(this.#opened.shift() as Opened)
  }

  /** Writes what was added. A store that fails is tried again by the tick, and its messages do not wait for that. */
  flush(): void {
    if (this.#store === null) for (const opened of this.#opened.splice(0)) this.#release(opened)
    else if (this.#failures === 0 && !this.#ended) this.#write()
    else for (const opened of this.#opened) this.#release(opened)
  }

  close(key: string, closedAt: number, resolution: StoredEpisode['resolution']): void {
    if (this.#store === null) return
    this.#closed.set(key, { key, closedAt, resolution })
    this.#schedule()
  }

  changed(delivery: Delivery): void {
    // What is not written yet is written as it is by then.
    if (this.#store === null || !delivery.stored) return
    this.#changed.add(delivery)
    this.#schedule()
  }

  /** Once a second. */
  tick(): void {
    if (this.#store === null || this.#ended) return
    const { monoMs, wallMs } = this.#env.moment()
    for (const opened of [...this.#underWay, ...this.#opened]) {
      if (monoMs - opened.since >= SLOW_MS) this.#release(opened)
    }
    if (monoMs >= this.#claimAt || wallMs >= this.#claimAtWall) this.claim()
    if (this.isBusy && monoMs >= this.#retryAt) this.#write()
  }

  /** Renews the lease and takes over what nobody holds. A store that answers at once has done so on return. */
  claim(): void {
    const store = this.#store
    if (store === null || this.#claiming !== null) return
    const { monoMs, wallMs } = this.#env.moment()
    this.#claimAt = monoMs + this.#options.leaseMs / 3
    this.#claimAtWall = wallMs + this.#options.leaseMs / 3
    const { owner, channels, leaseMs, expireMs, keepMs } = this.#options
    const request = {
      owner,
      channels,
      now: wallMs,
      leaseUntil: wallMs + leaseMs,
      limit: CLAIM,
      expireFrom: wallMs - expireMs,
      keepFrom: wallMs - keepMs,
    }
    const failed = (error: unknown) => {
      this.#claimFailures++
      this.#claimAt = monoMs + Math.min(this.#options.leaseMs / 3, retryMs(this.#claimFailures))
      this.#env.failed('claim', error)
    }
    try {
      const claimed = store.claim(request)
      if (!(claimed instanceof Promise)) return this.#take(claimed)
      this.#claiming = claimed
        .then((later) => this.#take(later))
        .catch(failed)
        .finally(() => {
          this.#claiming = null
        })
    } catch (error) {
      failed(error)
    }
  }

  /** Writes what is left and gives up the lease; tries again after each `pause`, for a while. */
  async end(pause: () => Promise<void>): Promise<void> {
    const store = this.#store
    if (store === null) return
    for (let tries = 0; tries <= CLOSE_TRIES; tries++) {
      do {
        this.#write()
        await Promise.race([this.#writing, pause()])
      } while (this.isBusy && this.#failures === 0 && this.#writing === null)
      if ((!this.isBusy && this.#writing === null) || (this.isFailing && !this.#isBusyStore)) break
      await pause()
    }
    this.#ended = true
    try {
      await Promise.race([store.release(this.#options.owner), pause()])
    } catch (error) {
      this.#env.failed('outbox', error)
    }
  }

  /** Whether anything is not written yet. */
  get isBusy(): boolean {
    return this.#opened.length > 0 || this.#closed.size > 0 || this.#changed.size > 0
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  #schedule(): void {
    if (this.#ended || this.#scheduled || this.#writing !== null || this.#failures > 0) return
    this.#scheduled = true
    this.#env.defer(() => {
      this.#scheduled = false
      this.#write()
    })
  }

  /** Writes one batch; another follows after the event loop has had its turn. */
  #write(): void {
    const store = this.#store
    if (store === null || this.#writing !== null) return
    const moment = this.#env.moment()
    const opened = this.#opened.splice(0, BATCH)
    const closed = take(this.#closed, BATCH)
    const changed = take(this.#changed, BATCH)
    if (opened.length + closed.length + changed.length === 0) return
    const batch = {
      owner: this.#options.owner,
      opened: opened.map(({ episode, deliveries }) => ({
        episode,
        deliveries: deliveries.map((delivery) => toStored(delivery, moment)),
      })),
      closed: closed.map(([, change]) => change),
      changed: changed.map(([delivery]) => toStored(delivery, moment)),
    }
    for (const { deliveries } of opened) for (const delivery of deliveries) delivery.stored = true
    const saved = (known: readonly KnownEpisode[] | void) => {
      this.#saved(opened, known ?? [])
      this.#failures = 0
      this.#env.worked('outbox')
    }
    const failed = (error: unknown) => {
      this.#opened = [...opened, ...this.#opened]
      for (const [key, change] of closed) if (!this.#closed.has(key)) this.#closed.set(key, change)
      for (const [delivery] of changed) this.#changed.add(delivery)
      for (const { deliveries } of opened) {
        for (const delivery of deliveries) {
          delivery.stored = false
          this.#changed.delete(delivery)
        }
      }
      this.#failures++
      this.#isBusyStore = error instanceof StoreBusy
      this.#retryAt = this.#env.moment().monoMs + retryMs(this.#failures)
      this.#env.failed('outbox', error)
      for (const one of this.#opened) this.#release(one)
    }
    try {
      const result = store.save(batch)
      if (!(result instanceof Promise)) saved(result)
      else {
        this.#underWay = opened
        this.#writing = result.then(saved, failed).finally(() => {
          this.#writing = null
          this.#underWay = []
          if (this.isBusy) this.#schedule()
        })
        return
      }
    } catch (error) {
      failed(error)
    }
    if (this.isBusy && this.#failures === 0) this.#schedule()
  }

  #saved(opened: readonly Opened[], known: readonly KnownEpisode[]): void {
    const states = new Map(known.map(({ key, open }) => [key, open]))
    for (const one of opened) {
      const open = one.episode === null ? undefined : states.get(one.episode.key)
      one.saved = true
      if (open === undefined) this.#release(one)
      else this.#env.known(one, open)
    }
  }

  #release(opened: Opened): void {
    if (opened.released) return
    opened.released = true
    this.#env.release(opened)
  }

  #take({ deliveries, episodes, held, expired }: Claimed): void {
    this.#claimFailures = 0
    this.#env.worked('claim')
    if (held !== null) this.#env.held(held)
    const moment = this.#env.moment()
    const byKey = new Map(episodes.map((episode) => [episode.key, episode]))
    this.#env.claimed(
      deliveries.filter(isOpen).map((stored) => fromStored(stored, moment, MAX_PAUSE_MS, byKey.get(stored.episode))),
    )
    if (expired > 0) this.#env.expired(expired)
    // There may be more.
    if (deliveries.length === CLAIM) this.#claimAt = moment.monoMs
  }
}

/** A store that fails is tried again less and less often: each try may hold the event loop for some ms. */
function retryMs(failures: number): number {
  return Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** Math.min(10, failures - 1))
}

function take<K, V>(from: Map<K, V> | Set<K>, limit: number): [K, V][] {
  const taken: [K, V][] = []
  for (const [key, value] of from.entries() as Iterable<[K, V]>) {
    if (taken.length === limit) break
    taken.push([key, value])
  }
  for (const [key] of taken) from.delete(key)
  return taken
}

/**
 * Writes messages to a store: each episode with its messages before they go out, then what became of them. What cannot be
 * written goes out from memory, and is written when the store works again.
 */

import { StoreBusy } from '../detector/sample-store.ts'
import { dropOldest } from '../instrumentation/drop-oldest.ts'
import { type Delivery, type Moment, toStored } from './delivery.ts'
import type { KnownEpisode, OutboxStore, StoredEpisode, WorseEpisode } from './outbox-store.ts'

/** Episodes, and other changes, of one transaction: some ms at most. */
const BATCH = 100
/** Episodes that wait for a store that does not take them; what is beyond lives in memory only. */
const MAX_UNWRITTEN = 10_000
/** A store that is locked, or does not answer, for this long holds messages up no longer. */
const SLOW_MS = 2000
/** A locked store is tried again soon, this often, with the wait doubled each time. */
const BUSY_TRIES = 4
const BUSY_MS = 100
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000
/** How often a store that does not take what is left is tried again at the end. */
const CLOSE_TRIES = 10

export interface Opened {
  /** Null for a message that follows another of the same episode, or is written again. */
  readonly episode: StoredEpisode | null
  readonly deliveries: readonly Delivery[]
  /** Monotonic ms at which it came. */
  readonly since: number
  /** Whether its messages may go out. */
  released: boolean
  /** Whether they are in the store, if there is one. */
  saved: boolean
}

type ClosedEpisode = Pick<StoredEpisode, 'key' | 'closedAt' | 'resolution'>

export interface OutboxEnvironment {
  readonly owner: string
  moment(): Moment
  leaseUntil(): number
  defer(work: () => void): void
  later(ms: number, work: () => void): void
  /** The messages are written, or cannot be: they may go out. */
  release(opened: Opened): void
  /** Another process had opened the episode before. */
  known(opened: Opened, known: KnownEpisode): void
  failed(error: unknown): void
  worked(): void
}

export class Outbox {
  readonly #store: OutboxStore | null
  readonly #env: OutboxEnvironment
  /** Oldest first. */
  #opened: Opened[] = []
  readonly #closed = new Map<string, ClosedEpisode>()
  readonly #worse = new Map<string, WorseEpisode>()
  readonly #changed = new Set<Delivery>()
  #writing: Promise<void> | null = null
  /** What a slow store is writing. */
  #underWay: readonly Opened[] = []
  #isScheduled = false
  #failures = 0
  /** Whether the last failure may pass soon, as a lock does. */
  #isLocked = false
  /** Monotonic ms. */
  #retryAt = 0
  #hasEnded = false

  constructor(store: OutboxStore | null, env: OutboxEnvironment) {
    this.#store = store
    this.#env = env
  }

  /** Whether anything waits for a store that works. */
  get isBusy(): boolean {
    return (this.#isWaiting && this.#failures === 0) || this.#writing !== null
  }

  /** Whether anything is not written. */
  get isWritten(): boolean {
    return this.#store !== null && !this.#isWaiting && this.#writing === null
  }

  get #isWaiting(): boolean {
    return this.#opened.length > 0 || this.#closed.size + this.#worse.size + this.#changed.size > 0
  }

  /** Takes an episode with its messages, which may go out once they are written. Call `flush` then. */
  add(episode: StoredEpisode | null, deliveries: readonly Delivery[]): void {
    const since = this.#env.moment().monoMs
    this.#opened.push({ episode, deliveries, since, released: false, saved: this.#store === null })
    if (this.#opened.length > MAX_UNWRITTEN) this.#release(this.#opened.shift() as Opened)
  }

  /** Writes what was added. Messages do not wait for a store that fails; for a locked one they do, but not long. */
  flush(): void {
    if (this.#store === null) for (const opened of this.#opened.splice(0)) this.#release(opened)
    else if (this.#failures === 0 && !this.#hasEnded) this.#write()
    else if (!this.#isLocked || this.#failures > BUSY_TRIES) this.#releaseAll()
  }

  close(key: string, closedAt: number, resolution: StoredEpisode['resolution']): void {
    if (this.#store === null) return
    this.#closed.set(key, { key, closedAt, resolution })
    dropOldest(this.#closed, MAX_UNWRITTEN)
    this.#schedule()
  }

  worsen(episode: WorseEpisode): void {
    if (this.#store === null) return
    this.#worse.set(episode.key, episode)
    dropOldest(this.#worse, MAX_UNWRITTEN)
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
    if (this.#store === null || this.#hasEnded) return
    const { monoMs } = this.#env.moment()
    for (const opened of [...this.#underWay, ...this.#opened]) {
      if (monoMs - opened.since >= SLOW_MS) this.#release(opened)
    }
    if (this.#isWaiting && monoMs >= this.#retryAt) this.#write()
  }

  /** Writes what is left; tries again after each `pause`, for a while. */
  async end(pause: () => Promise<void>): Promise<void> {
    for (let tries = 0; this.#store !== null && tries <= CLOSE_TRIES; tries++) {
      do {
        this.#write()
        await Promise.race([this.#writing, pause()])
      } while (this.#isWaiting && this.#failures === 0 && this.#writing === null)
      if (this.isWritten || (this.#failures > 0 && !this.#isLocked)) break
      await pause()
    }
    this.#hasEnded = true
    this.#releaseAll()
  }

  #schedule(): void {
    if (this.#hasEnded || this.#isScheduled || this.#writing !== null || this.#failures > 0) return
    this.#isScheduled = true
    this.#env.defer(() => {
      this.#isScheduled = false
      this.#write()
    })
  }

  /** Writes one batch; another follows after the event loop has had its turn. */
  #write(): void {
    const store = this.#store
    if (store === null || this.#writing !== null || this.#hasEnded || !this.#isWaiting) return
    const opened = this.#opened.splice(0, BATCH)
    const closed = this.#takeWritten(this.#closed)
    const worse = this.#takeWritten(this.#worse)
    const changed = [...this.#changed].slice(0, BATCH)
    const moment = this.#env.moment()
    const batch = {
      owner: this.#env.owner,
      leaseUntil: this.#env.leaseUntil(),
      opened: opened.map(({ episode, deliveries }) => ({
        episode,
        deliveries: deliveries.map((delivery) => toStored(delivery, moment)),
      })),
      closed,
      worse,
      changed: changed.map((delivery) => toStored(delivery, moment)),
    }
    for (const delivery of changed) this.#changed.delete(delivery)
    // From here on a change of theirs is one more to write.
    for (const { deliveries } of opened) for (const delivery of deliveries) delivery.stored = true
    const saved = (known: readonly KnownEpisode[] | void) => {
      this.#saved(opened, known ?? [])
      this.#failures = 0
      this.#env.worked()
    }
    const failed = (error: unknown) => {
      this.#opened = [...opened, ...this.#opened]
      for (const close of closed) if (!this.#closed.has(close.key)) this.#closed.set(close.key, close)
      for (const one of worse) if (!this.#worse.has(one.key)) this.#worse.set(one.key, one)
      for (const delivery of changed) this.#changed.add(delivery)
      for (const delivery of opened.flatMap(({ deliveries }) => deliveries)) {
        delivery.stored = false
        this.#changed.delete(delivery)
      }
      this.#failed(error)
    }
    try {
      const result = store.save(batch)
      if (!(result instanceof Promise)) saved(result)
      else {
        this.#underWay = opened
        this.#writing = result
          .then(saved)
          .catch(failed)
          .finally(() => {
            this.#writing = null
            this.#underWay = []
            if (this.#isWaiting) this.#schedule()
          })
      }
    } catch (error) {
      failed(error)
    }
    if (this.#isWaiting) this.#schedule()
  }

  /** Those whose episode is in the store, or in the batch; the others are written after it. */
  #takeWritten<T extends { readonly key: string }>(from: Map<string, T>): T[] {
    if (from.size === 0) return []
    const unwritten = new Set(this.#opened.map(({ episode }) => episode?.key))
    const taken: T[] = []
    for (const [key, one] of from) {
      if (taken.length === BATCH) break
      if (!unwritten.has(key)) taken.push(one)
    }
    for (const { key } of taken) from.delete(key)
    return taken
  }

  #failed(error: unknown): void {
    this.#failures++
    this.#isLocked = error instanceof StoreBusy
    this.#env.failed(error)
    const isQuick = this.#isLocked && this.#failures <= BUSY_TRIES
    const waitMs = isQuick ? BUSY_MS * 2 ** (this.#failures - 1) : storeRetryMs(this.#failures)
    this.#retryAt = this.#env.moment().monoMs + waitMs
    if (isQuick) this.#env.later(waitMs, () => this.#write())
    else this.#releaseAll()
  }

  #saved(opened: readonly Opened[], known: readonly KnownEpisode[]): void {
    const byKey = new Map(known.map((episode) => [episode.key, episode]))
    for (const one of opened) {
      const before = one.episode === null ? undefined : byKey.get(one.episode.key)
      one.saved = true
      if (before === undefined) this.#release(one)
      else this.#env.known(one, before)
    }
  }

  #releaseAll(): void {
    for (const opened of this.#opened) this.#release(opened)
  }

  #release(opened: Opened): void {
    if (opened.released) return
    opened.released = true
    this.#env.release(opened)
  }
}

/** A store that fails is tried again less and less often: each try may hold the event loop for some ms. */
export function storeRetryMs(failures: number): number {
  return Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** Math.min(10, failures - 1))
}

/**
 * What this process holds of a store that several share: its lease is renewed three times in its length, and what dead
 * processes left is taken over on the way.
 */

import { MAX_PAUSE_MS } from './backoff.ts'
import { type Delivery, fromStored, isOpen, type Moment } from './delivery.ts'
import { storeRetryMs } from './outbox.ts'
import type { Claimed, OutboxStore } from './outbox-store.ts'

/** Messages taken over at a time: some ms. */
const CLAIM = 200
/** A wall clock that has gone on by so much more or less than the monotonic one was set, or its machine slept. */
const STEP_MS = 2000

export interface LeaseOptions {
  readonly owner: string
  /** The channels of this process, as the store names them. */
  readonly channels: readonly string[]
  readonly leaseMs: number
  readonly expireMs: number
  readonly keepMs: number
}

export interface LeaseEnvironment {
  moment(): Moment
  /** Messages taken over from a dead process. */
  claimed(deliveries: readonly Delivery[]): void
  /** Our lease had run out: only these, `<key>\n<channel>`, are still ours. */
  held(keys: ReadonlySet<string>): void
  /** Messages of channels that nobody has any more are dead. */
  expired(count: number): void
  failed(error: unknown): void
  worked(): void
}

export class Lease {
  readonly #store: OutboxStore
  readonly #options: LeaseOptions
  readonly #env: LeaseEnvironment
  #claiming: Promise<void> | null = null
  #failures = 0
  /** When the next claim is due, by either clock: a machine that slept has a monotonic clock that did not go on. */
  #due: Moment = { monoMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
  #last: Moment | null = null
  /** Until then, of the monotonic clock, others may not have renewed theirs since the clock was set. */
  #onlyRenewUntil = Number.NEGATIVE_INFINITY

  constructor(store: OutboxStore, options: LeaseOptions, env: LeaseEnvironment) {
    this.#store = store
    this.#options = options
    this.#env = env
  }

  /** Once a second. */
  tick(): void {
    const { monoMs, wallMs } = this.#env.moment()
    if (monoMs >= this.#due.monoMs || wallMs >= this.#due.wallMs) this.claim()
  }

  /** Of a lease that begins now. */
  leaseUntil(): number {
    return this.#env.moment().wallMs + this.#options.leaseMs
  }

  /** A store that answers at once has done so on return. */
  claim(): void {
    if (this.#claiming !== null) return
    const { owner, channels, leaseMs, expireMs, keepMs } = this.#options
    const now = this.#env.moment()
    const { monoMs, wallMs } = now
    const stepMs = this.#last === null ? 0 : wallMs - this.#last.wallMs - (monoMs - this.#last.monoMs)
    if (Math.abs(stepMs) > STEP_MS) this.#onlyRenewUntil = monoMs + leaseMs
    this.#last = now
    this.#dueIn(leaseMs / 3)
    const failed = (error: unknown) => {
      this.#failures++
      this.#dueIn(Math.min(leaseMs / 3, storeRetryMs(this.#failures)))
      this.#env.failed(error)
    }
    try {
      const claimed = this.#store.claim({
        owner,
        channels,
        now: wallMs,
        leaseUntil: wallMs + leaseMs,
        limit: monoMs < this.#onlyRenewUntil ? 0 : CLAIM,
        expireFrom: wallMs - expireMs,
        keepFrom: wallMs - keepMs,
      })
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

  /** Others need not wait for its end. */
  async release(): Promise<void> {
    try {
      await this.#store.release(this.#options.owner)
    } catch (error) {
      this.#env.failed(error)
    }
  }

  #take({ deliveries, episodes, held, expired }: Claimed): void {
    this.#failures = 0
    this.#env.worked()
    if (held !== null) this.#env.held(held)
    const moment = this.#env.moment()
    const byKey = new Map(episodes.map((episode) => [episode.key, episode]))
    this.#env.claimed(
      deliveries.filter(isOpen).map((stored) => fromStored(stored, moment, MAX_PAUSE_MS, byKey.get(stored.episode))),
    )
    if (expired > 0) this.#env.expired(expired)
    // There may be more.
    if (deliveries.length >= CLAIM) this.#dueIn(0)
  }

  #dueIn(ms: number): void {
    const { monoMs, wallMs } = this.#env.moment()
    this.#due = { monoMs: monoMs + ms, wallMs: wallMs + ms }
  }
}

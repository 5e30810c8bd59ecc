/**
 * Where messages survive the process. Implemented by `storage/`, or by a host with a database of its own. Several
 * processes may share one: each holds what it delivers under a lease, and takes over what a dead one has left.
 */

import type { Resolution, StaleReason } from '../instrumentation/turn-counters.ts'
import type { Message } from './message.ts'

export type DeliveryState = 'pending' | 'delivered' | 'withdrawn' | 'dead'

/** Times are epoch ms. */
export interface StoredEpisode {
  /** `stale/<thread>/<turn>/<episode>`. */
  readonly key: string
  readonly thread: string
  readonly turn: string
  readonly episode: number
  readonly reason: StaleReason
  readonly openedAt: number
  readonly closedAt: number | null
  readonly resolution: Resolution | null
  /** Whether any of its messages was not withdrawn; only read, never written. @default true */
  readonly told?: boolean
}

/** One message on one channel. `key` and `channel` together are unique. */
export interface StoredDelivery {
  readonly key: string
  /** The channel's name and target. */
  readonly channel: string
  /** Key of the episode it speaks of. */
  readonly episode: string
  readonly message: Message
  /** Messages of one group are sent as one. */
  readonly group: string | null
  readonly since: number
  readonly state: DeliveryState
  /** Whether the channel shows a state that it must still be told the end of. */
  readonly firing: boolean
  readonly attempts: number
  readonly rejections: number
  readonly dueAt: number
  readonly failure: string | null
  readonly settledAt: number | null
}

/** What is written in one transaction. */
export interface OutboxBatch {
  readonly owner: string
  /** Of the owner's lease, where it has none yet. */
  readonly leaseUntil: number
  /** An episode together with its messages. */
  readonly opened: readonly { readonly episode: StoredEpisode | null; readonly deliveries: readonly StoredDelivery[] }[]
  readonly closed: readonly Pick<StoredEpisode, 'key' | 'closedAt' | 'resolution'>[]
  /** A stronger reason, and the message with it for what is pending, whoever holds it. */
  readonly worse: readonly WorseEpisode[]
  readonly changed: readonly StoredDelivery[]
}

export interface WorseEpisode extends Pick<StoredEpisode, 'key' | 'reason'> {
  readonly message: Message
}

/** An episode that another owner had opened before: nothing of it was written. */
export interface KnownEpisode {
  readonly key: string
  readonly openedAt: number
  readonly open: boolean
}

export interface ClaimRequest {
  readonly owner: string
  readonly now: number
  readonly leaseUntil: number
  /** Channels that this process can deliver on. */
  readonly channels: readonly string[]
  /** Messages taken over at most, but whole groups; 0 only renews the lease. */
  readonly limit: number
  /** Pending messages from before this are dead; settled ones from before `keepFrom` are forgotten. */
  readonly expireFrom: number
  readonly keepFrom: number
}

export interface Claimed {
  /** Taken over from owners whose lease is over, with their episodes. */
  readonly deliveries: readonly StoredDelivery[]
  readonly episodes: readonly StoredEpisode[]
  /** Null while our own lease held; else `<key>\n<channel>` of what is still ours. */
  readonly held: ReadonlySet<string> | null
  /** Messages of channels that nobody has any more, made dead because they are too old. */
  readonly expired: number
}

/** Every method may return a promise, and may throw or reject: messages then go out from memory, and writing is tried again. */
export interface OutboxStore {
  /** Episodes opened since an epoch ms, oldest first. */
  episodes(since: number): readonly StoredEpisode[] | Promise<readonly StoredEpisode[]>
  /** Renews our lease, and takes over what nobody alive holds, in one transaction. */
  claim(request: ClaimRequest): Claimed | Promise<Claimed>
  /** All or nothing, except that known episodes are left as they are; returns those, if there are any. */
  save(batch: OutboxBatch): readonly KnownEpisode[] | void | Promise<readonly KnownEpisode[] | void>
  /** Gives up the lease, so that others need not wait for its end. */
  release(owner: string): void | Promise<void>
}

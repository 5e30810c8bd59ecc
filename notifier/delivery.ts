/** One message on one channel, from the verdict until it is delivered, withdrawn or dead. */

import type { Message } from './message.ts'
import type { DeliveryState, StoredDelivery, StoredEpisode } from './outbox-store.ts'

export interface Delivery {
  readonly key: string
  /** The channel's name and target. */
  readonly channel: string
  /** Key of the episode it speaks of. */
  readonly episode: string
  readonly group: string | null
  /** Epoch ms at which the episode opened. */
  readonly since: number
  /** Monotonic ms of the same; before the start of this process for what another left. */
  readonly sinceMono: number
  /** Replaced when a stronger reason comes before it is delivered. */
  message: Message
  state: DeliveryState
  /** Whether the channel shows a state that it must still be told the end of. */
  firing: boolean
  attempts: number
  rejections: number
  /** Why the last try failed, or why it is dead. */
  failure: string | null
  /** Monotonic ms of the next try. */
  dueAt: number
  /** Epoch ms. */
  settledAt: number | null
  /** Epoch ms of the end of the episode, and how it ended. */
  endedAt: number | null
  sequel: StoredEpisode['resolution']
  inFlight: boolean
  /** To be taken back as soon as the try under way has failed. */
  withdrawing: boolean
  /** Whether the store knows it. */
  stored: boolean
}

export type NewDelivery = Pick<
  Delivery,
  'key' | 'channel' | 'episode' | 'group' | 'since' | 'sinceMono' | 'message' | 'dueAt'
>

export function newDelivery(fields: NewDelivery): Delivery {
  return {
    ...fields,
    state: 'pending',
    firing: false,
    attempts: 0,
    rejections: 0,
    failure: null,
    settledAt: null,
    endedAt: null,
    sequel: null,
    inFlight: false,
    withdrawing: false,
    stored: false,
  }
}

/** Whether anything is left to do with it. */
export function isOpen({ state, firing }: Pick<Delivery, 'state' | 'firing'>): boolean {
  return state === 'pending' || firing
}

/** The two clocks at one moment, to translate between them. */
export interface Moment {
  readonly wallMs: number
  readonly monoMs: number
}

export function toStored(delivery: Delivery, { wallMs, monoMs }: Moment): StoredDelivery {
  const { key, channel, episode, message, group, since, state, firing, attempts, rejections, failure } = delivery
  const dueAt = wallMs + delivery.dueAt - monoMs
  const { settledAt } = delivery
  return {
    key,
    channel,
    episode,
    message,
    group,
    since,
    state,
    firing,
    attempts,
    rejections,
    dueAt,
    failure,
    settledAt,
  }
}

/** A wall clock that was set back must hold nothing up: whatever is due later than `latestMs` from now is due now. */
export function fromStored(
  stored: StoredDelivery,
  { wallMs, monoMs }: Moment,
  latestMs: number,
  episode: Pick<StoredEpisode, 'closedAt' | 'resolution'> | undefined,
): Delivery {
  const { dueAt, ...fields } = stored
  const waitMs = dueAt - wallMs
  return {
    ...fields,
    sinceMono: monoMs - Math.max(0, wallMs - stored.since),
    dueAt: waitMs > 0 && waitMs <= latestMs ? monoMs + waitMs : monoMs,
    endedAt: episode?.closedAt ?? null,
    sequel: episode?.resolution ?? null,
    inFlight: false,
    withdrawing: false,
    stored: true,
  }
}

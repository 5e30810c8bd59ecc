/** A way out for messages. Hosts implement `Channel` for a dispatch of their own; ours are in `channels/`. */

import type { Message } from './message.ts'

export const FAILURE_REASONS = [
  'timeout',
  'connection',
  'client_error',
  'server_error',
  'rejected',
  'store',
  'other',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]

/**
 * What a channel says of a try. Nothing is the same as `delivered`. `over`: the host knows that the turn has ended, so
 * that its silence is nothing to tell and the message is withdrawn. The others speak of the parent thread:
 * `busy` is tried again until it is not; `unknown`, the receiver's refusal, and `absent`, where nothing was sent, too, but
 * for ten minutes at most; `archived` and `gone` make the message dead.
 */
export type Delivered = 'delivered' | 'over' | 'busy' | 'unknown' | 'absent' | 'archived' | 'gone'

/** One try to deliver a message. */
export interface Try {
  /** The idempotency key: the same at every try of this message, in every process. */
  readonly key: string
  /** Counts from 1. */
  readonly attempt: number
  /** How many tries the receiver has definitely refused; a time-out is none. */
  readonly rejections: number
  /** When the episode opened, ISO 8601. */
  readonly since: string
  /** When the episode ended, ISO 8601; null while it lasts. */
  readonly endedAt: string | null
  /**
   * Aborted when the try has taken too long, or the watch stops. A channel that settles then is tried again; one that
   * does not is never asked twice at a time.
   */
  readonly signal: AbortSignal
}

export interface Channel {
  /** Label of its metrics and its name on the page: no secret, unique within a watch. */
  readonly name: string
  /** The receiver, in a store that several processes share, such as a hash of its URL; unique too. @default the name */
  readonly target?: string
  /** Tries under way at a time. @default 16 */
  readonly concurrency?: number
  /** How long a try may take, in ms; looked at once a second. @default 30000 */
  readonly timeoutMs?: number
  /** Whether the message goes into the parent thread, so that one without a parent has no place to go. @default false */
  readonly needsParent?: boolean
  /** Shows a state: is told again every so many ms while the episode lasts, and once when it ends. @default never */
  readonly repeatMs?: number
  /**
   * Delivers a message. A throw or rejection is tried again with a back-off; `DeliveryFailed` says more about it. Must
   * not mind getting the same key again: after a crash between the delivery and its record it will.
   */
  deliver(message: Message, attempt: Try): Delivered | void | Promise<Delivered | void>
  /** Frees what it holds, when the watch has stopped. */
  close?(): void | Promise<void>
}

export interface Failure {
  /** Whether it is worth another try. @default true */
  readonly retry?: boolean
  /** What the receiver asked for, in ms: the whole channel pauses that long, at most an hour. */
  readonly retryAfterMs?: number | null
}

/** A try that failed. Its message is shown and logged, so it must hold no URL, header or body. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed'
  readonly reason: FailureReason
  readonly retry: boolean
  readonly retryAfterMs: number | null

  constructor(reason: FailureReason, message: string, { retry = true, retryAfterMs = null }: Failure = {}) {
    super(message)
    this.reason = reason
    this.retry = retry
    this.retryAfterMs = retryAfterMs !== null && retryAfterMs >= 0 ? retryAfterMs : null
  }
}

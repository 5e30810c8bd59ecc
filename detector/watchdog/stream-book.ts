/** Where watched streams are counted, and the words for what becomes of them. */

export const STALL_PHASES = ['headers', 'first_content', 'between_content', 'liveness', 'total'] as const
/** What a stream that stalled was waiting for: the response, content, more of it, any sign of life, or its end. */
export type StallPhase = (typeof STALL_PHASES)[number]

export const RETRY_RESULTS = ['content', 'stalled', 'failed', 'aborted'] as const
/**
 * How the new attempt went. `content`: it reached content or ended whole; `stalled`: it stalled too before any content;
 * `failed`: it failed otherwise; `aborted`: the caller aborted meanwhile.
 */
export type RetryResult = (typeof RETRY_RESULTS)[number]

/** Where watched streams are counted; a Turnwatch is one. */
export interface StreamBook {
  streamStarted(source: string): void
  streamStalled(source: string, phase: StallPhase): void
  /** A stream that was issued again after a stall, and how that went. */
  streamRetried(source: string, result: RetryResult): void
}

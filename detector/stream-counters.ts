/** What has become of watched streams, by source. A source has every count at 0 from when it is first heard of. */

import {
  RETRY_RESULTS,
  type RetryResult,
  STALL_PHASES,
  type StallPhase,
  type StreamBook,
} from './watchdog/stream-book.ts'

/** Sources counted apart; later ones are `other`. */
const MAX_SOURCES = 100
const OTHER = 'other'

export interface SourceCounts {
  readonly source: string
  started: number
  readonly stalled: Record<StallPhase, number>
  readonly retried: Record<RetryResult, number>
}

/** Callers may be of JavaScript and give anything: what is no name is `other`, what is no phase or result is not counted. */
export class StreamCounters implements StreamBook {
  readonly #sources = new Map<string, SourceCounts>()

  /** In the order in which the sources came; none is ever forgotten. */
  all(): SourceCounts[] {
    return [...this.#sources.values()]
  }

  streamStarted(source: string): void {
    this.#of(source).started++
  }

  streamStalled(source: string, phase: StallPhase): void {
    if (STALL_PHASES.includes(phase)) this.#of(source).stalled[phase]++
  }

  streamRetried(source: string, result: RetryResult): void {
    if (RETRY_RESULTS.includes(result)) this.#of(source).retried[result]++
  }

  #of(source: string): SourceCounts {
    const known = this.#sources.get(source)
    if (known !== undefined) return known
    const isNamed = typeof source === 'string' && this.#sources.size < MAX_SOURCES
    if (!isNamed && source !== OTHER) return this.#of(OTHER)
    const counts: SourceCounts = {
      source,
      started: 0,
      stalled: { headers: 0, first_content: 0, between_content: 0, liveness: 0, total: 0 },
      retried: { content: 0, stalled: 0, failed: 0, aborted: 0 },
    }
    this.#sources.set(source, counts)
    return counts
  }
}

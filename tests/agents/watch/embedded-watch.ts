/** A watch as a host embeds it, on the real clock: its verdicts with the times at which they came, and the turns that ended. */

import { afterEach } from 'vitest'
import type { Verdict } from '../../../detector/verdict.ts'
import { createSource, type Direction, type SourceName, type Watcher } from '../../../instrumentation/sources/index.ts'
import { createTurnwatch, type TurnEnded, type Turnwatch } from '../../../turnwatch.ts'

/** How a host lets the watch see its agent: by a tap, or by giving a source what it reads itself. */
export type Way = 'tap' | 'source'

interface Judged {
  readonly reason: string
  readonly phase: string
  readonly silenceMs: number
  readonly thresholdMs: number
  /** Monotonic ms, on the clock of the provider's log. */
  readonly at: number
}

export class EmbeddedWatch {
  readonly watch: Turnwatch
  /** Stale verdicts, in order. */
  readonly stale: Judged[] = []
  readonly recovered: Verdict[] = []
  readonly ended: TurnEnded[] = []
  readonly unknownTypes: string[] = []
  readonly faults: string[] = []
  readonly #waiting = new Set<() => void>()

  /** All three limits are the same unless the first token has one of its own. */
  constructor(limitMs: number, firstTokenMs = limitMs) {
    this.watch = createTurnwatch({
      thresholds: { firstTokenMs, midStreamMs: limitMs, afterToolMs: limitMs },
      onError: ({ message }) => this.faults.push(message),
    })
    this.watch.on('stale', ({ reason, phase, silenceMs, thresholdMs }) => {
      this.stale.push({ reason, phase, silenceMs, thresholdMs, at: performance.now() })
      this.#look()
    })
    this.watch.on('recovered', (verdict) => this.recovered.push(verdict))
    this.watch.on('turn-ended', (ended) => {
      this.ended.push(ended)
      this.#look()
    })
    this.watch.start()
  }

  /** What a tap tells. */
  get watcher(): Watcher {
    return {
      observe: this.watch.observe,
      unclassified: (_source, type) => void this.unknownTypes.push(type),
      unreadable: (_source, error) => void this.faults.push(String(error)),
    }
  }

  /** Takes what one connection says, in both directions, of a host that reads it itself. */
  reader(name: SourceName): (raw: unknown, direction?: Direction) => void {
    const { observe, unclassified, unreadable } = this.watcher
    const source = createSource(name, { onUnclassified: unclassified, onUnreadable: unreadable })
    return (raw, direction) => source.read(raw, observe, direction)
  }

  /** The connection is gone, and with it everything that ran on it. */
  disconnected(): void {
    for (const { threadId } of this.watch.threads()) this.watch.observe(threadId, { kind: 'exit' })
  }

  async untilStale(): Promise<Judged> {
    await this.#until(() => this.stale.length > 0)
    return this.stale[0] as Judged
  }

  async untilEnded(): Promise<TurnEnded> {
    await this.#until(() => this.ended.length > 0)
    return this.ended[0] as TurnEnded
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
      })
    }
  }

  #look(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

const watches: EmbeddedWatch[] = []
afterEach(async () => {
  for (const { watch } of watches.splice(0)) await watch.stop()
})

/** It stops when the test is over. */
export function embeddedWatch(limitMs: number, firstTokenMs?: number): EmbeddedWatch {
  const watch = new EmbeddedWatch(limitMs, firstTokenMs)
  watches.push(watch)
  return watch
}

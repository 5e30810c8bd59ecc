/** Carries samples between the detector and a store: loads once, writes in batches, tries again what failed. */

import { PHASES } from '../instrumentation/events.ts'
import type { Sample } from '../instrumentation/turn-stats.ts'
import type { Detector } from './detector.ts'
import type { SampleStore, StoredExtras, StoredLearning } from './sample-store.ts'

/** Samples that wait for a store that does not take them; older ones are dropped. */
const MAX_WAITING = 10_000

export class SampleWriter {
  readonly #store: SampleStore
  readonly #detector: Detector
  #waiting: Sample[] = []
  #writing: Promise<void> | null = null
  #loading = false

  constructor(store: SampleStore, detector: Detector) {
    this.#store = store
    this.#detector = detector
    try {
      const loaded = store.load()
      if (loaded instanceof Promise) {
        this.#loading = true
        loaded
          .then((learning) => this.#take(learning))
          .catch((error: unknown) => this.#failed('load', error))
          .finally(() => {
            this.#loading = false
          })
      } else this.#take(loaded)
    } catch (error) {
      this.#failed('load', error)
    }
  }

  add(samples: readonly Sample[]): void {
    this.#waiting.push(...samples)
    if (this.#waiting.length > MAX_WAITING) this.#waiting.splice(0, this.#waiting.length - MAX_WAITING)
  }

  /** Writes what is waiting; returns at once. */
  flush(): void {
    if (this.#writing !== null || this.#loading) return
    const rows = this.#detector.learning.takeDirty()
    if (this.#waiting.length === 0 && rows.length === 0) return
    const samples = this.#waiting
    this.#waiting = []
    this.#writing = this.#save(samples, rows).finally(() => {
      this.#writing = null
    })
  }

  async close(): Promise<void> {
    await this.#writing
    this.flush()
    await this.#writing
    try {
      await this.#store.close?.()
    } catch (error) {
      this.#failed('close', error)
    }
  }

  async #save(samples: Sample[], rows: number[]): Promise<void> {
    try {
      await this.#store.save(
        samples,
        rows.map((row) => this.#extras(row)),
      )
    } catch (error) {
      this.#waiting = [...samples, ...this.#waiting]
      this.#detector.learning.markDirty(rows)
      this.#failed('save', error)
    }
  }

  #extras(row: number): StoredExtras {
    const { provider, model } = this.#detector.turns.keys.at(Math.floor(row / 3))
    const phase = PHASES[row % 3] as (typeof PHASES)[number]
    return { provider, model, phase, ...this.#detector.learning.history(row).extras }
  }

  #take(learning: StoredLearning): void {
    const { learning: known } = this.#detector
    const before = new Set<string>()
    for (const sample of learning.samples) {
      if (known.isNew(sample.id)) before.add(sample.id)
      if (before.has(sample.id)) this.#detector.addSample(sample)
    }
    for (const extras of learning.extras) known.restore(this.#detector.row(extras), extras)
    // What was just read need not be written back.
    known.takeDirty()
  }

  #failed(op: 'load' | 'save' | 'close', error: unknown): void {
    this.#detector.self.storeErrors[op]++
    this.#detector.fault('store', error)
  }
}

/** Carries samples between the detector and a store: loads once, writes in batches, tries again what failed. */

import { PHASES } from '../instrumentation/events.ts'
import { isSilence, type Sample } from '../instrumentation/turn-stats.ts'
import type { Detector } from './detector.ts'
import type { SampleStore, StoredExtras, StoredLearning } from './sample-store.ts'
import type { StoreFaults } from './store-faults.ts'

/** Samples that wait for a store that does not take them; older ones are dropped. */
const MAX_WAITING = 10_000
/** How often a store that did not take the samples is tried again at the end. */
const CLOSE_TRIES = 10

export class SampleWriter {
  readonly #store: SampleStore
  readonly #detector: Detector
  readonly #faults: StoreFaults
  #waiting: Sample[] = []
  #writing: Promise<void> | null = null
  #loading = false
  /** Saves that failed in a row. */
  #failures = 0

  constructor(store: SampleStore, detector: Detector, faults: StoreFaults) {
    this.#store = store
    this.#detector = detector
    this.#faults = faults
    try {
      const loaded = store.load()
      if (loaded instanceof Promise) {
        this.#loading = true
        loaded
          .then((learning) => this.#take(learning))
          .catch((error: unknown) => faults.failed('load', error))
          .finally(() => {
            this.#loading = false
          })
      } else this.#take(loaded)
    } catch (error) {
      faults.failed('load', error)
    }
  }

  add(samples: readonly Sample[]): void {
    for (const sample of samples) this.#waiting.push(sample)
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

  /** Writes what is left. A store that another process has locked is tried again after each `pause`, for a while. */
  async close(pause: () => Promise<void>): Promise<void> {
    await this.#writing
    this.flush()
    await this.#writing
    for (let tries = 0; this.#failures > 0 && tries < CLOSE_TRIES; tries++) {
      await pause()
      this.flush()
      await this.#writing
    }
    if (this.#waiting.length > 0) {
      this.#detector.fault('store', new Error(`${this.#waiting.length} samples could not be saved and are lost`))
    }
    try {
      await this.#store.close?.()
    } catch (error) {
      this.#faults.failed('close', error)
    }
  }

  async #save(samples: Sample[], rows: number[]): Promise<void> {
    try {
      await this.#store.save(
        samples,
        rows.map((row) => this.#extras(row)),
      )
      this.#failures = 0
      this.#faults.worked('save')
    } catch (error) {
      this.#waiting = [...samples, ...this.#waiting]
      this.#detector.learning.markDirty(rows)
      this.#failures++
      this.#faults.failed('save', error)
    }
  }

  #extras(row: number): StoredExtras {
    const { provider, model } = this.#detector.turns.keys.at(Math.floor(row / 3))
    const phase = PHASES[row % 3] as (typeof PHASES)[number]
    return { provider, model, phase, ...this.#detector.learning.history(row).extras }
  }

  #take(learning: StoredLearning): void {
    const { learning: known } = this.#detector
    // A store that loads late finds rows that this process has learned in already; they are still to be written.
    const changed = known.takeDirty()
    const before = new Set<string>()
    for (const sample of learning.samples) {
      if (!isSample(sample)) continue
      if (known.isNew(sample.id)) before.add(sample.id)
      if (before.has(sample.id)) this.#detector.addSample(sample)
    }
    for (const extras of learning.extras) if (isRow(extras)) known.restore(this.#detector.row(extras), extras)
    // What was just read need not be written back.
    known.takeDirty()
    known.markDirty(changed)
  }
}

/** A store may be the host's own, or damaged: what no detector can have written is passed over. */
function isSample(sample: Sample): boolean {
  return isRow(sample) && typeof sample.id === 'string' && isSilence(sample.silenceMs)
}

function isRow({ provider, model, phase }: Pick<Sample, 'provider' | 'model' | 'phase'>): boolean {
  return typeof provider === 'string' && (model === null || typeof model === 'string') && PHASES.includes(phase)
}

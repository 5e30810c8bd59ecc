/** Where samples survive a restart. Implemented by `storage/`, or by a host with a database of its own. */

import type { Phase } from '../instrumentation/events.ts'
import type { Sample } from '../instrumentation/turn-stats.ts'
import type { HistoryExtras } from './history.ts'

/** What is kept of a (provider, model, phase) besides its samples. */
export interface StoredExtras extends HistoryExtras {
  readonly provider: string
  readonly model: string | null
  readonly phase: Phase
}

export interface StoredLearning {
  /** Oldest first; the last 4000 of each (provider, model, phase) are enough. */
  readonly samples: readonly Sample[]
  readonly extras: readonly StoredExtras[]
}

/** Thrown by a store that cannot take samples just now and will soon, such as a locked file. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy'
}

/**
 * Every method may return a promise, and may throw or reject: the detector then goes on from memory, and what was not
 * saved is tried again. `save` gets each sample once; a (id, phase) that the store knows already must not count twice.
 */
export interface SampleStore {
  load(): StoredLearning | Promise<StoredLearning>
  save(samples: readonly Sample[], extras: readonly StoredExtras[]): void | Promise<void>
  close?(): void | Promise<void>
}

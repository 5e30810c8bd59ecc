/** The thresholds in force and what they were learned from: one row per (provider, model, phase). */

import { wider } from '../instrumentation/columns.ts'
import { dropOldest } from '../instrumentation/drop-oldest.ts'
import { PHASES, type Phase } from '../instrumentation/events.ts'
import type { ModelKey } from '../instrumentation/model-keys.ts'
import { History, type HistoryExtras } from './history.ts'
import {
  defaultMs,
  legacyFloorMs,
  MIN_SAMPLES,
  type Preset,
  type ThresholdOptions,
  type ThresholdSource,
  thresholdMs,
  thresholdSource,
} from './thresholds.ts'

/** Record ids remembered, so that a record that comes twice counts once. */
const MAX_RECORD_IDS = 20_000

export interface ThresholdRow {
  readonly provider: string
  readonly model: string | null
  readonly phase: Phase
  readonly thresholdMs: number
  readonly thresholdSource: ThresholdSource
  readonly samples: number
  readonly largestMs: number
  readonly censored: number
}

export class Learning {
  readonly preset: Preset
  /** Threshold in ms by row; a row is model key x 3 + phase. */
  limits = new Float64Array(0)
  readonly #options: ThresholdOptions
  readonly #histories: History[] = []
  readonly #models: (string | null)[] = []
  readonly #blind = new Set<number>()
  readonly #ids = new Set<string>()
  /** Rows whose history changed since it was last written. */
  #dirty = new Set<number>()

  constructor(options: ThresholdOptions) {
    this.#options = options
    this.preset = options.preset ?? 'standard'
  }

  addKey(key: number, model: string | null): void {
    const needed = (key + 1) * PHASES.length
    if (this.limits.length < needed) this.limits = wider(this.limits, needed * 2)
    this.#models[key] = model
    for (let phase = 0; phase < PHASES.length; phase++) {
      this.#histories[key * 3 + phase] = new History()
      this.#update(key * 3 + phase)
    }
  }

  /** Turns of this key come on a wire that cannot show an open tool; the key is shown with their threshold. */
  markBlind(key: number): void {
    this.#blind.add(key)
  }

  /** The threshold in ms of a turn on a wire that cannot show an open tool. */
  blindLimit(row: number): number {
    return this.#threshold(row, true)
  }

  /** Whether a row has enough samples of our own. */
  isKnown(row: number): boolean {
    return this.history(row).own >= MIN_SAMPLES
  }

  history(row: number): History {
    return this.#histories[row] as History
  }

  /** Whether a record is new; from now on it is not. */
  isNew(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    dropOldest(this.#ids, MAX_RECORD_IDS)
    return true
  }

  /** Takes the longest silence of a healthy turn. */
  add(row: number, silenceMs: number, legacy = false): void {
    this.history(row).add(silenceMs, legacy)
    this.#dirty.add(row)
    this.#update(row)
  }

  /** A turn that was stale in this row went on and completed; returns the sample that this confirms, if it does. */
  quarantine(row: number, silenceMs: number): number | null {
    this.#dirty.add(row)
    return this.history(row).quarantine(silenceMs, this.limits[row] as number)
  }

  /** A turn was killed while it was stale in this row. */
  censor(row: number): void {
    this.#dirty.add(row)
    this.history(row).censor()
  }

  /** Rows to write; they count as written from now on. */
  takeDirty(): number[] {
    const rows = [...this.#dirty]
    this.#dirty = new Set()
    return rows
  }

  markDirty(rows: readonly number[]): void {
    for (const row of rows) this.#dirty.add(row)
  }

  restore(row: number, extras: HistoryExtras): void {
    this.history(row).restore(extras)
    this.#update(row)
  }

  source(row: number): ThresholdSource {
    return thresholdSource(this.history(row).count)
  }

  /** The threshold of a thread that nothing is known of. */
  unknownThresholdMs(): number {
    return defaultMs(this.#options, null, false, 'first-token')
  }

  /** What holds for a key; where its turns come on wires of both kinds, the larger threshold. */
  rowOf(key: number, model: ModelKey, phase: number): ThresholdRow {
    const row = key * 3 + phase
    const history = this.history(row)
    return {
      provider: model.provider,
      model: model.model,
      phase: PHASES[phase] as Phase,
      thresholdMs: this.#blind.has(key) ? this.blindLimit(row) : (this.limits[row] as number),
      thresholdSource: this.source(row),
      samples: history.count,
      largestMs: Math.max(history.largestMs, history.largestEverMs),
      censored: history.censored,
    }
  }

  #update(row: number): void {
    this.limits[row] = this.#threshold(row, false)
  }

  #threshold(row: number, blindTools: boolean): number {
    const model = this.#models[Math.floor(row / 3)] ?? null
    const fallback = defaultMs(this.#options, model, blindTools, PHASES[row % 3] as Phase)
    const history = this.history(row)
    const threshold = thresholdMs(this.preset, fallback, history)
    return history.legacy > 0 && history.own < MIN_SAMPLES
      ? Math.max(threshold, legacyFloorMs(fallback, history))
      : threshold
  }
}

/** What a watch can be told when it is made. */

import type { VerifyAnswer } from './detector/detector.ts'
import type { Clock } from './detector/observed-clock.ts'
import { PRESETS, type ThresholdOptions } from './detector/thresholds.ts'
import type { Verdict } from './detector/verdict.ts'
import type { NotifyOption } from './notifier/notifier-options.ts'
import type { Store } from './storage/store.ts'

export interface TurnwatchOptions {
  /** Hears of every fault of ours, of a listener, a callback or the store, in one line. @default prints to stderr */
  readonly onError?: (fault: Error) => void
  /** Where samples and messages survive a restart, see `sqliteStore`. @default memory only */
  readonly store?: Store
  /** Preset and defaults. @default the preset `standard` with 120 s to the first token, 90 s afterwards */
  readonly thresholds?: ThresholdOptions
  /**
   * Told of each stale episode once: a callback, a channel, or channels with options. What fails is tried again.
   * @default nobody
   */
  readonly notify?: NotifyOption
  /** Asked once when a turn becomes suspect; `no` restarts its silence. No answer within 1 s counts as `still`. */
  readonly verify?: (suspicion: Verdict) => VerifyAnswer | Promise<VerifyAnswer>
  /** The thread that started another. @default `sub.<parent>.<suffix>` */
  readonly parentOf?: (threadId: string) => string | null
  /** Threads that the host shows as running; those whose turn has ended are counted as unsettled. */
  readonly runningThreads?: () => Iterable<string>
  /** Threads without a running turn that are remembered. @default 10000 */
  readonly keepThreads?: number
  /** How long they are. @default 86400000 (24 h) */
  readonly keepThreadsMs?: number
  /** A turn without any event for this long ends `lost`. @default 86400000 (24 h) */
  readonly lostAfterMs?: number
  /** A turn whose provider is gone ends `lost` after this long without an end. @default 60000 */
  readonly lostAfterExitMs?: number
  /** @default the clocks of this machine */
  readonly clock?: Clock
}

/** Throws RangeError or TypeError with the option's name and value. */
export function refuseBadOptions(options: TurnwatchOptions): void {
  const { preset, ...defaults } = options.thresholds ?? {}
  if (preset !== undefined && !PRESETS.includes(preset)) {
    throw new TypeError(`thresholds.preset: ${JSON.stringify(preset)} is none of ${PRESETS.join(', ')}`)
  }
  const durations = {
    'thresholds.firstTokenMs': defaults.firstTokenMs,
    'thresholds.midStreamMs': defaults.midStreamMs,
    'thresholds.afterToolMs': defaults.afterToolMs,
    keepThreadsMs: options.keepThreadsMs,
    lostAfterMs: options.lostAfterMs,
    lostAfterExitMs: options.lostAfterExitMs,
  }
  for (const [name, value] of Object.entries(durations)) {
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw new RangeError(`${name}: ${JSON.stringify(value) ?? value} is not a positive number of ms`)
    }
  }
  if (options.keepThreads !== undefined && !(Number.isInteger(options.keepThreads) && options.keepThreads >= 0)) {
    throw new RangeError(`keepThreads: ${options.keepThreads} is not a whole number of threads`)
  }
  for (const name of ['onError', 'verify', 'parentOf', 'runningThreads'] as const) {
    const value = options[name]
    if (value !== undefined && typeof value !== 'function') {
      throw new TypeError(`${name}: ${JSON.stringify(value)} is not a function`)
    }
  }
}

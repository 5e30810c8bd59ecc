/** `turnwatch/detector`: the detector alone, for hosts that keep threads themselves. */

export type { Outcome, Phase, TurnEvent, WaitReason } from '../instrumentation/events.ts'
export type { StaleReason } from '../instrumentation/turn-counters.ts'
export type { Sample, TurnStats } from '../instrumentation/turn-stats.ts'
export { Detector, type DetectorOptions, type DetectorSink, type VerifyAnswer } from './detector.ts'
export type { EndedTurn } from './ended-turn.ts'
export type { ThresholdRow } from './learning.ts'
export { type Clock, ObservedClock } from './observed-clock.ts'
export { type SampleStore, StoreBusy, type StoredExtras, type StoredLearning } from './sample-store.ts'
export {
  CONFIRM,
  type Measured,
  MIN_SAMPLES,
  type Preset,
  sizeAwareMargin,
  type ThresholdDefaults,
  type ThresholdOptions,
  type ThresholdSource,
  thresholdMs,
} from './thresholds.ts'
export { episodeKey, type Verdict } from './verdict.ts'

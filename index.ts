/** `turnwatch`: the facade. */

export type { VerifyAnswer } from './detector/detector.ts'
export type { ThresholdRow } from './detector/learning.ts'
export type { MeasuredDeadlines } from './detector/measured-deadlines.ts'
export type { Clock } from './detector/observed-clock.ts'
export { type SampleStore, StoreBusy, type StoredExtras, type StoredLearning } from './detector/sample-store.ts'
export type { Preset, ThresholdDefaults, ThresholdOptions, ThresholdSource } from './detector/thresholds.ts'
export { episodeKey, type Verdict } from './detector/verdict.ts'
export type { Outcome, Phase, TokenStream, TurnEvent, Usage, WaitReason } from './instrumentation/events.ts'
export type { Family } from './instrumentation/metrics/family.ts'
export type { StaleReason } from './instrumentation/turn-counters.ts'
export type { Sample, StoredStats, TurnStats } from './instrumentation/turn-stats.ts'
export type { PrismLiveness, ThreadState } from './liveness/prism.ts'
export type { Channel, Delivered, DeliveryFailed, FailureReason, Try } from './notifier/channel.ts'
export type { Message } from './notifier/message.ts'
export type { MessageFacts, MessageTemplate } from './notifier/message-text.ts'
export type { NotifierOptions, NotifyCallback, NotifyOption } from './notifier/notifier-options.ts'
export type { ChannelView, NotifierView, UndeliveredMessage } from './notifier/view.ts'
export { type SqliteStoreOptions, sqliteStore } from './storage/sqlite-store.ts'
export type { Store } from './storage/store.ts'
export {
  createTurnwatch,
  type GapSummary,
  type Listeners,
  type MetricsOptions,
  type TurnEnded,
  type TurnHandle,
  type TurnOptions,
  type Turnwatch,
} from './turnwatch.ts'
export type { TurnwatchOptions } from './turnwatch-options.ts'

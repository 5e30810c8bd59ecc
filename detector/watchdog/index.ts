/** `turnwatch/watchdog`: deadlines for one stream, in any runtime with web streams. */

export type { SourceName } from '../../instrumentation/sources/source.ts'
export type { DeadlineName, StreamDeadlines } from './deadlines.ts'
export { StreamFailedError } from './failed-error.ts'
export type { StreamClock } from './observed-time.ts'
export {
  applyChatStreamWatchdog,
  applyResponsesStreamWatchdog,
  applyStreamWatchdog,
  type StreamTimeoutOptions,
  type StreamWatchdogHooks,
} from './openrouter.ts'
export { createRetryBudget, type RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'
export { SharedStream } from './shared-stream.ts'
export { type SettingSource, type StallFacts, StreamStalledError } from './stall-error.ts'
export { type Attempt, type StallRetry, type StallRetryOptions, withStallRetries } from './stall-retries.ts'
export type { RetryResult, StallPhase, StallPhase as StreamStallPhase, StreamBook } from './stream-book.ts'
export { StreamControl } from './stream-control.ts'
export type { UnknownPolicy } from './stream-events.ts'
export type { StreamEventClass } from './stream-state.ts'
export { type TurnContext, type TurnDeadlines, type TurnDeadlinesOptions, turnDeadlines } from './turn-deadlines.ts'
export type { Classify, WatchHooks, WatchOptions } from './watch-options.ts'
export { type EventOf, type Streamed, watchStream } from './watch-stream.ts'

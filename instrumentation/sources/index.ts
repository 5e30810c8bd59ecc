/** `turnwatch/sources`: raw provider events to TurnEvents, one source a wire format; and taps for what a program holds. */

export type { TurnEvent } from '../events.ts'
export { type ProcessTapOptions, type WatchableProcess, watchProcess } from '../taps/child-process.ts'
export { watchIterable } from '../taps/iterable.ts'
export { watchReadable } from '../taps/readable-stream.ts'
export { watchResponse } from '../taps/response.ts'
export type { TapOptions } from '../taps/tap.ts'
export type { Classified, WireClass } from './classifier.ts'
export { recognise } from './recognise.ts'
export {
  type Direction,
  type Emit,
  SOURCE_NAMES,
  type Source,
  type SourceName,
  type SourceOptions,
  type Watcher,
} from './source.ts'
export { classify, createSource, isSentinel } from './wires.ts'

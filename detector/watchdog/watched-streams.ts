/** Which streams are watched, for what does more with them than read. */

import type { StreamGuard } from './stream-guard.ts'

export interface WatchedStream {
  readonly guard: StreamGuard
  /** Opens the stream ahead of its consumer; what it returns asks the source for its next. */
  open(): () => unknown
}

const watched = new WeakMap<object, WatchedStream>()
const stalled = new WeakMap<object, StreamGuard>()

export function remember<T extends object>(stream: T, as: WatchedStream): T {
  watched.set(stream, as)
  return stream
}

/** What watches a stream; undefined for one that is not watched. */
export function watchedStream(stream: unknown): WatchedStream | undefined {
  return typeof stream === 'object' && stream !== null ? watched.get(stream) : undefined
}

export function rememberStall(error: object, guard: StreamGuard): void {
  stalled.set(error, guard)
}

/** What watched the stream that stalled with this error. */
export function guardOfStall(error: object): StreamGuard | undefined {
  return stalled.get(error)
}

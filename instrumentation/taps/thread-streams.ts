/**
 * Which stream has the turn of a thread. A thread has one turn at a time, so the stream that begins one takes the thread
 * over from an older one that has not settled: what that still does, late, is nothing of the new turn.
 */

import { dropOldest } from '../drop-oldest.ts'
import type { Watcher } from '../sources/source.ts'

/** What can be told that its turn is over. */
interface ThreadStream {
  cancelled(): void
}

/** Streams that were left without an end are held until then, as their turns are. */
const MAX_THREADS = 10_000

const latest = new WeakMap<Watcher, Map<string, ThreadStream>>()

/** The stream begins a turn in the thread; one that had it is cancelled first. */
export function takeThread(watch: Watcher, thread: string, stream: ThreadStream): void {
  const streams = latest.get(watch) ?? new Map<string, ThreadStream>()
  const before = streams.get(thread)
  if (before === stream) return
  latest.set(watch, streams)
  streams.delete(thread)
  streams.set(thread, stream)
  dropOldest(streams, MAX_THREADS)
  before?.cancelled()
}

/** The stream is over. */
export function leaveThread(watch: Watcher, thread: string, stream: ThreadStream): void {
  const streams = latest.get(watch)
  if (streams?.get(thread) === stream) streams.delete(thread)
}

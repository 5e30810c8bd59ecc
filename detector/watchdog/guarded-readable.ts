/** A ReadableStream under its deadlines: what is read from the outer is read from the inner, and not before. */

import { isByteStream } from '../../instrumentation/taps/readable-stream-kind.ts'
import type { StreamGuard } from './stream-guard.ts'
import { remember } from './watched-streams.ts'

/** Throws TypeError for a stream that has a reader already. A byte stream stays one. */
export function guardReadable<T>(stream: ReadableStream<T>, guard: StreamGuard): ReadableStream<T> {
  const isBytes = isByteStream(stream)
  const reader = stream.getReader()
  const ask = () => reader.read()
  guard.ask = ask
  guard.releases((reason) => reader.cancel(reason))
  const cancel = (reason: unknown) => {
    guard.cancelled()
    return reader.cancel(reason)
  }
  const outer = isBytes
    ? new ReadableStream({ type: 'bytes', pull: (controller) => pullBytes(controller, guard, ask), cancel })
    : new ReadableStream({ pull: (controller) => pull(controller, guard, ask), cancel }, { highWaterMark: 0 })
  return remember(outer as ReadableStream<T>, { guard, open: () => ask })
}

async function pull(controller: ReadableStreamDefaultController, guard: StreamGuard, ask: () => unknown) {
  const { done, value } = await guard.step(ask)
  if (done) controller.close()
  else controller.enqueue(value)
}

async function pullBytes(controller: ReadableByteStreamController, guard: StreamGuard, ask: () => unknown) {
  const { done, value } = await guard.step(ask)
  if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>)
  controller.close()
  // A reader with memory of its own has it back.
  controller.byobRequest?.respond(0)
}

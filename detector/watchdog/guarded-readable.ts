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
  return remember(ofSameClass(outer as ReadableStream<T>, stream), { guard, open: () => ask })
}

/** A stream of a class of its own, as SDKs have them, keeps that, and what was put on it. */
function ofSameClass<T>(outer: ReadableStream<T>, inner: ReadableStream<T>): ReadableStream<T> {
  // A polyfill's has nothing of what its methods look for.
  if (!(inner instanceof ReadableStream)) return outer
  const prototype: unknown = Object.getPrototypeOf(inner)
  if (prototype !== ReadableStream.prototype) Object.setPrototypeOf(outer, prototype as object)
  // Other symbols are the runtime's own.
  for (const key of [...Object.keys(inner), Symbol.asyncIterator]) {
    const own = Object.getOwnPropertyDescriptor(inner, key)
    if (own !== undefined && !Object.hasOwn(outer, key)) Object.defineProperty(outer, key, own)
  }
  return outer
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

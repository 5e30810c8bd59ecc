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
  guard.maxAhead = MAX_AHEAD
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

/** What has come waits in the stream already. */
const MAX_AHEAD = 16_384

/** What a stream is read by. */
const READING = ['getReader', 'cancel', 'tee', 'pipeTo', 'pipeThrough', 'values', Symbol.asyncIterator] as const

function hidden(value: unknown): PropertyDescriptor {
  return { value, configurable: true, writable: true }
}

/** A stream of a class of its own, as SDKs have them, keeps that, and what was put on it. */
function ofSameClass<T>(outer: ReadableStream<T>, inner: ReadableStream<T>): ReadableStream<T> {
  // A polyfill's has nothing of what its methods look for.
  if (!(inner instanceof ReadableStream)) return outer
  const native = ReadableStream.prototype
  const prototype = Object.getPrototypeOf(inner) as ReadableStream<T>
  if (prototype !== native) {
    Object.setPrototypeOf(outer, prototype)
    // Its own way to read may look for what the inner alone has.
    for (const key of READING) {
      if (key in native && prototype[key] !== native[key]) Object.defineProperty(outer, key, hidden(native[key]))
    }
  }
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

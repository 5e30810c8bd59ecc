/** Streams in memory that play a server, readers that note what they get, and what is told of an error. */

import { StreamFailedError, StreamStalledError } from '../../detector/watchdog/index.ts'

/** Ms after the line before, and what is sent then. */
type Line = readonly [afterMs: number, what: unknown]

export interface Served {
  readonly stream: ReadableStream
  /** What the stream was cancelled with. */
  readonly cancelled: unknown[]
}

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Sends as a server does, whether it is read or not; then it closes, or hangs. */
export function served(script: readonly Line[], then: 'closes' | 'hangs', type?: 'bytes'): Served {
  const cancelled: unknown[] = []
  const start = async (controller: ReadableStreamDefaultController | ReadableByteStreamController) => {
    for (const [afterMs, what] of script) {
      if (afterMs > 0) await wait(afterMs)
      if (cancelled.length > 0) return
      controller.enqueue(what as never)
    }
    if (then === 'closes') controller.close()
  }
  const cancel = (reason: unknown) => {
    cancelled.push(reason)
  }
  // A stream has nothing to read until `start` has returned.
  const begin = (controller: ReadableStreamDefaultController | ReadableByteStreamController) => void start(controller)
  const stream =
    type === 'bytes' ? new ReadableStream({ type, start: begin, cancel }) : new ReadableStream({ start: begin, cancel })
  return { stream, cancelled }
}

/** The lines of events that come at once. */
export const atOnce = (...events: readonly unknown[]): Line[] => events.map((event) => [0, event])

export const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text })
export const created = { type: 'response.created', response: {} }
export const completed = { type: 'response.completed', response: { status: 'completed' } }

export interface Reading {
  readonly events: unknown[]
  /** `done`, or what reads were rejected with. */
  readonly end: unknown
}

export async function readAll(stream: ReadableStream | null): Promise<Reading> {
  const events: unknown[] = []
  const reader = (stream as ReadableStream).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { events, end: 'done' }
      events.push(value)
    }
  } catch (end) {
    return { events, end }
  }
}

export async function iterateAll(stream: AsyncIterable<unknown>): Promise<Reading> {
  const events: unknown[] = []
  try {
    for await (const event of stream) events.push(event)
    return { events, end: 'done' }
  } catch (end) {
    return { events, end }
  }
}

/** Ends with what a promise is rejected with. */
export function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => 'no error',
    (error: unknown) => error,
  )
}

/** What is the same in every runtime of an end. */
export function told(end: unknown): unknown {
  if (end instanceof StreamStalledError) {
    const { elapsedMs, timeoutMs, ...facts } = end.toJSON()
    return { ...facts, timeoutMs, isOver: elapsedMs >= timeoutMs }
  }
  if (end instanceof StreamFailedError) return end.toJSON()
  return end instanceof Error ? `${end.name}: ${end.message}` : end
}

/** The three kinds of streams over a queue that a server fills whether it is read or not, and over a source that is asked. */

import type { Streamed } from '../../detector/watchdog/index.ts'
import { encoded, type Kind, objects, sseResponse } from './kinds.ts'
import { type Line, pushed } from './scripted.ts'

export const queue: Kind = {
  name: 'an async iterable over a queue',
  as: 'events',
  tellsWhy: false,
  open(clock, script) {
    const ended: unknown[] = []
    const reader = pushed(clock, script).stream.getReader()
    const stream: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => ({
        next: () => reader.read() as Promise<IteratorResult<unknown>>,
        async return() {
          ended.push('return')
          await reader.cancel()
          return { done: true, value: undefined }
        },
      }),
    }
    return { stream, ended }
  },
  events: (stream) => stream as AsyncIterable<unknown>,
}

/** One of each kind, in all of which events come at the same times and wait until they are read. */
export const QUEUES: readonly Kind[] = [queue, objects, sseResponse]

export interface Asked {
  readonly stream: Streamed
  /** How often the source was asked for its next. */
  readonly asked: () => number
  /** How often it was given up. */
  readonly left: () => number
}

/** Sources that make event `n`, from 0, when they are asked; null is their end, a promise that hangs a silence. */
export const ASKED: readonly (readonly [string, Kind, (make: (n: number) => unknown) => Asked])[] = [
  ['an async iterable', queue, askedIterable],
  ['a ReadableStream', objects, (make) => askedReadable(make, (stream) => stream)],
  ['a Response', sseResponse, (make) => askedReadable(bytesOf(make), responseOf)],
]

function askedIterable(make: (n: number) => unknown): Asked {
  let asked = 0
  let left = 0
  const stream: AsyncIterable<unknown> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const value = await make(asked++)
        return value === null ? { done: true, value: undefined } : { done: false, value }
      },
      async return() {
        left++
        return { done: true, value: undefined }
      },
    }),
  }
  return { stream, asked: () => asked, left: () => left }
}

function askedReadable(make: (n: number) => unknown, as: (stream: ReadableStream) => Streamed): Asked {
  let asked = 0
  let left = 0
  const source = new ReadableStream(
    {
      async pull(controller) {
        const value = await make(asked++)
        if (left > 0) return
        if (value === null) controller.close()
        else controller.enqueue(value)
      },
      cancel() {
        left++
      },
    },
    { highWaterMark: 0 },
  )
  return { stream: as(source), asked: () => asked, left: () => left }
}

function bytesOf(make: (n: number) => unknown): (n: number) => unknown {
  const encoder = new TextEncoder()
  return async (n) => {
    const event = await make(n)
    return event === null ? null : encoder.encode(encoded(event, 'sse'))
  }
}

const responseOf = (body: ReadableStream) => new Response(body, { headers: { 'content-type': 'text/event-stream' } })

/** Lines with the same ms between them. */
export const every = (ms: number, events: readonly unknown[]): Line[] => events.map((event) => [ms, event])

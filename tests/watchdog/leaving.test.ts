import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { generator, type Kind, objects, sdk } from './kinds.ts'
import { ASKED, every, QUEUES, queue } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const DEADLINES = { firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100, totalMs: 10_000 }
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

function watching(kind: Kind, script: readonly Line[], options: WatchOptions = {}) {
  const clock = new VirtualClock()
  const { stream, ended } = kind.open(clock, script)
  const watched = watchStream(stream, { source, clock, ...DEADLINES, ...options })
  return { clock, ended, watched, events: kind.events(watched) }
}

const ALL: readonly Kind[] = [...QUEUES, generator, sdk]

describe.each(ALL)('a consumer that leaves $name', (kind) => {
  it('while nothing is read leaves the source, and no timer', async () => {
    const { clock, ended, events } = watching(kind, every(0, [delta('a'), delta('b'), delta('c')]))
    const seen: unknown[] = []
    const read = async () => {
      for await (const event of events) {
        seen.push(event)
        if (seen.length === 2) break
      }
      return 'left'
    }
    const left = read()
    await clock.advance(50)
    expect(await left).toBe('left')
    expect([ended.length, clock.timers.size]).toEqual([1, 0])
    await clock.advance(5000)
    expect(seen).toEqual([delta('a'), delta('b')])
  })

  it('by an error of its own leaves the source, and has that error', async () => {
    const { clock, ended, events } = watching(kind, dead)
    const broken = new Error('consumer')
    const read = async () => {
      for await (const _ of events) throw broken
    }
    const failed = read().catch((error: unknown) => error)
    await clock.advance(50)
    expect(await failed).toBe(broken)
    expect([ended.length, clock.timers.size]).toEqual([1, 0])
  })
})

describe('a consumer that leaves in the middle of a read', () => {
  it.each([queue, generator, sdk])('of $name by return() is let go at once', async (kind) => {
    const { clock, ended, watched } = watching(kind, dead)
    const iterator = (watched as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    await iterator.next()
    const pending = iterator.next()
    await clock.advance(50)
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
    await settle()
    expect([ended.length, clock.timers.size]).toEqual([1, 0])
    await clock.advance(60_000)
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  it('of a ReadableStream by cancel() is let go at once', async () => {
    const { clock, ended, watched } = watching(objects, dead)
    const reader = (watched as ReadableStream).getReader()
    await reader.read()
    const pending = reader.read()
    await clock.advance(50)
    await reader.cancel('enough')
    expect(await pending).toEqual({ done: true, value: undefined })
    expect([ended, clock.timers.size]).toEqual([['enough'], 0])
  })

  it('of a Response by the cancel() of its body is let go at once', async () => {
    const { clock, ended, watched } = watching(QUEUES[2] as Kind, dead)
    const reader = ((watched as Response).body as ReadableStream).getReader()
    await reader.read()
    const pending = reader.read()
    await clock.advance(50)
    await reader.cancel('enough')
    expect(await pending).toEqual({ done: true, value: undefined })
    expect([ended, clock.timers.size]).toEqual([['enough'], 0])
  })

  it.each(['return', 'abort', 'stall'] as const)(
    'of a stream of Node, or whose stream ends by %s, has it destroyed at once',
    async (by) => {
      const clock = new VirtualClock()
      const controller = new AbortController()
      const stream = new Readable({ objectMode: true, read: () => {} })
      stream.push(delta('x'))
      const watched = watchStream(stream, { source, clock, contentIntervalMs: 1000, signal: controller.signal })
      const iterator = watched[Symbol.asyncIterator]()
      await iterator.next()
      const pending = iterator.next().then(
        () => 'done',
        (error: unknown) => error,
      )
      await clock.advance(50)
      if (by === 'return') await iterator.return?.()
      else if (by === 'abort') controller.abort('mine')
      else await clock.advance(950)
      const expected = { return: 'done', abort: 'mine', stall: expect.any(StreamStalledError) }
      expect(await pending).toEqual(expected[by])
      await settle()
      expect([stream.destroyed, clock.timers.size]).toEqual([true, 0])
    },
  )

  it('of an SDK stream by its own controller has what the stream makes of that', async () => {
    const { clock, watched } = watching(sdk, dead)
    const stream = watched as unknown as AsyncIterable<unknown> & { controller: AbortController }
    const seen = reading(clock, stream)
    await clock.advance(50)
    stream.controller.abort()
    await settle()
    expect([seen.outcome, clock.timers.size]).toEqual(['done', 0])
  })
})

describe('a consumer that throws into a generator', () => {
  it('has what the generator makes of it, and no timer', async () => {
    const caught: unknown[] = []
    async function* patient() {
      for (;;) {
        try {
          yield 'event'
        } catch (error) {
          caught.push(error)
        }
      }
    }
    const clock = new VirtualClock()
    const events = watchStream(patient(), { clock, totalMs: 1000 })
    await events.next()
    expect(await events.throw('note')).toEqual({ done: false, value: 'event' })
    expect([caught, clock.timers.size]).toEqual([['note'], 0])
  })
})

describe('whatever stops the whole of an iterable', () => {
  it.each(['abort', 'cancel', 'close', 'destroy'] as const)('as %s() ends its deadlines', async (stop) => {
    const clock = new VirtualClock()
    let stopped = 0
    const { stream } = queue.open(clock, dead)
    const stoppable = Object.assign(stream as AsyncIterable<unknown>, { [stop]: () => ++stopped })
    const watched = watchStream(stoppable, { source, clock, ...DEADLINES })
    const seen = reading(clock, watched)
    await clock.advance(50)
    expect(watched[stop]?.()).toBe(1)
    expect(clock.timers.size).toBe(0)
    await clock.advance(60_000)
    expect(seen.outcome).toBe(undefined)
  })

  it('as await using does ends its deadlines', async () => {
    const clock = new VirtualClock()
    const { stream } = queue.open(clock, dead)
    let disposed = 0
    const disposable = Object.assign(stream as AsyncIterable<unknown>, {
      async [Symbol.asyncDispose]() {
        disposed++
      },
    })
    {
      await using watched = watchStream(disposable, { source, clock, ...DEADLINES })
      reading(clock, watched)
      await clock.advance(50)
    }
    expect([disposed, clock.timers.size]).toEqual([1, 0])
  })
})

describe.each(ASKED)('after the error, %s', (_, kind, ask) => {
  const hangs = () => new Promise(() => {})
  const failing = async (make: (n: number) => unknown, options: WatchOptions) => {
    const clock = new VirtualClock()
    const { stream, asked, left } = ask(make)
    const iterator = kind.events(watchStream(stream, { source, clock, ...options }))[Symbol.asyncIterator]()
    await iterator.next()
    const failed = iterator.next().catch((error: unknown) => error)
    await clock.advance(150)
    return { clock, iterator, asked, left, error: await failed }
  }

  it('of a stall, asks its source for nothing more', async () => {
    const { clock, asked, left, error } = await failing((n) => (n === 0 ? delta('x') : hangs()), DEADLINES)
    expect(error).toBeInstanceOf(StreamStalledError)
    await clock.advance(60_000)
    expect([asked(), left(), clock.timers.size]).toEqual([2, 1, 0])
  })

  it('of its own, has that very error, and no timer', async () => {
    const broken = new Error('socket hang up')
    const { clock, asked, error } = await failing((n) => (n === 0 ? delta('x') : Promise.reject(broken)), DEADLINES)
    expect(error).toBe(broken)
    await clock.advance(60_000)
    expect([asked(), clock.timers.size]).toEqual([2, 0])
  })
})

describe('reading on after the error', () => {
  it.each(['stall', 'abort'] as const)('of a %s has it again, from an iterator and from a reader', async (by) => {
    for (const kind of [queue, generator, sdk, objects]) {
      const controller = new AbortController()
      const { clock, watched } = watching(kind, dead, { signal: controller.signal })
      const next = nextOf(watched)
      await next()
      const first = next().catch((error: unknown) => error)
      await settle()
      if (by === 'abort') controller.abort(new Error('mine'))
      await clock.advance(150)
      const error = await first
      for (let again = 0; again < 3; again++) await expect(next()).rejects.toBe(error)
      expect(error instanceof StreamStalledError).toBe(by === 'stall')
    }
  })

  function nextOf(stream: unknown): () => Promise<unknown> {
    if (stream instanceof ReadableStream) {
      const reader = stream.getReader()
      return () => reader.read()
    }
    const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    return () => iterator.next()
  }
})

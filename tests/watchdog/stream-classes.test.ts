/** ReadableStreams that are not the runtime's own: classes with private fields, and objects that only look like one. */

import { describe, expect, it } from 'vitest'
import { StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { every } from './queues.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { delta, settling } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const DEADLINES = { source, firstContentMs: 100, contentIntervalMs: 100 } as const

/** Every way to read it looks for what only it has. */
class Counted extends ReadableStream<unknown> {
  #read = 0

  override async *[Symbol.asyncIterator](): AsyncGenerator<unknown, undefined> {
    const reader = this.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      this.#read++
      yield value
    }
  }

  override values(): AsyncGenerator<unknown, undefined> {
    return this[Symbol.asyncIterator]()
  }

  override async cancel(reason?: unknown): Promise<void> {
    this.#read = 0
    await super.cancel(reason)
  }

  get kind(): string {
    return 'counted'
  }
}

function counted(script: readonly Line[]) {
  const clock = new VirtualClock()
  const { stream, cancelled } = pushed(clock, script)
  const reader = stream.getReader()
  const inner = new Counted(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return { clock, cancelled, watched: watchStream(inner, { ...DEADLINES, clock }) as Counted }
}

describe('a watched stream of a class with private fields', () => {
  const healthy = [...every(10, [delta('a'), delta('b')]), [0, 'end']] as Line[]
  const dead = [...every(10, [delta('a')]), [0, 'hang']] as Line[]

  it('is one of its class', () => {
    const { watched } = counted(healthy)
    expect(watched).toBeInstanceOf(Counted)
    expect(watched.kind).toBe('counted')
  })

  it.each<[string, (stream: Counted) => AsyncIterable<unknown>]>([
    ['iteration', (stream) => stream],
    ['values()', (stream) => stream.values()],
    ['a branch of its tee', (stream) => stream.tee()[0]],
    ['a pipe', (stream) => stream.pipeThrough(new TransformStream())],
  ])('is read by %s', async (_, events) => {
    const { clock, watched } = counted(healthy)
    const seen = reading(clock, events(watched))
    await clock.advance(1000)
    expect([seen.events, seen.outcome]).toEqual([[delta('a'), delta('b')], 'done'])
    expect(clock.timers.size).toBe(0)
  })

  it('is read by a reader', async () => {
    const { clock, watched } = counted(healthy)
    const read = settling(watched.getReader().read())
    await clock.advance(10)
    expect(read.value).toEqual({ done: false, value: delta('a') })
  })

  it('is cancelled by cancel(), with its reason', async () => {
    const { clock, cancelled, watched } = counted(dead)
    const left = settling(watched.cancel('enough'))
    await clock.advance(10)
    expect([left.outcome, cancelled, clock.timers.size]).toEqual(['resolved', ['enough'], 0])
  })

  it('is cancelled by a consumer that stops to iterate', async () => {
    const { clock, cancelled, watched } = counted(dead)
    const read = async () => {
      for await (const _ of watched) break
    }
    const left = settling(read())
    await clock.advance(50)
    expect([left.outcome, cancelled.length, clock.timers.size]).toEqual(['resolved', 1, 0])
  })

  it('stalls, and its source is cancelled with the error', async () => {
    const { clock, cancelled, watched } = counted(dead)
    const seen = reading(clock, watched)
    await clock.advance(110)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
    expect([cancelled, clock.timers.size]).toEqual([[seen.outcome], 0])
  })
})

describe('an object that looks like a ReadableStream, and does not care for the mode of its readers', () => {
  const duck = (script: readonly Line[]) => {
    const clock = new VirtualClock()
    const { stream, cancelled } = pushed(clock, script)
    const like = {
      get locked() {
        return stream.locked
      },
      cancel: (reason: unknown) => stream.cancel(reason),
      getReader: (_?: object) => stream.getReader(),
    }
    return { clock, cancelled, watched: watchStream(like as unknown as ReadableStream, { ...DEADLINES, clock }) }
  }

  it('is read as the objects that it gives', async () => {
    const { clock, watched } = duck([...every(90, [delta('a'), delta('b'), delta('c')]), [0, 'end']] as Line[])
    const seen = reading(clock, watched)
    await clock.advance(1000)
    expect([seen.events, seen.outcome]).toEqual([[delta('a'), delta('b'), delta('c')], 'done'])
    expect(clock.timers.size).toBe(0)
  })

  it('has no reader with memory, as it is none of bytes', () => {
    const { watched } = duck([[0, 'hang']])
    expect(() => watched.getReader({ mode: 'byob' })).toThrow(TypeError)
  })

  it('stalls, and its source is cancelled with the error', async () => {
    const { clock, cancelled, watched } = duck([...every(10, [delta('a')]), [0, 'hang']] as Line[])
    const seen = reading(clock, watched)
    await clock.advance(110)
    expect(seen.outcome).toMatchObject({ name: 'StreamStalledError', phase: 'between_content' })
    expect([cancelled, clock.timers.size]).toEqual([[seen.outcome], 0])
  })

  it('is cancelled with the reason of its consumer', async () => {
    const { clock, cancelled, watched } = duck([[0, 'hang']])
    const left = settling(watched.cancel('enough'))
    await clock.advance(10)
    expect([left.outcome, cancelled]).toEqual(['resolved', ['enough']])
  })
})

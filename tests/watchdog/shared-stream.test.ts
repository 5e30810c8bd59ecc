import { describe, expect, it } from 'vitest'
import { SharedStream, StreamStalledError, turnDeadlines, watchStream } from '../../detector/watchdog/index.ts'
import { generated, type Line, pushed, reading } from './scripted.ts'
import { all, completed, created, delta } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const whole: readonly Line[] = [
  [0, created],
  [20, delta('a')],
  [20, delta('b')],
  [20, completed],
  [0, 'end'],
]
const half: readonly Line[] = [
  [0, created],
  [20, delta('a')],
  [0, 'hang'],
]
const deadlines = { source: 'openai-responses', firstContentMs: 100, contentIntervalMs: 100 } as const

/** One stream under deadlines, to be shared, made in either way. */
function shared(clock: VirtualClock, script: readonly Line[], kind: 'stream' | 'generator' = 'stream') {
  const source = kind === 'stream' ? pushed(clock, script).stream : generated(clock, script)
  return new SharedStream<unknown>(watchStream(source as AsyncIterable<unknown>, { ...deadlines, clock }))
}

describe('a shared stream', () => {
  it('gives all of it to consumers who read at the same time, and to one who comes late', async () => {
    const clock = new VirtualClock()
    const stream = shared(clock, whole)
    const early = [reading(clock, stream), reading(clock, stream, 30)]
    await clock.advance(200)
    const late = reading(clock, stream)
    await clock.advance(0)
    for (const { events, outcome } of [...early, late]) {
      expect([events, outcome]).toEqual([[created, delta('a'), delta('b'), completed], 'done'])
    }
    expect(late.endedAt).toBe(0)
  })

  it('gives the very same events to all', async () => {
    const clock = new VirtualClock()
    const stream = shared(clock, whole)
    const [one, two] = [reading(clock, stream), reading(clock, stream)]
    await clock.advance(100)
    for (const [i, event] of one.events.entries()) expect(two.events[i]).toBe(event)
    expect(two.events.length).toBe(4)
  })

  it('throws the very same stall to all, after all that came, and to those who come later', async () => {
    const clock = new VirtualClock()
    const stream = shared(clock, half)
    const early = [reading(clock, stream), reading(clock, stream)]
    await clock.advance(500)
    const late = reading(clock, stream)
    await clock.advance(0)
    const [first] = early
    expect(first?.outcome).toBeInstanceOf(StreamStalledError)
    for (const { events, outcome } of [...early, late]) {
      expect(events).toEqual([created, delta('a')])
      expect(outcome).toBe(first?.outcome)
    }
  })

  it('throws the very same error of the source to all', async () => {
    const clock = new VirtualClock()
    const broken = new Error('socket hang up')
    const stream = shared(clock, [
      [0, created],
      [20, broken],
    ])
    const readings = [reading(clock, stream), reading(clock, stream)]
    await clock.advance(50)
    readings.push(reading(clock, stream))
    await clock.advance(0)
    for (const { events, outcome } of readings) expect([events, outcome]).toEqual([[created], broken])
  })

  it('goes on for the others when one leaves', async () => {
    const clock = new VirtualClock()
    const stream = shared(clock, whole)
    const other = reading(clock, stream)
    for await (const event of stream) {
      expect(event).toEqual(created)
      break
    }
    await clock.advance(100)
    expect([other.events.length, other.outcome]).toEqual([4, 'done'])
  })

  it('is read no further than its fastest consumer asks', async () => {
    let asked = 0
    const source = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: ++asked }) }),
    }
    const stream = new SharedStream<number>(source)
    const [fast, slow] = [stream[Symbol.asyncIterator](), stream[Symbol.asyncIterator]()]
    expect([await slow.next(), await fast.next(), await fast.next()].map(({ value }) => value)).toEqual([1, 1, 2])
    expect(asked).toBe(2)
    expect((await slow.next()).value).toBe(2)
    expect(asked).toBe(2)
  })

  it('asks its source for one event at a time, however many wait', async () => {
    const clock = new VirtualClock()
    let pending = 0
    let most = 0
    const source = {
      [Symbol.asyncIterator]: () => ({
        async next() {
          most = Math.max(most, ++pending)
          await clock.wait(10)
          pending--
          return { done: clock.monoMs() > 1100, value: 'more' }
        },
      }),
    }
    const stream = new SharedStream<string>(source as AsyncIterable<string>)
    const readings = [0, 1, 2].map(() => reading(clock, stream))
    await clock.advance(300)
    expect(readings.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done'])
    expect(most).toBe(1)
  })

  it.each(['stream', 'generator'] as const)(
    'ends for all at once when it is cancelled, whatever it is: %s',
    async (kind) => {
      const clock = new VirtualClock()
      const stream = shared(clock, half, kind)
      const readings = [reading(clock, stream), reading(clock, stream)]
      await clock.advance(30)
      stream.cancel()
      await clock.advance(0)
      for (const { events, outcome } of readings) expect([events, outcome]).toEqual([[created, delta('a')], 'done'])
      expect(clock.timers.size).toBe(0)
    },
  )

  it('ends when it is cancelled that nobody reads, and its source is given up', async () => {
    const clock = new VirtualClock()
    const source = pushed(clock, half)
    const stream = new SharedStream<unknown>(watchStream(source.stream, { ...deadlines, clock }))
    stream.cancel()
    const read = reading(clock, stream)
    await clock.advance(0)
    expect([read.events, read.outcome, source.cancelled.length]).toEqual([[], 'done', 1])
  })

  it('has nothing more once it is cancelled, though its source still answers', async () => {
    const answer = Promise.withResolvers<IteratorResult<string>>()
    const stream = new SharedStream<string>({ [Symbol.asyncIterator]: () => ({ next: () => answer.promise }) })
    const clock = new VirtualClock()
    const early = reading(clock, stream)
    await clock.advance(0)
    stream.cancel()
    answer.resolve({ done: false, value: 'too late' })
    await clock.advance(0)
    const late = reading(clock, stream)
    await clock.advance(0)
    for (const { events, outcome } of [early, late]) expect([events, outcome]).toEqual([[], 'done'])
  })

  it('is what a turn gives of a stream that it watches', async () => {
    const clock = new VirtualClock()
    const turn = turnDeadlines({ ...deadlines, clock }).next()
    const stream = turn.share(turn.watch(pushed(clock, half).stream))
    expect(stream).toBeInstanceOf(SharedStream)
    const readings = [reading(clock, stream), reading(clock, stream)]
    await clock.advance(500)
    expect(readings[0]?.outcome).toBe(readings[1]?.outcome)
    expect(turn.signal.reason).toBe(readings[0]?.outcome)
  })

  it('rejects nothing that nobody hears when its consumers have gone', async () => {
    const clock = new VirtualClock()
    const unhandled: unknown[] = []
    const hears = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', hears)
    const stream = shared(clock, half)
    const consumer = stream[Symbol.asyncIterator]()
    await consumer.next()
    for (const _ of [1, 2]) void consumer.next().catch(() => {})
    await clock.advance(500)
    process.off('unhandledRejection', hears)
    expect(unhandled).toEqual([])
    await expect(all(stream)).rejects.toBeInstanceOf(StreamStalledError)
  })
})

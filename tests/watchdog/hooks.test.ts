import { describe, expect, it } from 'vitest'
import {
  type StreamBook,
  StreamControl,
  StreamStalledError,
  type WatchOptions,
  watchStream,
} from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections, faults } from './faults.ts'
import { every, QUEUES, queue } from './queues.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { created, delta } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

describe.each(QUEUES)('with $name', (kind) => {
  it.each(faults)('an onStall that %s harms nothing', async (_, onStall) => {
    const clock = new VirtualClock()
    const { stream, ended } = kind.open(clock, dead)
    const seen = reading(clock, kind.events(watchStream(stream, { source, clock, contentIntervalMs: 100, onStall })))
    await clock.advance(100)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
    expect([seen.events.length, seen.endedAt, ended.length]).toEqual([1, 100, 1])
    expect(clock.timers.size).toBe(0)
  })

  it.each(faults)('an onWarn that %s harms nothing', async (_, onWarn) => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, [
      [0, delta('x')],
      [60, delta('y')],
      [0, 'hang'],
    ] as Line[])
    let warnings = 0
    const options: WatchOptions = {
      source,
      clock,
      contentIntervalMs: 100,
      onWarn: () => {
        warnings++
        return onWarn()
      },
    }
    const seen = reading(clock, kind.events(watchStream(stream, options)))
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 2 })
    expect([seen.endedAt, warnings]).toEqual([160, 2])
  })

  it.each(faults)('an abort that %s harms nothing', async (_, abort) => {
    const clock = new VirtualClock()
    const { stream, ended } = kind.open(clock, dead)
    const options = { source, clock, contentIntervalMs: 100, abort } as const
    const seen = reading(clock, kind.events(watchStream(stream, options)))
    await clock.advance(100)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
    expect(ended.length).toBe(1)
  })

  it.each(faults)('a classify that %s leaves the event to its wire format', async (_, classify) => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, [[0, created], ...every(60, [delta('a'), delta('b')]), [0, 'hang']] as Line[])
    const options = { source, clock, firstContentMs: 100, contentIntervalMs: 100, classify: classify as never } as const
    const seen = reading(clock, kind.events(watchStream(stream, options)))
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 3 })
    expect(seen.endedAt).toBe(220)
  })

  it('onStall hears of the stall once, before the consumer, and of the same error', async () => {
    const clock = new VirtualClock()
    const told: unknown[] = []
    const order: string[] = []
    const { stream } = kind.open(clock, dead)
    const onStall = (error: StreamStalledError) => {
      told.push(error)
      order.push('onStall')
    }
    const abort = () => order.push('abort')
    const iterator = kind
      .events(watchStream(stream, { source, clock, contentIntervalMs: 100, livenessMs: 100, onStall, abort }))
      [Symbol.asyncIterator]()
    await iterator.next()
    const failed = iterator.next().catch((error: unknown) => {
      order.push('consumer')
      return error
    })
    await clock.advance(5000)
    expect(told.length).toBe(1)
    expect(await failed).toBe(told[0])
    expect(order[0]).toBe('onStall')
    expect(order.toSorted()).toEqual(['abort', 'consumer', 'onStall'])
    await iterator.next().catch(() => {})
    await clock.advance(5000)
    expect(told.length).toBe(1)
  })

  it('neither hears of a stream that ends, fails, or is left', async () => {
    for (const last of ['end', new Error('broken'), 'left'] as const) {
      const clock = new VirtualClock()
      const told: unknown[] = []
      const hooks = { onStall: () => told.push('stall'), onWarn: () => told.push('warning') }
      const script = [...every(40, [delta('a'), delta('b')]), [40, last === 'left' ? 'hang' : last]] as Line[]
      const { stream } = kind.open(clock, script)
      const events = kind.events(
        watchStream(stream, { source, clock, firstContentMs: 100, contentIntervalMs: 100, ...hooks }),
      )
      if (last === 'left') {
        const read = async () => {
          for await (const _ of events) break
        }
        void read()
      } else reading(clock, events)
      await clock.advance(5000)
      expect(told).toEqual([])
    }
  })

  it('neither hears of a deadline that runs out while the consumer holds', async () => {
    const clock = new VirtualClock()
    const told: unknown[] = []
    const hooks = { onStall: () => told.push('stall'), onWarn: () => told.push('warning') }
    const { stream } = kind.open(clock, [...every(10, [delta('a'), delta('b')]), [0, 'end']] as Line[])
    reading(
      clock,
      kind.events(watchStream(stream, { source, clock, contentIntervalMs: 100, livenessMs: 50, ...hooks })),
      5000,
    )
    await clock.advance(20_000)
    expect(told).toEqual([])
  })
})

describe('a hook that acts on the very stream', () => {
  const acts: readonly (readonly [string, (on: Acting) => unknown])[] = [
    ['leaves it', ({ iterator }) => iterator.return?.()],
    ['reads on', ({ iterator }) => iterator.next()],
    ['aborts its signal', ({ controller }) => controller.abort('hook')],
    ['pauses it', ({ control }) => control.pause()],
    ['pauses and resumes it', ({ control }) => [control.pause(), control.resume()]],
  ]

  interface Acting {
    readonly iterator: AsyncIterator<unknown>
    readonly controller: AbortController
    readonly control: StreamControl
  }

  it.each(acts)('as onStall that %s has the stall all the same', async (_, act) => {
    for (const kind of [queue, QUEUES[1] as (typeof QUEUES)[number]]) {
      const clock = new VirtualClock()
      const [controller, control] = [new AbortController(), new StreamControl()]
      const { stream, ended } = kind.open(clock, dead)
      const onStall = () => act({ iterator, controller, control })
      const options = { source, clock, contentIntervalMs: 100, control, signal: controller.signal, onStall } as const
      const iterator = kind.events(watchStream(stream, options))[Symbol.asyncIterator]()
      await iterator.next()
      const failed = iterator.next().catch((error: unknown) => error)
      await clock.advance(5000)
      expect(await failed).toBeInstanceOf(StreamStalledError)
      expect([ended.length, clock.timers.size]).toEqual([1, 0])
    }
  })

  it('as classify that aborts ends the stream with the reason of that', async () => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    const reason = new Error('classify')
    const { stream, cancelled } = pushed(clock, every(10, [delta('a'), delta('b'), delta('c')]))
    const classify = () => {
      if (!controller.signal.aborted) controller.abort(reason)
      return undefined
    }
    const options = { source, clock, contentIntervalMs: 100, classify, signal: controller.signal } as const
    const seen = reading(clock, watchStream(stream, options))
    await clock.advance(5000)
    expect(seen.outcome).toBe(reason)
    expect(seen.events.length).toBeLessThanOrEqual(1)
    expect([cancelled, clock.timers.size]).toEqual([[reason], 0])
  })
})

describe('a turnwatch whose counters throw', () => {
  it('harms nothing', async () => {
    const clock = new VirtualClock()
    const broken = () => {
      throw new Error('full')
    }
    const watch: StreamBook = { streamStarted: broken, streamStalled: broken, streamRetried: broken }
    const seen = reading(
      clock,
      watchStream(pushed(clock, dead).stream, { source, clock, contentIntervalMs: 100, watch }),
    )
    await clock.advance(100)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
  })
})

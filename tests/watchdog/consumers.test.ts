import { describe, expect, it } from 'vitest'
import { type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import type { Kind } from './kinds.ts'
import { ASKED, every, QUEUES, queue } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { completed, created, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const HOUR = 3_600_000
/** All silences, much shorter than what the consumers here take. */
const SHORT: WatchOptions = { source, firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100, drainMs: 100 }

const words = (n: number) => Array.from({ length: n }, (_, i) => delta(`word ${i}`))

function watched(kind: Kind, clock: VirtualClock, script: readonly Line[], options: WatchOptions = SHORT) {
  const { stream, ended } = kind.open(clock, script)
  return { events: kind.events(watchStream(stream, { ...options, clock })), ended }
}

describe.each(QUEUES)('a consumer of $name', (kind) => {
  it('may be slow: what it takes between its reads is no silence', async () => {
    const clock = new VirtualClock()
    const script = [[0, created], ...every(50, words(10)), [50, completed], [50, 'end']] as Line[]
    const seen = reading(clock, watched(kind, clock, script).events, 500)
    await clock.advance(10_000)
    expect([seen.events, seen.outcome]).toEqual([[created, ...words(10), completed], 'done'])
  })

  it('may stop reading for an hour, and read on', async () => {
    const clock = new VirtualClock()
    const script = [...every(10, words(3)), [50, delta('later')], [10, completed], [0, 'end']] as Line[]
    const iterator = watched(kind, clock, script).events[Symbol.asyncIterator]()
    await clock.advance(20)
    expect(await iterator.next()).toEqual({ done: false, value: delta('word 0') })
    await clock.advance(HOUR)
    const rest = []
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) rest.push(step.value)
    expect(rest).toEqual([delta('word 1'), delta('word 2'), delta('later'), completed])
  })

  it('may take its time before the first read', async () => {
    const clock = new VirtualClock()
    const { events } = watched(kind, clock, [...every(10, words(2)), [0, 'end']] as Line[])
    await clock.advance(HOUR)
    const seen = reading(clock, events)
    await clock.advance(50)
    expect([seen.events, seen.outcome]).toEqual([words(2), 'done'])
  })

  it('that comes late has everything that was sent before the stall, and a deadline of its own', async () => {
    const clock = new VirtualClock()
    const { events } = watched(kind, clock, [...every(10, words(3)), [0, 'hang']] as Line[])
    await clock.advance(HOUR)
    const seen = reading(clock, events)
    await clock.advance(99)
    expect([seen.events, seen.outcome]).toEqual([words(3), undefined])
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 3, elapsedMs: 100 })
  })

  it('may be slow after the terminal event: what follows that is not cut', async () => {
    const clock = new VirtualClock()
    const script = [
      [0, delta('x')],
      [0, completed],
      [90, created],
      [90, 'end'],
    ] as Line[]
    const seen = reading(clock, watched(kind, clock, script).events, 700)
    await clock.advance(5000)
    expect([seen.events, seen.outcome]).toEqual([[delta('x'), completed, created], 'done'])
  })

  it('has only the time judged that it waited: silence on both sides of a hold is one silence', async () => {
    const clock = new VirtualClock()
    const { events } = watched(
      kind,
      clock,
      [
        [0, delta('x')],
        [60, created],
        [0, 'hang'],
      ] as Line[],
      {
        source,
        contentIntervalMs: 100,
      },
    )
    const seen = reading(clock, events, 1000)
    await clock.advance(2050)
    expect([seen.events.length, seen.outcome]).toEqual([2, undefined])
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 100 })
    // One hold after each event, the second of which was there already when the first hold was over.
    expect(seen.endedAt).toBe(2100)
  })

  it('that holds while the whole time runs out has what had come, and then the error', async () => {
    const clock = new VirtualClock()
    const script = [...every(50, words(8)), [5000, delta('too late')]] as Line[]
    const { events, ended } = watched(kind, clock, script, { source, totalMs: 1000 })
    const seen = reading(clock, events, 700)
    await clock.advance(999)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(ended.length).toBe(1)
    expect([seen.events.length, seen.outcome]).toEqual([2, undefined])
    await clock.advance(20_000)
    expect(seen.events).toEqual(words(8))
    expect(seen.outcome).toMatchObject({ phase: 'total', timeoutMs: 1000, elapsedMs: 1000, receivedAnyContent: true })
    expect(ended.length).toBe(1)
  })

  it('that holds while the whole time runs out has the end, where that had come', async () => {
    const clock = new VirtualClock()
    const script = [...every(50, words(3)), [50, completed], [0, 'end']] as Line[]
    const { events, ended } = watched(kind, clock, script, { source, totalMs: 1000 })
    const seen = reading(clock, events, 700)
    await clock.advance(20_000)
    expect([seen.events, seen.outcome]).toEqual([[...words(3), completed], 'done'])
    expect(ended).toEqual([])
    expect(clock.timers.size).toBe(0)
  })

  it('that holds while the whole time runs out has the end, where the terminal event had come', async () => {
    const clock = new VirtualClock()
    const script = [...every(50, words(3)), [50, completed], [0, 'hang']] as Line[]
    const { events, ended } = watched(kind, clock, script, { source, totalMs: 1000 })
    const seen = reading(clock, events, 700)
    await clock.advance(20_000)
    expect([seen.events, seen.outcome]).toEqual([[...words(3), completed], 'done'])
    expect([ended.length, clock.timers.size]).toEqual([1, 0])
  })

  it('that holds while the whole time runs out has the failure of the source, where that had come', async () => {
    const clock = new VirtualClock()
    const broken = new Error('socket hang up')
    const { events } = watched(kind, clock, [...every(10, words(1)), [600, broken]] as Line[], { source, totalMs: 700 })
    const seen = reading(clock, events, 650)
    await clock.advance(20_000)
    expect(seen.outcome).toBe(broken)
  })
})

describe.each(QUEUES.slice(1))('a consumer of $name', (kind) => {
  it('that has read nothing when the whole time runs out has what had come, and then the error', async () => {
    const clock = new VirtualClock()
    const { events, ended } = watched(kind, clock, [...every(10, words(3)), [0, 'hang']] as Line[], {
      source,
      totalMs: 1000,
    })
    await clock.advance(5000)
    expect(clock.timers.size).toBe(0)
    const seen = reading(clock, events)
    await clock.advance(50)
    expect(seen.outcome).toMatchObject({ phase: 'total', timeoutMs: 1000 })
    expect(seen.events).toEqual(words(3))
    expect(ended.length).toBe(1)
  })
})

describe('a consumer of an async iterable', () => {
  it('that was never asked for its events when the whole time runs out has the error, and it is not opened for that', async () => {
    const clock = new VirtualClock()
    let opened = 0
    const stream: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => {
        opened++
        return { next: async () => ({ done: false, value: delta('x') }) }
      },
    }
    const watched = watchStream(stream, { source, clock, totalMs: 1000 })
    await clock.advance(5000)
    expect([opened, clock.timers.size]).toEqual([0, 0])
    const seen = reading(clock, watched)
    await clock.advance(50)
    expect([seen.events, seen.outcome]).toEqual([[], expect.objectContaining({ phase: 'total' })])
  })
})

describe.each(ASKED)('what is kept of %s for a consumer that holds when the whole time runs out', (_, kind, ask) => {
  it('is bounded, in order, and without holes', async () => {
    const clock = new VirtualClock()
    const { stream, asked, left } = ask((n) => delta(`${n}`))
    const iterator = kind.events(watchStream(stream, { source, clock, totalMs: 1000 }))[Symbol.asyncIterator]()
    expect(await iterator.next()).toEqual({ done: false, value: delta('0') })
    await clock.advance(1000)
    for (let turns = 0; turns < 500 && left() === 0; turns++) await settle()
    expect(left()).toBe(1)
    // What has come waits in a ReadableStream already; an iterable is made to work for it.
    expect(asked()).toBeLessThanOrEqual(kind === queue ? 1100 : 17_000)
    const rest: unknown[] = []
    const read = async () => {
      for (let step = await iterator.next(); !step.done; step = await iterator.next()) rest.push(step.value)
    }
    await expect(read()).rejects.toMatchObject({ phase: 'total' })
    expect(rest.length).toBeGreaterThanOrEqual(1000)
    expect(rest).toEqual(rest.map((_, i) => delta(`${i + 1}`)))
  })
})

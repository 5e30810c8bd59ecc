import { describe, expect, it } from 'vitest'
import { StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import type { Kind } from './kinds.ts'
import { every, QUEUES, queue } from './queues.ts'
import type { Line } from './scripted.ts'
import { completed, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const _HOUR = 3_600_000
/** All silences, much shorter than what the consumers here take. */
const SHORT: WatchOptions = { source, firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100, drainMs: 100 }

const words = (n: number) => Array.from({ length: n }, (_, i) => delta(`word ${i}`))

function _watched(kind: Kind, clock: VirtualClock, script: readonly Line[], options: WatchOptions = SHORT) {
  const { stream, ended } = kind.open(clock, script)
  return { events: kind.events(watchStream(stream, { ...options, clock })), ended }
}

describe('concurrent reads', () => {
  /** Each read of `n`, as it is settled. */
  function reads(n: number, next: () => Promise<IteratorResult<unknown>>) {
    const seen: { events: unknown[]; errors: unknown[]; at: number[] } = { events: [], errors: [], at: [] }
    return (clock: VirtualClock) => {
      for (let read = 0; read < n; read++) {
        next().then(
          ({ done, value }) => seen.events.push(done ? 'done' : value),
          (error: unknown) => {
            seen.errors.push(error)
            seen.at.push(clock.monoMs())
          },
        )
      }
      return seen
    }
  }

  const readers: [string, Kind, (stream: unknown) => () => Promise<IteratorResult<unknown>>][] = [
    [
      'next()',
      queue,
      (stream) => {
        const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]()
        return () => iterator.next()
      },
    ],
    [
      'read()',
      QUEUES[1] as Kind,
      (stream) => {
        const reader = (stream as ReadableStream).getReader()
        return () => reader.read() as Promise<IteratorResult<unknown>>
      },
    ],
  ]

  describe.each(readers)('by %s', (_, kind, readerOf) => {
    const start = (script: readonly Line[], options: WatchOptions, n: number) => {
      const clock = new VirtualClock()
      const { stream, ended } = kind.open(clock, script)
      const born = clock.monoMs()
      const seen = reads(n, readerOf(watchStream(stream, { source, clock, ...options })))(clock)
      return { clock, ended, seen, born }
    }

    it('have the events in order, and the end', async () => {
      const { clock, seen } = start([...every(10, words(3)), [10, 'end']] as Line[], SHORT, 5)
      await clock.advance(1000)
      expect(seen).toMatchObject({ events: [...words(3), 'done', 'done'], errors: [] })
      expect(clock.timers.size).toBe(0)
    })

    it('all have the same stall', async () => {
      const { clock, seen, ended, born } = start([...every(10, words(2)), [0, 'hang']] as Line[], SHORT, 5)
      await clock.advance(1000)
      expect(seen.events).toEqual(words(2))
      expect(seen.errors.length).toBe(3)
      expect(new Set(seen.errors).size).toBe(1)
      expect(seen.errors[0]).toBeInstanceOf(StreamStalledError)
      expect(seen.at.map((at) => at - born)).toEqual([120, 120, 120])
      expect(ended.length).toBe(1)
      expect(clock.timers.size).toBe(0)
    })

    it('are judged by the deadline that the last event set off, though none is asked for after it', async () => {
      const options = { firstContentMs: 60_000, contentIntervalMs: 100 }
      const { clock, seen, born } = start(
        [
          [10, delta('x')],
          [0, 'hang'],
        ] as Line[],
        options,
        2,
      )
      await clock.advance(59_000)
      expect(seen.errors).toMatchObject([{ phase: 'between_content' }])
      expect(seen.at.map((at) => at - born)).toEqual([110])
    })

    it('are ended after the terminal event, though none is asked for after it', async () => {
      const options = { firstContentMs: 60_000, drainMs: 100 }
      const { clock, seen, ended } = start(
        [
          [10, delta('x')],
          [0, completed],
          [0, 'hang'],
        ] as Line[],
        options,
        3,
      )
      await clock.advance(1000)
      expect(seen).toMatchObject({ events: [delta('x'), completed, 'done'], errors: [] })
      expect(ended.length).toBe(1)
    })

    it('are judged after a tool, though none is asked for after it', async () => {
      const call = { type: 'tool-call', toolCallId: 't', toolName: 'sh', input: {} }
      const result = { type: 'tool-result', toolCallId: 't', toolName: 'sh', output: 'ok' }
      const script = [
        [10, call],
        [5000, result],
        [0, 'hang'],
      ] as Line[]
      const { clock, seen, born } = start(script, { source: 'ai-sdk-fullstream', livenessMs: 1000 }, 3)
      await clock.advance(5010)
      expect([seen.events, seen.errors]).toEqual([[call, result], []])
      await clock.advance(10_000)
      expect(seen.errors).toMatchObject([{ phase: 'liveness' }])
      expect(seen.at.map((at) => at - born)).toEqual([6010])
    })
  })
})

describe('reads that overlap the stall', () => {
  it('have the error, and ask the source for nothing', async () => {
    const clock = new VirtualClock()
    let asked = 0
    const stream: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          asked++
          return new Promise(() => {})
        },
      }),
    }
    const reasons: unknown[] = []
    const options: WatchOptions = {
      clock,
      firstContentMs: 100,
      onStall: () => {
        iterator.next().catch((error: unknown) => reasons.push(error))
      },
    }
    const iterator = watchStream(stream, options)[Symbol.asyncIterator]()
    iterator.next().catch((error: unknown) => reasons.push(error))
    await clock.advance(100)
    await settle()
    expect(reasons.length).toBe(2)
    expect(reasons[0]).toBe(reasons[1])
    expect(asked).toBe(1)
  })
})

/** An answer that is whole, whatever its stream does afterwards: nothing calls it stalled, and nothing stops its turn. */

import { describe, expect, it } from 'vitest'
import { type StreamBook, StreamStalledError, turnDeadlines, watchStream } from '../../detector/watchdog/index.ts'
import { generator } from './kinds.ts'
import { every, QUEUES } from './queues.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { completed, delta, settling } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const error = { type: 'error', code: 'server_error', message: 'Boom' }

function counting() {
  const counted: unknown[] = []
  const book: StreamBook = {
    streamStarted: (of) => counted.push(['started', of]),
    streamStalled: (of, phase) => counted.push(['stalled', of, phase]),
    streamRetried: (of, result) => counted.push(['retried', of, result]),
  }
  return { counted, book }
}

describe.each(QUEUES)('$name whose whole time runs out under a slow consumer', (kind) => {
  const held = async (script: readonly Line[], more: object = {}) => {
    const clock = new VirtualClock()
    const { counted, book } = counting()
    const stalls: unknown[] = []
    const options = {
      source,
      clock,
      totalMs: 100,
      watch: book,
      onStall: (stall: unknown) => stalls.push(stall),
    } as const
    const watched = watchStream(kind.open(clock, script).stream, { ...options, ...more })
    const seen = reading(clock, kind.events(watched), 200)
    await clock.advance(5000)
    return { seen, counted, stalls, timers: clock.timers.size }
  }

  it.each([{}, { drainMs: 1000 }])(
    'is whole where its terminal event had come, and counts as no stall: %o',
    async (more) => {
      const script = [...every(10, [delta('a'), delta('b'), completed]), [0, 'hang']] as Line[]
      const { seen, counted, stalls, timers } = await held(script, more)
      expect([seen.events, seen.outcome]).toEqual([[delta('a'), delta('b'), completed], 'done'])
      expect([counted, stalls, timers]).toEqual([[['started', source]], [], 0])
    },
  )

  it('has its failure thrown where that had come, and counts as no stall', async () => {
    const { seen, counted, stalls } = await held([...every(10, [delta('a'), error]), [0, 'hang']] as Line[])
    expect(seen.events).toEqual([delta('a'), error])
    expect(seen.outcome).toMatchObject({ name: 'StreamFailedError', code: 'server_error' })
    expect([counted, stalls]).toEqual([[['started', source]], []])
  })

  it('has stalled, and is counted so, where no terminal event had come', async () => {
    const { seen, counted, stalls } = await held([...every(10, [delta('a'), delta('b')]), [0, 'hang']] as Line[])
    expect(seen.events).toEqual([delta('a'), delta('b')])
    expect(seen.outcome).toMatchObject({ name: 'StreamStalledError', phase: 'total' })
    expect(counted).toEqual([
      ['started', source],
      ['stalled', source, 'total'],
    ])
    expect(stalls).toEqual([seen.outcome])
  })
})

describe('content after an error event', () => {
  const read = async (script: readonly Line[]) => {
    const clock = new VirtualClock()
    const seen = reading(
      clock,
      watchStream(pushed(clock, script).stream, { source, clock, contentIntervalMs: 100, drainMs: 1000 }),
    )
    await clock.advance(5000)
    return seen
  }

  it('is under contentIntervalMs again', async () => {
    const seen = await read([...every(10, [delta('a'), error, delta('b')]), [0, 'hang']] as Line[])
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 100, deliveredEvents: 3 })
    expect(seen.endedAt).toBe(130)
  })

  it('may go on to a completion, which makes the answer whole', async () => {
    const seen = await read([
      ...every(90, [delta('a'), error, delta('b'), delta('c'), completed]),
      [0, 'end'],
    ] as Line[])
    expect([seen.events.length, seen.outcome]).toEqual([5, 'done'])
  })
})

describe('the signal of a turn', () => {
  const opened = async (by: 'watch' | 'call', script: readonly Line[], drainMs?: number) => {
    const clock = new VirtualClock()
    const turn = turnDeadlines({ source, clock, firstContentMs: 100, contentIntervalMs: 100, drainMs }).next()
    const { stream } = generator.open(clock, script)
    const signals: AbortSignal[] = []
    const call = () =>
      turn.call(({ signal }) => {
        signals.push(signal)
        return stream as AsyncGenerator<unknown>
      })
    const events = by === 'watch' ? turn.watch(stream as AsyncGenerator<unknown>) : await call()
    return { clock, turn, events, signals }
  }

  describe.each(['watch', 'call'] as const)('by %s()', (by) => {
    it('is not aborted where a stream does not close after its whole answer', async () => {
      const { clock, turn, events } = await opened(
        by,
        [...every(10, [delta('a'), completed]), [0, 'hang']] as Line[],
        50,
      )
      const seen = reading(clock, events)
      await clock.advance(1000)
      expect([seen.outcome, seen.endedAt]).toEqual(['done', 70])
      expect(turn.signal.aborted).toBe(false)
    })

    it('is not aborted where a stream is left in a read', async () => {
      const { clock, turn, events } = await opened(by, [...every(10, [delta('a')]), [0, 'hang']] as Line[])
      void settling(events.next())
      await clock.advance(10)
      const read = settling(events.next())
      await clock.advance(50)
      await events.return(undefined)
      await settle()
      expect(read.outcome).toBe('resolved')
      await clock.advance(1000)
      expect(turn.signal.aborted).toBe(false)
    })

    it('is aborted with the error where a stream stalls', async () => {
      const { clock, turn, events } = await opened(by, [...every(10, [delta('a')]), [0, 'hang']] as Line[])
      const seen = reading(clock, events)
      await clock.advance(1000)
      expect(seen.outcome).toBeInstanceOf(StreamStalledError)
      expect(turn.signal.reason).toBe(seen.outcome)
    })
  })

  it('is not aborted where only the request is: that of a try which is left in a read, or does not close', async () => {
    for (const drains of [true, false]) {
      const whole = every(0, [delta('a'), ...(drains ? [completed] : [])])
      const { clock, turn, events, signals } = await opened('call', [...whole, [0, 'hang']] as Line[], 50)
      const seen = reading(clock, events)
      await clock.advance(40)
      if (!drains) await events.return(undefined)
      await clock.advance(20)
      expect([seen.outcome, turn.signal.aborted]).toEqual(['done', false])
      expect(signals.map(({ reason }) => reason)).toMatchObject([{ name: 'AbortError' }])
    }
  })
})

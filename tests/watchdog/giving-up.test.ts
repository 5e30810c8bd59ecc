import { describe, expect, it } from 'vitest'
import { StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections, faults } from './faults.ts'
import { queue } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

describe('a source that is given up', () => {
  const readable = (cancel: () => unknown) => {
    let cancels = 0
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(delta('x')),
      cancel() {
        cancels++
        return cancel() as Promise<void>
      },
    })
    return { stream, cancels: () => cancels }
  }

  const iterable = (leave: () => unknown) => {
    let cancels = 0
    const { stream } = queue.open(new VirtualClock(), dead)
    const inner = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    return {
      stream: {
        [Symbol.asyncIterator]: () => ({
          next: () => inner.next(),
          return: () => {
            cancels++
            return leave() as Promise<IteratorResult<unknown>>
          },
        }),
      },
      cancels: () => cancels,
    }
  }

  const response = (cancel: () => unknown) => {
    let cancels = 0
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(delta('x'))}\n\n`)),
      cancel() {
        cancels++
        return cancel() as Promise<void>
      },
    })
    const stream = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    return { stream, cancels: () => cancels }
  }

  const kinds = [
    ['whose cancel', readable, (stream: unknown) => stream as AsyncIterable<unknown>],
    ['whose return', iterable, (stream: unknown) => stream as AsyncIterable<unknown>],
    [
      'whose body, when it is cancelled,',
      response,
      (stream: unknown) => (stream as Response).body as AsyncIterable<unknown>,
    ],
  ] as const

  describe.each(kinds)('%s', (_, open, events) => {
    it.each(faults)('%s does not delay the error', async (_, fault) => {
      const clock = new VirtualClock()
      const { stream, cancels } = open(fault)
      const watched = watchStream(stream as ReadableStream, { source, clock, contentIntervalMs: 100 })
      const seen = reading(clock, events(watched))
      await clock.advance(100)
      expect(seen.outcome).toBeInstanceOf(StreamStalledError)
      expect([seen.endedAt, cancels()]).toEqual([100, 1])
      expect(clock.timers.size).toBe(0)
    })

    it.each(faults)('%s does not delay an abort', async (_, fault) => {
      const clock = new VirtualClock()
      const controller = new AbortController()
      const { stream, cancels } = open(fault)
      const options = { source, clock, contentIntervalMs: 100, signal: controller.signal } as const
      const seen = reading(clock, events(watchStream(stream as ReadableStream, options)))
      await clock.advance(10)
      controller.abort('mine')
      await settle()
      expect([seen.outcome, cancels()]).toEqual(['mine', 1])
    })

    it.each(faults)('%s does not delay the end after the terminal event', async (_, fault) => {
      const clock = new VirtualClock()
      const { stream, cancels } = open(fault)
      const options = { clock, drainMs: 100, classify: () => 'terminal' as const }
      const seen = reading(clock, events(watchStream(stream as ReadableStream, options)))
      await clock.advance(100)
      expect([seen.outcome, cancels()]).toEqual(['done', 1])
    })
  })

  it('by a controller of its own whose listeners throw is given up all the same', async () => {
    const clock = new VirtualClock()
    const { stream } = queue.open(clock, dead)
    const controller = new AbortController()
    Object.defineProperty(controller, 'abort', {
      value: () => {
        throw new Error('abort')
      },
    })
    const seen = reading(
      clock,
      watchStream(Object.assign(stream, { controller }) as AsyncIterable<unknown>, {
        source,
        clock,
        contentIntervalMs: 100,
      }),
    )
    await clock.advance(100)
    expect(seen.outcome).toBeInstanceOf(StreamStalledError)
  })
})

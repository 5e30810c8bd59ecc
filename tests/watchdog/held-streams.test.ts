/** What a stream looks like to its consumer that may be issued again: held until it has content, and no longer. */

import { describe, expect, it } from 'vitest'
import { type Attempt, StreamStalledError, watchStream, withStallRetries } from '../../detector/watchdog/index.ts'
import { generated, type Line, pushed, reading } from './scripted.ts'
import { all, answers, completed, created, delta, model, progress, settling, stalls } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const retried = { maxStallRetries: 1, backoff: 0 }

describe('where retries are off', () => {
  it('a stream comes back at once, and is the very object that was made', async () => {
    const clock = new VirtualClock()
    const made: unknown[] = []
    const { fn } = model(clock, [stalls])
    const kept = (attempt: Attempt) => {
      const stream = fn(attempt)
      made.push(stream)
      return stream
    }
    const stream = await withStallRetries(kept, { clock })
    expect(made).toEqual([stream])
    expect(made[0]).toBe(stream)
  })

  it('the first event can be read before there is content', async () => {
    const clock = new VirtualClock()
    const { fn } = model(clock, [stalls])
    const read = reading(clock, await withStallRetries(fn, { maxStallRetries: 0, clock }))
    await clock.advance(50)
    expect([read.events, read.outcome]).toEqual([[created, progress], undefined])
    await clock.advance(100)
    expect(read.outcome).toMatchObject({ phase: 'first_content', attempt: 1 })
  })
})

describe('where no deadline can run out before content', () => {
  it.each([{ contentIntervalMs: 100 }, { drainMs: 100 }, { headersMs: 100 }, {}])(
    'a stream comes back at once: %j',
    async (deadlines) => {
      const clock = new VirtualClock()
      const { fn, tries } = model(clock, [stalls], deadlines)
      const read = reading(clock, await withStallRetries(fn, { ...retried, clock }))
      await clock.advance(100_000)
      expect([read.events, read.outcome, tries.length]).toEqual([[created, progress], undefined, 1])
    },
  )
})

describe('where retries are on', () => {
  it('a stream comes back with its first content: what came before is delivered first, once, and in order', async () => {
    const clock = new VirtualClock()
    const script: Line[] = [
      [0, created],
      [10, progress],
      [30, delta('a')],
      [10, delta('b')],
      [10, completed],
      [0, 'end'],
    ]
    const { fn, tries } = model(clock, [script])
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    await clock.advance(39)
    expect(call.outcome).toBe(null)
    await clock.advance(1)
    expect(call.outcome).toBe('resolved')
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(0)
    expect(read.events).toEqual([created, progress, delta('a')])
    await clock.advance(20)
    expect(read.events).toEqual([created, progress, delta('a'), delta('b'), completed])
    expect([read.outcome, tries.length]).toEqual(['done', 1])
  })

  it('is as it was made once it has content: nothing is read ahead of its consumer', async () => {
    const clock = new VirtualClock()
    let asked = 0
    const events = [created, delta('a'), delta('b'), delta('c'), completed]
    const source = new ReadableStream<unknown>(
      {
        pull(controller) {
          const event = events[asked++]
          if (event === undefined) controller.close()
          else controller.enqueue(event)
        },
      },
      { highWaterMark: 0 },
    )
    const fn = ({ signal }: Attempt) =>
      watchStream(source, { source: 'openai-responses', firstContentMs: 100, clock, signal })
    const stream = await withStallRetries(fn, { ...retried, clock })
    await clock.advance(1000)
    expect(asked).toBe(2)
    expect(await all(stream)).toEqual(events)
  })

  it('only the deltas of the try that answers are seen', async () => {
    const clock = new VirtualClock()
    const { fn } = model(clock, [stalls, answers('once')])
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    await clock.advance(200)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(50)
    expect(read.events).toEqual([created, delta('once'), completed])
  })

  it('the deadlines after content are those of the try that answers', async () => {
    const clock = new VirtualClock()
    const silent: Line[] = [
      [0, created],
      [50, delta('half')],
      [0, 'hang'],
    ]
    const { fn, tries } = model(clock, [stalls, silent], { firstContentMs: 100, contentIntervalMs: 40 })
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    await clock.advance(160)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect(read.outcome).toMatchObject({ phase: 'between_content', attempt: 2, deliveredEvents: 2 })
    expect(read.events).toEqual([created, delta('half')])
    expect(tries[1]?.signal.reason).toBe(read.outcome)
  })

  it('1024 events are held at most: then the stream comes back without content, and no longer can be issued again', async () => {
    const clock = new VirtualClock()
    const prelude: Line[] = Array.from({ length: 1500 }, () => [0, progress])
    const { fn, tries } = model(clock, [[...prelude, [0, 'hang']]])
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    for (let turn = 0; turn < 1000 && call.outcome === null; turn++) await clock.advance(0)
    expect(call.outcome).toBe('resolved')
    const read = reading(clock, call.value as ReadableStream)
    for (let turn = 0; turn < 1000 && read.events.length < 1500; turn++) await clock.advance(0)
    expect(read.events.length).toBe(1500)
    await clock.advance(1000)
    expect(read.outcome).toMatchObject({ phase: 'first_content', deliveredEvents: 1500 })
    expect(tries.length).toBe(1)
  })

  it('so it does with the last of these 1024', async () => {
    const clock = new VirtualClock()
    const prelude: Line[] = Array.from({ length: 1024 }, () => [0, progress])
    const { fn, tries } = model(clock, [[...prelude, [0, 'hang']]])
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    for (let turn = 0; turn < 1000 && call.outcome === null; turn++) await clock.advance(0)
    expect([call.outcome, tries.length]).toEqual(['resolved', 1])
  })

  it('1023 events and a stall are still a stall before content', async () => {
    const clock = new VirtualClock()
    const prelude: Line[] = Array.from({ length: 1023 }, () => [0, progress])
    const { fn, tries } = model(clock, [[...prelude, [0, 'hang']], answers('hello')])
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    for (let turn = 0; turn < 100; turn++) await clock.advance(2)
    expect([tries.length, tries[0]?.signal.reason]).toEqual([2, expect.objectContaining({ deliveredEvents: 1023 })])
    expect(call.outcome).toBe('resolved')
  })
})

/** Each kind of stream, made of a script. */
const encoder = new TextEncoder()
const sse = (event: unknown) => encoder.encode(`data: ${JSON.stringify(event)}\n\n`)

function bytes(clock: VirtualClock, script: readonly Line[], onCancel: () => void): ReadableStream<Uint8Array> {
  const { stream } = pushed(clock, script)
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(sse(value))
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  )
}

/** As the OpenAI and Anthropic SDKs have it: an iterable, with the controller of its request. */
class SdkStream {
  readonly controller: AbortController
  readonly #iterator: () => AsyncGenerator<unknown>

  constructor(iterator: () => AsyncGenerator<unknown>, controller: AbortController) {
    this.#iterator = iterator
    this.controller = controller
  }

  [Symbol.asyncIterator]() {
    return this.#iterator()
  }
}

type Made = AsyncIterable<unknown> | ReadableStream | Response

const KINDS: Record<string, (clock: VirtualClock, script: readonly Line[], onCancel: () => void) => Made> = {
  'a generator': (clock, script) => generated(clock, script),
  'a stream of an SDK': (clock, script, onCancel) => {
    const controller = new AbortController()
    controller.signal.addEventListener('abort', onCancel)
    return new SdkStream(() => generated(clock, script), controller)
  },
  'a ReadableStream': (clock, script, onCancel) => {
    const { stream, cancelled } = pushed(clock, script)
    cancelled.push = () => {
      onCancel()
      return 1
    }
    return stream
  },
  'a Response': (clock, script, onCancel) =>
    new Response(bytes(clock, script, onCancel), { headers: { 'content-type': 'text/event-stream' } }),
}

describe.each(Object.keys(KINDS))('%s', (kind) => {
  const make = KINDS[kind] as (typeof KINDS)[string]

  async function eventsOf(stream: Made): Promise<unknown[]> {
    if (!(stream instanceof Response)) return all(stream)
    const text = await stream.text()
    return text
      .split('\n\n')
      .filter((part) => part !== '')
      .map((part) => JSON.parse(part.slice('data: '.length)))
  }

  it('is issued again and comes as the same kind, whole', async () => {
    const clock = new VirtualClock()
    const cancelled: number[] = []
    const requests: Attempt[] = []
    const fn = (attempt: Attempt) => {
      requests.push(attempt)
      const script = attempt.attempt === 1 ? stalls : answers('hello')
      const stream = make(clock, script, () => cancelled.push(attempt.attempt))
      return watchStream(stream as AsyncIterable<unknown>, {
        source: 'openai-responses',
        firstContentMs: 100,
        clock,
        ...attempt,
      })
    }
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    await clock.advance(200)
    expect(call.outcome).toBe('resolved')
    const stream = call.value as Made
    const like = make(clock, [], () => {})
    expect(Object.getPrototypeOf(stream)).toBe(Object.getPrototypeOf(like))
    const events = settling(eventsOf(stream))
    await clock.advance(50)
    expect(events.value).toEqual([created, delta('hello'), completed])
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false])
    expect(requests[0]?.signal.reason).toBeInstanceOf(StreamStalledError)
    if (kind !== 'a generator') expect(cancelled).toEqual([1])
  })

  it('is issued again as the promise of one', async () => {
    const clock = new VirtualClock()
    let requests = 0
    const fn = (attempt: Attempt) => {
      requests++
      const script = attempt.attempt === 1 ? stalls : answers('hello')
      const later = clock.wait(10).then(() => make(clock, script, () => {}) as AsyncIterable<unknown>)
      return watchStream(later, {
        source: 'openai-responses',
        headersMs: 50,
        firstContentMs: 100,
        clock,
        ...attempt,
      })
    }
    const call = settling(withStallRetries(fn, { ...retried, clock }))
    await clock.advance(300)
    const events = settling(eventsOf(call.value as Made))
    await clock.advance(50)
    expect(events.value).toEqual([created, delta('hello'), completed])
    expect(requests).toBe(2)
  })
})

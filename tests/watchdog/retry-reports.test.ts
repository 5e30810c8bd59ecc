/** How long is waited before a try, and who hears of it. */

import { describe, expect, it } from 'vitest'
import {
  type Attempt,
  type RetryResult,
  type StallPhase,
  type StallRetry,
  type StreamStalledError,
  watchStream,
  withStallRetries,
} from '../../detector/watchdog/index.ts'
import { reading } from './scripted.ts'
import { answers, created, delta, failed, model, settling, stalls } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

describe('the back-off', () => {
  it('is so many ms, if it is a number', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    void withStallRetries(fn, { maxStallRetries: 2, backoff: 250, clock }).catch(() => {})
    await clock.advance(2000)
    const [first, second, third] = tries.map(({ at }) => at)
    expect([Number(second) - Number(first), Number(third) - Number(second)]).toEqual([350, 350])
  })

  it('is what a function says of the number of the retry and the stall', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    const asked: [number, StreamStalledError][] = []
    const backoff = (retry: number, error: StreamStalledError) => {
      asked.push([retry, error])
      return retry * 50
    }
    void withStallRetries(fn, { maxStallRetries: 2, backoff, clock }).catch(() => {})
    await clock.advance(2000)
    const at = tries.map((one) => one.at - Number(tries[0]?.at))
    expect(at).toEqual([0, 150, 350])
    expect(asked.map(([retry, { attempt }]) => [retry, attempt])).toEqual([
      [1, 1],
      [2, 2],
    ])
    expect(asked[0]?.[1]).toBe(tries[0]?.signal.reason)
  })

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])('is none where that says %s', async (ms) => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, answers('hello')])
    void withStallRetries(fn, { maxStallRetries: 1, backoff: () => ms, clock })
    await clock.advance(150)
    expect(tries.map(({ at }) => at - Number(tries[0]?.at))).toEqual([0, 100])
  })

  it('is as if it were not set where the function throws', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, answers('hello')])
    const delays: number[] = []
    const backoff = () => {
      throw new Error('no idea')
    }
    const onRetry = ({ delayMs }: StallRetry) => delays.push(delayMs)
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff, onRetry, clock }))
    await clock.advance(300)
    expect([tries.length, call.outcome]).toEqual([2, 'resolved'])
    expect(delays[0]).toBeGreaterThanOrEqual(50)
    expect(delays[0]).toBeLessThanOrEqual(100)
  })

  it('is 100 ms at first and doubles up to 10 s, less up to a half at random', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    const delays: number[] = []
    const onRetry = ({ delayMs }: StallRetry) => delays.push(delayMs)
    void withStallRetries(fn, { maxStallRetries: 9, onRetry, clock }).catch(() => {})
    await clock.advance(60_000)
    expect(tries.length).toBe(10)
    const most = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
    for (const [i, delay] of delays.entries()) {
      expect(delay).toBeLessThanOrEqual(most[i] as number)
      expect(delay).toBeGreaterThanOrEqual((most[i] as number) / 2)
    }
    const waited = tries.slice(1).map(({ at }, i) => at - Number(tries[i]?.at) - 100)
    for (const [i, ms] of waited.entries()) expect(ms).toBeCloseTo(Number(delays[i]), 3)
    expect(delays.length).toBe(9)
  })

  it('may end between two milliseconds: no deadline is set that is over before it began', async () => {
    for (let sevenths = 1900; sevenths < 2020; sevenths++) {
      const clock = new VirtualClock()
      const { later } = clock
      clock.later = (work, ms, keepAlive) => {
        // A clock that cannot tell so short a time would never come to its end.
        if (ms > 0 && ms < 1e-6) throw new Error(`a timer of ${ms} ms`)
        return later.call(clock, work, ms, keepAlive)
      }
      const { fn, tries } = model(clock, [stalls])
      const call = settling(withStallRetries(fn, { maxStallRetries: 9, backoff: sevenths / 7, clock }))
      await clock.advance(8000)
      expect([tries.length, call.outcome]).toEqual([10, 'rejected'])
    }
  })

  it('keeps the process alive, as its caller waits for the next try', async () => {
    const clock = new VirtualClock()
    const { fn } = model(clock, [stalls])
    void withStallRetries(fn, { maxStallRetries: 1, backoff: 500, clock }).catch(() => {})
    await clock.advance(300)
    expect([...clock.timers].filter(({ keepAlive }) => keepAlive).length).toBe(1)
    await clock.advance(1000)
    expect(clock.timers.size).toBe(0)
  })
})

describe('onRetry', () => {
  it('hears of each retry before it waits: which try comes, after which stall, in how many ms', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    const heard: (StallRetry & { requests: number })[] = []
    const onRetry = (retry: StallRetry) => heard.push({ ...retry, requests: tries.length })
    const call = settling(withStallRetries(fn, { maxStallRetries: 2, backoff: 70, onRetry, clock }))
    await clock.advance(120)
    expect(heard.length).toBe(1)
    await clock.advance(2000)
    expect(call.outcome).toBe('rejected')
    expect(heard).toEqual([
      { attempt: 2, delayMs: 70, error: tries[0]?.signal.reason, requests: 1 },
      { attempt: 3, delayMs: 70, error: tries[1]?.signal.reason, requests: 2 },
    ])
  })

  it('may throw without harm', async () => {
    const clock = new VirtualClock()
    const { fn } = model(clock, [stalls, answers('hello')])
    const onRetry = () => {
      throw new Error('the log is full')
    }
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, onRetry, clock }))
    await clock.advance(200)
    expect(call.outcome).toBe('resolved')
  })

  it('may reject without harm', async () => {
    const clock = new VirtualClock()
    const { fn } = model(clock, [stalls, answers('hello')])
    const unhandled: unknown[] = []
    const hears = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', hears)
    const onRetry = (() => Promise.reject(new Error('the log is far'))) as never
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, onRetry, clock }))
    await clock.advance(200)
    process.off('unhandledRejection', hears)
    expect([call.outcome, unhandled]).toEqual(['resolved', []])
  })

  it('is not called for what is not issued again', async () => {
    const clock = new VirtualClock()
    const heard: unknown[] = []
    const options = { maxStallRetries: 3, onRetry: (retry: StallRetry) => heard.push(retry), clock }
    const good = settling(withStallRetries(model(clock, [answers('hello')]).fn, options))
    const broken = settling(withStallRetries(() => Promise.reject(new Error('refused')), options))
    await clock.advance(1000)
    expect([good.outcome, broken.outcome, heard]).toEqual(['resolved', 'rejected', []])
  })
})

describe('the book of streams', () => {
  /** What it was told, a line each. */
  function book() {
    const told: string[] = []
    return {
      told,
      streamStarted: (source: string) => told.push(`${source} started`),
      streamStalled: (source: string, phase: StallPhase) => told.push(`${source} stalled: ${phase}`),
      streamRetried: (source: string, result: RetryResult) => told.push(`${source} retried: ${result}`),
    }
  }

  it('is told of each retry, and what became of it: another stall, then content', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const { fn } = model(clock, [stalls, stalls, answers('hello')], { firstContentMs: 100, watch })
    void withStallRetries(fn, { maxStallRetries: 2, backoff: 0, watch, clock })
    await clock.advance(400)
    expect(watch.told).toEqual([
      'openai-responses started',
      'openai-responses stalled: first_content',
      'openai-responses started',
      'openai-responses stalled: first_content',
      'openai-responses retried: stalled',
      'openai-responses started',
      'openai-responses retried: content',
    ])
  })

  it('is told of one that fails: by the request, and by the source', async () => {
    for (const fails of ['request', 'source']) {
      const clock = new VirtualClock()
      const watch = book()
      const broken = new Error('socket hang up')
      const { fn } = model(clock, [stalls, [[10, broken]]])
      const tried = (attempt: Attempt) => {
        if (fails === 'request' && attempt.attempt === 2) throw broken
        return fn(attempt)
      }
      const call = settling(withStallRetries(tried, { maxStallRetries: 1, backoff: 0, watch, clock }))
      await clock.advance(300)
      expect(call.outcome).toBe(fails === 'request' ? 'rejected' : 'resolved')
      expect(watch.told).toEqual(['openai-responses retried: failed'])
    }
  })

  it('is told of one whose server reports a failure as one that failed', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const { fn } = model(clock, [
      stalls,
      [
        [0, created],
        [10, failed],
        [0, 'end'],
      ],
    ])
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, watch, clock }))
    await clock.advance(300)
    expect(call.outcome).toBe('resolved')
    expect(watch.told).toEqual(['openai-responses retried: failed'])
  })

  it('is told of one that the caller aborts', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const caller = new AbortController()
    const { fn } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, watch, signal: caller.signal, clock }))
    await clock.advance(150)
    caller.abort()
    await settle()
    expect(call.outcome).toBe('rejected')
    expect(watch.told).toEqual(['openai-responses retried: aborted'])
  })

  it('is told nothing of a first try', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const { fn } = model(clock, [answers('hello')])
    void withStallRetries(fn, { maxStallRetries: 1, watch, clock })
    await clock.advance(100)
    expect(watch.told).toEqual([])
  })

  it('may throw without harm', async () => {
    const clock = new VirtualClock()
    const fails = () => {
      throw new Error('the book is shut')
    }
    const watch = { streamStarted: fails, streamStalled: fails, streamRetried: fails }
    const { fn } = model(clock, [stalls, answers('hello')], { firstContentMs: 100, watch })
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, watch, clock }))
    await clock.advance(200)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(50)
    expect([read.events.length, read.outcome]).toEqual([3, 'done'])
  })

  it('knows a retry whose first try never responded by its wire format too', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const fn = (attempt: Attempt) =>
      watchStream(new Promise<never>(() => {}), { source: 'anthropic-messages', headersMs: 100, clock, ...attempt })
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, watch, clock }))
    await clock.advance(300)
    expect(call.outcome).toBe('rejected')
    expect(watch.told).toEqual(['anthropic-messages retried: stalled'])
  })

  it('counts a stall in the stream itself as no retry', async () => {
    const clock = new VirtualClock()
    const watch = book()
    const half = [
      [0, created],
      [10, delta('half')],
      [0, 'hang'],
    ] as const
    const { fn } = model(clock, [stalls, half], { firstContentMs: 100, contentIntervalMs: 100 })
    const call = settling(withStallRetries(fn, { maxStallRetries: 3, backoff: 0, watch, clock }))
    await clock.advance(150)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(500)
    expect(read.outcome).toMatchObject({ phase: 'between_content' })
    expect(watch.told).toEqual(['openai-responses retried: content'])
  })
})

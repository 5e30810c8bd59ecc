import { describe, expect, it } from 'vitest'
import {
  type Attempt,
  StreamFailedError,
  StreamStalledError,
  watchStream,
  withStallRetries,
} from '../../detector/watchdog/index.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { all, answers, completed, created, delta, failed, model, progress, settling, stalls } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

describe('a stream that stalls before any content', () => {
  it('is issued again: the first request is aborted with its stall, the second is not, and its text is whole', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, answers('hello')])
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, clock }))
    await clock.advance(99)
    expect(tries.length).toBe(1)
    await clock.advance(100)
    expect(tries.length).toBe(2)
    const [first, second] = tries
    expect(first?.signal.aborted).toBe(true)
    expect(first?.signal.reason).toBeInstanceOf(StreamStalledError)
    expect(first?.signal.reason).toMatchObject({ phase: 'first_content', attempt: 1, receivedAnyContent: false })
    expect(first?.cancelled).toEqual([first?.signal.reason])
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(50)
    expect(read.events).toEqual([created, delta('hello'), completed])
    expect(read.outcome).toBe('done')
    expect(second?.signal.aborted).toBe(false)
    expect(second?.cancelled).toEqual([])
  })

  it('is thrown when the tries are used up: the last stall, with the number of its try', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, stalls])
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, clock }))
    await clock.advance(1000)
    expect(tries.length).toBe(2)
    expect(call.error).toBeInstanceOf(StreamStalledError)
    expect(call.error).toMatchObject({ phase: 'first_content', attempt: 2, deliveredEvents: 2, retryable: true })
    expect(tries.map(({ signal }) => signal.aborted)).toEqual([true, true])
    expect(call.error).toBe(tries[1]?.signal.reason)
  })

  it('is issued again as often as allowed, each time with a fresh deadline', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, stalls, stalls, answers('at last')])
    const call = settling(withStallRetries(fn, { maxStallRetries: 3, backoff: 0, clock }))
    await clock.advance(500)
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
    const waits = tries.map(({ at }, i) => at - (tries[i - 1]?.at ?? at))
    expect(waits).toEqual([0, 100, 100, 100])
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(50)
    expect(read.events).toEqual([created, delta('at last'), completed])
  })

  it('has the number of its try though its maker never said it', async () => {
    const clock = new VirtualClock()
    const fn = () =>
      watchStream(pushed(clock, stalls).stream, { source: 'openai-responses', firstContentMs: 100, clock })
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, clock }))
    await clock.advance(1000)
    expect(call.error).toMatchObject({ attempt: 2 })
    expect(String(call.error)).toContain('in try 2')
  })

  it.each(['livenessMs', 'totalMs'] as const)('is issued again when it is %s that ran out', async (setting) => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls, answers('hello')], { [setting]: 100 })
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, clock }))
    await clock.advance(200)
    expect(tries.length).toBe(2)
    expect(tries[0]?.signal.reason).toMatchObject({ setting })
    expect(call.outcome).toBe('resolved')
  })

  it('is issued again when not even its response came', async () => {
    const clock = new VirtualClock()
    const attempts: Attempt[] = []
    const fn = (attempt: Attempt) => {
      attempts.push(attempt)
      const response = attempt.attempt === 1 ? new Promise<never>(() => {}) : clock.wait(30).then(() => 'the reply')
      return watchStream(response, { headersMs: 100, clock, ...attempt })
    }
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 0, clock }))
    await clock.advance(200)
    expect(call.value).toBe('the reply')
    expect(attempts.map(({ signal }) => signal.aborted)).toEqual([true, false])
    expect(attempts[0]?.signal.reason).toMatchObject({ phase: 'headers', attempt: 1 })
  })

  it('gives up after headers stalls too, with the last of them', async () => {
    const clock = new VirtualClock()
    let requests = 0
    const fn = (attempt: Attempt) => {
      requests++
      return watchStream(new Promise<never>(() => {}), { headersMs: 100, clock, ...attempt })
    }
    const call = settling(withStallRetries(fn, { maxStallRetries: 2, backoff: 0, clock }))
    await clock.advance(1000)
    expect(requests).toBe(3)
    expect(call.error).toMatchObject({ phase: 'headers', attempt: 3 })
  })

  it('is not issued again while what it waits for is a tool that runs here', async () => {
    const clock = new VirtualClock()
    const call = { type: 'tool-call', toolCallId: 't', toolName: 'sh', input: {} }
    const script = [
      [0, { type: 'start' }],
      [5, call],
      [400, { type: 'tool-result', toolCallId: 't', output: 'ok' }],
      [0, { type: 'text-delta', id: 'x', text: 'done' }],
      [0, 'end'],
    ] as const
    const { fn, tries } = model(clock, [script], { source: 'ai-sdk-fullstream', firstContentMs: 100 })
    const held = settling(withStallRetries(fn, { maxStallRetries: 3, backoff: 0, clock }))
    await clock.advance(500)
    expect([tries.length, held.outcome]).toEqual([1, 'resolved'])
  })
})

describe('maxStallRetries', () => {
  it.each([
    [1, 2],
    [2.9, 3],
    [0.9, 1],
    [0, 1],
    [-1, 1],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 1],
    ['3', 1],
    [null, 1],
    [undefined, 1],
  ])('%s allows %i requests in all', async (maxStallRetries, requests) => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    const options = { maxStallRetries: maxStallRetries as number, backoff: 0, clock }
    const read = settling(withStallRetries(fn, options).then(all))
    await clock.advance(1000)
    expect(tries.length).toBe(requests)
    expect(read.outcome).not.toBe(null)
  })
})

describe('what is never issued again', () => {
  const allowed = { maxStallRetries: 3, backoff: 0 }

  it('a stall after content: its text has been seen, and another try would say it twice', async () => {
    const clock = new VirtualClock()
    const script = [
      [0, created],
      [10, delta('half')],
      [0, 'hang'],
    ] as const
    const { fn, tries } = model(clock, [script], { firstContentMs: 100, contentIntervalMs: 50 })
    const call = settling(withStallRetries(fn, { ...allowed, clock }))
    await clock.advance(20)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect(tries.length).toBe(1)
    expect(read.events).toEqual([created, delta('half')])
    expect(read.outcome).toBeInstanceOf(StreamStalledError)
    expect(read.outcome).toMatchObject({ phase: 'between_content', receivedAnyContent: true, retryable: false })
    expect(tries[0]?.signal.reason).toBe(read.outcome)
    expect(tries[0]?.cancelled).toEqual([read.outcome])
  })

  it('a failure that the server reported, though it is one that passes: it comes after the events, from the stream', async () => {
    const clock = new VirtualClock()
    const script = [
      [0, created],
      [10, progress],
      [10, failed],
      [0, 'end'],
    ] as const
    const { fn, tries } = model(clock, [script])
    const call = settling(withStallRetries(fn, { ...allowed, clock }))
    await clock.advance(50)
    expect(call.outcome).toBe('resolved')
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect(read.events).toEqual([created, progress, failed])
    expect(read.outcome).toBeInstanceOf(StreamFailedError)
    expect(read.outcome).toMatchObject({ code: 'server_error', retryable: true })
    expect(tries.length).toBe(1)
  })

  it('an error of the source before content: the stream has its events, then throws that very error', async () => {
    const clock = new VirtualClock()
    const broken = new Error('socket hang up')
    const { fn, tries } = model(clock, [
      [
        [0, created],
        [10, broken],
      ],
    ])
    const call = settling(withStallRetries(fn, { ...allowed, clock }))
    await clock.advance(20)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect(read.outcome).toBe(broken)
    expect(read.events).toEqual([created])
    expect(tries.length).toBe(1)
  })

  it('an error of HTTP, which the request throws: it comes as it is', async () => {
    const clock = new VirtualClock()
    const refused = Object.assign(new Error('429 Too Many Requests'), { status: 429 })
    let requests = 0
    const signals: AbortSignal[] = []
    for (const fails of [() => Promise.reject(refused), () => thrown(refused)]) {
      requests = 0
      const fn = ({ signal }: Attempt): Promise<never> => {
        requests++
        signals.push(signal)
        return fails()
      }
      await expect(withStallRetries(fn, { ...allowed, clock })).rejects.toBe(refused)
      expect(requests).toBe(1)
    }
    expect(signals.map(({ reason }) => reason)).toEqual([refused, refused])
  })

  it('a response that says no', async () => {
    const clock = new VirtualClock()
    let requests = 0
    const response = new Response('slow down', { status: 429, headers: { 'content-type': 'text/event-stream' } })
    const fn = (attempt: Attempt) => {
      requests++
      return watchStream(Promise.resolve(response), { headersMs: 100, firstContentMs: 100, clock, ...attempt })
    }
    expect(await withStallRetries(fn, { ...allowed, clock })).toBe(response)
    await clock.advance(1000)
    expect(requests).toBe(1)
  })

  it('a stream that ends without a word', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [
      [
        [0, created],
        [10, 'end'],
      ],
    ])
    const call = settling(withStallRetries(fn, { ...allowed, clock }))
    await clock.advance(20)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect([read.events, read.outcome, tries.length]).toEqual([[created], 'done', 1])
  })

  it('a stream that is whole without content', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [
      [
        [0, created],
        [10, completed],
        [300, 'end'],
      ],
    ])
    const call = settling(withStallRetries(fn, { ...allowed, clock }))
    await clock.advance(20)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(1000)
    expect([read.events, read.outcome, tries.length]).toEqual([[created, completed], 'done', 1])
  })

  const thrown = (error: Error): never => {
    throw error
  }
})

describe('a function that reads its stream itself', () => {
  const read = (script: readonly (readonly Line[])[]) => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, script, { firstContentMs: 100, contentIntervalMs: 100 })
    const call = settling(
      withStallRetries(async (attempt) => all(await fn(attempt)), { maxStallRetries: 2, backoff: 0, clock }),
    )
    return { clock, tries, call }
  }

  it('is called again where that stalls before content', async () => {
    const { clock, tries, call } = read([stalls, answers('hello')])
    await clock.advance(300)
    expect([call.value, tries.length]).toEqual([[created, delta('hello'), completed], 2])
  })

  it('is not called again where that stalls later', async () => {
    const half: Line[] = [
      [0, delta('half')],
      [0, 'hang'],
    ]
    const { clock, tries, call } = read([stalls, half])
    await clock.advance(1000)
    expect(call.error).toMatchObject({ phase: 'between_content', attempt: 2 })
    expect([tries.length, tries[1]?.signal.reason === call.error]).toEqual([2, true])
  })
})

describe('the options', () => {
  const fn = () => 'never called'

  it.each([
    ['fn', 'no function', {}],
    ['backoff', fn, { backoff: -1 }],
    ['backoff', fn, { backoff: Number.NaN }],
    ['backoff', fn, { backoff: 'soon' }],
    ['budget', fn, { budget: {} }],
    ['budget', fn, { budget: 3 }],
    ['onRetry', fn, { onRetry: 'tell me' }],
  ])('are refused by name where they are bad: %s', async (name, of, options) => {
    const refused = withStallRetries(of as never, options as never)
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(new RegExp(`^${name}: `))
  })

  it('may all be left out: one try, its stream at once', async () => {
    const stream = new ReadableStream()
    expect(await withStallRetries(() => stream)).toBe(stream)
  })
})

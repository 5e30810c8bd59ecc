/** The caller's abort ends everything at once that may be issued again, whatever it is at. */

import { describe, expect, it } from 'vitest'
import { type Attempt, watchStream, withStallRetries } from '../../detector/watchdog/index.ts'
import { pushed, reading } from './scripted.ts'
import { answers, counted, created, delta, model, settling, stalls } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const reason = new Error('the user pressed stop')
const allowed = { maxStallRetries: 3, backoff: 1000 }

describe("the caller's abort", () => {
  it('before the call: nothing is issued', async () => {
    const clock = new VirtualClock()
    const { fn, tries } = model(clock, [stalls])
    const signal = AbortSignal.abort(reason)
    await expect(withStallRetries(fn, { ...allowed, signal, clock })).rejects.toBe(reason)
    expect(tries).toEqual([])
  })

  it('during the request: it is thrown at once, the request is aborted, and a stream that comes late is given up', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const late = pushed(clock, answers('too late'))
    const attempts: Attempt[] = []
    const fn = (attempt: Attempt) => {
      attempts.push(attempt)
      return clock.wait(500).then(() => late.stream)
    }
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(20)
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    expect(attempts.map(({ signal }) => signal.reason)).toEqual([reason])
    await clock.advance(1000)
    expect(late.cancelled).toEqual([reason])
    expect(attempts.length).toBe(1)
  })

  it('during the request, where its promise is watched: the same', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const late = pushed(clock, answers('too late'))
    const fn = (attempt: Attempt) =>
      watchStream(
        clock.wait(500).then(() => late.stream),
        { headersMs: 10_000, firstContentMs: 100, clock, ...attempt },
      )
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(20)
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    await clock.advance(1000)
    expect(late.cancelled).toEqual([reason])
  })

  it('while a stream is held: it is thrown at once, the source is cancelled, and nothing is issued again', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const { fn, tries } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(50)
    expect(call.outcome).toBe(null)
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    expect(tries[0]?.signal.reason).toBe(reason)
    expect(tries[0]?.cancelled).toEqual([reason])
    await clock.advance(10_000)
    expect(tries.length).toBe(1)
  })

  it('while a stream is held that was watched without any signal: the same', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const source = pushed(clock, stalls)
    const fn = () => watchStream(source.stream, { source: 'openai-responses', firstContentMs: 100, clock })
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(50)
    caller.abort(reason)
    await settle()
    expect([call.error, source.cancelled]).toEqual([reason, [reason]])
  })

  it('during the back-off: it is thrown at once, and nothing is issued again', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const { fn, tries } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(500)
    expect(call.outcome).toBe(null)
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    expect(clock.timers.size).toBe(0)
    await clock.advance(10_000)
    expect(tries.length).toBe(1)
  })

  it('at the second try: that one is aborted with the reason, the first was with its stall', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const { fn, tries } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(1150)
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    expect(tries.map(({ signal }) => (signal.reason as Error).name)).toEqual(['StreamStalledError', 'Error'])
    expect(tries[1]?.signal.reason).toBe(reason)
  })

  it('while the stream is read: reads end with the reason, after nothing more, and the request is aborted', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const { fn, tries } = model(clock, [
      [
        [0, created],
        [10, delta('half')],
        [0, 'hang'],
      ],
    ])
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(10)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(10)
    caller.abort(reason)
    await settle()
    expect(read.events).toEqual([created, delta('half')])
    expect(read.outcome).toBe(reason)
    expect(tries[0]?.signal.reason).toBe(reason)
    expect(tries[0]?.cancelled).toEqual([reason])
  })

  it('without a reason of its own gives the AbortError of the platform', async () => {
    const clock = new VirtualClock()
    const caller = new AbortController()
    const { fn } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { ...allowed, signal: caller.signal, clock }))
    await clock.advance(50)
    caller.abort()
    await settle()
    expect(call.error).toBe(caller.signal.reason)
    expect(call.error).toMatchObject({ name: 'AbortError' })
  })
})

describe("of the caller's signal nothing is held", () => {
  it('once the stream is over, after however many tries', async () => {
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const { fn } = model(clock, [stalls, stalls, answers('hello')])
    const call = settling(withStallRetries(fn, { maxStallRetries: 2, backoff: 10, signal, clock }))
    await clock.advance(50)
    expect(listeners()).toBeGreaterThan(0)
    await clock.advance(400)
    const read = reading(clock, call.value as ReadableStream)
    await clock.advance(50)
    expect([read.outcome, listeners()]).toEqual(['done', 0])
  })

  it('once the last stall is thrown', async () => {
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const { fn } = model(clock, [stalls])
    const call = settling(withStallRetries(fn, { maxStallRetries: 1, backoff: 10, signal, clock }))
    await clock.advance(1000)
    expect([call.outcome, listeners()]).toEqual(['rejected', 0])
  })

  it('once the request has failed', async () => {
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const fn = () => Promise.reject(new Error('no such host'))
    const call = settling(withStallRetries(fn, { ...allowed, signal, clock }))
    await settle()
    expect([call.outcome, listeners()]).toEqual(['rejected', 0])
  })

  it('once its consumer has left the stream', async () => {
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const { fn } = model(clock, [
      [
        [0, created],
        [10, delta('a')],
        [0, 'hang'],
      ],
    ])
    const call = settling(withStallRetries(fn, { ...allowed, signal, clock }))
    await clock.advance(10)
    await (call.value as ReadableStream).cancel('enough')
    await settle()
    expect([listeners(), clock.timers.size]).toEqual([0, 0])
  })
})

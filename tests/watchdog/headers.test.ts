import { describe, expect, it } from 'vitest'
import { StreamControl, StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { type Kind, sdk } from './kinds.ts'
import { QUEUES } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { completed, created, delta, settling } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const answer: readonly Line[] = [
  [0, created],
  [50, delta('x')],
  [50, completed],
  [0, 'end'],
]

allowNoUnhandledRejections()

/** A promise that is settled by hand. */
function response<T>() {
  return Promise.withResolvers<T>()
}

function watching<T>(promise: PromiseLike<T>, options: WatchOptions = {}) {
  const clock = new VirtualClock()
  return { clock, call: settling(watchStream(promise, { source, clock, headersMs: 1000, ...options }) as Promise<T>) }
}

describe('a response that never comes', () => {
  it('is a stall of the headers, which may be tried again', async () => {
    const stalls: unknown[] = []
    const { clock, call } = watching(new Promise(() => {}), { onStall: (error) => stalls.push(error) })
    await clock.advance(999)
    expect(call.outcome).toBe(null)
    await clock.advance(1)
    expect(call.error).toBeInstanceOf(StreamStalledError)
    expect(call.error).toMatchObject({
      phase: 'headers',
      setting: 'headersMs',
      timeoutMs: 1000,
      elapsedMs: 1000,
      receivedAnyContent: false,
      deliveredEvents: 0,
      lastEventType: null,
      retryable: true,
    })
    expect(stalls).toEqual([call.error])
    expect(clock.timers.size).toBe(0)
  })

  it('has its request aborted with the error', async () => {
    const aborts: unknown[] = []
    const controller = new AbortController()
    const byFunction = watching(new Promise(() => {}), { abort: (reason) => aborts.push(reason) })
    const byController = watching(new Promise(() => {}), { abort: controller })
    await byFunction.clock.advance(1000)
    await byController.clock.advance(1000)
    expect(aborts).toEqual([byFunction.call.error])
    expect(controller.signal.reason).toBe(byController.call.error)
  })

  it('is a stall of the whole time, where that is shorter', async () => {
    const { clock, call } = watching(new Promise(() => {}), { totalMs: 700 })
    await clock.advance(700)
    expect(call.error).toMatchObject({ phase: 'total', setting: 'totalMs', elapsedMs: 700, retryable: true })
  })

  it('is waited for without an end where only deadlines of the stream are set', async () => {
    const options = { headersMs: 0, firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100 }
    const { clock, call } = watching(new Promise(() => {}), options)
    await clock.advance(60_000)
    expect(call.outcome).toBe(null)
  })
})

describe('a response that comes too late', () => {
  const late = (kind: Kind) => {
    const { promise, resolve } = response<unknown>()
    const { clock, call } = watching(promise)
    const { stream, ended } = kind.open(clock, [[0, delta('x')]])
    return { clock, call, ended, arrive: () => resolve(stream) }
  }

  it.each([sdk, ...QUEUES.slice(1)])('as $name is given up with the error', async (kind) => {
    const { clock, call, ended, arrive } = late(kind)
    await clock.advance(5000)
    arrive()
    await settle()
    expect(ended).toEqual([call.error])
    expect(call.error).toMatchObject({ phase: 'headers' })
  })

  it('may be anything else, may be used, and may reject', async () => {
    const used = new Response('used')
    await used.text()
    const locked = new ReadableStream()
    locked.getReader()
    const broken = new ReadableStream({
      cancel() {
        throw new Error('cancel')
      },
    })
    for (const value of [null, 'text', {}, used, new Response(null), locked, broken]) {
      const { promise, resolve } = response<unknown>()
      const { clock, call } = watching(promise)
      await clock.advance(5000)
      resolve(value)
      await settle()
      expect(call.error).toMatchObject({ phase: 'headers' })
    }
    const { promise, reject } = response<unknown>()
    const { clock, call } = watching(promise)
    await clock.advance(5000)
    reject(new Error('too late'))
    await settle()
    expect(call.error).toMatchObject({ phase: 'headers' })
  })
})

describe('a response that fails', () => {
  it('fails with the very same error, and leaves no timer', async () => {
    const refused = Object.assign(new Error('429'), { status: 429 })
    const { promise, reject } = response<never>()
    const { clock, call } = watching(promise, { totalMs: 10_000 })
    await clock.advance(500)
    reject(refused)
    await settle()
    expect(call.error).toBe(refused)
    expect(clock.timers.size).toBe(0)
  })

  it('fails with what was thrown, whatever that is', async () => {
    const { clock, call } = watching(Promise.reject('no error'))
    await settle()
    expect([call.outcome, call.error]).toEqual(['rejected', 'no error'])
    expect(clock.timers.size).toBe(0)
  })

  it('fails as a thenable does that throws', async () => {
    const broken = new Error('then')
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: what some clients return
      then(): never {
        throw broken
      },
    }
    const { clock, call } = watching(thenable as unknown as PromiseLike<never>)
    await settle()
    expect(call.error).toBe(broken)
    expect(clock.timers.size).toBe(0)
  })
})

describe('a response that comes in time', () => {
  it.each(QUEUES)('as $name has its other deadlines from then on', async (kind) => {
    const { promise, resolve } = response<unknown>()
    const { clock, call } = watching(promise, { firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100 })
    await clock.advance(900)
    resolve(kind.open(clock, answer).stream)
    await settle()
    const seen = reading(clock, kind.events(call.value as ReadableStream))
    await clock.advance(1000)
    expect([seen.events, seen.outcome]).toEqual([[created, delta('x'), completed], 'done'])
    expect(clock.timers.size).toBe(0)
  })

  it.each(QUEUES)('as $name stalls by them', async (kind) => {
    const { promise, resolve } = response<unknown>()
    const { clock, call } = watching(promise, { firstContentMs: 100 })
    await clock.advance(900)
    const { stream, ended } = kind.open(clock, [[0, created]])
    resolve(stream)
    await settle()
    const seen = reading(clock, kind.events(call.value as ReadableStream))
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'first_content', elapsedMs: 100, deliveredEvents: 1 })
    expect(ended.length).toBe(1)
  })

  it('has the time of the call counted for the whole time', async () => {
    const { promise, resolve } = response<unknown>()
    const { clock, call } = watching(promise, { totalMs: 1500 })
    await clock.advance(900)
    resolve(QUEUES[1]?.open(clock, [[0, delta('x')]]).stream)
    await settle()
    const seen = reading(clock, call.value as ReadableStream)
    await clock.advance(599)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'total', elapsedMs: 1500 })
  })

  it('is no more under the deadline of its headers', async () => {
    const { promise, resolve } = response<unknown>()
    const { clock, call } = watching(promise, { contentIntervalMs: 100 })
    await clock.advance(900)
    resolve(
      QUEUES[1]?.open(clock, [
        [5000, delta('x')],
        [0, 'end'],
      ] as Line[]).stream,
    )
    await settle()
    const seen = reading(clock, call.value as ReadableStream)
    await clock.advance(10_000)
    expect(seen.outcome).toBe('done')
  })

  it('is the very same object where nothing else is set', async () => {
    for (const value of [new ReadableStream(), new Response('x'), QUEUES[0]?.open(new VirtualClock(), []).stream]) {
      const { clock, call } = watching(Promise.resolve(value))
      await settle()
      expect(call.value).toBe(value)
      expect(clock.timers.size).toBe(0)
    }
  })

  it('is the very same object where it is no stream of events', async () => {
    const plain = { choices: [{ message: { content: 'whole' } }] }
    const json = Response.json(plain)
    const refused = new Response('slow down', { status: 429, headers: { 'content-type': 'text/event-stream' } })
    const empty = new Response(null, { status: 204 })
    for (const value of [plain, json, refused, empty, null, undefined, 'text', 7]) {
      const { clock, call } = watching(Promise.resolve(value), { firstContentMs: 100, contentIntervalMs: 100 })
      await settle()
      expect([call.outcome, call.value]).toEqual(['resolved', value])
      expect(call.value).toBe(value)
      expect(clock.timers.size).toBe(0)
      await clock.advance(5000)
    }
    expect(await json.json()).toEqual(plain)
  })

  it('has its life and its whole time judged where it is a reply that streams no events, and nothing else', async () => {
    const slow = (status: number, ms: number, clock: VirtualClock) => {
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode('{"ok":'))
          await clock.wait(ms)
          controller.enqueue(new TextEncoder().encode('true}'))
          controller.close()
        },
      })
      return new Response(body, { status, headers: { 'content-type': 'application/json' } })
    }
    for (const status of [200, 500]) {
      const { promise, resolve } = response<Response>()
      const { clock, call } = watching(promise, { firstContentMs: 100, livenessMs: 1000, totalMs: 5000 })
      resolve(slow(status, 900, clock))
      await settle()
      const read = settling((call.value as Response).json())
      await clock.advance(900)
      expect([read.value, clock.timers.size]).toEqual([{ ok: true }, 0])
    }
    const { promise, resolve } = response<Response>()
    const { clock, call } = watching(promise, { firstContentMs: 100, totalMs: 5000 })
    resolve(slow(200, 60_000, clock))
    await settle()
    const read = settling((call.value as Response).json())
    await clock.advance(5000)
    expect(read.error).toMatchObject({ phase: 'total', elapsedMs: 5000 })
  })

  it('is refused where somebody reads it already, and leaves no timer', async () => {
    const controller = new AbortController()
    for (const locked of [
      new ReadableStream(),
      new Response('x', { headers: { 'content-type': 'text/event-stream' } }),
    ]) {
      const body = locked instanceof Response ? (locked.body as ReadableStream) : locked
      body.getReader()
      const stalls: unknown[] = []
      const { clock, call } = watching(Promise.resolve(locked), {
        totalMs: 1000,
        signal: controller.signal,
        onStall: (error) => stalls.push(error),
      })
      await settle()
      expect(call.error).toBeInstanceOf(TypeError)
      expect(clock.timers.size).toBe(0)
      await clock.advance(5000)
      expect(stalls).toEqual([])
    }
  })
})

describe('the wait for a response', () => {
  it('stands still while it is paused, and begins anew', async () => {
    const control = new StreamControl()
    const { clock, call } = watching(new Promise(() => {}), { control })
    await clock.advance(900)
    control.pause()
    await clock.advance(60_000)
    control.resume()
    await clock.advance(999)
    expect(call.outcome).toBe(null)
    await clock.advance(1)
    expect(call.error).toMatchObject({ phase: 'headers', elapsedMs: 1000 })
  })

  it('ends with the reason of the caller, who is heard of at once; what comes then is given up', async () => {
    const controller = new AbortController()
    const reason = new Error('mine')
    const { promise, resolve } = response<unknown>()
    const aborts: unknown[] = []
    const { clock, call } = watching(promise, { signal: controller.signal, abort: (why) => aborts.push(why) })
    await clock.advance(500)
    controller.abort(reason)
    await settle()
    expect([call.outcome, call.error]).toEqual(['rejected', reason])
    expect(aborts).toEqual([reason])
    expect(clock.timers.size).toBe(0)
    const cancelled: unknown[] = []
    resolve(new ReadableStream({ cancel: (why) => void cancelled.push(why) }))
    await settle()
    expect(cancelled).toEqual([reason])
  })

  it('is not begun where the caller has aborted before', async () => {
    const reason = new Error('mine')
    const cancelled: unknown[] = []
    const late = new ReadableStream({ cancel: (why) => void cancelled.push(why) })
    const { clock, call } = watching(Promise.resolve(late), { signal: AbortSignal.abort(reason) })
    await settle()
    expect([call.outcome, call.error]).toEqual(['rejected', reason])
    expect(cancelled).toEqual([reason])
    expect(clock.timers.size).toBe(0)
  })

  it('has no deadline where there is a stream already, which stays the same', () => {
    const stream = new ReadableStream()
    expect(watchStream(stream, { headersMs: 1000 })).toBe(stream)
  })

  it('stays the same promise where no deadline is set', () => {
    const promise = Promise.resolve(new ReadableStream())
    expect(watchStream(promise, { headersMs: 0, totalMs: Number.NaN })).toBe(promise)
  })
})

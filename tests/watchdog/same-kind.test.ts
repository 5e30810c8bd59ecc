/** What is watched stays what it was to its consumer: its class, its fields and methods, and the ways to end it. */

import { describe, expect, it } from 'vitest'
import { StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { SdkStream } from './kinds.ts'
import { generated, type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text })
const never = { firstContentMs: 1e6, livenessMs: 1e6 }
const SILENT: Line[] = [[0, 'hang']]

describe('a stream of an SDK', () => {
  const open = (
    script: readonly Line[] = [
      [0, delta('a')],
      [0, 'hang'],
    ],
  ) => {
    const clock = new VirtualClock()
    const stream = new SdkStream(clock, script)
    return { clock, stream, watched: watchStream(stream, { ...never, source, clock }) }
  }

  it('keeps its class, its fields and its methods', () => {
    const { stream, watched } = open()
    expect(watched).toBeInstanceOf(SdkStream)
    expect(watched.constructor).toBe(SdkStream)
    expect(Object.keys(watched)).toEqual(Object.keys(stream))
    expect(watched.controller).toBe(stream.controller)
    expect([watched.id, watched.requestId(), 'requestId' in watched]).toEqual(['req_1', 'req_1', true])
    watched.tag = 'mine'
    expect(stream.tag).toBe('mine')
  })

  it('ends its request when its consumer stops reading, and has no deadline then', async () => {
    const { clock, stream, watched } = open()
    for await (const event of watched) {
      expect(event).toEqual(delta('a'))
      break
    }
    expect(stream.controller.signal.reason).toBe('left')
    expect(clock.timers.size).toBe(0)
  })
})

describe('an async generator', () => {
  it('keeps its methods, and is its own iterator', async () => {
    const clock = new VirtualClock()
    const stream = generated(clock, [
      [0, delta('a')],
      [0, delta('b')],
      [0, 'hang'],
    ])
    const watched = watchStream(stream, { ...never, source, clock })
    expect(watched[Symbol.asyncIterator]()).toBe(watched)
    expect(Object.prototype.toString.call(watched)).toBe('[object AsyncGenerator]')
    expect(await watched.next()).toEqual({ done: false, value: delta('a') })
    expect(await watched.return('early')).toEqual({ done: true, value: 'early' })
    expect(await watched.next()).toEqual({ done: true, value: undefined })
    expect(clock.timers.size).toBe(0)
  })

  it('returns its value, and takes what is sent to it', async () => {
    const sent: unknown[] = []
    const stream = (async function* () {
      sent.push(yield 'a')
      return 'whole'
    })()
    const clock = new VirtualClock()
    const watched = watchStream(stream, { ...never, clock })
    await watched.next()
    expect(await watched.next('b' as never)).toEqual({ done: true, value: 'whole' })
    expect(sent).toEqual(['b'])
    expect(clock.timers.size).toBe(0)
  })

  it('can be left while it waits for its next', async () => {
    const clock = new VirtualClock()
    const watched = watchStream(generated(clock, SILENT), { ...never, source, clock })
    const pending = watched.next()
    await clock.advance(10)
    expect(await watched.return(undefined)).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(clock.timers.size).toBe(0)
  })

  it('rejects again and again once it has stalled', async () => {
    const clock = new VirtualClock()
    const watched = watchStream(generated(clock, SILENT), { firstContentMs: 50, source, clock })
    const first = watched.next().catch((error) => error)
    await clock.advance(50)
    const error = await first
    expect(error).toBeInstanceOf(StreamStalledError)
    await expect(watched.next()).rejects.toBe(error)
    await expect(watched.next()).rejects.toBe(error)
  })
})

describe('a ReadableStream', () => {
  it('is cancelled with the reason of its consumer, though a read is under way', async () => {
    const clock = new VirtualClock()
    const { stream, cancelled } = pushed(clock, [
      [0, delta('a')],
      [0, 'hang'],
    ])
    const reader = watchStream(stream, { firstContentMs: 50, contentIntervalMs: 50, source, clock }).getReader()
    expect(await reader.read()).toEqual({ done: false, value: delta('a') })
    const pending = reader.read()
    await clock.advance(10)
    await reader.cancel('enough')
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(cancelled).toEqual(['enough'])
    await clock.advance(500)
    expect(clock.timers.size).toBe(0)
  })

  it('rejects again and again once it has stalled', async () => {
    const clock = new VirtualClock()
    const { stream } = pushed(clock, SILENT)
    const reader = watchStream(stream, { firstContentMs: 50, source, clock }).getReader()
    const first = reader.read().catch((error) => error)
    await clock.advance(50)
    const error = await first
    expect(error).toBeInstanceOf(StreamStalledError)
    await expect(reader.read()).rejects.toBe(error)
    await expect(reader.closed).rejects.toBe(error)
  })

  it('keeps the class of its own that it has', async () => {
    class EventStream extends ReadableStream<unknown> {
      requestId = 'req_1'
      describe(): string {
        return `events of ${this.requestId}`
      }
    }
    const stream = new EventStream({
      start(controller) {
        controller.enqueue(delta('a'))
        controller.close()
      },
    })
    const watched = watchStream(stream, { ...never, source, clock: new VirtualClock() })
    expect(watched).not.toBe(stream)
    expect(watched).toBeInstanceOf(EventStream)
    expect([watched.requestId, watched.describe()]).toEqual(['req_1', 'events of req_1'])
    const events: unknown[] = []
    for await (const event of watched) events.push(event)
    expect(events).toEqual([delta('a')])
  })

  it('of another maker, such as a polyfill, can be read', async () => {
    class Polyfill {
      readonly locked = false
      readonly #inner = pushed(clock, [
        [10, delta('a')],
        [0, 'hang'],
      ]).stream
      getReader(options?: object): unknown {
        if (options !== undefined) throw new TypeError('no byte stream')
        return this.#inner.getReader()
      }
    }
    const clock = new VirtualClock()
    const options = { firstContentMs: 50, contentIntervalMs: 50, source, clock } as const
    const result = reading(clock, watchStream(new Polyfill() as unknown as ReadableStream, options))
    await clock.advance(500)
    expect(result.events).toEqual([delta('a')])
    expect(result.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('can be teed and piped, with the same events', async () => {
    const clock = new VirtualClock()
    const script: Line[] = [
      [10, delta('a')],
      [10, delta('b')],
      [10, 'end'],
    ]
    const open = () => watchStream(pushed(clock, script).stream, { ...never, source, clock })
    const [one, other] = open().tee()
    const piped = open().pipeThrough(new TransformStream())
    const readings = [one, other, piped].map((stream) => reading(clock, stream))
    await clock.advance(100)
    for (const { events, outcome } of readings) expect([events, outcome]).toEqual([[delta('a'), delta('b')], 'done'])
  })
})

/** What a classifier of the caller is asked about: what a stream is typed to give, and the decoded events of a Response. */

import { describe, expect, it } from 'vitest'
import {
  applyStreamWatchdog,
  type StreamEventClass,
  type WatchOptions,
  watchStream,
} from '../../detector/watchdog/index.ts'
import { byob } from './kinds.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { delta } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const utf8 = new TextEncoder()
const bytesOf = (text: string) => utf8.encode(text)
const textOf = (chunk: unknown) => new TextDecoder().decode(chunk as Uint8Array)

/** Bytes of no format at all: only their classifier knows them. */
const words = (): Line[] => [
  [0, bytesOf('-')],
  [60, bytesOf('-')],
  [30, bytesOf('hello')],
  [60, bytesOf('world')],
  [0, 'hang'],
]

const BYTES: readonly (readonly [string, 'bytes' | undefined])[] = [
  ['a byte stream', 'bytes'],
  ['a stream of byte arrays', undefined],
]

describe.each(BYTES)('the classifier of %s without a source', (_, type) => {
  it('is asked about each chunk, as bytes', async () => {
    const clock = new VirtualClock()
    const asked: string[] = []
    const classify = (chunk: Uint8Array) => {
      expect(chunk).toBeInstanceOf(Uint8Array)
      asked.push(textOf(chunk))
      return chunk.byteLength > 1 ? 'content' : 'neutral'
    }
    const stream = pushed(clock, words(), type).stream as ReadableStream<Uint8Array>
    const options = { clock, classify, firstContentMs: 100, contentIntervalMs: 70 } as const
    const seen = reading(clock, watchStream(stream, options))
    await clock.advance(1000)
    expect(asked).toEqual(['-', '-', 'hello', 'world'])
    expect(seen.events.length).toBe(4)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 4 })
    expect(seen.endedAt).toBe(220)
  })

  it('has its neutral chunks count for nothing', async () => {
    const clock = new VirtualClock()
    const stream = pushed(clock, words(), type).stream as ReadableStream<Uint8Array>
    const seen = reading(clock, watchStream(stream, { clock, classify: () => 'neutral', firstContentMs: 100 }))
    await clock.advance(1000)
    expect(seen.outcome).toMatchObject({ phase: 'first_content' })
    expect(seen.endedAt).toBe(100)
  })

  it("is OpenRouter's isContentEvent and isTerminalEvent too", async () => {
    const clock = new VirtualClock()
    const asked: string[] = []
    const stream = pushed(clock, words(), type).stream as ReadableStream<Uint8Array>
    const restore = clock.install()
    try {
      const watched = applyStreamWatchdog<Uint8Array>(
        stream,
        { firstContentMs: 100, contentIntervalMs: 70 },
        {
          isContentEvent: (chunk) => {
            asked.push(textOf(chunk))
            return chunk.byteLength > 1
          },
          isTerminalEvent: (chunk) => textOf(chunk) === 'world',
        },
      )
      const seen = reading(clock, watched)
      await clock.advance(1000)
      expect(asked).toEqual(['-', '-', 'hello'])
      expect([seen.events.length, seen.outcome]).toEqual([4, undefined])
    } finally {
      restore()
    }
  })
})

it('a byte stream whose reader brings its memory has its classifier asked about bytes', async () => {
  const clock = new VirtualClock()
  const asked: string[] = []
  const classify = (chunk: Uint8Array): StreamEventClass => {
    asked.push(textOf(chunk))
    return 'content'
  }
  const stream = pushed(clock, words(), 'bytes').stream as ReadableStream<Uint8Array>
  const seen = reading(
    clock,
    byob(watchStream(stream, { clock, classify, firstContentMs: 100, contentIntervalMs: 70 })),
  )
  await clock.advance(1000)
  expect(asked).toEqual(['-', '-', 'hello', 'world'])
  expect(seen.events.map(textOf)).toEqual(['-', '-', 'hello', 'world'])
})

describe('the classifier of a Response', () => {
  const response = async (type: string, script: readonly Line[], options: WatchOptions<unknown> = {}) => {
    const clock = new VirtualClock()
    const asked: unknown[] = []
    const classify = (event: unknown) => {
      asked.push(event)
      return 'content' as const
    }
    const body = pushed(clock, script, 'bytes').stream as ReadableStream<Uint8Array<ArrayBuffer>>
    const answer = new Response(body, { headers: { 'content-type': type } })
    const watched = watchStream(answer, { clock, classify, firstContentMs: 100, contentIntervalMs: 100, ...options })
    const seen = reading(clock, watched.body as ReadableStream)
    await clock.advance(1000)
    return { asked, seen, text: seen.events.map(textOf).join('') }
  }

  it.each([undefined, 'openai-responses'] as const)(
    'is asked about its events, decoded, however they are cut: source %s',
    async (source) => {
      const wire = `data: ${JSON.stringify(delta('a'))}\n\n: ping\n\ndata: {"own":1}\n\n`
      const script: Line[] = [
        [0, bytesOf(wire.slice(0, 9))],
        [50, bytesOf(wire.slice(9))],
        [0, 'end'],
      ]
      const { asked, seen, text } = await response('text/event-stream', script, { source })
      expect(asked).toEqual([delta('a'), { own: 1 }])
      expect([text, seen.outcome]).toEqual([wire, 'done'])
    },
  )

  it('is asked about NDJSON, decoded', async () => {
    const { asked } = await response('application/x-ndjson', [
      [0, bytesOf('{"own":1}\n{"own":2}\n')],
      [0, 'end'],
    ])
    expect(asked).toEqual([{ own: 1 }, { own: 2 }])
  })

  it('is asked about data that is no JSON as text', async () => {
    const script = ['Hello', ' world'].map((text): Line => [60, bytesOf(`data: ${text}\n\n`)])
    const { asked, seen } = await response('text/event-stream', [...script, [0, 'hang']])
    expect(asked).toEqual(['Hello', ' world'])
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 2 })
    expect(seen.endedAt).toBe(220)
  })

  it('is asked about plain text, chunk by chunk, with no character cut in two', async () => {
    const [first, rest] = [bytesOf('Hello wörld').slice(0, 8), bytesOf('Hello wörld').slice(8)]
    const { asked, seen, text } = await response('text/plain; charset=utf-8', [
      [60, first],
      [60, rest],
      [60, 'end'],
    ])
    expect(asked).toEqual(['Hello w', 'örld'])
    expect([text, seen.outcome]).toEqual(['Hello w\ufffd\ufffdrld', 'done'])
  })
})

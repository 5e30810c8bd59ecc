/** Streams of text and bytes under deadlines: the events in them count, and not the chunks that they come in. */

import { describe, expect, it } from 'vitest'
import { type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { encoded } from './kinds.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-chat-chunk'
const utf8 = new TextEncoder()

const word = (text: string) => ({ choices: [{ index: 0, delta: { content: text } }] })
const prelude = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
const finished = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

describe.each<[string, (text: string) => unknown]>([
  ['text', (text) => text],
  ['bytes', (text) => utf8.encode(text)],
])('a stream of %s', (_, chunkOf) => {
  async function read(texts: readonly (readonly [ms: number, text: string])[], options: WatchOptions) {
    const clock = new VirtualClock()
    const chunks = texts.map(([ms, text]): Line => [ms, text === 'end' ? text : chunkOf(text)])
    const { stream } = pushed(clock, chunks)
    const result = reading(clock, watchStream(stream, { source, ...options, clock }))
    await clock.advance(1000)
    return result
  }
  const sse = (event: unknown) => encoded(event, 'sse')

  it('lives on comments, and has no content by them', async () => {
    const comments = Array.from({ length: 40 }, () => [20, ': OPENROUTER PROCESSING\n\n'] as const)
    const both = await read(comments, { firstContentMs: 90, livenessMs: 30 })
    expect(both.outcome).toMatchObject({ phase: 'first_content', elapsedMs: 90, receivedAnyContent: false })
    expect(both.endedAt).toBe(90)
    const content = await read([[0, sse(word('a'))], ...comments], { contentIntervalMs: 90, livenessMs: 30 })
    expect(content.outcome).toMatchObject({ phase: 'between_content', lastEventType: 'delta.content' })
    const dead = await read(comments.slice(0, 3), { firstContentMs: 900, livenessMs: 30 })
    expect(dead.outcome).toMatchObject({ phase: 'liveness', elapsedMs: 30, timeoutMs: 30 })
    expect(dead.endedAt).toBe(90)
  })

  it('has content in a chunk that begins with a comment', async () => {
    const { outcome } = await read([[0, `: PROCESSING\n\n${sse(word('a'))}`]], {
      firstContentMs: 50,
      contentIntervalMs: 60,
    })
    expect(outcome).toMatchObject({ phase: 'between_content' })
  })

  it('has an event that was cut wherever it was, and one that has no end of its own', async () => {
    const text = sse(word('a'))
    for (let at = 1; at < text.length; at++) {
      const cut = [
        [40, text.slice(0, at)],
        [40, text.slice(at)],
      ] as const
      const { outcome, endedAt } = await read(cut, { firstContentMs: 90, contentIntervalMs: 70 })
      expect([at, outcome]).toMatchObject([at, { phase: 'between_content', deliveredEvents: 1 }])
      expect(endedAt).toBe(150)
    }
    const last = await read(
      [
        [0, sse(finished).trimEnd()],
        [10, 'end'],
      ],
      { firstContentMs: 50 },
    )
    expect(last.outcome).toBe('done')
  })

  it('is not silent amid an event that comes slowly', async () => {
    const long = sse(word('a'.repeat(100)))
    const pieces = long.match(/.{1,10}|\n+/gs)?.map((piece) => [40, piece] as const) ?? []
    expect((await read([...pieces, [0, sse(finished)], [0, 'end']], { firstContentMs: 50 })).outcome).toBe('done')
  })

  it('is not kept waiting for content by heartbeats that come in pieces', async () => {
    const beats = Array.from({ length: 20 }, () => [
      [20, 'data: '] as const,
      [20, '{"object":"keepalive","choices":[]}\n\n'] as const,
    ]).flat()
    const { outcome, endedAt } = await read(beats, { firstContentMs: 90 })
    expect(outcome).toMatchObject({ phase: 'first_content', receivedAnyContent: false })
    expect(endedAt).toBeLessThan(200)
    const content = await read([[0, sse(word('a'))], ...beats], { contentIntervalMs: 90 })
    expect(content.outcome).toMatchObject({ phase: 'between_content' })
    expect(content.endedAt).toBeLessThan(200)
  })

  it('has each event of a chunk with many', async () => {
    const many = [prelude, word('a'), word('b'), finished].map(sse).join('')
    const { outcome, endedAt } = await read(
      [
        [0, many],
        [500, 'end'],
      ],
      { firstContentMs: 50, contentIntervalMs: 50 },
    )
    expect([outcome, endedAt]).toEqual(['done', 500])
  })

  it('tells NDJSON from server-sent events by itself', async () => {
    const lines = [prelude, word('a')].map((event) => encoded(event, 'ndjson')).join('')
    const { outcome } = await read([[0, lines]], { firstContentMs: 50, contentIntervalMs: 60 })
    expect(outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 2 })
  })

  it('takes what is no JSON for what unknown events are', async () => {
    const odd = [[0, 'data: {"choices": oops\n\n']] as const
    const deadlines = { firstContentMs: 50, contentIntervalMs: 60 }
    expect((await read(odd, deadlines)).outcome).toMatchObject({ phase: 'first_content' })
    expect((await read(odd, { ...deadlines, unknown: 'content' })).outcome).toMatchObject({ phase: 'between_content' })
  })

  it('has a terminal event in [DONE]', async () => {
    const done = [
      [0, sse(word('a'))],
      [10, sse('[DONE]')],
    ] as const
    const { outcome, endedAt } = await read(done, { contentIntervalMs: 50, drainMs: 200 })
    expect([outcome, endedAt]).toEqual(['done', 210])
  })

  it('asks the classifier for its events, and not for its chunks', async () => {
    const asked: unknown[] = []
    const classify = (event: unknown) => {
      asked.push(event)
      return 'content' as const
    }
    const { outcome } = await read([[0, `${sse(prelude)}${sse({ own: 1 })}`]], { contentIntervalMs: 50, classify })
    expect(asked).toEqual([prelude, { own: 1 }])
    expect(outcome).toMatchObject({ phase: 'between_content' })
  })
})

it('a stream of plain text is classified as it is, where it has no source', async () => {
  const clock = new VirtualClock()
  const asked: string[] = []
  const { stream } = pushed(clock, [
    [0, '  '],
    [10, 'hello'],
    [0, 'hang'],
  ])
  const classify = (text: string) => {
    asked.push(text)
    return text.trim() === '' ? 'neutral' : 'content'
  }
  const options = { classify, firstContentMs: 50, contentIntervalMs: 60, clock }
  const result = reading(clock, watchStream(stream as ReadableStream<string>, options))
  await clock.advance(500)
  expect(asked).toEqual(['  ', 'hello'])
  expect(result.outcome).toMatchObject({ phase: 'between_content' })
})

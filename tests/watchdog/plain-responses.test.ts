/** Responses that stream no events: only their signs of life and their whole time are judged, and they stay as they were. */

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed } from './scripted.ts'
import { settling } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const CONTENT = { firstContentMs: 50, contentIntervalMs: 50, drainMs: 50 }
const utf8 = new TextEncoder()

/** Bytes that are no text: as the binary frames of Bedrock are. */
const frame = Uint8Array.of(0, 0, 0, 16, 0xff, 0xfe, 0x80, 0, 123, 34, 97, 34)

const REPLIES: readonly (readonly [string, number, string, Uint8Array])[] = [
  ['an error of the server', 503, 'application/json', utf8.encode('{"error":{"message":"überlastet"}}')],
  ['a whole reply', 200, 'application/json; charset=utf-8', utf8.encode('{"choices":[]}')],
  ['a page', 200, 'text/html', utf8.encode('<p>Wartung</p>')],
  ['a stream of Bedrock', 200, 'application/vnd.amazon.eventstream', frame],
  ['an error that is typed as events', 429, 'text/event-stream', utf8.encode('slow down')],
]

describe.each(REPLIES)('%s', (_, status, type, bytes) => {
  const half = bytes.length >> 1
  const parts = () => [bytes.slice(0, half), bytes.slice(half)] as const
  const open = (script: (first: Uint8Array, rest: Uint8Array) => readonly Line[]) => {
    const clock = new VirtualClock()
    const { stream, cancelled } = pushed(clock, script(...parts()), 'bytes')
    const headers = { 'content-type': type, 'x-request-id': 'req_1' }
    const body = stream as ReadableStream<Uint8Array<ArrayBuffer>>
    return { clock, cancelled, response: new Response(body, { status, statusText: 'As it is', headers }) }
  }
  const slow = (ms: number) =>
    open((first, rest) => [
      [ms, first],
      [ms, rest],
      [ms, 'end'],
    ])

  it('has its bytes and what it says of itself untouched', async () => {
    for (const deadlines of [{ totalMs: 1000 }, { livenessMs: 100 }]) {
      const { clock, response } = slow(90)
      const watched = watchStream(response, { source, clock, ...CONTENT, ...deadlines })
      expect(watched).toBeInstanceOf(Response)
      expect([watched.status, watched.statusText, watched.ok]).toEqual([status, 'As it is', status === 200])
      expect([watched.headers.get('content-type'), watched.headers.get('x-request-id')]).toEqual([type, 'req_1'])
      const read = settling(watched.arrayBuffer())
      await clock.advance(300)
      expect(new Uint8Array(read.value as ArrayBuffer)).toEqual(bytes)
      expect(clock.timers.size).toBe(0)
    }
  })

  it('ends in a stall of its whole time where its body hangs', async () => {
    const { clock, cancelled, response } = open((first) => [
      [10, first],
      [0, 'hang'],
    ])
    const read = settling(watchStream(response, { source, clock, ...CONTENT, totalMs: 1000 }).text())
    await clock.advance(999)
    expect(read.outcome).toBe(null)
    await clock.advance(1)
    expect(read.error).toBeInstanceOf(StreamStalledError)
    expect(read.error).toMatchObject({ phase: 'total', elapsedMs: 1000, receivedAnyContent: false })
    expect([cancelled, clock.timers.size]).toEqual([[read.error], 0])
  })

  it('ends in a stall of its life where its body falls silent', async () => {
    const { clock, cancelled, response } = open((first) => [
      [90, first],
      [0, 'hang'],
    ])
    const read = settling(watchStream(response, { source, clock, ...CONTENT, livenessMs: 100 }).text())
    await clock.advance(189)
    expect(read.outcome).toBe(null)
    await clock.advance(1)
    expect(read.error).toBeInstanceOf(StreamStalledError)
    expect(read.error).toMatchObject({ phase: 'liveness', elapsedMs: 100 })
    expect([cancelled, clock.timers.size]).toEqual([[read.error], 0])
  })

  it('has no classifier asked about it', async () => {
    const { clock, response } = slow(10)
    const asked: unknown[] = []
    const classify = (event: unknown) => {
      asked.push(event)
      return 'terminal' as const
    }
    const read = settling(watchStream(response, { source, clock, classify, totalMs: 1000 }).bytes())
    await clock.advance(100)
    expect([read.value, asked]).toEqual([bytes, []])
  })

  it('is the very same where only content has deadlines', async () => {
    const { clock, response } = slow(10)
    expect(watchStream(response, { source, clock, ...CONTENT })).toBe(response)
    const read = settling(response.bytes())
    await clock.advance(100)
    expect([read.value, clock.timers.size]).toEqual([bytes, 0])
  })
})

it('a response whose body is no web stream, as those of node-fetch 2, comes back as it is; its body can be watched', async () => {
  const clock = new VirtualClock()
  const body = Readable.from([`data: ${JSON.stringify({ type: 'response.created' })}\n\n`])
  const response = { ok: true, headers: new Headers({ 'content-type': 'text/event-stream' }), body, bodyUsed: false }
  expect(watchStream(response as never, { source, clock, totalMs: 100 })).toBe(response)
  const watched = watchStream(body as AsyncIterable<unknown>, { source, clock, totalMs: 100 })
  expect(watched).toBeInstanceOf(Readable)
  expect(watched).not.toBe(body)
})

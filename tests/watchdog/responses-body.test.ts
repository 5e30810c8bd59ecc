/** Responses and byte streams under deadlines: the same bytes, and the same facts beside them. */

import { describe, expect, it } from 'vitest'
import { watchStream } from '../../detector/watchdog/index.ts'
import { byob, encoded } from './kinds.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-chat-chunk'
const never = { firstContentMs: 1e6, totalMs: 1e6, source } as const
const utf8 = new TextEncoder()
const SSE = { 'content-type': 'text/event-stream' }

const word = (text: string) => ({ choices: [{ index: 0, delta: { content: text } }] })
const prelude = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
const finished = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
const answer = [prelude, word('grüße'), finished, '[DONE]'].map((event) => encoded(event, 'sse')).join('')

describe('a watched Response', () => {
  const open = () => watchStream(new Response(answer, { headers: SSE }), { ...never, clock: new VirtualClock() })

  it('says of itself what the original says, and so do its clones', () => {
    const init = { status: 203, statusText: 'Mostly fine', headers: { ...SSE, 'x-request-id': 'r1' } }
    const response = new Response(answer, init)
    Object.defineProperties(response, {
      url: { value: 'https://api.example/v1/chat/completions' },
      redirected: { value: true },
      type: { value: 'cors' },
    })
    const watched = watchStream(response, { ...never, clock: new VirtualClock() })
    expect(watched).not.toBe(response)
    for (const one of [watched, watched.clone()]) {
      expect(one).toBeInstanceOf(Response)
      expect([one.status, one.statusText, one.ok]).toEqual([203, 'Mostly fine', true])
      expect([one.url, one.redirected, one.type]).toEqual(['https://api.example/v1/chat/completions', true, 'cors'])
      expect(one.headers.get('x-request-id')).toBe('r1')
      expect(one.bodyUsed).toBe(false)
    }
  })

  it('keeps what a client has put on it', () => {
    const response = Object.assign(new Response(answer, { headers: SSE }), { _request_id: 'r1' })
    expect(watchStream(response, never)._request_id).toBe('r1')
  })

  it('has the same bytes by every method', async () => {
    const bytes = utf8.encode(answer)
    expect(await open().text()).toBe(answer)
    expect(new Uint8Array(await open().arrayBuffer())).toEqual(bytes)
    expect(await open().bytes()).toEqual(bytes)
    expect(await (await open().blob()).text()).toBe(answer)
    const watched = open()
    const clone = watched.clone()
    expect(await Promise.all([watched.text(), clone.text()])).toEqual([answer, answer])
    expect(watched.bodyUsed).toBe(true)
  })

  it('is refused once it was used, as it could not be read again', async () => {
    const response = new Response(answer, { headers: SSE })
    await response.text()
    expect(() => watchStream(response, never)).toThrow(TypeError)
  })

  it('rejects by every method once it has stalled', async () => {
    const take: ((response: Response) => Promise<unknown>)[] = [
      (response) => response.text(),
      (response) => response.bytes(),
      (response) => response.clone().text(),
    ]
    for (const by of take) {
      const clock = new VirtualClock()
      const { stream } = pushed(
        clock,
        [
          [0, utf8.encode(encoded(prelude, 'sse'))],
          [0, 'hang'],
        ],
        'bytes',
      )
      const response = new Response(stream as never, { headers: SSE })
      const outcome = by(watchStream(response, { firstContentMs: 50, source, clock })).catch((error) => error)
      await clock.advance(50)
      expect(await outcome).toMatchObject({ name: 'StreamStalledError', phase: 'first_content' })
    }
  })

  it.each<[string, Response]>([
    ['an error', new Response(answer, { status: 500, headers: SSE })],
    ['one without a body', new Response(null, { status: 204 })],
    ['a whole reply', Response.json({ choices: [] })],
    ['a page', new Response('<p>', { headers: { 'content-type': 'text/html' } })],
  ])('is itself where it streams no events: %s', async (_, response) => {
    const clock = new VirtualClock()
    const silences = { firstContentMs: 50, contentIntervalMs: 50, drainMs: 50, source, clock } as const
    expect(watchStream(response, silences)).toBe(response)
    const promised = watchStream(Promise.resolve(response), { ...silences, headersMs: 50 })
    expect(await promised).toBe(response)
    expect(response.bodyUsed || response.body?.locked).toBeFalsy()
    expect(clock.timers.size).toBe(0)
  })

  it.each([
    'text/event-stream',
    'Text/Event-Stream; charset=utf-8',
    'application/x-ndjson',
    'application/jsonl',
    'text/plain',
    null,
  ])('is watched as %s', (type) => {
    const response = new Response(utf8.encode(answer), { headers: type === null ? {} : { 'content-type': type } })
    expect(watchStream(response, { ...never, clock: new VirtualClock() })).not.toBe(response)
  })
})

describe('a watched byte stream', () => {
  const open = () => {
    const clock = new VirtualClock()
    const half = answer.indexOf('grü') + 3
    const bytes = utf8.encode(answer)
    const script: Line[] = [
      [0, bytes.slice(0, half)],
      [10, bytes.slice(half)],
      [10, 'end'],
    ]
    return { clock, stream: pushed(clock, script, 'bytes').stream as ReadableStream<Uint8Array>, bytes }
  }

  it.each([7, 64, 4096])('stays one, for readers with %d bytes of memory', async (size) => {
    const { clock, stream, bytes } = open()
    const result = reading(clock, byob(watchStream(stream, { ...never, clock }), size))
    await clock.advance(100)
    expect(result.outcome).toBe('done')
    const all = (result.events as Uint8Array[]).flatMap((chunk) => [...chunk])
    expect(Uint8Array.from(all)).toEqual(bytes)
    expect(Math.max(...(result.events as Uint8Array[]).map(({ length }) => length))).toBeLessThanOrEqual(size)
    expect(clock.timers.size).toBe(0)
  })

  it('has the chunks of the source for readers without', async () => {
    const { clock, stream, bytes } = open()
    const result = reading(clock, watchStream(stream, { ...never, clock }))
    await clock.advance(100)
    expect((result.events as Uint8Array[]).map(({ length }) => length).reduce((sum, length) => sum + length)).toBe(
      bytes.length,
    )
    expect(result.events.length).toBe(2)
  })

  it('has no reader with memory where the source has none', () => {
    const { stream } = pushed(new VirtualClock(), [])
    const watched = watchStream(stream, { ...never, clock: new VirtualClock() })
    expect(() => watched.getReader({ mode: 'byob' })).toThrow(TypeError)
  })
})

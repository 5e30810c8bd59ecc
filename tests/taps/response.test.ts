import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { watchResponse } from '../../instrumentation/sources/index.ts'
import { formatOf, responseLike } from '../../instrumentation/taps/response-alike.ts'
import { answer, answerLines, api, HandTimers, ndjson, Recorder, sse } from './recorder.ts'

let watch: Recorder
const model = { source: api.source, thread: 't' } as const
const events = { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }

beforeEach(() => {
  watch = new Recorder()
})

async function read(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
  return text
}

/** What fetch makes of an answer with this status line. */
async function fetched(statusLine: string, work: (response: Response) => Promise<void>): Promise<void> {
  const head = `HTTP/1.1 ${statusLine}\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(head + sse(answer)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    await work(await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/messages`))
  } finally {
    server.close()
  }
}

describe('a watched response', () => {
  it.each([
    ['body', read],
    ['text()', (response: Response) => response.text()],
    ['arrayBuffer()', async (response: Response) => new TextDecoder().decode(await response.arrayBuffer())],
    ['blob()', async (response: Response) => (await response.blob()).text()],
    ['a clone', (response: Response) => response.clone().text()],
    ['a Response made of its body', (response: Response) => new Response(response.body, response).text()],
  ])('gives the same by its %s, and tells of it', async (_, take) => {
    expect(await take(watchResponse(new Response(sse(answer), events), watch, model))).toBe(sse(answer))
    expect(watch.lines).toEqual(answerLines)
  })

  it('says of itself what the original says, and so do its clones', async () => {
    const fetched = Object.defineProperties(
      new Response(sse(answer), { ...events, status: 203, statusText: 'Other' }),
      {
        url: { value: 'http://localhost/v1/messages' },
        redirected: { value: true },
        type: { value: 'cors' },
      },
    )
    const facts = ({ status, statusText, ok, url, redirected, type, headers }: Response) => ({
      ...{ status, statusText, ok, url, redirected, type },
      headers,
    })
    const watched = watchResponse(fetched, watch, model)
    expect(watched).toBeInstanceOf(Response)
    expect(facts(watched)).toEqual(facts(fetched))
    expect(facts(watched.clone().clone())).toEqual(facts(fetched))
    expect((await watched.blob()).type).toBe((await new Response('', events).blob()).type)
  })

  it('may have a status text of any characters', async () => {
    await fetched('200 Café 漢', async (response) => {
      const watched = watchResponse(response, watch, model)
      expect([watched.status, watched.statusText]).toEqual([200, 'Café 漢'])
      expect(await watched.text()).toBe(sse(answer))
      expect(watch.lines).toEqual(answerLines)
    })
  })

  it('has what a client has put on the original, but for ways to read that', async () => {
    const fetched = Object.assign(new Response(sse(answer), events), { requestId: 'req', text: async () => 'stale' })
    const watched = watchResponse(fetched, watch, model)
    expect(Reflect.get(watched, 'requestId')).toBe('req')
    expect(Object.keys(watched)).toEqual(['requestId'])
    expect(await watched.text()).toBe(sse(answer))
  })

  it('gives clones that can be read apart, and each event is told once', async () => {
    const watched = watchResponse(new Response(sse(answer), events), watch, model)
    const clone = watched.clone()
    expect(watched.bodyUsed).toBe(false)
    expect(await watched.text()).toBe(sse(answer))
    expect([watched.bodyUsed, clone.bodyUsed]).toEqual([true, false])
    expect(await clone.text()).toBe(sse(answer))
    expect(watch.lines).toEqual(answerLines)
  })

  it('keeps json() working', async () => {
    const watched = watchResponse(new Response('{"type":"ping"}'), watch, { source: api.source })
    expect(await watched.json()).toEqual({ type: 'ping' })
  })

  it.each([
    ['application/x-ndjson', ndjson(answer)],
    ['application/jsonl; charset=utf-8', ndjson(answer)],
    ['text/plain', ndjson(answer)],
    ['text/plain', sse(answer)],
    ['application/octet-stream', sse(answer)],
    ['', sse(answer)],
    ['text/event-stream', `${sse(answer).trimEnd()}`],
    ['TEXT/EVENT-STREAM', sse(answer)],
  ])('of type %j is decoded', async (type, text) => {
    const body = new TextEncoder().encode(text)
    await watchResponse(
      new Response(body, type === '' ? {} : { headers: { 'content-type': type } }),
      watch,
      model,
    ).text()
    expect(watch.lines).toEqual(answerLines)
  })

  it('tells comments and the end mark of a chat stream to its source', async () => {
    const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'hi' } }] }
    const text = `: PROCESSING\n\n${sse([chunk])}data: [DONE]\n\n`
    await watchResponse(new Response(text, events), watch, { source: 'openai-chat-chunk', thread: 't' }).text()
    expect(watch.lines).toEqual([
      't turn.started provider=openai',
      't turn.started provider=openai model=m turn=c',
      't token stream=text turn=c',
      't turn.ended outcome=completed turn=c',
    ])
    expect(watch.faults).toEqual([])
  })

  it('passes over the end mark where the wire has none', async () => {
    await watchResponse(new Response(`${sse(answer)}data: [DONE]\n\n`, events), watch, model).text()
    expect(watch.lines).toEqual(answerLines)
    expect(watch.faults).toEqual([])
  })
})

describe('a response like another', () => {
  it.each(['799 Odd', '999 ', '600 漢', '500 Internal Server Error', '203 Café'])(
    'says what that says, and so do its clones: %s',
    async (line) => {
      await fetched(line, async (response) => {
        const { status, statusText, ok, url, headers } = response
        const like = responseLike(response.body as ReadableStream, response)
        const facts = [Number(line.slice(0, 3)), line.slice(4), ok, url, headers]
        expect([status, statusText, ok, url, headers]).toEqual(facts)
        expect([like.status, like.statusText, like.ok, like.url, like.headers]).toEqual(facts)
        const clone = like.clone()
        expect([clone.status, clone.statusText, clone.ok, clone.url, clone.headers]).toEqual(facts)
        expect([await like.text(), await clone.text()]).toEqual([sse(answer), sse(answer)])
      })
    },
  )

  it('has a body where a client says that there is none', async () => {
    const odd = Object.defineProperty(new Response(sse(answer), events), 'status', { value: 204 })
    const like = responseLike(odd.body as ReadableStream, odd)
    expect(like.status).toBe(204)
    expect(await like.text()).toBe(sse(answer))
  })

  it('is of that status and text for who sends it on, too', () => {
    const original = new Response(sse(answer), { ...events, status: 503, statusText: 'Overloaded' })
    const like = responseLike(original.body as ReadableStream, original)
    const own = (name: string) => Object.getOwnPropertyDescriptor(Response.prototype, name)?.get?.call(like)
    expect([own('status'), own('statusText'), own('ok')]).toEqual([503, 'Overloaded', false])
    expect(own('headers').get('content-type')).toBe(events.headers['content-type'])
  })
})

describe('the format of a content type', () => {
  it.each([
    ['text/event-stream; charset=utf-8', 'sse'],
    ['application/x-ndjson', 'ndjson'],
    ['application/stream+json', 'ndjson'],
    ['text/plain; charset=utf-8', 'unknown'],
    [null, 'unknown'],
    ['application/json', null],
    ['text/html', null],
  ])('of %j is %j', (type, format) => {
    expect(formatOf(type)).toBe(format)
  })
})

describe('the turn of a watched response', () => {
  it('begins with the call, and waits while nobody reads', async () => {
    const timers = new HandTimers()
    const response = watchResponse(new Response(sse(answer), events), watch, { ...model, later: timers.later })
    expect(watch.lines).toEqual([api.requested])
    timers.pass(5000)
    expect(watch.lines.slice(1)).toEqual(['t wait.started id=consumer reason=queue'])
    await response.text()
    expect(watch.lines.slice(2)).toEqual(['t wait.ended id=consumer', ...answerLines.slice(1)])
  })

  it('ends as aborted when its body is cancelled', async () => {
    await watchResponse(new Response(sse(answer), events), watch, model).body?.cancel()
    expect(watch.lines).toEqual([api.requested, 't turn.ended outcome=aborted'])
  })

  it('is over with an exit when the body is cut', async () => {
    await watchResponse(new Response(sse(answer).slice(0, -10), events), watch, model).text()
    expect(watch.lines).toEqual([api.requested, api.started, api.token, api.exit])
    expect(watch.faults).toEqual(['anthropic-messages: not JSON'])
  })
})

describe('a response that is no stream of events', () => {
  it.each([
    ['no body', new Response(null, { status: 204 })],
    ['an error status', new Response(sse(answer), { ...events, status: 529 })],
    ['a whole answer', Response.json({ type: 'message' })],
    ['a page', new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ])('comes back as it is: %s', async (_, response) => {
    expect(watchResponse(response, watch, model)).toBe(response)
    expect(watch.lines).toEqual([])
  })
})

describe('is refused at once', () => {
  it('an unknown source', () => {
    expect(() => watchResponse(new Response(''), watch, { source: 'x' } as never)).toThrow('source: "x" is none of ')
  })

  it('what is no response', () => {
    expect(() => watchResponse({} as never, watch, model)).toThrow('response: an object is no Response')
    expect(() => watchResponse(Promise.resolve() as never, watch, model)).toThrow('response: Promise is no Response')
  })

  it('a response that was read', async () => {
    const used = new Response('x')
    await used.text()
    const locked = new Response('x')
    locked.body?.getReader()
    expect(() => watchResponse(used, watch, model)).toThrow(TypeError)
    expect(() => watchResponse(locked, watch, model)).toThrow('response: its body: is locked to a reader')
  })
})

/** Watched streams of the real SDKs of OpenAI and Anthropic, whose own timeouts, retries and errors work as before. */

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  StreamFailedError,
  StreamStalledError,
  type TurnDeadlinesOptions,
  turnDeadlines,
  watchStream,
} from '../../detector/watchdog/index.ts'
import { installPackages } from '../setup/npm-packages.ts'
import {
  begin,
  close,
  cut,
  hang,
  keepAlive,
  refuse,
  type Step,
  say,
  send,
  startLoopbackProvider,
  wait,
} from './loopback-provider.ts'
import { all, settling } from './tries.ts'

const installed = await installPackages('tests/wires')
const { resolve } = createRequire(new URL('../wires/package.json', import.meta.url))

/** As much of the SDKs as is used here; their types are there only where they are installed. */
type Sdk = new (options: object) => unknown
interface SdkEvent {
  readonly type?: string
  readonly delta?: unknown
  readonly choices?: unknown
}
type SdkStream = AsyncIterable<SdkEvent> & { readonly controller: AbortController }
type Create = (body: object, options: object) => Promise<SdkStream>

const sdk = async (name: string) => ((await import(pathToFileURL(resolve(name)).href)) as { default: Sdk }).default

interface Api {
  readonly source: 'openai-responses' | 'openai-chat-chunk' | 'anthropic-messages'
  readonly path: string
  create(url: string, settings: object): Promise<Create>
  text(event: SdkEvent): string | undefined
}

const OPENAI = { model: 'm', stream: true }
const messages = [{ role: 'user', content: 'hi' }]

const APIS: Record<string, Api> = {
  'OpenAI Responses': {
    source: 'openai-responses',
    path: '/v1/responses',
    async create(url, settings) {
      const client = new (await sdk('openai'))({ apiKey: 'key', baseURL: `${url}/v1`, ...settings })
      const { responses } = client as { responses: { create: Create } }
      return (body, options) => responses.create({ ...OPENAI, input: 'hi', ...body }, options)
    },
    text: ({ type, delta }) => (type === 'response.output_text.delta' ? String(delta) : undefined),
  },
  'OpenAI Chat Completions': {
    source: 'openai-chat-chunk',
    path: '/v1/chat/completions',
    async create(url, settings) {
      const client = new (await sdk('openai'))({ apiKey: 'key', baseURL: `${url}/v1`, ...settings })
      const { chat } = client as { chat: { completions: { create: Create } } }
      return (body, options) => chat.completions.create({ ...OPENAI, messages, ...body }, options)
    },
    text: ({ choices }) => (choices as { delta?: { content?: string } }[])[0]?.delta?.content,
  },
  'Anthropic Messages': {
    source: 'anthropic-messages',
    path: '/v1/messages',
    async create(url, settings) {
      const client = new (await sdk('@anthropic-ai/sdk'))({ apiKey: 'key', baseURL: url, ...settings })
      const api = client as { messages: { create: Create } }
      const fixed = { model: 'm', max_tokens: 100, messages, stream: true }
      return (body, options) => api.messages.create({ ...fixed, ...body }, options)
    },
    text: ({ delta }) => (delta as { text?: string } | undefined)?.text,
  },
}

describe.skipIf(!installed).each(Object.keys(APIS))('%s', (name) => {
  const api = APIS[name] as Api
  const deadlines = {
    source: api.source,
    headersMs: 60_000,
    firstContentMs: 60_000,
    contentIntervalMs: 60_000,
  } as const

  async function start(settings: object, ...scripts: readonly (readonly Step[])[]) {
    const provider = await startLoopbackProvider(...scripts)
    onTestFinished(() => provider[Symbol.asyncDispose]())
    const create = await api.create(provider.url, settings)
    const turn = (options: TurnDeadlinesOptions, body: object = {}) =>
      turnDeadlines({ ...deadlines, backoff: 0, ...options })
        .next()
        .call(({ signal }) => create(body, { signal }))
    return { provider, create, turn }
  }

  async function read(stream: SdkStream): Promise<{ text: string; error: unknown }> {
    let text = ''
    try {
      for await (const event of stream) text += api.text(event) ?? ''
    } catch (error) {
      return { text, error }
    }
    return { text, error: undefined }
  }

  it('streams an answer through a stream of its own kind, which knows its controller', async () => {
    const { provider, turn, create } = await start({}, [begin, say('all '), wait(20), say('is well')])
    const stream = await turn({})
    const plain = await create({}, {})
    expect(Object.getPrototypeOf(stream)).toBe(Object.getPrototypeOf(plain))
    expect(stream.controller).toBeInstanceOf(AbortController)
    plain.controller.abort()
    expect(await read(stream)).toEqual({ text: 'all is well', error: undefined })
    expect([provider.requests[0]?.path, await provider.ended(1)]).toEqual([api.path, 'served'])
  })

  it('is not kept alive by comments and pings: it is issued again, and its first request is closed', async () => {
    const { provider, turn } = await start({}, [begin, keepAlive(50)], [begin, say('at last')])
    const heard: unknown[] = []
    const stream = await turn({ firstContentMs: 1000, maxStallRetries: 1, onRetry: (retry) => heard.push(retry) })
    expect(await read(stream)).toEqual({ text: 'at last', error: undefined })
    expect([await provider.ended(1), await provider.ended(2)]).toEqual(['left', 'served'])
    expect(heard).toMatchObject([{ attempt: 2, delayMs: 0, error: { phase: 'first_content', attempt: 1 } }])
  })

  it('stalls in the middle of an answer after all that it said, and the request is closed', async () => {
    const { provider, turn } = await start({}, [begin, say('half '), wait(20), say('an answer'), keepAlive(50)])
    const { text, error } = await read(await turn({ contentIntervalMs: 500, maxStallRetries: 3 }))
    expect(text).toBe('half an answer')
    expect(error).toBeInstanceOf(StreamStalledError)
    expect(error).toMatchObject({ phase: 'between_content', receivedAnyContent: true, timeoutMs: 500 })
    expect([await provider.ended(1), provider.requests.length]).toEqual(['left', 1])
  })

  it('closes its request by its own controller where nobody gave it a signal', async () => {
    const { provider, create } = await start({}, [begin, say('half'), hang])
    const { error } = await read(watchStream(await create({}, {}), { ...deadlines, contentIntervalMs: 400 }))
    expect(error).toMatchObject({ phase: 'between_content' })
    expect(await provider.ended(1)).toBe('left')
  })

  it('closes its request when its consumer leaves', async () => {
    const { provider, turn } = await start({}, [begin, say('half'), hang])
    for await (const event of await turn({})) if (api.text(event) === 'half') break
    expect(await provider.ended(1)).toBe('left')
  })

  it("has the SDK's own timeout and the retry that follows it, which is none of ours", async () => {
    const { provider, turn } = await start({ timeout: 1500, maxRetries: 1 }, [hang], [begin, say('at last')])
    const heard: unknown[] = []
    const stream = await turn({ maxStallRetries: 3, onRetry: (retry) => heard.push(retry) })
    expect(await read(stream)).toEqual({ text: 'at last', error: undefined })
    expect([await provider.ended(1), await provider.ended(2), heard]).toEqual(['left', 'served', []])
  })

  it("throws the SDK's own error where its timeout is the last, and is not issued again for that", async () => {
    const { provider, turn } = await start({ timeout: 500, maxRetries: 0 }, [hang])
    const error = await turn({ maxStallRetries: 3 }).catch((thrown: unknown) => thrown)
    expect((error as Error).constructor.name).toBe('APIConnectionTimeoutError')
    expect([await provider.ended(1), provider.requests.length]).toEqual(['left', 1])
  })

  it("has the SDK's own retries of errors of HTTP within one try", async () => {
    const { provider, turn } = await start({ maxRetries: 2 }, [refuse(500)], [refuse(503)], [begin, say('at last')])
    expect(await read(await turn({ maxStallRetries: 3 }))).toEqual({ text: 'at last', error: undefined })
    expect(provider.requests.length).toBe(3)
  })

  it('throws what the SDK makes of a refusal, and is not issued again for that', async () => {
    const { provider, turn } = await start({ maxRetries: 0 }, [refuse(429)])
    const error = await turn({ maxStallRetries: 3 }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 429 })
    expect((error as Error).constructor.name).toBe('RateLimitError')
    expect(provider.requests.length).toBe(1)
  })

  it('throws what the SDK throws where the connection is cut in the middle of an answer', async () => {
    const { provider, turn } = await start({ maxRetries: 0 }, [begin, say('half'), wait(50), cut])
    const { text, error } = await read(await turn({ maxStallRetries: 3 }))
    expect(text).toBe('half')
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(StreamStalledError)
    expect(provider.requests.length).toBe(1)
  })

  it("ends with the caller's own reason, though the SDK has one of its own, at each stage", async () => {
    for (const script of [[hang], [begin, keepAlive(50)], [begin, say('half'), keepAlive(50)]]) {
      const { provider, turn } = await start({}, script)
      const caller = new AbortController()
      const call = settling(turn({ signal: caller.signal, maxStallRetries: 1 }).then(read))
      await expect.poll(() => provider.requests.length, { timeout: 30_000 }).toBe(1)
      await new Promise((done) => setTimeout(done, 100))
      const reason = new Error('the user pressed stop')
      caller.abort(reason)
      await expect.poll(() => call.outcome, { timeout: 30_000 }).not.toBe(null)
      expect(call.error ?? call.value?.error).toBe(reason)
      expect(await provider.ended(1)).toBe('left')
    }
  })

  it('gives a reply that does not stream as it is', async () => {
    const { turn } = await start({}, [refuse(200)])
    expect(await turn({ headersMs: 30_000, maxStallRetries: 1 }, { stream: false })).toMatchObject({
      error: expect.objectContaining({ message: 'scripted 200' }),
    })
  })
})

describe.skipIf(!installed)('what the server says of failures', () => {
  async function errorOf(name: string, ...script: readonly Step[]): Promise<unknown> {
    const { create, source } = APIS[name] as Api
    const provider = await startLoopbackProvider(script)
    onTestFinished(() => provider[Symbol.asyncDispose]())
    const asked = await create(provider.url, { maxRetries: 0 })
    const turn = turnDeadlines({ source, firstContentMs: 60_000, maxStallRetries: 2, backoff: 0 }).next()
    const stream = await turn.call(({ signal }) => asked({}, { signal }))
    const error = await all(stream).catch((thrown: unknown) => thrown)
    expect(provider.requests.length).toBe(1)
    return error
  }

  it('is a StreamFailedError of a response that failed, which the SDK of OpenAI gives as an event', async () => {
    const response = { id: 'r', status: 'failed', error: { code: 'server_error', message: 'out of luck' } }
    const error = await errorOf('OpenAI Responses', send('response.failed', { response }), close)
    expect(error).toBeInstanceOf(StreamFailedError)
    expect(error).toMatchObject({ code: 'server_error', retryable: true, response: { id: 'r' } })
  })

  it('is an error of the SDK of Anthropic where that throws it itself', async () => {
    const error = await errorOf(
      'Anthropic Messages',
      send('error', { error: { type: 'overloaded_error', message: 'no' } }),
      hang,
    )
    expect((error as Error).constructor.name).toMatch(/Error$/)
    expect(error).not.toBeInstanceOf(StreamStalledError)
    expect(String(error)).toContain('overloaded_error')
  })
})

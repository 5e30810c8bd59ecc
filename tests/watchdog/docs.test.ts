/** `docs/watchdog.md`: its code runs, and what it says in numbers and names is so. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { StreamFailedError, StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { createTurnwatch, type Turnwatch } from '../../index.ts'
import { SOURCE_NAMES } from '../../instrumentation/sources/source.ts'
import { installPackages } from '../setup/npm-packages.ts'
import { BLOCKS, compileBlocks, PAGE, runBlock } from './doc-blocks.ts'
import { begin, hang, refuse, say, startLoopbackProvider } from './loopback-provider.ts'

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

const MODEL = 'gpt-6-sol'
const created = { type: 'response.created', response: { model: MODEL } }
const delta = { type: 'response.output_text.delta', delta: 'a' }
const completed = { type: 'response.completed', response: { model: MODEL } }
const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'down' } } }
const SILENCE = Symbol('silence')

/** An event, a number of ms, or nothing more for ever. */
type Line = Event | number | typeof SILENCE

async function* streamOf(...lines: Line[]): AsyncGenerator<Event> {
  for (const line of lines) {
    if (line === SILENCE) await new Promise(() => {})
    else if (typeof line === 'number') await new Promise((resolve) => setTimeout(resolve, line))
    else yield line as Event
  }
}

/** An API whose calls answer with these streams, one after the other. */
function apiOf(...streams: readonly AsyncGenerator<Event>[]) {
  const signals: (AbortSignal | undefined)[] = []
  let call = 0
  return {
    signals,
    responses: {
      async create(_request: object, { signal }: { signal?: AbortSignal } = {}) {
        signals.push(signal)
        return streams[call++] as AsyncGenerator<Event>
      },
    },
  }
}

/** What a stream ends by. */
async function errorOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  try {
    for await (const _ of stream);
  } catch (error) {
    return error
  }
  return undefined
}

/** Runs to its end, while time passes as fast as it can. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) await vi.advanceTimersByTimeAsync(500)
  return work
}

const TESTED = [
  'Start',
  'Which deadline for what',
  'Classes, and types that nobody knows',
  'Errors',
  'Ask again',
  'Tools, approvals, pauses',
  'The loop of an agent',
  'Any SDK that takes a `fetch`',
] as const

describe('the code of docs/watchdog.md', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('has a test for each block', () => {
    expect([...BLOCKS.keys()]).toEqual(TESTED)
  })

  it('starts in the README with the same block', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    expect(readme).toContain(BLOCKS.get('Start'))
  })

  it('compiles', () => {
    expect(compileBlocks()).toBe('')
  })

  it('starts: a whole answer passes, a silent one throws', async () => {
    const use = vi.fn()
    const run = (...lines: Line[]) =>
      inTime(runBlock('Start', { openai: apiOf(streamOf(...lines)), model: MODEL, input: 'hello', use }))
    await run(created, 100_000, delta, 100_000, delta, completed, SILENCE)
    expect(use.mock.calls.flat()).toEqual([created, delta, delta, completed])
    await expect(run(created, delta, SILENCE)).rejects.toMatchObject({ phase: 'between_content', timeoutMs: 112_500 })
    await expect(run(created, SILENCE)).rejects.toMatchObject({ phase: 'first_content', timeoutMs: 150_000 })
  })

  it('measures: twenty answers make deadlines, which the error names', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwatch-docs-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const watches: Turnwatch[] = []
    const around = {
      file: join(folder, 'turnwatch.db'),
      model: MODEL,
      input: 'hello',
      use: () => {},
      createTurnwatch: (options: object) => {
        const watch = createTurnwatch(options)
        watches.push(watch)
        return watch
      },
    }
    const run = async (...lines: Line[]) => {
      try {
        await inTime(runBlock('Which deadline for what', { ...around, openai: apiOf(streamOf(...lines)) }))
      } finally {
        await inTime(watches.at(-1)?.stop() ?? Promise.resolve())
      }
    }
    for (let i = 0; i < 20; i++) await run(created, 8000, delta, 2000, delta, completed)
    // One and a half times 8 s, times 1.25.
    await expect(run(created, SILENCE)).rejects.toMatchObject({
      setting: 'firstContentMs',
      settingSource: 'measured',
      timeoutMs: 15_000,
    })
    // No tool was seen.
    await expect(run(created, delta, SILENCE)).rejects.toMatchObject({ settingSource: 'default', timeoutMs: 112_500 })
  })
  it('classifies: events of a gateway and of types that nobody knows are content, and pings are none', async () => {
    const use = vi.fn()
    const run = (...lines: Line[]) =>
      inTime(runBlock('Classes, and types that nobody knows', { stream: streamOf(...lines), use }))
    await run(created, 100_000, { type: 'gateway.thought' }, 200_000, completed)
    await run(created, 100_000, { type: 'response.hologram.delta' }, 200_000, completed)
    expect(use).toHaveBeenCalledTimes(6)
    for (const type of ['response.in_progress', 'keepalive']) {
      await expect(run(created, 100_000, { type }, 200_000, completed)).rejects.toMatchObject({
        phase: 'first_content',
        lastEventType: type,
      })
    }
  })

  it('says of each error what to do', async () => {
    const { answerOf } = (await runBlock('Errors', { use: () => {} }, ['answerOf'])) as {
      answerOf: (stream: AsyncIterable<Event>) => Promise<string>
    }
    const answer = (...lines: Line[]) =>
      inTime(
        answerOf(
          watchStream(streamOf(...lines), {
            source: 'openai-responses',
            firstContentMs: 1000,
            contentIntervalMs: 1000,
            signal: AbortSignal.any([aborts.signal]),
          }),
        ),
      )
    const aborts = new AbortController()
    expect(await answer(created, delta, completed)).toBe('whole')
    expect(await answer(created, SILENCE)).toBe('ask again')
    expect(await answer(created, delta, SILENCE)).toBe('keep what came')
    expect(await answer(created, delta, failed)).toBe('ask again later')
    const policy = { error: { code: 'invalid_prompt', message: 'no' } }
    expect(await answer(created, { type: 'response.failed', response: policy })).toBe('tell somebody')
    const reason = new Error('enough')
    setTimeout(() => aborts.abort(reason), 500)
    await expect(answer(created, SILENCE)).rejects.toBe(reason)
  })

  it('asks again: nobody sees the try that failed', async () => {
    const [use, log] = [vi.fn(), vi.fn()]
    const openai = apiOf(streamOf(created, SILENCE), streamOf(created, delta, completed))
    const { signal } = new AbortController()
    await inTime(runBlock('Ask again', { openai, request: {}, signal, use, log }))
    expect(use.mock.calls.flat()).toEqual([created, delta, completed])
    const stall =
      'stream stalled: no content within 60000 ms (firstContentMs), after 1 event, the last response.created'
    expect(log.mock.calls).toEqual([[`try 2: ${stall}`]])
    expect(openai.signals.map((one) => one?.aborted)).toEqual([true, false])
  })

  it('pauses while somebody is asked', async () => {
    const ask = { type: 'response.output_item.added' }
    const use = vi.fn()
    const around = {
      stream: streamOf(created, delta, ask, delta, completed),
      needsApproval: (event: Event) => event === ask,
      askSomebody: (event: Event) => new Promise((resolve) => setTimeout(resolve, 600_000)).then(() => use(event)),
    }
    const { control } = await inTime(runBlock('Tools, approvals, pauses', around, ['control']))
    expect(use.mock.calls).toEqual([[ask]])
    expect(control).toMatchObject({ paused: false })
  })

  it('loops: each turn has deadlines of its own, and tools take what they take', async () => {
    const call = { type: 'response.output_item.done', item: { type: 'function_call' } }
    const openai = apiOf(
      streamOf(created, 100_000, call, completed),
      streamOf(created, SILENCE),
      streamOf(created, 100_000, delta, completed),
    )
    const shown: Event[] = []
    const around = {
      openai,
      model: MODEL,
      question: 'What now?',
      signal: new AbortController().signal,
      toolCallsOf: async (answer: AsyncIterable<Event>) => {
        const calls: Event[] = []
        for await (const event of answer) if (event === call) calls.push(event)
        return calls
      },
      show: async (answer: AsyncIterable<Event>) => {
        for await (const event of answer) shown.push(event)
      },
      runTools: () => new Promise((resolve) => setTimeout(() => resolve('done'), 600_000)),
    }
    await inTime(runBlock('The loop of an agent', around))
    expect(shown).toEqual([created, call, completed, created, delta, completed])
    expect(openai.signals.map((one) => one?.aborted)).toEqual([false, true, false])
  })
})

describe.skipIf(!(await installPackages('tests/wires')))('a `fetch` of its own', () => {
  const loadSdk = async () => {
    const { resolve } = createRequire(new URL('../wires/package.json', import.meta.url))
    const module = pathToFileURL(resolve('@anthropic-ai/sdk'))
    const sdk = (await import(module.href)) as { default: new (options: object) => AnthropicClient }
    return sdk.default
  }

  interface AnthropicClient {
    messages: { create(request: object): Promise<AsyncIterable<Event>> }
  }

  const request = { model: 'claude-sonnet-5', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }

  it('is what the page says, under the SDK of Anthropic', async () => {
    const Sdk = await loadSdk()
    await using provider = await startLoopbackProvider([begin, say('hello')], [refuse(400)])
    class Anthropic extends Sdk {
      constructor(options: object) {
        super({ apiKey: 'key', baseURL: provider.url, maxRetries: 0, ...options })
      }
    }
    const types = new Set<string>()
    const run = () =>
      runBlock('Any SDK that takes a `fetch`', { Anthropic, request, use: ({ type }: Event) => types.add(type) })
    await run()
    expect([...types]).toEqual(expect.arrayContaining(['message_start', 'content_block_delta', 'message_stop']))
    await expect(run()).rejects.toMatchObject({ status: 400 })
  })

  it('gives stalls as the page says', async () => {
    const Sdk = await loadSdk()
    await using provider = await startLoopbackProvider([hang], [begin, hang])
    const client = new Sdk({
      apiKey: 'key',
      baseURL: provider.url,
      maxRetries: 0,
      fetch: (url: string, init: RequestInit) => {
        const abort = new AbortController()
        const signal = init.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal
        const deadlines = { source: 'anthropic-messages', headersMs: 500, firstContentMs: 500, abort } as const
        return watchStream(fetch(url, { ...init, signal }), deadlines)
      },
    })
    const error = await client.messages.create({ ...request, stream: true }).catch((thrown: unknown) => thrown)
    expect((error as Error).constructor.name).toBe('APIConnectionError')
    expect((error as Error).cause).toBeInstanceOf(StreamStalledError)
    expect((error as Error).cause).toMatchObject({ phase: 'headers' })
    expect(await provider.ended(1)).toBe('left')
    const stream = await client.messages.create({ ...request, stream: true })
    expect(await errorOf(stream)).toMatchObject({ name: 'StreamStalledError', phase: 'first_content' })
  })
})

describe('docs/watchdog.md says', () => {
  it.each<[string, object, string, number, number]>([
    ['150 s and 112.5 s', {}, 'gpt-6-sol', 150_000, 112_500],
    ['375 s both', { preset: 'cautious' }, 'gpt-6-sol', 375_000, 375_000],
    ['750 s for models', { preset: 'cautious' }, 'claude-opus-4-5', 750_000, 750_000],
  ])(
    'what deadlines are before they are measured: %s',
    (words, thresholds, model, firstContentMs, contentIntervalMs) => {
      expect(PAGE.replaceAll(/\s+/g, ' ')).toContain(words)
      const deadlines = createTurnwatch({ thresholds }).deadlinesFor('openai', model)
      expect(deadlines).toMatchObject({ firstContentMs, contentIntervalMs })
    },
  )

  it('what the errors have', async () => {
    const stalled = await errorOf(watchStream(streamOf(SILENCE), { firstContentMs: 1 }))
    const fields = [
      ...Object.keys((stalled as StreamStalledError).toJSON()),
      ...Object.keys(StreamFailedError.fromErrorEvent({ message: 'no' }).toJSON()),
    ]
    expect(fields.filter((field) => field !== 'name' && !PAGE.includes(`\`${field}\``))).toEqual([])
  })

  it('only names of sources that there are', () => {
    const [list = ''] = /`source` is one of [^.]*/.exec(PAGE) ?? []
    const named = [...list.matchAll(/`([a-z0-9-]+)`/g)].map(([, name]) => name).filter((name) => name !== 'source')
    expect(named.length).toBeGreaterThan(5)
    expect(SOURCE_NAMES).toEqual(expect.arrayContaining(named))
  })

  it('only files that there are', () => {
    const links = [...PAGE.matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link as string)
    const folder = fileURLToPath(new URL('../../docs/', import.meta.url))
    expect(links.length).toBeGreaterThan(3)
    expect(links.filter((link) => !existsSync(join(folder, link)))).toEqual([])
  })
})

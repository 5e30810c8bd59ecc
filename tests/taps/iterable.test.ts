import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { watchIterable } from '../../instrumentation/sources/index.ts'
import { answer, answerLines, api, claude, HandTimers, ndjson, Recorder, sse, turn, turnLines } from './recorder.ts'

let watch: Recorder
const agent = { source: claude.source, thread: 't' } as const
const model = { source: api.source, thread: 't' } as const

beforeEach(() => {
  watch = new Recorder()
})

async function* messages(...all: readonly unknown[]): AsyncGenerator<unknown, string, unknown> {
  for (const message of all) yield message
  return 'done'
}

async function read(iterable: AsyncIterable<unknown>, until?: unknown): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const message of iterable) {
    seen.push(message)
    if (message === until) break
  }
  return seen
}

/** Fails with the error after the messages. */
async function* failing(error: unknown, ...all: readonly unknown[]) {
  yield* all
  throw error
}

/** An iterator by hand, whose steps are settled one by one. */
class Steps implements AsyncIterableIterator<unknown> {
  readonly calls: unknown[][] = []
  readonly open: PromiseWithResolvers<IteratorResult<unknown>>[] = []

  next(...args: unknown[]): Promise<IteratorResult<unknown>> {
    this.calls.push(args)
    const step = Promise.withResolvers<IteratorResult<unknown>>()
    this.open.push(step)
    return step.promise
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  give(value: unknown): void {
    this.open.shift()?.resolve({ done: false, value })
  }
}

describe('a watched iterable', () => {
  it('gives the same messages in the same order, and tells of each', async () => {
    const seen = await read(watchIterable(messages(...turn), watch, agent))
    expect(seen.map((message, at) => message === turn[at])).toEqual([true, true, true])
    expect(watch.lines).toEqual(turnLines)
  })

  it('tells of a message before its consumer has it', async () => {
    const heard: string[][] = []
    for await (const _ of watchIterable(messages(...turn), watch, agent)) heard.push(watch.lines)
    expect(heard).toEqual([turnLines.slice(0, 1), turnLines.slice(0, 2), turnLines])
  })

  it('asks for one when asked for one, at once or one by one, and gives the same results', async () => {
    const bursts = fc.array(fc.nat(4))
    await fc.assert(
      fc.asyncProperty(bursts, async (sizes) => {
        const inner = new Steps()
        const outer = watchIterable(inner, new Recorder(), agent)
        let asked = 0
        for (const size of sizes) {
          const promises = Array.from({ length: size }, () => outer.next())
          asked += size
          expect(inner.calls.length).toBe(asked)
          const values = promises.map((_, at) => ({ at }))
          for (const value of values) inner.give(value)
          const got = await Promise.all(promises)
          expect(got.map(({ value }, at) => value === values[at])).toEqual(values.map(() => true))
        }
      }),
    )
  })

  it('hands on what next() and throw() are given, and what return() gives', async () => {
    const heard: unknown[] = []
    async function* talk(): AsyncGenerator<unknown, string, unknown> {
      try {
        heard.push(yield claude.init)
        yield claude.text
      } catch (error) {
        heard.push(error)
        yield claude.result
      } finally {
        heard.push('finally')
      }
      return 'end'
    }
    const talked = watchIterable(talk(), watch, agent)
    const thrown = new Error('thrown in')
    expect(await talked.next()).toEqual({ done: false, value: claude.init })
    expect(await talked.next('said')).toEqual({ done: false, value: claude.text })
    expect(await talked.throw(thrown)).toEqual({ done: false, value: claude.result })
    expect(await talked.return('back')).toEqual({ done: true, value: 'back' })
    expect(heard).toEqual(['said', thrown, 'finally'])
    expect(watch.lines).toEqual(turnLines)
  })

  it('has return() and throw() only where the inner has them', () => {
    const bare = watchIterable(new Steps(), watch, agent)
    const whole = watchIterable(messages(), watch, agent)
    const has = (it: object) => ['next', 'return', 'throw'].map((name) => typeof Reflect.get(it, name))
    expect(has(bare)).toEqual(['function', 'undefined', 'undefined'])
    expect(has(whole)).toEqual(['function', 'function', 'function'])
    expect('return' in bare).toBe(false)
  })

  it('gives the return value of the inner', async () => {
    const generator = watchIterable(messages(), watch, agent)
    expect(await generator.next()).toEqual({ done: true, value: 'done' })
  })

  it('makes an inner iterator only when asked for one, as often as that', async () => {
    let made = 0
    const iterable = {
      async *[Symbol.asyncIterator]() {
        made++
        yield* turn
      },
    }
    const watched = watchIterable(iterable, watch, agent)
    expect(made).toBe(0)
    await read(watched)
    await read(watched)
    expect(made).toBe(2)
    expect(watch.lines).toEqual([...turnLines, ...turnLines])
  })

  it('keeps the rest of its object working: private fields, getters, setters, methods and instanceof', async () => {
    class Session {
      #messages = [...turn]
      model = 'm'
      readonly controller = new AbortController()
      get left(): number {
        return this.#messages.length
      }
      set skipped(count: number) {
        this.#messages = this.#messages.slice(count)
      }
      self(): this {
        return this
      }
      async add(message: (typeof turn)[number]): Promise<number> {
        return this.#messages.push(message)
      }
      async *[Symbol.asyncIterator]() {
        yield* this.#messages
      }
    }
    const session = new Session()
    const watched = watchIterable(session, watch, agent)
    expect(watched).toBeInstanceOf(Session)
    expect(watched.self()).toBe(watched)
    expect(watched.add).toBe(watched.add)
    expect(Reflect.apply(watched.self, watch, [])).toBe(watch)
    expect(watched.constructor).toBe(Session)
    watched.model = 'other'
    expect(session.model).toBe('other')
    expect(await watched.add(claude.init)).toBe(4)
    watched.skipped = 3
    expect(watched.left).toBe(1)
    expect(await read(watched)).toEqual([claude.init])
  })

  it('can be of a frozen object', async () => {
    const frozen = Object.freeze({ name: 'x', [Symbol.asyncIterator]: () => messages(...turn) })
    const watched = watchIterable(frozen, watch, agent)
    expect(watched.name).toBe('x')
    expect([Object.isFrozen(watched), Object.keys(watched)]).toEqual([true, ['name']])
    expect(watched[Symbol.asyncIterator]).toBe(watched[Symbol.asyncIterator])
    await read(watched)
    expect(watch.lines).toEqual(turnLines)
  })

  it('can be of an object with methods that never change', async () => {
    const iterable = { name: 'x', [Symbol.asyncIterator]: () => messages(...turn), reset: () => 'reset' }
    const sealed = Object.defineProperty(iterable, 'reset', { writable: false, configurable: false })
    const watched = watchIterable(sealed, watch, agent)
    expect([watched.name, watched.reset()]).toEqual(['x', 'reset'])
    await read(watched)
    expect(watch.lines).toEqual(turnLines)
  })

  it('is one stream where it is an iterator that gives another', async () => {
    class Query {
      readonly #inner = messages(...turn)
      next(): Promise<IteratorResult<unknown>> {
        return this.#inner.next()
      }
      [Symbol.asyncIterator](): AsyncGenerator<unknown> {
        return this.#inner
      }
    }
    const query = watchIterable(new Query(), watch, agent)
    await query.next()
    await read(query)
    expect(watch.lines).toEqual(turnLines)
    expect(query[Symbol.asyncIterator]()).toBe(query[Symbol.asyncIterator]())
  })

  it('decodes text and bytes of server-sent events and of lines', async () => {
    const bytes = new TextEncoder().encode(sse(answer))
    const text = ndjson(answer)
    await read(watchIterable(messages(bytes.subarray(0, 120), bytes.subarray(120)), watch, model))
    await read(watchIterable(messages(text.slice(0, 101), text.slice(101)), watch, model))
    expect(watch.lines).toEqual([...answerLines, ...answerLines])
  })

  it('of a ReadableStream is one, and can be iterated', async () => {
    const stream = watchIterable(ReadableStream.from(turn), watch, agent)
    expect(stream).toBeInstanceOf(ReadableStream)
    expect(await read(stream)).toEqual(turn)
    expect(watch.lines).toEqual(turnLines)
  })
})

describe('the streams of SDKs', () => {
  /** As those of OpenAI and Anthropic are made. */
  class Stream {
    readonly iterator: () => AsyncIterator<unknown>
    readonly controller: AbortController
    readonly #separator = '\n'

    constructor(iterator: () => AsyncIterator<unknown>, controller = new AbortController()) {
      this.iterator = iterator
      this.controller = controller
    }

    [Symbol.asyncIterator](): AsyncIterator<unknown> {
      return this.iterator()
    }

    tee(): [Stream, Stream] {
      const iterator = this.iterator()
      const queues: Promise<IteratorResult<unknown>>[][] = [[], []]
      const branch = (queue: Promise<IteratorResult<unknown>>[]) => () => ({
        next: () => {
          if (queue.length === 0) {
            const step = iterator.next()
            for (const one of queues) one.push(step)
          }
          return queue.shift() as Promise<IteratorResult<unknown>>
        },
      })
      return [new Stream(branch(queues[0] as never[])), new Stream(branch(queues[1] as never[]), this.controller)]
    }

    toReadableStream(): ReadableStream<Uint8Array> {
      let iterator: AsyncIterator<unknown>
      return new ReadableStream({
        start: () => {
          iterator = this[Symbol.asyncIterator]()
        },
        pull: async (controller) => {
          const { done, value } = await iterator.next()
          if (done) return controller.close()
          controller.enqueue(new TextEncoder().encode(JSON.stringify(value) + this.#separator))
        },
      })
    }
  }

  it('are watched through tee(), once', async () => {
    const [left, right] = watchIterable(new Stream(() => messages(...answer)), watch, model).tee()
    expect(await read(left)).toEqual(answer)
    expect(await read(right)).toEqual(answer)
    expect(watch.lines).toEqual(answerLines)
  })

  it('are watched through toReadableStream()', async () => {
    const stream = watchIterable(new Stream(() => messages(...answer)), watch, model)
    expect(await new Response(stream.toReadableStream()).text()).toBe(ndjson(answer))
    expect(watch.lines).toEqual(answerLines)
  })

  it('have no fields of ours afterwards', () => {
    const stream = new Stream(() => messages(...answer))
    const before = Reflect.ownKeys(stream)
    const watched = watchIterable(stream, watch, model)
    watched.tee()
    watched.toReadableStream()
    expect(Reflect.ownKeys(stream)).toEqual(before)
    expect(watch.lines).toEqual([])
  })

  it('that end because their controller was aborted end the turn as aborted', async () => {
    const stream = watchIterable(new Stream(() => messages(api.start, api.delta)), watch, model)
    for await (const message of stream) if (message === api.delta) stream.controller.abort()
    expect(watch.lines).toEqual([api.requested, api.started, api.token, api.aborted])
  })

  it('that abort their own controller after a failure have failed', async () => {
    const stream: Stream = new Stream(async function* () {
      yield api.start
      stream.controller.abort()
      throw new Error('overloaded')
    })
    await expect(read(watchIterable(stream, watch, model))).rejects.toThrow('overloaded')
    expect(watch.lines.slice(2)).toEqual(['t error message=overloaded turn=msg', 't turn.ended outcome=error turn=msg'])
  })

  it.each(['close', 'abort', 'cancel', 'destroy', Symbol.asyncDispose, Symbol.dispose])(
    'stopped by %s() end as aborted',
    async (name) => {
      const inner = Object.assign(messages(...turn), { [name]: () => 'stopped' })
      const session = watchIterable(inner, watch, agent)
      await session.next()
      expect(Reflect.get(session, name).call(session)).toBe('stopped')
      await session.next()
      expect(watch.lines).toEqual([claude.started, claude.aborted])
    },
  )

  it.each([
    [
      'await using',
      async (session: AsyncIterator<unknown> & AsyncDisposable) => {
        await using used = session
        await used.next()
      },
    ],
    [
      'using',
      async (session: AsyncIterator<unknown> & Disposable) => {
        using used = session
        await used.next()
      },
    ],
    [
      'a stack',
      async (session: AsyncIterator<unknown> & AsyncDisposable) => {
        const stack = new AsyncDisposableStack()
        await stack.use(session).next()
        await stack.disposeAsync()
      },
    ],
  ])('are disposed of by %s, which ends the turn as aborted', async (_, use) => {
    let disposed = 0
    class Session {
      readonly #messages = messages(...turn)
      next(): Promise<IteratorResult<unknown>> {
        return this.#messages.next()
      }
      [Symbol.asyncIterator](): this {
        return this
      }
      async [Symbol.asyncDispose](): Promise<void> {
        await this.#messages.return('')
        disposed++
      }
      [Symbol.dispose](): void {
        void this.#messages.return('')
        disposed++
      }
    }
    await use(watchIterable(new Session(), watch, agent))
    expect(disposed).toBe(1)
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })

  it('that are interrupted end as the agent says, which is no failure', async () => {
    const stopped = { type: 'result', subtype: 'error_during_execution', session_id: 's', is_error: true }
    const inner = Object.assign(messages(claude.init, claude.text, stopped), { interrupt: async () => 'receipt' })
    const query = watchIterable(inner, watch, agent)
    await query.next()
    expect(await query.interrupt()).toBe('receipt')
    await read(query)
    expect(watch.lines).toEqual([claude.started, 't interrupt.requested', claude.token, claude.aborted])
  })
})

describe('the end of an iterable', () => {
  it('without the end of its turn is an exit', async () => {
    await read(watchIterable(messages(claude.init, claude.text), watch, agent))
    expect(watch.lines).toEqual([claude.started, claude.token, claude.exit])
  })

  it.each([
    [
      'chunks of a page’s stream, which may lack their finish',
      [{ type: 'start' }, { type: 'text-delta', id: '0', delta: 'hi' }],
    ],
    ['a page’s data alone', [{ type: 'data-note', data: 1 }]],
  ])('is one of the turn after %s', async (_, chunks) => {
    const page = { source: 'ai-sdk-ui-stream', thread: 't' } as const
    await read(watchIterable(messages(...chunks), watch, page))
    expect(watch.lines.at(0)).toBe('t turn.started provider=ai-sdk')
    expect(watch.lines.at(-1)).toBe('t turn.ended outcome=completed')
    expect(watch.lines.join()).not.toContain('exit')
  })

  it.each([
    ['an exit where they lack their finish', '', 't exit'],
    ['one of the turn where their end mark came', 'data: [DONE]\n\n', 't turn.ended outcome=completed'],
  ])('that sends a page’s chunks as text is %s', async (_, mark, line) => {
    const chunks = sse([{ type: 'start' }, { type: 'text-delta', id: '0', delta: 'hi' }])
    await read(watchIterable(messages(chunks, mark), watch, { source: 'ai-sdk-ui-stream', thread: 't' }))
    expect(watch.lines.slice(-2)).toEqual(['t token stream=text', line])
  })

  it.each([
    ['plain text', ['Hello', ', world.'], ['anthropic-messages: not JSON']],
    ['JSON of another kind', ['{"answer":', '42}'], ['anthropic-messages: no type']],
    ['values that are no events', [1, 2], ['anthropic-messages: number', 'anthropic-messages: number']],
  ])('that told nothing is one of the turn: %s', async (_, chunks, faults) => {
    expect(await read(watchIterable(messages(...chunks), watch, model))).toEqual(chunks)
    expect(watch.lines).toEqual([api.requested, 't turn.ended outcome=completed'])
    expect(watch.faults).toEqual(faults)
  })

  it.each([
    ['nothing came', []],
    ['its first event was cut', ['data: {"type":"mess']],
  ])('is an exit where %s', async (_, chunks) => {
    await read(watchIterable(messages(...chunks), watch, model))
    expect(watch.lines).toEqual([api.requested, 't exit'])
  })

  it('after the end of its turn is none', async () => {
    await read(watchIterable(messages(...turn), watch, agent))
    expect(watch.lines).toEqual(turnLines)
  })

  it('by the consumer ends the turn as aborted, and runs the clean-up of the inner', async () => {
    let cleaned = false
    async function* inner() {
      try {
        yield* turn
      } finally {
        cleaned = true
      }
    }
    await read(watchIterable(inner(), watch, agent), claude.text)
    expect(watch.lines).toEqual([claude.started, claude.token, claude.aborted])
    expect(cleaned).toBe(true)
  })

  it('by what the consumer throws in is aborted too', async () => {
    const error = new Error('enough')
    const generator = watchIterable(messages(...turn), watch, agent)
    await generator.next()
    await expect(generator.throw(error)).rejects.toBe(error)
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })

  it('by what the inner makes an end of is aborted too', async () => {
    async function* inner() {
      try {
        yield* turn
      } catch {
        return
      }
    }
    const generator = watchIterable(inner(), watch, agent)
    await generator.next()
    expect(await generator.throw(new Error('enough'))).toEqual({ done: true, value: undefined })
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })

  it('by an error is the provider’s, and the consumer gets the same error', async () => {
    const error = new Error('connection lost')
    await expect(read(watchIterable(failing(error, claude.init), watch, agent))).rejects.toBe(error)
    expect(watch.lines).toEqual([claude.started, 't error message=connection lost', 't turn.ended outcome=error'])
  })

  it('by an error that next() throws at once is the same', () => {
    const error = new Error('broken')
    const iterator = {
      next: () => {
        throw error
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    expect(() => watchIterable(iterator, watch, model).next()).toThrow(error)
    expect(watch.lines).toEqual([api.requested, 't error message=broken', 't turn.ended outcome=error'])
  })

  class APIUserAbortError extends Error {}
  it.each([
    ['AbortError', new DOMException('This operation was aborted', 'AbortError')],
    ['an SDK’s own abort error', new APIUserAbortError('Request was aborted.')],
  ])('by %s is the consumer’s', async (_, error) => {
    await expect(read(watchIterable(failing(error, claude.init), watch, agent))).rejects.toBe(error)
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })

  it('by any error is the consumer’s once its signal is aborted', async () => {
    const stop = new AbortController()
    async function* inner() {
      yield claude.init
      stop.abort('the user left')
      throw stop.signal.reason
    }
    const watched = watchIterable(inner(), watch, { ...agent, signal: stop.signal })
    await expect(read(watched)).rejects.toBe('the user left')
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })

  it('by an error before the first event is a failed turn, where the thread is known', async () => {
    const read1 = (options: { source: typeof claude.source; thread?: string }) =>
      read(watchIterable(failing(new Error('no auth')), watch, options)).catch(() => 'failed')
    expect(await read1({ source: claude.source })).toBe('failed')
    expect(watch.lines).toEqual([])
    expect(await read1(agent)).toBe('failed')
    expect(watch.lines).toEqual([
      't turn.started provider=claudeAgent',
      't error message=no auth',
      't turn.ended outcome=error',
    ])
  })

  it('by an error when no turn is open is none', async () => {
    await expect(read(watchIterable(failing(new Error('x'), ...turn), watch, agent))).rejects.toThrow('x')
    expect(watch.lines).toEqual(turnLines)
  })

  it('closes each of several threads that it leaves open', async () => {
    const started = (threadId: string, id: string) => ({ method: 'turn/started', params: { threadId, turn: { id } } })
    const completed = { method: 'turn/completed', params: { threadId: 'a', turn: { id: '1', status: 'completed' } } }
    const all = [started('a', '1'), started('b', '2'), started('c', '3'), completed]
    await read(watchIterable(messages(...all), watch, { source: 'codex-app-server' }))
    expect(watch.lines.slice(-3)).toEqual(['a turn.ended outcome=completed turn=1', 'b exit turn=2', 'c exit turn=3'])
  })
})

describe('the turn of a bare API', () => {
  it('begins when the stream is asked for the first time', () => {
    const stream = watchIterable(new Steps(), watch, { ...model, model: 'known', parent: 'boss' })
    expect(watch.lines).toEqual([])
    stream.next()
    stream.next()
    expect(watch.lines).toEqual([`${api.requested} model=known parent=boss`])
  })

  it('begins with its first event where the thread is not known', async () => {
    const stream = watchIterable(messages(...answer), watch, { source: api.source })
    await read(stream)
    expect(watch.lines).toEqual(answerLines.slice(1).map((line) => line.replace(/^t /, 'msg ')))
  })

  it('begins with its first event in further iterations, which may fail for want of another', async () => {
    let consumed = false
    const once = {
      async *[Symbol.asyncIterator]() {
        if (consumed) throw new Error('consumed')
        consumed = true
        yield* answer
      },
    }
    const stream = watchIterable(once, watch, model)
    await read(stream)
    await expect(read(stream)).rejects.toThrow('consumed')
    expect(watch.lines).toEqual(answerLines)
  })

  it.each([
    ['anthropic-messages', { type: 'message_start', message: { id: 'r' } }],
    ['openai-responses', { type: 'response.created', response: { id: 'r' } }],
    ['openrouter-responses', { type: 'response.created', response: { id: 'r' } }],
    ['openai-chat-chunk', { id: 'r', choices: [{ index: 0, delta: { role: 'assistant' } }] }],
    ['ai-sdk-fullstream', { type: 'start' }],
    ['ai-sdk-fullstream-v6', { type: 'start' }],
    ['ai-sdk-ui-stream', { type: 'start' }],
  ] as const)('of %s has the provider that its first event says', async (source, first) => {
    await read(watchIterable(messages(first), watch, { source, thread: 't' }))
    const providers = watch.lines.slice(0, 2).map((line) => line.split(' ')[2])
    expect(providers).toEqual([providers[0], providers[0]])
    expect(providers[0]).toMatch(/^provider=./)
  })
})

describe('a slow consumer', () => {
  it('is a wait of the turn, from a second or two on until it asks again', async () => {
    const timers = new HandTimers()
    const stream = watchIterable(messages(...turn), watch, { ...agent, later: timers.later })
    await stream.next()
    timers.pass(2000)
    expect(watch.lines).toEqual([claude.started, 't wait.started id=consumer reason=queue'])
    timers.pass(600_000)
    await stream.next()
    expect(watch.lines.slice(2)).toEqual(['t wait.ended id=consumer', claude.token])
  })

  it('is none while it has asked, nor when it asks in time', async () => {
    const timers = new HandTimers()
    const inner = new Steps()
    const stream = watchIterable(inner, watch, { ...agent, later: timers.later })
    for (let at = 0; at < 10; at++) {
      const step = stream.next()
      timers.pass(60_000)
      inner.give(claude.text)
      await step
      timers.pass(900)
    }
    expect(watch.lines).toEqual(Array(10).fill(claude.token))
  })

  it('is none while one of several that it asked for has not come', async () => {
    const timers = new HandTimers()
    const inner = new Steps()
    const stream = watchIterable(inner, watch, { ...agent, later: timers.later })
    const steps = [stream.next(), stream.next()]
    inner.give(claude.init)
    await steps[0]
    timers.pass(60_000)
    inner.give(claude.text)
    await steps[1]
    expect(watch.lines).toEqual([claude.started, claude.token])
  })

  it('that only loops sets a timer a second at most', async () => {
    const timers = new HandTimers()
    let set = 0
    const later: typeof timers.later = (ms, work) => {
      set++
      timers.later(ms, work)
    }
    await read(watchIterable(messages(...Array(1000).fill(claude.text)), watch, { ...agent, later }))
    expect(set).toBe(1)
  })

  it('that leaves ends the wait', async () => {
    const timers = new HandTimers()
    const stream = watchIterable(messages(...turn), watch, { ...agent, later: timers.later })
    await stream.next()
    timers.pass(5000)
    await stream.return('')
    timers.pass(5000)
    expect(watch.lines.slice(2)).toEqual(['t wait.ended id=consumer', claude.aborted])
    expect(timers.pending).toBe(0)
  })
})

describe('what the consumer never notices', () => {
  const hostile = (name: string) =>
    Object.defineProperty({ type: 'assistant', session_id: 's' }, name, {
      get() {
        throw new Error(`no ${name}`)
      },
    })

  it('is a message that cannot be read', async () => {
    const all = [claude.init, hostile('type'), hostile('message'), null, 7, claude.text, claude.result]
    const seen = await read(watchIterable(messages(...all), watch, agent))
    expect(seen.map((message, at) => message === all[at])).toEqual(all.map(() => true))
    expect(watch.lines).toEqual(turnLines)
    expect(watch.faults.length).toBe(4)
  })

  it('is a watch that throws, whatever it is told', async () => {
    const broken = () => {
      throw new Error('broken watch')
    }
    const watcher = { observe: broken, unclassified: broken, unreadable: broken }
    const all = [...turn, { type: 'none such', session_id: 's' }, 7]
    expect(await read(watchIterable(messages(...all), watcher, agent))).toEqual(all)
    const error = new Error('lost')
    await expect(read(watchIterable(failing(error), watcher, model))).rejects.toBe(error)
    expect(await read(watchIterable(messages(sse(answer)), watcher, model), sse(answer))).toEqual([sse(answer)])
  })

  it('is an error that cannot be read', async () => {
    const bad = hostile('message')
    let caught: unknown
    try {
      await read(watchIterable(failing(bad, claude.init), watch, agent))
    } catch (error) {
      caught = error
    }
    expect(caught === bad).toBe(true)
    expect(watch.lines).toEqual([claude.started, 't error message=the stream failed', 't turn.ended outcome=error'])
  })

  it('is a step that is none', async () => {
    const inner = new Steps()
    const stream = watchIterable(inner, watch, agent)
    const step = stream.next()
    inner.open[0]?.resolve(null as never)
    expect(await step).toBe(null)
    expect(watch.faults.length).toBe(1)
  })
})

describe('is refused at once', () => {
  it.each([
    ['an unknown source', messages(), { source: 'cobol' }, 'source: "cobol" is none of claude-code-stream-json, '],
    ['no options', messages(), undefined, 'source: undefined is none of '],
    ['an array', [], agent, 'iterable: Array is no async iterable'],
    ['null', null, agent, 'iterable: null is no async iterable'],
    ['a function', () => {}, agent, 'iterable: a function is no async iterable'],
  ])('%s', (_, iterable, options, text) => {
    const call = () => watchIterable(iterable as never, watch, options as never)
    expect(call).toThrow(TypeError)
    expect(call).toThrow(text)
  })

  it('a watch that is none', () => {
    expect(() => watchIterable(messages(), {} as never, agent)).toThrow('watch: an object is no Turnwatch')
  })
})

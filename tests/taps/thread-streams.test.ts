import { beforeEach, describe, expect, it } from 'vitest'
import { watchIterable, watchResponse } from '../../instrumentation/sources/index.ts'
import { leaveThread, takeThread } from '../../instrumentation/taps/thread-streams.ts'
import { api, claude, HandTimers, Recorder, sse } from './recorder.ts'

let watch: Recorder
const model = { source: api.source, thread: 't' } as const

beforeEach(() => {
  watch = new Recorder()
})

/** A stream whose steps are settled by hand. */
class Steps implements AsyncIterableIterator<unknown> {
  #open: PromiseWithResolvers<IteratorResult<unknown>>[] = []

  next(): Promise<IteratorResult<unknown>> {
    const step = Promise.withResolvers<IteratorResult<unknown>>()
    this.#open.push(step)
    return step.promise
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  give(value: unknown): void {
    this.#open.shift()?.resolve({ done: false, value })
  }

  end(): void {
    this.#open.shift()?.resolve({ done: true, value: undefined })
  }

  fail(error: unknown): void {
    this.#open.shift()?.reject(error)
  }
}

/** Starts a stream of the thread and reads the events given, and on. */
async function streaming(options: Parameters<typeof watchIterable>[2], ...events: readonly unknown[]) {
  const inner = new Steps()
  const outer = watchIterable(inner, watch, options)
  let step = outer.next()
  const give = async (event: unknown) => {
    inner.give(event)
    await step
    step = outer.next()
  }
  for (const event of events) await give(event)
  return { inner, give, settled: () => step.catch(() => 'failed') }
}

const second = { type: 'message_start', message: { id: 'next', model: 'm' } }
const startedAgain = 't turn.started provider=anthropic model=m turn=next'

describe('a stream that begins a turn in a thread', () => {
  it.each([
    ['is aborted late', (inner: Steps) => inner.fail(new DOMException('aborted', 'AbortError'))],
    ['is cut late', (inner: Steps) => inner.end()],
    ['fails late', (inner: Steps) => inner.fail(new TypeError('terminated'))],
    ['goes on', (inner: Steps) => inner.give(api.delta)],
  ])('ends the turn of the older one, which %s to no effect', async (_, settle) => {
    const old = await streaming(model, api.start, api.delta)
    const young = await streaming(model, second)
    settle(old.inner)
    await old.settled()
    await young.give(api.delta)
    expect(watch.lines).toEqual([
      ...[api.requested, api.started, api.token, api.aborted],
      ...[api.requested, startedAgain, 't token stream=text turn=next'],
    ])
  })

  it('ends a turn that has not begun to answer', async () => {
    const old = await streaming(model)
    await streaming(model)
    old.inner.end()
    await old.settled()
    expect(watch.lines).toEqual([api.requested, 't turn.ended outcome=aborted', api.requested])
  })

  it('ends the turn of a response that was left unread, whose consumer holds nothing any more', async () => {
    const timers = new HandTimers()
    const options = { ...model, later: timers.later }
    const left = new Response(sse([api.start]), { headers: { 'content-type': 'text/event-stream' } })
    watchResponse(left, watch, options)
    await streaming(options)
    timers.pass(60_000)
    expect(watch.lines).toEqual([api.requested, 't turn.ended outcome=aborted', api.requested])
  })

  it('leaves alone one whose turn has ended, one that is over, and those of other threads and watches', async () => {
    const others = [await streaming({ ...model, thread: 'u' }), await streaming({ source: api.source })]
    await streaming(model, api.start, api.stop)
    const over = await streaming(model, second)
    over.inner.end()
    await over.settled()
    const elsewhere = new Recorder()
    watchIterable(new Steps(), elsewhere, model).next()
    await streaming(model)
    expect(watch.lines.slice(1)).toEqual([
      ...[api.requested, api.started, api.completed],
      ...[api.requested, startedAgain, 't exit turn=next'],
      api.requested,
    ])
    for (const { inner } of others) inner.end()
    await Promise.all(others.map(({ settled }) => settled()))
    expect(watch.lines.at(-1)).toBe('u exit')
    expect(elsewhere.lines).toEqual([api.requested])
  })

  it('leaves alone an agent’s, which begins its turns itself', async () => {
    const agent = await streaming({ source: claude.source, thread: 't' }, claude.init)
    await streaming({ source: claude.source, thread: 't' })
    await agent.give(claude.text)
    expect(watch.lines).toEqual([claude.started, claude.token])
  })
})

describe('a thread', () => {
  it('is let go by the stream that has it, when that is over', () => {
    const heard: string[] = []
    const stream = (name: string) => ({ cancelled: () => void heard.push(name) })
    const [first, second, third] = [stream('first'), stream('second'), stream('third')]
    takeThread(watch, 't', first)
    takeThread(watch, 't', first)
    leaveThread(watch, 't', first)
    takeThread(watch, 't', second)
    leaveThread(watch, 't', first)
    takeThread(watch, 't', third)
    expect(heard).toEqual(['second'])
  })
})

/** A source that was given up, or waits, and says nothing any more: its consumer waits for it nowhere. */

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { StreamFailedError, StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { queue } from './queues.ts'
import { generated, type Line, reading } from './scripted.ts'
import { delta, failed, settling } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const mine = new Error('mine')
const DONE = { done: true, value: undefined }
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

function waiting(options: WatchOptions = {}) {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const watched = watchStream(generated(clock, dead), {
    source,
    clock,
    contentIntervalMs: 100,
    signal: controller.signal,
    ...options,
  })
  return { clock, controller, watched }
}

type By = 'stall' | 'abort'

async function endBy(by: By, { clock, controller }: Pick<ReturnType<typeof waiting>, 'clock' | 'controller'>) {
  await clock.advance(50)
  if (by === 'abort') controller.abort(mine)
  await clock.advance(50)
}

/** A generator in the middle of its wait, whose read has had the error. */
async function givenUp(by: By, options: WatchOptions = {}) {
  const open = waiting(options)
  await open.watched.next()
  const read = settling(open.watched.next())
  await endBy(by, open)
  expect(read.error).toEqual(by === 'abort' ? mine : expect.any(StreamStalledError))
  return { ...open, error: read.error }
}

describe.each(['stall', 'abort'] as const)('after the %s of a generator that waits', (by) => {
  it('throw() rejects at once with what it is given', async () => {
    const { watched } = await givenUp(by)
    const note = new Error('note')
    const thrown = settling(watched.throw(note))
    await settle()
    expect([thrown.outcome, thrown.error]).toEqual(['rejected', note])
  })

  it('return() is done at once, and again', async () => {
    const { watched, clock } = await givenUp(by)
    for (let call = 0; call < 2; call++) {
      const left = settling(watched.return(undefined))
      await settle()
      expect([left.outcome, left.value]).toEqual(['resolved', DONE])
    }
    expect(clock.timers.size).toBe(0)
  })

  it('its reads have the same error after return() and throw()', async () => {
    const { watched, error } = await givenUp(by)
    await watched.return(undefined)
    await watched.throw('note').catch(() => {})
    await expect(watched.next()).rejects.toBe(error)
  })

  it('await using ends, and the error comes out of it', async () => {
    const open = waiting()
    const use = async () => {
      await using events = open.watched
      for await (const _ of events);
    }
    const used = settling(use())
    await endBy(by, open)
    expect(used.outcome).toBe('rejected')
    if (by === 'abort') expect(used.error).toBe(mine)
    else expect(used.error).toBeInstanceOf(StreamStalledError)
  })

  it('a stream of Node that is made of it errs', async () => {
    const open = waiting()
    const seen = reading(open.clock, Readable.from(open.watched))
    await endBy(by, open)
    expect(seen.events).toEqual([delta('x')])
    if (by === 'abort') expect(seen.outcome).toBe(mine)
    else expect(seen.outcome).toBeInstanceOf(StreamStalledError)
  })

  it('`abort` is called once, with the error, however often it is left', async () => {
    const aborts: unknown[] = []
    const { watched, error } = await givenUp(by, { abort: (reason) => aborts.push(reason) })
    await watched.return(undefined)
    await watched.throw('note').catch(() => {})
    await watched.return(undefined)
    expect(aborts.length).toBe(1)
    expect(aborts[0]).toBe(error)
  })

  it("an iterable's own disposal is called once, and not waited for", async () => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    let disposals = 0
    const stream = Object.assign(queue.open(clock, dead).stream as AsyncIterable<unknown>, {
      [Symbol.asyncDispose]() {
        disposals++
        return new Promise<void>(() => {})
      },
    })
    const { signal } = controller
    const watched = watchStream(stream, { source, clock, contentIntervalMs: 100, signal })
    const seen = reading(clock, watched)
    await endBy(by, { clock, controller })
    expect(seen.outcome).not.toBe(undefined)
    const disposed = settling(watched[Symbol.asyncDispose]())
    await settle()
    expect([disposals, disposed.outcome]).toEqual([1, 'resolved'])
  })
})

describe('in the middle of the read of a generator that waits', () => {
  const inRead = async (abort?: (reason: unknown) => void) => {
    const open = waiting({ abort })
    await open.watched.next()
    const read = settling(open.watched.next())
    await open.clock.advance(50)
    return { ...open, read }
  }

  it('throw() rejects at once with what it is given, and the read is done', async () => {
    const { clock, watched, read } = await inRead()
    const note = new Error('note')
    const thrown = settling(watched.throw(note))
    await settle()
    expect([thrown.outcome, thrown.error]).toEqual(['rejected', note])
    expect([read.outcome, read.value, clock.timers.size]).toEqual(['resolved', DONE, 0])
  })

  it('its disposal ends at once, and the read is done', async () => {
    const { clock, watched, read } = await inRead()
    const disposed = settling(Promise.resolve(watched[Symbol.asyncDispose]()))
    await settle()
    expect(disposed.outcome).toBe('resolved')
    expect([read.outcome, read.value, clock.timers.size]).toEqual(['resolved', DONE, 0])
  })

  it('`abort` is called once, however often it is left, and hears of no stall', async () => {
    const aborts: unknown[] = []
    const { clock, watched } = await inRead((reason) => aborts.push(reason))
    await watched.return(undefined)
    await watched.return(undefined)
    await watched.throw('note').catch(() => {})
    await clock.advance(1000)
    expect(aborts).toMatchObject([{ name: 'AbortError' }])
  })
})

it('a stream that failed and closed by itself is left without `abort`', async () => {
  const clock = new VirtualClock()
  const aborts: unknown[] = []
  const script: Line[] = [
    [0, failed],
    [0, 'end'],
  ]
  const options = { source, clock, contentIntervalMs: 100, abort: (reason: unknown) => aborts.push(reason) } as const
  const watched = watchStream(generated(clock, script), options)
  await watched.next()
  await expect(watched.next()).rejects.toBeInstanceOf(StreamFailedError)
  expect(await watched.return(undefined)).toEqual(DONE)
  expect(aborts).toEqual([])
})

import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { allowNoUnhandledRejections } from './faults.ts'
import { generator, type Kind, objects, sdk } from './kinds.ts'
import { every, QUEUES } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const DEADLINES = { firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100, totalMs: 10_000 }
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

allowNoUnhandledRejections()

function watching(kind: Kind, script: readonly Line[], options: WatchOptions = {}) {
  const clock = new VirtualClock()
  const { stream, ended } = kind.open(clock, script)
  const watched = watchStream(stream, { source, clock, ...DEADLINES, ...options })
  return { clock, ended, watched, events: kind.events(watched) }
}

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

const ALL: readonly Kind[] = [...QUEUES, generator, sdk]

describe.each(ALL)("the caller's signal, for $name", (kind) => {
  const told: string[] = []
  const hooks = { onStall: () => told.push('stall') }

  it('ends a read that waits, at once and with its own reason, and the source', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const aborts: unknown[] = []
    const { clock, ended, events } = watching(kind, dead, {
      ...hooks,
      signal: controller.signal,
      abort: (why) => aborts.push(why),
    })
    const seen = reading(clock, events)
    await clock.advance(50)
    expect(listeners(controller.signal)).toBe(1)
    controller.abort(reason)
    await settle()
    expect([seen.events.length, seen.outcome, seen.endedAt]).toEqual([1, reason, 50])
    expect(seen.outcome).not.toBeInstanceOf(StreamStalledError)
    expect(ended).toEqual([kind.tellsWhy ? reason : 'return'])
    expect(aborts).toEqual([reason])
    expect([clock.timers.size, listeners(controller.signal), told]).toEqual([0, 0, []])
  })

  it('ends everything that is read after it, and the source, where it is aborted already', async () => {
    const reason = new Error('never')
    const { clock, events } = watching(kind, dead, { ...hooks, signal: AbortSignal.abort(reason) })
    const seen = reading(clock, events)
    await settle()
    expect([seen.events, seen.outcome]).toEqual([[], reason])
    expect([clock.timers.size, told]).toEqual([0, []])
  })

  it('ends the source while the consumer holds, and the next read at once', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { clock, ended, events } = watching(kind, every(0, [delta('a'), delta('b')]), { signal: controller.signal })
    const iterator = events[Symbol.asyncIterator]()
    await iterator.next()
    await clock.advance(5000)
    controller.abort(reason)
    await settle()
    expect(ended.length).toBe(1)
    await expect(iterator.next()).rejects.toBe(reason)
    expect(clock.timers.size).toBe(0)
  })

  it('changes nothing after a stall', async () => {
    const controller = new AbortController()
    const { clock, ended, events } = watching(kind, dead, { signal: controller.signal })
    const iterator = events[Symbol.asyncIterator]()
    await iterator.next()
    const stalled = iterator.next().catch((error: unknown) => error)
    await clock.advance(100)
    controller.abort('later')
    await settle()
    expect(await stalled).toBeInstanceOf(StreamStalledError)
    expect([ended.length, listeners(controller.signal)]).toEqual([1, 0])
  })

  it('is let go of at the end', async () => {
    const controller = new AbortController()
    for (const last of ['end', new Error('broken')]) {
      const { clock, events } = watching(
        kind,
        [
          [0, delta('x')],
          [50, last],
        ] as Line[],
        { signal: controller.signal },
      )
      const seen = reading(clock, events)
      await clock.advance(100)
      expect([seen.outcome, listeners(controller.signal)]).toEqual([last === 'end' ? 'done' : last, 0])
    }
  })
})

describe("the caller's reason", () => {
  it.each([undefined, null, 'text', 0, new DOMException('slow', 'TimeoutError'), { code: 7 }])(
    'may be anything: %o',
    async (reason) => {
      for (const kind of QUEUES) {
        const controller = new AbortController()
        const { clock, events } = watching(kind, dead, { signal: controller.signal })
        const iterator = events[Symbol.asyncIterator]()
        await iterator.next()
        const read = iterator.next().then(
          () => 'resolved',
          (error: unknown) => [error],
        )
        controller.abort(reason)
        await settle()
        expect(await read).toEqual([controller.signal.reason])
        expect(clock.timers.size).toBe(0)
      }
    },
  )

  it('reaches the controller of an SDK stream that was aborted before it was watched', async () => {
    const reason = new Error('never')
    const { ended } = watching(sdk, dead, { signal: AbortSignal.abort(reason) })
    await settle()
    expect(ended).toEqual([reason])
  })

  it('reaches a ReadableStream that was aborted before it was watched', async () => {
    const reason = new Error('never')
    const { ended } = watching(objects, dead, { signal: AbortSignal.abort(reason) })
    await settle()
    expect(ended).toEqual([reason])
  })
})

import { describe, expect, it } from 'vitest'
import { type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { ASKED, queue } from './queues.ts'
import { reading } from './scripted.ts'
import { completed, created, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const SILENCES: WatchOptions = {
  source,
  firstContentMs: 100,
  contentIntervalMs: 100,
  livenessMs: 100,
  drainMs: 100,
  headersMs: 100,
}
const EVENTS = 10_000
const event = (n: number) => (n === EVENTS ? null : n === EVENTS - 1 ? completed : n === 0 ? created : delta(`${n}`))

describe.each(ASKED)('the source of %s', (_, kind, ask) => {
  const watching = (options: WatchOptions = SILENCES) => {
    const clock = new VirtualClock()
    const source = ask(event)
    const stream = watchStream(source.stream, { ...options, clock })
    return { clock, ...source, stream, iterator: () => kind.events(stream)[Symbol.asyncIterator]() }
  }

  it('is not asked for anything while nobody reads', async () => {
    const { clock, asked } = watching()
    await clock.advance(60_000)
    expect(asked()).toBe(0)
  })

  it('is asked for as much as is read, and no more', async () => {
    const { clock, asked, iterator } = watching()
    const events = iterator()
    for (let reads = 1; reads <= 50; reads++) {
      expect((await events.next()).value).toEqual(event(reads - 1))
      await clock.advance(1000)
      expect(asked()).toBe(reads)
    }
  })

  it('is asked for no more after the consumer has left', async () => {
    const { clock, asked, left, iterator } = watching()
    const events = iterator()
    for (let reads = 0; reads < 3; reads++) await events.next()
    await events.return?.()
    await clock.advance(60_000)
    expect([asked(), left()]).toEqual([3, 1])
  })

  it('is read to its end by who reads to its end: once for each event, and once for the end', async () => {
    const { asked, iterator } = watching()
    const events = iterator()
    let last: unknown
    let count = 0
    for (let step = await events.next(); !step.done; step = await events.next()) {
      last = step.value
      count++
    }
    expect([count, last, asked()]).toEqual([EVENTS, completed, EVENTS + 1])
  })

  it('is not read for ever when the whole time runs out and nobody has read', async () => {
    const clock = new VirtualClock()
    const endless = ask((n) => delta(`${n}`))
    watchStream(endless.stream, { source, clock, totalMs: 1000 })
    await clock.advance(1000)
    for (let turns = 0; turns < 5000 && clock.timers.size > 0; turns++) await settle()
    expect(clock.timers.size).toBe(0)
    await clock.advance(60_000)
    // What has come waits in a ReadableStream already; an iterable that nobody opened is left alone.
    expect(endless.asked()).toBeLessThan(kind === queue ? 1 : 17_000)
    expect(endless.left()).toBe(kind === queue ? 0 : 1)
  })
})

describe('a watched ReadableStream', () => {
  const [, , ask] = ASKED[1] as (typeof ASKED)[number]

  it('is piped no faster than its sink takes it', async () => {
    const clock = new VirtualClock()
    const { stream, asked } = ask(event)
    let written = 0
    let accept = () => {}
    const sink = new WritableStream({
      write() {
        written++
        return new Promise<void>((resolve) => {
          accept = resolve
        })
      },
    })
    const piped = watchStream(stream as ReadableStream, { ...SILENCES, clock }).pipeTo(sink)
    for (let n = 1; n <= 5; n++) {
      await clock.advance(1000)
      expect(written).toBe(n)
      // A writer may queue one.
      expect(asked()).toBeLessThanOrEqual(n + 1)
      accept()
    }
    expect(await Promise.race([piped, settle().then(() => 'on its way')])).toBe('on its way')
  })

  it('gives each branch of a tee everything', async () => {
    const clock = new VirtualClock()
    const { stream } = ask((n) => (n === 5 ? null : delta(`${n}`)))
    const [left, right] = watchStream(stream as ReadableStream, { ...SILENCES, clock }).tee()
    const texts = [0, 1, 2, 3, 4].map((n) => delta(`${n}`))
    const branches = [reading(clock, left), reading(clock, right)]
    await settle()
    expect(branches.map(({ events, outcome }) => [events, outcome])).toEqual([
      [texts, 'done'],
      [texts, 'done'],
    ])
    expect(clock.timers.size).toBe(0)
  })
})

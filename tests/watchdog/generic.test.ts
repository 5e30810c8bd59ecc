/** Content deadlines, the same whichever way a stream is watched. */

import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Line, type Reading, reading } from './scripted.ts'
import { clock, type Deadlines, restore, WAYS } from './ways.ts'

afterAll(restore)

const created = { type: 'response.created', response: { id: 'r' } }
const shell = { type: 'response.output_item.added', item: { type: 'message', content: [] } }
const heartbeat = { type: 'response.heartbeat' }
const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text })
const completed = { type: 'response.completed', response: { id: 'r' } }

/** Timers of deadlines; those of a script are its server's own. */
const timers = () => [...clock.timers].filter(({ keepAlive }) => !keepAlive)

describe.each(WAYS)('$name', ({ kind, watch }) => {
  /** Reads a script to its end, or for so long. */
  async function read(
    script: readonly Line[],
    deadlines: Deadlines,
    ms = 2000,
  ): Promise<Reading & { ended: unknown[] }> {
    const { stream, ended } = kind.open(clock, script)
    const result = reading(clock, kind.events(watch(stream, deadlines)))
    await clock.advance(ms)
    return Object.assign(result, { ended })
  }

  it('passes a stream that keeps its deadlines unchanged, and at the same times', async () => {
    const script: Line[] = [
      [5, created],
      [40, delta('a')],
      [90, delta('b')],
      [90, delta('c')],
      [10, completed],
      [10, 'end'],
    ]
    const { events, at, outcome, endedAt, ended } = await read(script, { firstContentMs: 50, contentIntervalMs: 100 })
    expect(events).toEqual([created, delta('a'), delta('b'), delta('c'), completed])
    expect(at).toEqual([5, 45, 135, 225, 235])
    expect([outcome, endedAt, ended]).toEqual(['done', 245, []])
  })

  it('ends a stream that says nothing at all with a stall before content', async () => {
    const { events, outcome, endedAt } = await read([[0, 'hang']], { firstContentMs: 50, contentIntervalMs: 20 })
    expect(events).toEqual([])
    expect(outcome).toMatchObject({
      name: 'StreamStalledError',
      phase: 'first_content',
      setting: 'firstContentMs',
      timeoutMs: 50,
      elapsedMs: 50,
      receivedAnyContent: false,
      retryable: true,
      deliveredEvents: 0,
      lastEventType: null,
    })
    expect(endedAt).toBe(50)
  })

  it('delivers what is no content, which satisfies nothing', async () => {
    const script: Line[] = [
      [10, created],
      [10, shell],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 60 })
    expect(events).toEqual([created, shell])
    expect(outcome).toMatchObject({ phase: 'first_content', deliveredEvents: 2, lastEventType: shell.type })
    expect(endedAt).toBe(60)
  })

  it.each([
    [20, 'not with'],
    [30, 'with'],
    [1, 'all the time until'],
  ])('is not kept waiting for content by heartbeats every %d ms, %s the deadline', async (everyMs) => {
    const script: Line[] = Array.from({ length: 2000 / everyMs }, () => [everyMs, heartbeat])
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 90 })
    expect(outcome).toMatchObject({ phase: 'first_content', timeoutMs: 90, receivedAnyContent: false })
    expect(events.length).toBeGreaterThanOrEqual(Math.floor(89 / everyMs))
    // One that comes with the deadline may win a turn, but not time.
    expect(endedAt).toBeGreaterThanOrEqual(90)
    expect(endedAt).toBeLessThan(90 + 2 * everyMs)
  })

  it('disarms the first deadline for good with the first content', async () => {
    const script: Line[] = [
      [40, delta('a')],
      [900, delta('b')],
      [900, 'end'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50 })
    expect([events.length, outcome, endedAt, timers()]).toEqual([2, 'done', 1840, []])
  })

  it('ends a stream that falls silent amid its content with a stall that may not be retried', async () => {
    const script: Line[] = [
      [0, created],
      [30, delta('a')],
      [30, delta('b')],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50, contentIntervalMs: 70 })
    expect(events).toEqual([created, delta('a'), delta('b')])
    expect(outcome).toMatchObject({
      name: 'StreamStalledError',
      phase: 'between_content',
      setting: 'contentIntervalMs',
      timeoutMs: 70,
      elapsedMs: 70,
      receivedAnyContent: true,
      retryable: false,
      deliveredEvents: 3,
      lastEventType: 'response.output_text.delta',
    })
    expect(endedAt).toBe(130)
  })

  it('gives each piece of content the whole interval, and nothing else', async () => {
    const script: Line[] = [
      [0, delta('a')],
      [60, delta('b')],
      [60, delta('c')],
      [30, heartbeat],
      [30, heartbeat],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt } = await read(script, { contentIntervalMs: 70 })
    expect(events.length).toBe(5)
    expect(outcome).toMatchObject({ phase: 'between_content', elapsedMs: 70, lastEventType: heartbeat.type })
    expect(endedAt).toBe(190)
  })

  it('lets the time before content be as long as it is where only the interval is set', async () => {
    const script: Line[] = [
      [0, created],
      [1500, delta('a')],
      [0, 'hang'],
    ]
    const { outcome, endedAt } = await read(script, { contentIntervalMs: 70 })
    expect(outcome).toMatchObject({ phase: 'between_content' })
    expect(endedAt).toBe(1570)
  })

  it('disarms everything with the terminal event, whatever comes after', async () => {
    const script: Line[] = [
      [0, delta('a')],
      [10, completed],
      [900, heartbeat],
      [900, 'end'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50, contentIntervalMs: 50 })
    expect(events).toEqual([delta('a'), completed, heartbeat])
    expect([outcome, endedAt, timers()]).toEqual(['done', 1810, []])
  })

  it('takes a terminal event for an end, though there was no content', async () => {
    const { outcome, endedAt } = await read(
      [
        [10, completed],
        [900, 'end'],
      ],
      { firstContentMs: 50 },
    )
    expect([outcome, endedAt]).toEqual(['done', 910])
  })

  it('waits by timers that keep no process alive', async () => {
    const { outcome } = await read([[0, 'hang']], { firstContentMs: 500 }, 100)
    expect(outcome).toBe(undefined)
    expect(timers().length).toBeGreaterThan(0)
    expect(timers().length).toBe(clock.timers.size)
    await clock.advance(500)
    expect(clock.timers.size).toBe(0)
  })

  it('leaves no timer behind once the stream has closed', async () => {
    const { outcome } = await read(
      [
        [10, delta('a')],
        [10, 'end'],
      ],
      { firstContentMs: 500, contentIntervalMs: 500 },
      20,
    )
    expect(outcome).toBe('done')
    expect(timers()).toEqual([])
  })

  it('gives the source up with the error when it stalls, and leaves no timer', async () => {
    const { outcome, ended } = await read(
      [
        [0, created],
        [0, 'hang'],
      ],
      { firstContentMs: 50 },
      50,
    )
    expect(ended).toEqual([kind.tellsWhy ? outcome : 'return'])
    expect(timers()).toEqual([])
  })

  it('tells of a stall once, before its consumer hears of the same error', async () => {
    const { stream } = kind.open(clock, [
      [0, created],
      [0, 'hang'],
    ])
    const heard: unknown[] = []
    const onStall = vi.fn(() => heard.push(result.outcome))
    const result = reading(clock, kind.events(watch(stream, { firstContentMs: 50 }, onStall)))
    await clock.advance(500)
    expect(onStall.mock.calls).toEqual([[result.outcome]])
    expect((onStall.mock.calls as unknown[][])[0]?.[0]).toBe(result.outcome)
    expect(heard).toEqual([undefined])
  })

  it('passes an error of the source itself as it is', async () => {
    const broken = new Error('socket hang up')
    const { events, outcome, endedAt } = await read(
      [
        [0, delta('a')],
        [10, broken],
      ],
      { contentIntervalMs: 50 },
    )
    expect(events).toEqual([delta('a')])
    expect(outcome).toBe(broken)
    expect(endedAt).toBe(10)
    expect(timers()).toEqual([])
  })

  it('gives the source up when its consumer leaves, and leaves no timer', async () => {
    const { stream, ended } = kind.open(clock, [
      [0, delta('a')],
      [10, delta('b')],
      [0, 'hang'],
    ])
    const watched = kind.events(watch(stream, { firstContentMs: 50, contentIntervalMs: 50 }))
    const left = (async () => {
      for await (const event of watched) return event
    })()
    await clock.advance(0)
    expect(await left).toEqual(delta('a'))
    expect(timers()).toEqual([])
    expect(ended.length).toBe(1)
  })
})

/** What `watchStream` gives in place of a stream: the very same where no deadline is set, and else another of its kind. */

import { describe, expect, it } from 'vitest'
import { type StreamDeadlines, type Streamed, watchStream } from '../../detector/watchdog/index.ts'
import { KINDS } from './kinds.ts'
import { type Line, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text })
const SILENT: Line[] = [[0, 'hang']]

const OFF: [string, StreamDeadlines | undefined][] = [
  ['no options', undefined],
  ['no deadlines', {}],
  ['0', { firstContentMs: 0, contentIntervalMs: 0, livenessMs: 0, totalMs: 0, drainMs: 0 }],
  ['-0 and negative numbers', { firstContentMs: -0, contentIntervalMs: -1, totalMs: Number.NEGATIVE_INFINITY }],
  ['NaN', { firstContentMs: Number.NaN, livenessMs: Number.NaN }],
  ['infinity', { contentIntervalMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY }],
  ['undefined', { firstContentMs: undefined, totalMs: undefined }],
  ['null', { firstContentMs: null, contentIntervalMs: null, livenessMs: null, totalMs: null, drainMs: null }],
]

describe.each(KINDS)('$name', (kind) => {
  const isLocked = (stream: Streamed) => {
    const body: unknown = 'body' in stream ? stream.body : stream
    return (body as Partial<ReadableStream>).locked ?? false
  }

  it.each(OFF)('is the very same where its deadlines are %s', async (_, deadlines) => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, SILENT)
    const options = deadlines === undefined ? [] : [{ ...deadlines, source, clock } as const]
    expect(watchStream(stream, ...options)).toBe(stream)
    const promise = Promise.resolve(stream)
    expect(watchStream(promise, ...options)).toBe(promise)
    expect(isLocked(stream)).toBe(false)
    expect(clock.timers.size).toBe(0)
  })

  it('is the very same where only the wait for it has a deadline', async () => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, SILENT)
    const options = { headersMs: 50, source, clock } as const
    expect(watchStream(stream, options)).toBe(stream)
    expect(await watchStream(Promise.resolve(stream), options)).toBe(stream)
    expect(isLocked(stream)).toBe(false)
    expect(clock.timers.size).toBe(0)
  })

  it.each<keyof StreamDeadlines>(['firstContentMs', 'contentIntervalMs', 'livenessMs', 'totalMs', 'drainMs'])(
    'is another where it has %s',
    (name) => {
      const clock = new VirtualClock()
      const { stream } = kind.open(clock, SILENT)
      expect(watchStream(stream, { [name]: 50, source, clock })).not.toBe(stream)
    },
  )

  it.each([undefined, 1000])('comes out of a promise as itself, headersMs %d', async (headersMs) => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, [
      [10, delta('a')],
      [0, 'hang'],
    ])
    const watched = await watchStream(Promise.resolve(stream), { headersMs, contentIntervalMs: 50, source, clock })
    expect(watched).not.toBe(stream)
    expect(Object.getPrototypeOf(watched)).toBe(Object.getPrototypeOf(stream))
    const { events, outcome, endedAt } = await (async () => {
      const result = reading(clock, kind.events(watched))
      await clock.advance(500)
      return result
    })()
    expect(events).toEqual([delta('a')])
    expect(outcome).toMatchObject({ phase: 'between_content', elapsedMs: 50 })
    expect(endedAt).toBe(60)
  })
})

/** The functions that have OpenRouter's signatures: what is theirs alone, beside the deadlines that all ways share. */

import { afterAll, describe, expect, it, vi } from 'vitest'
import type { StreamStalledError, StreamTimeoutOptions, StreamWatchdogHooks } from '../../detector/watchdog/index.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const clock = new VirtualClock()
// They take no clock: they have that of the process, from its first reading on.
const restore = clock.install()
const { applyChatStreamWatchdog, applyResponsesStreamWatchdog, applyStreamWatchdog } = await import(
  '../../detector/watchdog/index.ts'
)
afterAll(restore)

interface Typed {
  readonly type: string
}
const event = (type: string, more: object = {}) => ({ type: `response.${type}`, ...more })
const delta = event('output_text.delta', { delta: 'a' })
const hooks: StreamWatchdogHooks<Typed> = { isContentEvent: ({ type }) => type === delta.type }

const FUNCTIONS: [string, (stream: ReadableStream<Typed>, timeouts: StreamTimeoutOptions) => ReadableStream<Typed>][] =
  [
    ['applyStreamWatchdog', (stream, timeouts) => applyStreamWatchdog(stream, timeouts, hooks)],
    ['applyResponsesStreamWatchdog', applyResponsesStreamWatchdog<Typed>],
    ['applyChatStreamWatchdog', applyChatStreamWatchdog<Typed>],
  ]

async function read(watch: (stream: ReadableStream<Typed>) => ReadableStream<Typed>, script: readonly Line[]) {
  const { stream, cancelled } = pushed(clock, script)
  const result = reading(clock, watch(stream as ReadableStream<Typed>))
  await clock.advance(2000)
  return { ...result, cancelled }
}

describe.each(FUNCTIONS)('%s', (_, watch) => {
  it.each<[string, object]>([
    ['nothing', {}],
    ['0', { firstContentMs: 0, contentIntervalMs: 0 }],
    ['negative numbers', { firstContentMs: -1, contentIntervalMs: Number.NEGATIVE_INFINITY }],
    ['NaN', { firstContentMs: Number.NaN, contentIntervalMs: Number.NaN }],
    ['infinity', { firstContentMs: Number.POSITIVE_INFINITY }],
    ['undefined', { firstContentMs: undefined, contentIntervalMs: undefined }],
    ['what is no number', { firstContentMs: '50', contentIntervalMs: null }],
  ])('gives the stream itself where the deadlines are %s', (_, timeouts) => {
    const { stream } = pushed(clock, [])
    expect(watch(stream as ReadableStream<Typed>, timeouts)).toBe(stream)
    expect(stream.locked).toBe(false)
  })

  it('gives another stream where one deadline is set', () => {
    const { stream } = pushed(clock, [])
    expect(watch(stream as ReadableStream<Typed>, { firstContentMs: 0.5 })).not.toBe(stream)
    expect(stream.locked).toBe(true)
  })

  it.each([2 ** 31, 1e12, Number.MAX_VALUE])('can wait for %d ms, in timers that a runtime has', async (ms) => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const { outcome, endedAt } = await read(
      (stream) => watch(stream, { firstContentMs: ms, contentIntervalMs: ms }),
      [
        [500, delta],
        [500, 'end'],
      ],
    )
    expect([outcome, endedAt]).toEqual(['done', 1000])
    expect(timers).toHaveBeenCalled()
    expect(Math.max(...timers.mock.calls.map(([, wait = 0]) => wait))).toBeLessThan(2 ** 31)
    timers.mockRestore()
  })

  it('counts fractions of a ms', async () => {
    const { outcome } = await read((stream) => watch(stream, { firstContentMs: 0.5 }), [[0, 'hang']])
    expect(outcome).toMatchObject({ phase: 'first_content', timeoutMs: 0.5 })
  })

  it('refuses what is no stream, and one that is read already', () => {
    const { stream } = pushed(clock, [])
    stream.getReader()
    expect(() => watch(stream as ReadableStream<Typed>, { firstContentMs: 5 })).toThrow('stream: is locked to a reader')
    expect(() => watch({} as never, { firstContentMs: 5 })).toThrow('stream: an object is no')
  })
})

describe('a stream of Responses', () => {
  const shell = event('output_item.added', { item: { type: 'message', content: [] } })
  const watch = (timeouts: StreamTimeoutOptions) => (stream: ReadableStream<Typed>) =>
    applyResponsesStreamWatchdog(stream, timeouts)

  it('stalls before content, after its created and an empty message', async () => {
    const { events, outcome, endedAt } = await read(watch({ firstContentMs: 60 }), [
      [0, event('created')],
      [10, shell],
      [0, 'hang'],
    ])
    expect(events).toEqual([event('created'), shell])
    expect(outcome).toMatchObject({ phase: 'first_content', receivedAnyContent: false, retryable: true })
    expect(endedAt).toBe(60)
  })

  it('passes whole where it is healthy', async () => {
    const whole = [event('created'), shell, delta, event('output_text.done', { text: 'a' }), event('completed')]
    const script = [...whole.map((one): Line => [20, one]), [0, 'end'] as const]
    const { events, outcome } = await read(watch({ firstContentMs: 100, contentIntervalMs: 100 }), script)
    expect(events).toEqual(whole)
    expect(outcome).toBe('done')
  })

  it('has content with its reasoning, however late its text is', async () => {
    const { outcome } = await read(watch({ firstContentMs: 50 }), [
      [10, event('created')],
      [30, event('reasoning_summary_text.delta', { delta: 'hm' })],
      [400, delta],
      [0, event('completed')],
      [0, 'end'],
    ])
    expect(outcome).toBe('done')
  })

  it('stalls amid its content', async () => {
    const { outcome, endedAt } = await read(watch({ firstContentMs: 50, contentIntervalMs: 60 }), [
      [20, delta],
      [0, 'hang'],
    ])
    expect(outcome).toMatchObject({ phase: 'between_content', receivedAnyContent: true, retryable: false })
    expect(endedAt).toBe(80)
  })

  it('of a fusion lives on its analysis alone', async () => {
    const { outcome } = await read(watch({ firstContentMs: 100, contentIntervalMs: 100 }), [
      [0, event('created')],
      [10, event('fusion_call.in_progress')],
      [10, event('fusion_call.analysis.in_progress')],
      [70, event('fusion_call.analysis.completed', { analysis: { consensus: [] } })],
      [90, event('fusion_call.completed')],
      [90, event('completed')],
      [0, 'end'],
    ])
    expect(outcome).toBe('done')
  })

  it('that the server calls failed passes as it came', async () => {
    const failed = event('failed', { response: { error: { code: 'server_error', message: 'm' } } })
    for (const last of [failed, { type: 'error', code: 'server_error', message: 'm' }]) {
      const { events, outcome } = await read(watch({ firstContentMs: 50 }), [
        [0, event('created')],
        [0, last],
        [500, 'end'],
      ])
      expect(events).toEqual([event('created'), last])
      expect(outcome).toBe('done')
    }
  })
})

describe('classes of the caller', () => {
  it('make an event that is both an end and content an end', async () => {
    const ends = { ...hooks, isContentEvent: () => true, isTerminalEvent: ({ type }: Typed) => type === 'last' }
    const { outcome, endedAt } = await read(
      (stream) => applyStreamWatchdog(stream, { firstContentMs: 50, contentIntervalMs: 50 }, ends),
      [
        [10, { type: 'last' }],
        [900, 'end'],
      ],
    )
    expect([outcome, endedAt]).toEqual(['done', 910])
  })

  it('know no end where none is told', async () => {
    const { outcome } = await read(
      (stream) => applyStreamWatchdog(stream, { firstContentMs: 50 }, hooks),
      [
        [10, event('completed')],
        [0, 'hang'],
      ],
    )
    expect(outcome).toMatchObject({ phase: 'first_content', lastEventType: 'response.completed' })
  })

  it('that throw leave the event neutral, and the stream whole', async () => {
    const broken: StreamWatchdogHooks<Typed> = {
      isContentEvent() {
        throw new Error('broken')
      },
    }
    const { events, outcome, cancelled } = await read(
      (stream) => applyStreamWatchdog(stream, { firstContentMs: 50 }, broken),
      [
        [10, delta],
        [0, 'hang'],
      ],
    )
    expect(events).toEqual([delta])
    expect(outcome).toMatchObject({ phase: 'first_content' })
    expect(cancelled).toEqual([outcome])
  })

  it('hold beside an onStall that throws', async () => {
    const heard: StreamStalledError[] = []
    const onStall = (error: StreamStalledError) => {
      heard.push(error)
      throw new Error('broken')
    }
    const { outcome, cancelled } = await read(
      (stream) => applyStreamWatchdog(stream, { firstContentMs: 50 }, { ...hooks, onStall }),
      [[0, 'hang']],
    )
    expect(heard).toEqual([outcome])
    expect(cancelled).toEqual([outcome])
  })
})

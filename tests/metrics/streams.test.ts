import { describe, expect, test } from 'vitest'
import type { StreamBook } from '../../detector/watchdog/stream-book.ts'
import { type MetricName, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { HOSTILE } from './scenario.ts'

const METRICS = ['streams_started_total', 'streams_stalled_total', 'stream_retries_total'] as const

function pointsOf(watch: Turnwatch, name: MetricName) {
  const family = watch.metrics().find((one) => one.name === PREFIX + name)
  if (family?.type !== 'counter') throw new Error(`no counter ${name}`)
  return family.points
}

/** Every series of watched streams as `metric source phase-or-result`, with its value. */
function series(watch: Turnwatch): Record<string, number> {
  const rows = METRICS.flatMap((name) =>
    pointsOf(watch, name).map(({ labels, value }) => {
      const { source, phase, result } = labels
      return [[name, source, phase ?? result].filter((part) => part !== undefined).join(' '), value] as const
    }),
  )
  return Object.fromEntries(rows)
}

const ZEROS = {
  'streams_stalled_total anthropic headers': 0,
  'streams_stalled_total anthropic first_content': 0,
  'streams_stalled_total anthropic between_content': 0,
  'streams_stalled_total anthropic liveness': 0,
  'streams_stalled_total anthropic total': 0,
  'stream_retries_total anthropic content': 0,
  'stream_retries_total anthropic stalled': 0,
  'stream_retries_total anthropic failed': 0,
  'stream_retries_total anthropic aborted': 0,
}

describe('series of watched streams', () => {
  test('are absent until a stream is watched, whatever turns do', () => {
    const { watch } = fixture()
    watch.startTurn({ threadId: 'a', provider: 'codex', model: 'gpt' }).observe({ kind: 'token', stream: 'text' })
    watch.unclassified('anthropic', 'type')
    expect(series(watch)).toEqual({})
  })

  test('begin all at 0 with the first stream of their source', () => {
    const { watch } = fixture()
    watch.streamStarted('anthropic')
    expect(series(watch)).toEqual({ 'streams_started_total anthropic': 1, ...ZEROS })
  })

  test('begin with a stall as well, if that comes first', () => {
    const { watch } = fixture()
    watch.streamStalled('anthropic', 'headers')
    expect(series(watch)).toEqual({
      'streams_started_total anthropic': 0,
      ...ZEROS,
      'streams_stalled_total anthropic headers': 1,
    })
  })

  test('count each phase and result of each source for itself', () => {
    const { watch } = fixture()
    for (const source of ['anthropic', 'anthropic', 'anthropic', 'openai']) watch.streamStarted(source)
    for (const phase of ['headers', 'total', 'total'] as const) watch.streamStalled('anthropic', phase)
    watch.streamStalled('openai', 'liveness')
    for (const result of ['stalled', 'content', 'content'] as const) watch.streamRetried('anthropic', result)
    const counted = series(watch)
    expect(Object.keys(counted)).toHaveLength(20)
    expect(Object.fromEntries(Object.entries(counted).filter(([, value]) => value > 0))).toEqual({
      'streams_started_total anthropic': 3,
      'streams_started_total openai': 1,
      'streams_stalled_total anthropic headers': 1,
      'streams_stalled_total anthropic total': 2,
      'streams_stalled_total openai liveness': 1,
      'stream_retries_total anthropic content': 2,
      'stream_retries_total anthropic stalled': 1,
    })
  })

  test('are those of the watch that a watchdog was given, also by its methods alone', () => {
    const [{ watch }, { watch: other }] = [fixture(), fixture()]
    const { streamStarted, streamStalled, streamRetried }: StreamBook = watch
    streamStarted('anthropic')
    streamStalled('anthropic', 'first_content')
    streamRetried('anthropic', 'failed')
    expect(series(watch)).toMatchObject({
      'streams_started_total anthropic': 1,
      'streams_stalled_total anthropic first_content': 1,
      'stream_retries_total anthropic failed': 1,
    })
    expect(series(other)).toEqual({})
  })
})

describe('names of sources', () => {
  test('as bad as can be stay apart and keep their labels', () => {
    const { watch } = fixture()
    const labels = (name: MetricName) => pointsOf(watch, name).map(({ labels: { source } }) => source as string)
    HOSTILE.forEach((source, i) => {
      const before = labels('streams_started_total')
      for (let n = 0; n <= i; n++) watch.streamStarted(source)
      expect(labels('streams_started_total').slice(0, i)).toEqual(before)
    })
    for (const source of HOSTILE) watch.streamRetried(source, 'content')
    expect(pointsOf(watch, 'streams_started_total').map(({ value }) => value)).toEqual(HOSTILE.map((_, i) => i + 1))
    for (const name of METRICS) {
      const found = labels(name)
      expect(new Set(found).size, name).toBe(HOSTILE.length)
      expect(found.filter((label) => label.length > 200 || !label.isWellFormed() || /\p{Cc}/u.test(label))).toEqual([])
    }
    const retried = pointsOf(watch, 'stream_retries_total').filter(({ value }) => value > 0)
    expect(retried).toHaveLength(HOSTILE.length)
    expect(retried.every(({ labels: { result } }) => result === 'content')).toBe(true)
  })

  test('beyond 100 are other, and nothing is lost', () => {
    const { watch } = fixture()
    for (let i = 0; i < 5000; i++) watch.streamStarted(`source-${i}`)
    watch.streamStarted('source-99')
    watch.streamStalled('source-100', 'total')
    watch.streamRetried('other', 'aborted')
    const counted = series(watch)
    expect(Object.keys(counted)).toHaveLength(101 * 10)
    expect(counted).toMatchObject({
      'streams_started_total source-0': 1,
      'streams_started_total source-99': 2,
      'streams_started_total other': 4900,
      'streams_stalled_total source-99 total': 0,
      'streams_stalled_total other total': 1,
      'stream_retries_total other aborted': 1,
    })
  })

  test('a source that is really called other is counted with the rest, once', () => {
    const { watch } = fixture()
    watch.streamStarted('other')
    for (let i = 0; i < 101; i++) watch.streamStarted(`source-${i}`)
    const others = pointsOf(watch, 'streams_started_total').filter(({ labels }) => labels.source === 'other')
    expect(others).toEqual([{ labels: { source: 'other' }, value: 3 }])
  })

  test('that are none are other, and phases and results that are none are not counted: nothing throws', () => {
    const { watch } = fixture()
    const book = watch as unknown as Record<keyof StreamBook, (...args: unknown[]) => void>
    for (const source of [undefined, null, 7, Symbol('s'), Object.create(null), ['a']]) book.streamStarted(source)
    for (const word of [undefined, 'drain', '__proto__', 'constructor', Symbol('s'), {}]) {
      book.streamStalled('anthropic', word)
      book.streamRetried('anthropic', word)
    }
    expect(pointsOf(watch, 'streams_started_total')).toEqual([{ labels: { source: 'other' }, value: 6 }])
    expect(Object.values(series(watch)).reduce((sum, value) => sum + value)).toBe(6)
  })
})

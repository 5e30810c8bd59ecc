import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { SelfCounters } from '../../detector/self-counters.ts'
import { RETRY_RESULTS, STALL_PHASES } from '../../detector/watchdog/stream-book.ts'
import { catalogue, type MetricName, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import type { Family } from '../../instrumentation/metrics/family.ts'
import { distinctLabels, LabelBook } from '../../instrumentation/metrics/label-book.ts'
import { labelValue } from '../../instrumentation/metrics/label-value.ts'
import { labelValues, OPEN_LABELS } from '../../instrumentation/metrics/label-values.ts'
import { FAILURE_REASONS } from '../../notifier/channel.ts'
import { NotifierCounters } from '../../notifier/counters.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { everything, HOSTILE } from './scenario.ts'

const MODEL = { provider: 'codex', model: 'gpt' }
const ENDED = { kind: 'turn.ended', outcome: 'completed' } as const

function labelsOf(watch: Turnwatch, name: MetricName, label: string): string[] {
  const { points } = watch.metrics().find((family) => family.name === PREFIX + name) as Family
  return points.map(({ labels }) => labels[label] as string)
}

describe('what is cleaned or cut to the same label stays apart', () => {
  const start = (watch: Turnwatch, id: string) => watch.startTurn({ threadId: id, turnId: id, ...MODEL })

  test('threads, turns, providers, models, sources and types', () => {
    const { watch } = fixture()
    for (const value of HOSTILE) {
      watch.startTurn({ threadId: value, turnId: value, provider: value, model: value })
      watch.unclassified(value, 'type')
      watch.unclassified('source', value)
    }
    const all = HOSTILE.length
    for (const label of ['thread', 'turn', 'provider', 'model']) {
      expect(new Set(labelsOf(watch, 'thread_info', label)).size, label).toBe(all)
    }
    expect(new Set(labelsOf(watch, 'turns_started_total', 'model')).size).toBe(all)
    expect(new Set(labelsOf(watch, 'unclassified_events_total', 'source')).size).toBe(all + 1)
    expect(new Set(labelsOf(watch, 'unclassified_events_total', 'type')).size).toBe(all + 1)
  })

  test('names with a line break at the seam of a pair', () => {
    const { watch } = fixture()
    watch.startTurn({ threadId: '1', provider: 'a\nb', model: 'c' })
    watch.startTurn({ threadId: '2', provider: 'a', model: 'b\nc' })
    watch.unclassified('a\nb', 'c')
    watch.unclassified('a', 'b\nc')
    expect(labelsOf(watch, 'turns_started_total', 'provider')).toEqual(['ab', 'a'])
    expect(labelsOf(watch, 'turns_started_total', 'model')).toEqual(['c', 'bc'])
    expect(labelsOf(watch, 'unclassified_events_total', 'type')).toEqual(['c', 'bc'])
  })

  test('a value has its plain label where no other value has it', () => {
    for (const value of HOSTILE) {
      const { watch } = fixture()
      watch.startTurn({ threadId: value, turnId: value, provider: value, model: value, parentThreadId: 'boss' })
      const [info] = (watch.metrics().find(({ name }) => name === 'turnwatch_thread_info') as Family).points
      const label = labelValue(value)
      expect(info?.labels).toEqual({ thread: label, turn: label, parent: 'boss', provider: label, model: label })
    }
  })

  test('a thread keeps its label while it runs, whoever comes and goes', () => {
    const { watch } = fixture()
    const threads = () => labelsOf(watch, 'thread_stale', 'thread').sort()
    start(watch, 'a\u0000b')
    expect(threads()).toEqual(['ab'])
    start(watch, 'ab')
    const [plain, hashed] = threads()
    expect([plain, hashed]).toEqual(['ab', expect.stringMatching(/^ab~[\da-f]{8}$/)])
    watch.observe('a\u0000b', ENDED)
    expect(threads(), 'the other one was the first').toEqual([hashed])
    start(watch, 'a\u0001b')
    expect(threads()).toEqual(['ab', hashed])
    watch.observe('ab', ENDED)
    watch.startTurn({ threadId: 'ab', turnId: 'its next turn', ...MODEL })
    expect(threads(), 'before the next scrape, so that its series goes on').toEqual(['ab', hashed])
  })

  test('a thread keeps its label where it is beyond the cap for a while', () => {
    const { watch, pass } = fixture()
    for (const id of ['ab', 'a\u0000b', 'a\u0001b']) start(watch, id)
    const before = labelsOf(watch, 'thread_stale', 'thread').sort()
    pass(5)
    for (const id of ['a\u0000b', 'a\u0001b']) watch.observe(id, { kind: 'token', stream: 'text' })
    for (let i = 0; i < 499; i++) start(watch, `other ${i}`)
    pass(1)
    for (const id of ['a\u0000b', 'a\u0001b']) watch.observe(id, { kind: 'token', stream: 'text' })
    expect(labelsOf(watch, 'thread_stale', 'thread').filter((label) => label.startsWith('ab'))).toEqual(['ab'])
    for (let i = 0; i < 499; i++) watch.observe(`other ${i}`, ENDED)
    expect(labelsOf(watch, 'thread_stale', 'thread').sort()).toEqual(before)
  })

  test('the parent of a thread has the label that it has as a thread', () => {
    const { watch } = fixture()
    start(watch, 'ab')
    start(watch, 'a\u0000b')
    watch.startTurn({ threadId: 'child', turnId: 't', ...MODEL, parentThreadId: 'a\u0000b' })
    const [, , child] = (watch.metrics().find(({ name }) => name === 'turnwatch_thread_info') as Family).points
    expect(child?.labels.parent).toMatch(/^ab~[\da-f]{8}$/)
    expect(labelsOf(watch, 'thread_stale', 'thread')).toContain(child?.labels.parent)
  })

  test('a model keeps its label for good, as others come', () => {
    const { watch } = fixture()
    const models = () => labelsOf(watch, 'turns_started_total', 'model')
    watch.startTurn({ threadId: '1', provider: 'codex', model: 'a\u0000b' })
    const first = models()
    watch.startTurn({ threadId: '2', provider: 'codex', model: 'ab' })
    const second = models()
    watch.startTurn({ threadId: '3', provider: 'codex', model: 'a\u0001b' })
    expect(first).toEqual(['ab'])
    expect(second).toEqual(['ab', expect.stringMatching(/^ab~[\da-f]{8}$/)])
    expect(models().slice(0, 2)).toEqual(second)
    expect(new Set(models()).size).toBe(3)
  })

  test('a model that is really called other is counted with the rest, once', () => {
    const { watch } = fixture()
    watch.startTurn({ threadId: 'first', provider: 'other', model: 'other' })
    for (let i = 0; i < 52; i++) watch.startTurn({ threadId: `t${i}`, provider: 'codex', model: `m${i}` })
    const { points } = watch.metrics().find(({ name }) => name === 'turnwatch_turns_started_total') as Family
    expect(points.filter(({ labels }) => labels.model === 'other')).toEqual([
      { labels: { provider: 'other', model: 'other' }, value: 4 },
    ])
  })

  /** Few characters, so that labels collide, and a value that looks like the hash of another. */
  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '\u0000', '\ud800', '\ufffd'), maxLength: 3 }),
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ maxLength: 3 }).map((one) => distinctLabels([`${one}a`, `${one}\u0000a`])[1] as string),
  )

  test('whatever comes and goes, in whatever order', () => {
    fc.assert(
      fc.property(fc.array(fc.uniqueArray(value, { maxLength: 8 }), { maxLength: 8 }), (scrapes) => {
        const book = new LabelBook()
        let before = new Map<string, string>()
        for (const there of scrapes) {
          const isThere = (one: string) => there.includes(one)
          book.keep(isThere)
          const labels = new Map(there.map((one) => [one, book.label(one, isThere)]))
          expect(new Set(labels.values()).size).toBe(there.length)
          for (const [one, label] of labels) {
            if (before.has(one)) expect(label).toBe(before.get(one))
            expect(label.isWellFormed() && label.length <= 200 && !/\p{Cc}/u.test(label)).toBe(true)
          }
          before = labels
        }
      }),
    )
  })
})

describe('the values that a label may have', () => {
  let families: Family[]
  beforeAll(async () => {
    families = (await everything()).watch.metrics()
  })

  const definitions = Object.entries(catalogue) as [MetricName, (typeof catalogue)[MetricName]][]

  test('every label has a closed set of them, or is told of', () => {
    for (const [name, { labels }] of definitions) {
      for (const label of labels) {
        expect(labelValues(name, label) ?? OPEN_LABELS[label], `${name} ${label}`).toBeDefined()
      }
    }
  })

  test('there are no others, and a set is there from the start', () => {
    for (const { name, points } of families) {
      const key = name.slice(PREFIX.length) as MetricName
      for (const label of catalogue[key].labels) {
        const allowed = labelValues(key, label)
        if (allowed === null) continue
        const found = [...new Set(points.map(({ labels }) => labels[label] as string))].sort()
        if (key === 'thread_state') expect(allowed, name).toEqual(expect.arrayContaining(found))
        else expect(found, `${name} ${label}`).toEqual([...allowed].sort())
      }
    }
  })

  test('are those of the rooms that count them', () => {
    const self = new SelfCounters()
    expect(labelValues('internal_errors_total', 'where')).toEqual(Object.keys(self.faults))
    expect(labelValues('store_errors_total', 'op')).toEqual(Object.keys(self.storeErrors))
    expect(labelValues('notifications_failed_total', 'reason')).toEqual(FAILURE_REASONS)
    expect(labelValues('streams_stalled_total', 'phase')).toEqual(STALL_PHASES)
    expect(labelValues('stream_retries_total', 'result')).toEqual(RETRY_RESULTS)
    const { suppressed } = new NotifierCounters([])
    expect(labelValues('notifications_suppressed_total', 'reason')).toEqual(Object.keys(suppressed))
  })
})

import { describe, expect, test } from 'vitest'
import { catalogue, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import type { Family, Point } from '../../instrumentation/metrics/family.ts'
import { labelValue } from '../../instrumentation/metrics/label-value.ts'
import type { MetricsOptions, Turnwatch } from '../../turnwatch.ts'
import { fixture } from '../liveness/manual-clock.ts'

const M = ['provider', 'model']
const MODEL = { provider: 'codex', model: 'gpt' }

/** What the contract lists for turns and for the watch itself: type and labels, in any order. */
const CONTRACT: Record<string, [Family['type'], string[]]> = {
  thread_silence_seconds: ['gauge', ['thread']],
  thread_silence_threshold_seconds: ['gauge', ['thread']],
  thread_last_progress_timestamp_seconds: ['gauge', ['thread']],
  thread_stale: ['gauge', ['thread']],
  thread_info: ['gauge', ['thread', 'turn', 'parent', ...M]],
  thread_state: ['gauge', ['thread', 'state']],
  thread_series_omitted: ['gauge', []],
  turns_running: ['gauge', [...M, 'state']],
  turns_waiting: ['gauge', ['reason']],
  wait_max_seconds: ['gauge', ['reason']],
  turns_stale: ['gauge', [...M, 'reason']],
  silence_max_seconds: ['gauge', M],
  open_tool_max_seconds: ['gauge', M],
  turns_not_started: ['gauge', []],
  interrupts_unsettled: ['gauge', []],
  turns_unsettled: ['gauge', []],
  turns_started_total: ['counter', M],
  events_total: ['counter', [...M, 'class']],
  turns_ended_total: ['counter', [...M, 'outcome']],
  turns_suspected_total: ['counter', [...M, 'phase']],
  turns_stale_total: ['counter', [...M, 'reason', 'phase']],
  turns_recovered_total: ['counter', [...M, 'reason', 'phase']],
  turn_duration_seconds: ['histogram', [...M, 'outcome']],
  time_to_first_token_seconds: ['histogram', M],
  event_gap_seconds: ['histogram', [...M, 'phase']],
  stale_duration_seconds: ['histogram', ['resolution']],
  stale_detection_delay_seconds: ['histogram', []],
  threshold_seconds: ['gauge', [...M, 'phase']],
  healthy_gap_max_seconds: ['gauge', [...M, 'phase']],
  healthy_samples: ['gauge', [...M, 'phase']],
  unclassified_events_total: ['counter', ['source', 'type']],
  prompt_cache_read_tokens_total: ['counter', M],
  prompt_cache_write_tokens_total: ['counter', [...M, 'ttl']],
  prompt_cache_uncached_tokens_total: ['counter', M],
  streams_started_total: ['counter', ['source']],
  streams_stalled_total: ['counter', ['source', 'phase']],
  stream_retries_total: ['counter', ['source', 'result']],
  ticks_total: ['counter', []],
  observed_seconds_total: ['counter', []],
  host_suspends_total: ['counter', []],
  host_suspend_seconds_total: ['counter', []],
  last_tick_timestamp_seconds: ['gauge', []],
  tick_lag_seconds: ['histogram', []],
  internal_errors_total: ['counter', ['where']],
  store_errors_total: ['counter', ['op']],
  notifications_total: ['counter', ['channel']],
  notifications_failed_total: ['counter', ['channel', 'reason']],
  notifications_suppressed_total: ['counter', ['reason']],
  notifications_pending: ['gauge', ['channel']],
  notification_oldest_pending_seconds: ['gauge', ['channel']],
  notification_delay_seconds: ['histogram', ['channel']],
  build_info: ['gauge', ['version', 'node_version', 'catalogue']],
}

function familyOf(watch: Turnwatch, name: string, options: MetricsOptions = {}): Family {
  const family = watch.metrics(options).find((one) => one.name === PREFIX + name)
  if (family === undefined) throw new Error(`no metric ${name}`)
  return family
}

function pointsOf(watch: Turnwatch, name: string, options: MetricsOptions = {}): Point[] {
  const family = familyOf(watch, name, options)
  if (family.type === 'histogram') throw new Error(`${name} is a histogram`)
  return [...family.points]
}

/** Values by the label values that are asked for, joined with a space. */
function values(watch: Turnwatch, name: string, labels: string[], options: MetricsOptions = {}) {
  const points = pointsOf(watch, name, options)
  return Object.fromEntries(points.map(({ labels: of, value }) => [labels.map((l) => of[l]).join(' '), value]))
}

const sorted = (names: Iterable<string>) => [...names].sort()

describe('the catalogue', () => {
  test.each(Object.entries(CONTRACT))('has %s with its type and labels', (name, [type, labels]) => {
    expect(catalogue).toHaveProperty(name)
    const definition = catalogue[name as keyof typeof catalogue]
    expect({ type: definition.type, labels: sorted(definition.labels) }).toEqual({ type, labels: sorted(labels) })
  })

  test('is what a watch exports, each point with exactly the labels of its metric', () => {
    const at = fixture({ notify: () => {} })
    const { watch } = at
    watch.startTurn({ threadId: 'a', ...MODEL }).observe({ kind: 'wait.started', id: 'w', reason: 'input' })
    watch.startTurn({ threadId: 'b', ...MODEL }).observe({ kind: 'turn.ended', outcome: 'completed' })
    watch.unclassified('codex-exec', 'item.new')
    watch.streamStarted('openai-responses')
    const families = watch.metrics()
    expect(families.map(({ name }) => name)).toEqual(Object.keys(catalogue).map((name) => PREFIX + name))
    for (const { name, type, points } of families) {
      const definition = catalogue[name.slice(PREFIX.length) as keyof typeof catalogue]
      expect(type, name).toBe(definition.type)
      expect(points.length, `${name} has a point`).toBeGreaterThan(0)
      for (const { labels } of points) expect(sorted(Object.keys(labels)), name).toEqual(sorted(definition.labels))
    }
  })

  test('follows the naming rules of Prometheus', () => {
    for (const [name, { type, help, unit }] of Object.entries(catalogue)) {
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      if (unit === 's') expect(name).toMatch(/_seconds(_total)?$/)
      expect(help, name).toMatch(/^[A-Z].*\.$/)
    }
  })
})

describe('every known combination starts at 0', () => {
  const PHASES = ['first-token', 'after-tool', 'mid-stream']
  const REASONS = ['silence', 'provider-dead', 'provider-error']
  const WAITS = 'approval input auth hook subagent background compaction retry queue wakeup'.split(' ')
  const pairs = (a: string[], b: string[]) => a.flatMap((one) => b.map((other) => `${one} ${other}`))
  const zero = (keys: string[]) => Object.fromEntries(keys.map((key) => [key, 0]))

  test.each([
    ['turns_running', ['state'], [...PHASES, 'tool', 'waiting']],
    ['turns_stale', ['reason'], REASONS],
    ['silence_max_seconds', ['model'], ['gpt']],
    ['open_tool_max_seconds', ['model'], ['gpt']],
    ['events_total', ['class'], ['token', 'progress', 'side', 'unknown', 'after-end']],
    ['turns_ended_total', ['outcome'], ['completed', 'incomplete', 'aborted', 'error', 'lost']],
    ['turns_suspected_total', ['phase'], PHASES],
    ['turns_stale_total', ['reason', 'phase'], pairs(REASONS, PHASES)],
    ['turns_recovered_total', ['reason', 'phase'], pairs(REASONS, PHASES)],
    ['turns_waiting', ['reason'], WAITS],
    ['wait_max_seconds', ['reason'], WAITS],
    [
      'internal_errors_total',
      ['where'],
      ['source', 'clock', 'tick', 'listener', 'verify', 'store', 'collector', 'notifier'],
    ],
    ['notifications_total', ['channel'], ['callback', 'mail']],
    [
      'notifications_failed_total',
      ['channel', 'reason'],
      pairs(
        ['callback', 'mail'],
        ['timeout', 'connection', 'client_error', 'server_error', 'rejected', 'store', 'other'],
      ),
    ],
    ['notifications_suppressed_total', ['reason'], ['managed', 'no-parent', 'recovered', 'ended', 'expired']],
    ['notifications_pending', ['channel'], ['callback', 'mail']],
    ['notification_oldest_pending_seconds', ['channel'], ['callback', 'mail']],
    ['prompt_cache_read_tokens_total', ['model'], ['gpt']],
    ['prompt_cache_write_tokens_total', ['ttl'], ['5m', '1h', 'unknown']],
    ['prompt_cache_uncached_tokens_total', ['model'], ['gpt']],
    ['store_errors_total', ['op'], ['load', 'save', 'close', 'claim', 'outbox']],
    ['thread_series_omitted', [], ['']],
    ['turns_not_started', [], ['']],
    ['interrupts_unsettled', [], ['']],
    ['turns_unsettled', [], ['']],
    ['host_suspends_total', [], ['']],
    ['host_suspend_seconds_total', [], ['']],
  ])('%s by %j', (name, labels, keys) => {
    const { watch } = fixture({ notify: { channels: [() => {}, { name: 'mail', deliver: () => {} }] } })
    // A model that is known, of which no turn has run.
    watch.learn([{ id: 'stats/t/1', ...MODEL, outcome: 'completed', timeToFirstTokenMs: 1000, maxGapMs: 1000 }])
    expect(values(watch, name, labels)).toEqual(zero(keys))
  })

  test('histograms too', () => {
    const { watch } = fixture()
    watch.startTurn({ threadId: 'a', ...MODEL })
    const series = (name: string) => {
      const { type, points } = familyOf(watch, name)
      if (type !== 'histogram') throw new Error(`${name} is no histogram`)
      return points.map(({ labels, counts, sum }) => [
        Object.values(labels).join(' '),
        sum,
        Math.max(...[...(counts as number[])]),
      ])
    }
    expect(series('event_gap_seconds')).toEqual(PHASES.map((phase) => [`codex gpt ${phase}`, 0, 0]))
    expect(series('turn_duration_seconds')).toHaveLength(5)
    expect(series('time_to_first_token_seconds')).toEqual([['codex gpt', 0, 0]])
    expect(series('stale_duration_seconds')).toEqual(['recovered', 'ended', 'lost'].map((one) => [one, 0, 0]))
    expect(series('stale_detection_delay_seconds')).toEqual([['', 0, 0]])
  })
})

describe('series of running threads', () => {
  function stalled(count: number) {
    const at = fixture()
    const start = (threadId: string) => at.watch.startTurn({ threadId, turnId: `turn of ${threadId}`, ...MODEL })
    start('stale')
    at.pass(30)
    start('suspect')
    at.pass(121)
    for (let i = 0; i < count; i++) start(`new-${i}`)
    return { ...at, start }
  }

  test('exist while the turn runs and are gone when it ends', () => {
    const { watch, pass } = fixture()
    watch.startTurn({ threadId: 'sub.boss.a', turnId: 't1', ...MODEL }).observe({ kind: 'token', stream: 'text' })
    pass(12)
    expect(values(watch, 'thread_silence_seconds', ['thread'])).toEqual({ 'sub.boss.a': 12 })
    expect(values(watch, 'thread_silence_threshold_seconds', ['thread'])).toEqual({ 'sub.boss.a': 90 })
    expect(values(watch, 'thread_last_progress_timestamp_seconds', ['thread'])).toEqual({
      'sub.boss.a': Date.parse('2026-01-05T08:00:03.000Z') / 1000,
    })
    expect(values(watch, 'thread_stale', ['thread'])).toEqual({ 'sub.boss.a': 0 })
    expect(values(watch, 'thread_state', ['thread', 'state'])).toEqual({ 'sub.boss.a running': 1 })
    expect(values(watch, 'thread_info', ['thread', 'turn', 'parent', 'provider', 'model'])).toEqual({
      'sub.boss.a t1 boss codex gpt': 1,
    })
    watch.observe('sub.boss.a', { kind: 'turn.ended', outcome: 'completed' })
    for (const name of Object.keys(catalogue).filter((one) => catalogue[one as 'thread_stale'].labels[0] === 'thread'))
      expect(pointsOf(watch, name), name).toEqual([])
  })

  test.each([
    ['tool', { kind: 'tool.started', id: '1' }],
    ['waiting', { kind: 'wait.started', id: '1', reason: 'approval' }],
  ] as const)('a turn in state %s has no silence', (state, event) => {
    const { watch, pass } = fixture()
    watch.startTurn({ threadId: 'a', ...MODEL }).observe(event)
    pass(500)
    expect(values(watch, 'thread_silence_seconds', ['thread'])).toEqual({ a: 0 })
    expect(values(watch, 'thread_state', ['thread', 'state'])).toEqual({ [`a ${state}`]: 1 })
    expect(values(watch, 'turns_running', ['state'])[state]).toBe(1)
  })

  test('at most 500, the stale and the suspect first; the others are counted', () => {
    const { watch } = stalled(600)
    const threads = pointsOf(watch, 'thread_stale')
    expect(threads).toHaveLength(500)
    expect(threads[0]).toEqual({ labels: { thread: 'stale' }, value: 1 })
    expect(threads[1]).toEqual({ labels: { thread: 'suspect' }, value: 0 })
    expect(values(watch, 'thread_series_omitted', [])).toEqual({ '': 102 })
    expect(values(watch, 'turns_running', ['state'])['first-token'], 'aggregates count all').toBe(602)
  })

  test('beyond the cap the silent ones go before those that stream', () => {
    const { watch, pass, start } = stalled(498)
    pass(10)
    start('streams')
    const threads = pointsOf(watch, 'thread_silence_seconds').map(({ labels }) => labels.thread)
    expect(threads).toHaveLength(500)
    expect(threads).not.toContain('streams')
  })

  test('stale: only those; off: none', () => {
    const { watch } = stalled(3)
    const threads = (perThread: 'all' | 'stale' | 'off') =>
      pointsOf(watch, 'thread_stale', { perThread }).map(({ labels }) => labels.thread)
    expect(threads('all')).toHaveLength(5)
    expect(threads('stale')).toEqual(['stale'])
    expect(threads('off')).toEqual([])
    expect(values(watch, 'thread_series_omitted', [], { perThread: 'off' })).toEqual({ '': 0 })
    expect(values(watch, 'turns_stale', ['reason'], { perThread: 'off' })).toMatchObject({ silence: 1 })
  })
})

describe('label values', () => {
  test('beyond 50 pairs of provider and model the rest is other, and nothing is lost', () => {
    const { watch } = fixture()
    for (let i = 0; i < 53; i++) watch.startTurn({ threadId: `t${i}`, provider: 'codex', model: `m${i}` })
    const started = values(watch, 'turns_started_total', ['provider', 'model'])
    expect(Object.keys(started)).toHaveLength(51)
    expect(started['other other']).toBe(3)
    expect(started['codex m49']).toBe(1)
    expect(values(watch, 'turns_running', ['provider', 'model', 'state'])['other other first-token']).toBe(3)
  })

  test.each([
    ['plain', 'plain'],
    ['a\u0000b\u007f\u0085\tc\nd\re', 'abcde'],
    ['half \ud83e pair', 'half \ufffd pair'],
    ['"quoted\\"', '"quoted\\"'],
    ['🦀 ünïcode', '🦀 ünïcode'],
    ['x'.repeat(200), 'x'.repeat(200)],
  ])('%j is %j', (value, label) => {
    expect(labelValue(value)).toBe(label)
  })

  test('what is too long is cut at 200 characters and stays apart', () => {
    const [one, other] = [labelValue(`${'x'.repeat(299)}a`), labelValue(`${'x'.repeat(299)}b`)]
    expect(one).toMatch(/^x{191}~[\da-f]{8}$/)
    expect(other).toMatch(/^x{191}~[\da-f]{8}$/)
    expect(one).not.toBe(other)
    expect(labelValue('🦀'.repeat(300)).isWellFormed()).toBe(true)
  })

  test('two threads with ids of 300 characters have series of their own', () => {
    const { watch } = fixture()
    for (const end of 'ab') watch.startTurn({ threadId: 'x'.repeat(299) + end, ...MODEL })
    expect(Object.keys(values(watch, 'thread_stale', ['thread']))).toHaveLength(2)
  })

  test('types that a source does not know are bounded', () => {
    const { watch } = fixture()
    for (let i = 0; i < 500; i++) watch.unclassified('codex-exec', `type-${i}`)
    const counted = values(watch, 'unclassified_events_total', ['source', 'type'])
    expect(Object.keys(counted).length).toBeLessThanOrEqual(101)
    expect(counted['codex-exec other']).toBe(400)
  })

  test('sources are too: beyond the types that are counted, a source that had none is other', () => {
    const { watch } = fixture()
    for (let i = 0; i < 5000; i++) watch.unclassified(`source-${i}`, 'type')
    watch.unclassified('source-0', 'type')
    watch.unclassified('source-0', 'new')
    watch.unclassified('new', 'other')
    const counted = values(watch, 'unclassified_events_total', ['source', 'type'])
    expect(Object.keys(counted)).toHaveLength(102)
    expect(counted).toMatchObject({
      'source-0 type': 2,
      'source-99 type': 1,
      'source-0 other': 1,
      'other other': 4901,
    })
  })
})

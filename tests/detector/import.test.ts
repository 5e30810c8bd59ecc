import { describe, expect, it } from 'vitest'
import { samplesOf } from '../../instrumentation/turn-stats.ts'
import { completed, healthyRecords, started, token, WatchedHost } from './watched-host.ts'

const v1b = {
  id: 'stats/a/1',
  provider: 'codex',
  model: 'm',
  outcome: 'completed',
  timeToFirstTokenMs: 1500,
  maxGapMs: 9000,
}
const sample = (phase: string, silenceMs: number) => ({
  id: 'stats/a/1',
  provider: 'codex',
  model: 'm',
  phase,
  silenceMs,
})

describe('the samples of a stored record', () => {
  it('v1b: one to first-token, and its longest gap to mid-stream and after-tool', () => {
    expect(samplesOf(v1b)).toEqual([
      sample('first-token', 1500),
      sample('mid-stream', 9000),
      sample('after-tool', 9000),
    ])
  })

  it('ours: the judged maxima, and none where none was judged', () => {
    const turnwatch = { v: 1, firstTokenMs: 1400, midStreamMs: null, afterToolMs: 3000 }
    expect(samplesOf({ ...v1b, turnwatch })).toEqual([sample('first-token', 1400), sample('after-tool', 3000)])
  })

  it('ours of a later version: none', () => {
    expect(samplesOf({ ...v1b, turnwatch: { v: 2, firstTokenMs: 1400 } })).toEqual([])
  })

  it('a model may be missing', () => {
    const { model: _, ...without } = v1b
    expect(samplesOf(without).map((one) => one.model)).toEqual([null, null, null])
  })

  it.each<[string, unknown]>([
    ['nothing', null],
    ['a string', 'x'],
    ['no id', { ...v1b, id: undefined }],
    ['an empty id', { ...v1b, id: '' }],
    ['a number as id', { ...v1b, id: 5 }],
    ['no provider', { ...v1b, provider: undefined }],
    ['a model that is no text', { ...v1b, model: 7 }],
    ['an aborted turn', { ...v1b, outcome: 'aborted' }],
    ['a failed turn', { ...v1b, outcome: 'error' }],
    ['a turn without a token', { ...v1b, timeToFirstTokenMs: null }],
    ['no time to the first token', { ...v1b, timeToFirstTokenMs: undefined }],
    ['NaN', { ...v1b, maxGapMs: Number.NaN }],
    ['infinity', { ...v1b, maxGapMs: Number.POSITIVE_INFINITY }],
    ['a negative number', { ...v1b, timeToFirstTokenMs: -1 }],
    ['a number as text', { ...v1b, maxGapMs: '9000' }],
    ['more than a day', { ...v1b, maxGapMs: 86_400_001 }],
  ])('%s: none', (_name, record) => {
    expect(samplesOf(record)).toEqual([])
  })

  it('invalid numbers among the judged maxima give none, the others do', () => {
    const turnwatch = { v: 1, firstTokenMs: Number.NaN, midStreamMs: -5, afterToolMs: 3000 }
    expect(samplesOf({ ...v1b, turnwatch })).toEqual([sample('after-tool', 3000)])
  })
})

describe('an import', () => {
  const samples = (host: WatchedHost) => host.watch.thresholds().map((row) => row.samples)

  it('takes each id once, within a call and over calls, and says how many gave a sample', () => {
    const host = new WatchedHost()
    const records = healthyRecords(5, 1000)
    expect(host.watch.learn([...records, ...records, { junk: true }])).toBe(5)
    expect(host.watch.learn(records)).toBe(0)
    expect(samples(host)).toEqual([5, 5, 5])
  })

  it('of the record of a turn that was learned live counts nothing', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .send(3000, token, completed)
      .run(4000)
    expect(samples(host)).toEqual([1, 0, 1])
    expect(host.watch.learn(host.ended.map(({ stats }) => stats))).toBe(0)
    expect(samples(host)).toEqual([1, 0, 1])
  })

  it('of a record of a turn that ends live later counts once, too', () => {
    const host = new WatchedHost()
    host.watch.learn([{ ...v1b, id: 'stats/t/t' }])
    host
      .send(0, started({ turn: 't' }), token)
      .send(3000, token, completed)
      .run(4000)
    expect(samples(host)).toEqual([1, 1, 1])
  })

  it('of the record of a turn that was stale and recovered gives none: its stall is no healthy silence', () => {
    const live = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .send(400_000, token)
      .send(401_000, completed)
      .run(402_000)
    const other = new WatchedHost()
    expect(live.ended.map(({ outcome, stats }) => [outcome, stats.turnwatch.stale])).toEqual([['completed', true]])
    expect(other.watch.learn(JSON.parse(JSON.stringify(live.ended.map(({ stats }) => stats))))).toBe(0)
  })

  it('of a live record in another process gives the same samples as the live turn', () => {
    const live = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .send(3500, token, completed)
      .run(4000)
    const other = new WatchedHost()
    other.watch.learn(JSON.parse(JSON.stringify(live.ended.map(({ stats }) => stats))))
    expect(other.watch.thresholds()).toEqual(live.watch.thresholds())
  })
})

describe('an import of rows of a T3 database', () => {
  const activity = (i: number, timeToFirstTokenMs: number, maxGapMs: number, turnwatch?: object) => ({
    id: `activity-${i}`,
    payload: JSON.stringify({
      provider: 'codex',
      model: 'm',
      outcome: 'completed',
      timeToFirstTokenMs,
      maxGapMs,
      turnwatch,
    }),
  })
  const many = <T>(count: number, of: (i: number) => T) => Array.from({ length: count }, (_, i) => of(i))
  const own = (i: number, ms: number) =>
    activity(i, ms, ms, { v: 1, firstTokenMs: ms, midStreamMs: ms, afterToolMs: ms })
  const thresholds = (host: WatchedHost) => host.watch.thresholds().map((row) => row.thresholdMs)

  it('lowers no threshold below the default and 1.5 times the largest of v1b, until 20 turns of our own are known', () => {
    const host = new WatchedHost()
    expect(
      host.watch.learn(
        many(30, (i) => activity(i, 2000, 80_000)),
        { legacy: true },
      ),
    ).toBe(30)
    expect(thresholds(host)).toEqual([120_000, 120_000, 120_000])
    host.watch.learn(
      many(19, (i) => own(100 + i, 1000)),
      { legacy: true },
    )
    expect(thresholds(host)).toEqual([120_000, 120_000, 120_000])
    host.watch.learn([own(200, 1000)], { legacy: true })
    expect(thresholds(host)).toEqual([6000, 120_000, 120_000])
  })

  it('without the option takes the same records as measured, as the history of a scenario is', () => {
    const host = new WatchedHost()
    host.watch.learn(healthyRecords(30, 8000))
    expect(thresholds(host)).toEqual([12_000, 12_000, 12_000])
  })

  it('passes over a row of v1b that claims more than 1,200 s, for it has waited for an approval', () => {
    const host = new WatchedHost()
    const rows = [activity(1, 2000, 17_477_000), activity(2, 1_200_001, 10), activity(3, 2000, 1_200_000)]
    expect(host.watch.learn(rows, { legacy: true })).toBe(1)
    expect(host.watch.learn([own(4, 1_500_000)], { legacy: true })).toBe(1)
  })

  it('gives rows without a model to the key without a model alone', () => {
    const host = new WatchedHost()
    const row = {
      id: 'x',
      payload: { provider: 'codex', model: null, outcome: 'completed', timeToFirstTokenMs: 1, maxGapMs: 1 },
    }
    host.watch.learn([row], { legacy: true })
    expect(host.watch.thresholds().map(({ model }) => model)).toEqual([null, null, null])
  })

  it('keeps rows of v1b out of the store, so that the next start knows them for what they are', async () => {
    const saved: string[] = []
    const store = {
      load: () => ({ samples: [], extras: [] }),
      save: (samples: readonly { id: string }[]) => void saved.push(...samples.map(({ id }) => id)),
    }
    const host = new WatchedHost({ store })
    host.watch.learn([activity(1, 2000, 3000), own(2, 1000)], { legacy: true })
    host.run(3000)
    await host.watch.stop()
    expect([...new Set(saved)]).toEqual(['activity-2'])
  })
})

describe('an event that another tap has counted', () => {
  it('stamps the turn and counts nothing', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .run(2000)
    const before = host.watch.liveness('t').turn?.eventCount
    host
      .at(5000, () => host.watch.observeEcho('t', token))
      .at(5000, () => host.watch.observeEcho('t', { kind: 'tool.started', id: 'a' }))
      .run(6000)
    expect(host.watch.liveness('t')).toMatchObject({ state: 'tool', turn: { eventCount: before } })
    expect(host.metric('events_total', { class: 'token' })).toBe(1)
  })
})

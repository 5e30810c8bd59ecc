import { describe, expect, test } from 'vitest'
import { PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import { fixture } from '../liveness/manual-clock.ts'

const ENDED = { kind: 'turn.ended', outcome: 'completed' } as const

/** Pairs that have series, as `provider/model`, with the turns that were started of each. */
function pairs(watch: Turnwatch): Record<string, number> {
  const family = watch.metrics().find(({ name }) => name === `${PREFIX}turns_started_total`)
  if (family?.type !== 'counter') throw new Error('no counter of turns')
  return Object.fromEntries(
    family.points.map(({ labels, value }) => [`${labels.provider}/${labels.model}`, value] as const),
  )
}

function learn(watch: Turnwatch, ...models: string[]): void {
  const record = { provider: 'old', outcome: 'completed', timeToFirstTokenMs: 100, maxGapMs: 100 }
  watch.learn(models.map((model) => ({ ...record, id: model, model })))
}

const many = (count: number, name: string) => Array.from({ length: count }, (_, i) => `${name}${i}`)

function run(watch: Turnwatch, ...models: string[]): void {
  for (const model of models) watch.startTurn({ threadId: model, provider: 'live', model }).observe(ENDED)
}

describe('a pair that is only known from samples', () => {
  test('has series, all at 0, while there is room', () => {
    const { watch } = fixture()
    learn(watch, ...many(49, 'm'))
    run(watch, 'new')
    const found = pairs(watch)
    expect(Object.keys(found)).toHaveLength(50)
    expect([found['live/new'], found['old/m0'], found['old/m48']]).toEqual([1, 0, 0])
  })

  test('has none beyond the room, and is not in other', () => {
    const { watch } = fixture()
    learn(watch, ...many(60, 'm'))
    const found = pairs(watch)
    expect(Object.keys(found)).toHaveLength(50)
    expect(found).not.toHaveProperty('other/other')
    expect(found).not.toHaveProperty('old/m50')
  })

  test('loses its series to the first turn of a new pair, whether or not there was a scrape before', () => {
    for (const isScraped of [false, true]) {
      const { watch } = fixture()
      learn(watch, ...many(60, 'm'))
      if (isScraped) pairs(watch)
      run(watch, 'a', 'b', 'c')
      const found = pairs(watch)
      expect(Object.keys(found)).toHaveLength(50)
      expect([found['live/a'], found['live/b'], found['live/c']]).toEqual([1, 1, 1])
      expect(Object.keys(found).filter((pair) => pair.startsWith('old/'))).toHaveLength(47)
    }
  })

  test('keeps them for good once it runs', () => {
    const { watch } = fixture()
    learn(watch, ...many(50, 'm'))
    pairs(watch)
    watch.startTurn({ threadId: 'a', provider: 'old', model: 'm49' }).observe(ENDED)
    run(watch, ...many(49, 'new'))
    const found = pairs(watch)
    expect(Object.keys(found)).toHaveLength(50)
    expect(found).toMatchObject({ 'old/m49': 1, 'live/new0': 1, 'live/new48': 1 })
    expect(found).not.toHaveProperty('old/m0')
  })

  test('that runs when all places are of pairs that have run is counted in other', () => {
    const { watch } = fixture()
    run(watch, ...many(50, 'live'))
    learn(watch, 'm')
    expect(pairs(watch)).not.toHaveProperty('other/other')
    watch.startTurn({ threadId: 'a', provider: 'old', model: 'm' }).observe(ENDED)
    const found = pairs(watch)
    expect(Object.keys(found)).toHaveLength(51)
    expect(found['other/other']).toBe(1)
  })
})

describe('a pair that has run', () => {
  test('never gives way, and never changes its labels', () => {
    const { watch } = fixture()
    learn(watch, 'a\u0000b', ...many(49, 'm'))
    expect(pairs(watch)['old/ab']).toBe(0)
    const running = watch.startTurn({ threadId: '1', provider: 'live', model: 'ab' })
    const own = Object.keys(pairs(watch)).find((pair) => pair.startsWith('live/')) ?? ''
    expect(own).toMatch(/^live\/ab~[\da-f]{8}$/)
    run(watch, ...many(20, 'x'))
    expect(pairs(watch)[own]).toBe(1)
    // Those that were only learned are gone by now, and so is whose label was in the way.
    run(watch, ...many(40, 'y'))
    const found = pairs(watch)
    expect(found[own]).toBe(1)
    expect(Object.keys(found).filter((pair) => pair.startsWith('old/'))).toEqual([])
    expect(found['other/other']).toBe(11)
    running.observe(ENDED)
    expect(pairs(watch)).toEqual(found)
  })

  test('is also one that a running turn was found to be', () => {
    const { watch } = fixture()
    learn(watch, ...many(50, 'm'))
    const turn = watch.startTurn({ threadId: 'a', provider: 'live', model: 'alias' })
    turn.observe({ kind: 'turn.started', provider: 'live', model: 'real' })
    const found = pairs(watch)
    expect(found).toMatchObject({ 'live/alias': 1, 'live/real': 0 })
    const info = watch.metrics().find(({ name }) => name === `${PREFIX}thread_info`)
    expect(info?.points.map(({ labels }) => labels.model)).toEqual(['real'])
    turn.observe(ENDED)
    expect(pairs(watch)).toEqual(found)
  })

  test('is also one that a turn ended as between two scrapes', () => {
    const { watch } = fixture()
    learn(watch, ...many(50, 'm'))
    pairs(watch)
    const turn = watch.startTurn({ threadId: 'a', provider: 'live', model: 'alias' })
    turn.observe({ kind: 'turn.started', provider: 'live', model: 'real' })
    turn.observe(ENDED)
    expect(pairs(watch)).toMatchObject({ 'live/alias': 1, 'live/real': 0 })
  })
})

test('a pair really called other shares the series of the rest, and leaves them when it was only learned', () => {
  const { watch } = fixture()
  watch.learn([
    { id: '1', provider: 'other', model: 'other', outcome: 'completed', timeToFirstTokenMs: 100, maxGapMs: 100 },
  ])
  expect(pairs(watch)).toEqual({ 'other/other': 0 })
  run(watch, ...many(50, 'm'))
  expect(pairs(watch)).not.toHaveProperty('other/other')
  run(watch, 'one more')
  expect(pairs(watch)['other/other']).toBe(1)
})

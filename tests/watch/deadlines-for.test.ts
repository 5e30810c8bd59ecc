import { describe, expect, it } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { createTurnwatch, type MeasuredDeadlines, type ThresholdOptions, type Turnwatch } from '../../index.ts'

const MODEL = { provider: 'codex', model: 'gpt-5' }
const DEFAULTS = { firstContentMs: 'default', contentIntervalMs: 'default' }

function watchWith(thresholds: ThresholdOptions = {}): Turnwatch {
  return createTurnwatch({ thresholds, clock: new VirtualHost().clock })
}

/** The longest judged silences of a turn, in ms, by phase; a phase that is left out gives no sample. */
interface Silences {
  readonly firstTokenMs?: number
  readonly midStreamMs?: number
  readonly afterToolMs?: number
}

let records = 0

function learn(watch: Turnwatch, turns: number, silences: Silences, of: { provider: string; model?: string } = MODEL) {
  const record = () => ({
    id: `stats/thread/${++records}`,
    ...of,
    outcome: 'completed',
    timeToFirstTokenMs: 1,
    maxGapMs: 1,
    turnwatch: { v: 1, ...silences },
  })
  expect(watch.learn(Array.from({ length: turns }, record))).toBe(turns)
}

describe('a model that was never seen', () => {
  it.each<[string, ThresholdOptions, string, number, number]>([
    // 120 s and 90 s, times 1.25.
    ['standard', {}, 'gpt-5', 150_000, 112_500],
    // 300 s.
    ['cautious', { preset: 'cautious' }, 'gpt-5', 375_000, 375_000],
    // Its documented silence, 600 s.
    ['cautious, of a model that is slow', { preset: 'cautious' }, 'claude-opus-4-5', 750_000, 750_000],
    ['standard, of a model that is slow', {}, 'claude-opus-4-5', 150_000, 112_500],
    ['the options', { firstTokenMs: 8000, midStreamMs: 4000, afterToolMs: 2000 }, 'gpt-5', 10_000, 5000],
    ['cautious and an option', { preset: 'cautious', firstTokenMs: 8000 }, 'gpt-5', 10_000, 375_000],
  ])('has the defaults of %s', (_, thresholds, model, firstContentMs, contentIntervalMs) => {
    const deadlines = watchWith(thresholds).deadlinesFor('codex', model)
    expect(deadlines).toEqual({ firstContentMs, contentIntervalMs, sources: DEFAULTS })
  })

  it('stays unseen: no series, no threshold, no place of another', () => {
    const watch = watchWith()
    const before = watch.metrics()
    for (let i = 0; i < 60; i++) watch.deadlinesFor('codex', `model-${i}`)
    watch.deadlinesFor('codex')
    expect(watch.metrics()).toEqual(before)
    expect(watch.thresholds()).toEqual([])
    watch.startTurn({ threadId: 'a', ...MODEL })
    const started = watch.metrics().find(({ name }) => name === 'turnwatch_turns_started_total')
    expect(started?.points).toEqual([{ labels: MODEL, value: 1 }])
  })
})

describe('a model that is known', () => {
  it('has measured deadlines from 20 samples on', () => {
    const watch = watchWith()
    const silences = { firstTokenMs: 20_000, midStreamMs: 40_000, afterToolMs: 10_000 }
    learn(watch, 19, silences)
    expect(watch.deadlinesFor('codex', 'gpt-5')).toEqual({
      firstContentMs: 150_000,
      contentIntervalMs: 112_500,
      sources: DEFAULTS,
    })
    learn(watch, 1, silences)
    // One and a half times the largest, times 1.25.
    expect(watch.deadlinesFor('codex', 'gpt-5')).toEqual({
      firstContentMs: 37_500,
      contentIntervalMs: 75_000,
      sources: { firstContentMs: 'measured', contentIntervalMs: 'measured' },
    })
  })

  it('has them as the preset cautious measures', () => {
    const watch = watchWith({ preset: 'cautious' })
    learn(watch, 20, { firstTokenMs: 1000, midStreamMs: 1000, afterToolMs: 200_000 })
    // The margin of 20 samples is almost 30, but no less than 30 s, and no more than the default of 300 s.
    expect(watch.deadlinesFor('codex', 'gpt-5')).toEqual({
      firstContentMs: 37_500,
      contentIntervalMs: 375_000,
      sources: { firstContentMs: 'measured', contentIntervalMs: 'measured' },
    })
  })

  it.each<[string, Silences, Silences, number, MeasuredDeadlines['sources']['contentIntervalMs']]>([
    ['mid-stream, measured', { midStreamMs: 40_000 }, { afterToolMs: 8000 }, 75_000, 'measured'],
    ['after-tool, measured', { midStreamMs: 8000 }, { afterToolMs: 48_000 }, 90_000, 'measured'],
    ['after-tool, a default', { midStreamMs: 40_000 }, {}, 112_500, 'default'],
    ['mid-stream, a default', {}, { afterToolMs: 40_000 }, 112_500, 'default'],
    ['mid-stream, beyond the default', { midStreamMs: 80_000 }, {}, 150_000, 'measured'],
    ['after-tool, beyond the default', {}, { afterToolMs: 80_000 }, 150_000, 'measured'],
  ])('has the larger threshold between contents: %s', (_, midStream, afterTool, contentIntervalMs, source) => {
    const watch = watchWith()
    learn(watch, 20, { ...midStream, ...afterTool })
    const deadlines = watch.deadlinesFor('codex', 'gpt-5')
    expect([deadlines.contentIntervalMs, deadlines.sources.contentIntervalMs]).toEqual([contentIntervalMs, source])
  })

  it('has a default that a sample has raised', () => {
    const watch = watchWith()
    learn(watch, 1, { firstTokenMs: 200_000 })
    const { firstContentMs, sources } = watch.deadlinesFor('codex', 'gpt-5')
    expect([firstContentMs, sources.firstContentMs]).toEqual([250_000, 'default'])
  })

  it('has the silence at which its turns are stale', () => {
    const virtual = new VirtualHost()
    const watch = createTurnwatch({ clock: virtual.clock })
    learn(watch, 20, { firstTokenMs: 20_000, midStreamMs: 8000, afterToolMs: 8000 })
    const stale: number[] = []
    watch.on('stale', ({ silenceMs }) => stale.push(silenceMs))
    watch.startTurn({ threadId: 'a', ...MODEL })
    virtual.run(120_000, () => watch.tick())
    const { firstContentMs } = watch.deadlinesFor('codex', 'gpt-5')
    expect(stale).toHaveLength(1)
    expect(stale[0]).toBeGreaterThan(firstContentMs)
    expect(stale[0]).toBeLessThanOrEqual(firstContentMs + 1000)
  })

  it('is told from others as turns are, by provider and model', () => {
    const watch = watchWith()
    const silences = { firstTokenMs: 20_000, midStreamMs: 20_000, afterToolMs: 20_000 }
    const isMeasured = (provider: string, model?: string | null) =>
      watch.deadlinesFor(provider, model).sources.firstContentMs === 'measured'
    learn(watch, 20, silences, { provider: 'codex' })
    // A turn that names no model, or an empty one.
    expect([isMeasured('codex'), isMeasured('codex', null), isMeasured('codex', '')]).toEqual([true, true, true])
    expect([isMeasured('codex', 'gpt-5'), isMeasured('other'), isMeasured('Codex')]).toEqual([false, false, false])
    learn(watch, 20, silences, { provider: '__proto__', model: 'a\nb' })
    expect(isMeasured('__proto__', 'a\nb')).toBe(true)
    expect([isMeasured('__proto__', 'ab'), isMeasured('__proto__a', '\nb')]).toEqual([false, false])
  })
})

describe('a threshold that is switched off', () => {
  const OFF = Number.POSITIVE_INFINITY

  it('is an infinite deadline, for a model that was never seen and for one that is measured', () => {
    const watch = watchWith({ firstTokenMs: OFF })
    learn(watch, 20, { firstTokenMs: 20_000, midStreamMs: 20_000, afterToolMs: 20_000 })
    expect(watch.deadlinesFor('codex', 'unseen')).toMatchObject({ firstContentMs: OFF, contentIntervalMs: 112_500 })
    expect(watch.deadlinesFor('codex', 'gpt-5')).toMatchObject({ firstContentMs: OFF, contentIntervalMs: 37_500 })
  })

  it.each([{ midStreamMs: OFF }, { afterToolMs: OFF }])('%j is the larger one between contents', (thresholds) => {
    const watch = watchWith(thresholds)
    learn(watch, 20, { firstTokenMs: 20_000, midStreamMs: 20_000, afterToolMs: 20_000 })
    for (const model of ['unseen', 'gpt-5']) {
      expect(watch.deadlinesFor('codex', model).contentIntervalMs, model).toBe(OFF)
    }
  })
})

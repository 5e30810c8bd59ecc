import { describe, expect, it } from 'vitest'
import { documentedSilenceMs } from '../../detector/documented-silence.ts'
import { defaultMs, type Preset, sizeAwareMargin, thresholdMs } from '../../detector/thresholds.ts'
import type { Phase } from '../../instrumentation/events.ts'
import { healthyRecords, started, WatchedHost } from './watched-host.ts'

const S = 1000
const of = (preset: Preset, d: number, count: number, largest: number, ever = largest) =>
  thresholdMs(preset, d * S, { count, largestMs: largest * S, largestEverMs: ever * S }) / S

describe('standard', () => {
  it.each([
    // D, n, M, threshold
    [90, 0, 0, 90],
    [90, 19, 10, 90],
    [90, 19, 200, 200],
    [90, 20, 10, 15],
    [90, 20, 1, 6],
    [90, 20, 4, 6],
    [90, 20, 200, 300],
    [90, 500, 40, 60],
    [90, 4000, 40, 60],
    [120, 0, 0, 120],
    [120, 20, 2, 6],
    // A default below 6 s is the floor itself.
    [2, 20, 1, 2],
    [2, 19, 1, 2],
    [2, 20, 10, 15],
  ])('D %d s, n %d, M %d s: %d s', (d, n, largest, threshold) => {
    expect(of('standard', d, n, largest)).toBeCloseTo(threshold, 9)
  })
})

describe('cautious', () => {
  it.each([
    [300, 0, 0, 300],
    [300, 19, 10, 300],
    [300, 19, 250, 375],
    // k(20) = 29.588, k(500) = 8.319, k(4000) = 3.623
    [300, 20, 1, 30],
    [300, 20, 5, 147.94],
    [300, 20, 60, 300],
    [300, 20, 250, 375],
    [300, 500, 20, 166.38],
    [300, 500, 100, 300],
    [300, 4000, 20, 72.47],
    [300, 4000, 1, 30],
    [300, 4000, 240, 360],
    [10, 4000, 1, 10],
    [10, 4000, 20, 30],
  ])('D %d s, n %d, M %d s: %d s', (d, n, largest, threshold) => {
    expect(of('cautious', d, n, largest)).toBeCloseTo(threshold, 1)
  })

  it('the margin shrinks with n as ((n + 1) 1e-5)^(-1/2.5), and not below 1.5', () => {
    for (const n of [20, 100, 500, 4000, 30_000]) {
      expect(sizeAwareMargin(n)).toBeCloseTo(Math.max(1.5, ((n + 1) * 1e-5) ** (-1 / 2.5)), 12)
    }
    expect(sizeAwareMargin(20)).toBeCloseTo(29.588, 3)
    expect(sizeAwareMargin(36_000)).toBeCloseTo(1.5, 1)
    expect(sizeAwareMargin(1e6)).toBe(1.5)
  })

  it('is never below the standard rule of 1.5 times the largest', () => {
    for (const n of [20, 500, 4000])
      for (const m of [1, 30, 400]) expect(of('cautious', 300, n, m)).toBeGreaterThanOrEqual(1.5 * m)
  })
})

describe('both presets', () => {
  it.each(['standard', 'cautious'] as const)('%s is never below the largest silence ever accepted', (preset) => {
    for (const n of [0, 19, 20, 500, 4000]) {
      expect(of(preset, 90, n, 10, 2000)).toBe(2000)
      for (const m of [0, 1, 50, 89, 91, 5000]) expect(of(preset, 90, n, m)).toBeGreaterThanOrEqual(m)
    }
  })

  it.each(['standard', 'cautious'] as const)(
    '%s with a default of infinity is never, whatever was measured',
    (preset) => {
      for (const n of [0, 19, 20, 4000]) {
        const measured = { count: n, largestMs: 50 * S, largestEverMs: 60 * S }
        expect(thresholdMs(preset, Number.POSITIVE_INFINITY, measured)).toBe(Number.POSITIVE_INFINITY)
      }
    },
  )
})

describe('the default of a key', () => {
  const phases: readonly Phase[] = ['first-token', 'mid-stream', 'after-tool']

  it.each<[string, Preset, string | null, boolean, readonly number[]]>([
    ['standard', 'standard', 'm', false, [120, 90, 90]],
    ['standard, blind tools', 'standard', 'm', true, [300, 300, 300]],
    ['standard knows no documented silences', 'standard', 'grok-4.6', false, [120, 90, 90]],
    ['cautious', 'cautious', 'm', false, [300, 300, 300]],
    ['cautious, no model', 'cautious', null, false, [300, 300, 300]],
    ['cautious, a documented silence', 'cautious', 'x-ai/Grok-4.6-fast', false, [1198, 1198, 1198]],
    ['cautious, documented and blind', 'cautious', 'claude-opus-5', true, [600, 600, 600]],
  ])('%s', (_name, preset, model, blind, seconds) => {
    expect(phases.map((phase) => defaultMs({ preset }, model, blind, phase) / S)).toEqual(seconds)
  })

  it('is taken as it is where the host gives it, phase by phase', () => {
    const explicit = { firstTokenMs: 1 * S, midStreamMs: 2 * S, afterToolMs: 3 * S }
    for (const preset of ['standard', 'cautious'] as const) {
      const got = phases.map((phase) => defaultMs({ preset, ...explicit }, 'grok-4.6', true, phase))
      expect(got).toEqual([1000, 2000, 3000])
      expect(defaultMs({ preset, midStreamMs: 5 }, 'm', false, 'first-token')).toBe(
        preset === 'standard' ? 120_000 : 300_000,
      )
    }
  })

  it.each([
    ['gemini-3.1-pro', 703],
    ['claude-fable-5', 600],
    ['gpt-5.2-codex', 600],
    ['GLM-5.3', 600],
    ['kimi-k2', 600],
    ['claude-haiku-4', 0],
    ['gpt-5', 0],
    [null, 0],
  ])('documented for %s: %d s', (model, seconds) => {
    expect(documentedSilenceMs(model)).toBe(seconds * S)
  })

  it('of a wire that shows tools only when they are finished is 300 s', () => {
    const host = new WatchedHost().send(0, started({ turn: 't', blindTools: true })).run(400_000)
    expect(host.log).toEqual(['301000 t suspect', '376000 t stale silence'])
  })

  it('which is no reason to wait as long for a turn of the same model on another wire', () => {
    const host = new WatchedHost()
      .sendTo('blind', 0, started({ turn: 'blind', blindTools: true }))
      .sendTo('sighted', 0, started({ turn: 'sighted' }))
      .run(400_000)
    expect(host.log).toEqual([
      '121000 sighted suspect',
      '151000 sighted stale silence',
      '301000 blind suspect',
      '376000 blind stale silence',
    ])
  })
})

describe('the switch from default to measured', () => {
  it('comes with exactly the 20th sample, for a turn that runs already', () => {
    const host = new WatchedHost().send(0, started({ turn: 't' }))
    host.watch.learn(healthyRecords(19, 8000))
    expect(host.run(1000).watch.liveness('t')).toMatchObject({
      thresholdMs: 120_000,
      thresholdSource: 'default',
      samples: 19,
      confirmMs: 30_000,
    })
    host.watch.learn(healthyRecords(20, 8000))
    expect(host.watch.liveness('t')).toMatchObject({
      thresholdMs: 12_000,
      thresholdSource: 'measured',
      samples: 20,
      confirmMs: 3000,
    })
    expect(host.run(60_000).log).toEqual(['13000 t suspect', '16000 t stale silence'])
    expect(host.verdicts[1]).toMatchObject({ thresholdSource: 'measured', samples: 20, thresholdMs: 12_000 })
  })

  it('is one of each provider, model and phase', () => {
    const host = new WatchedHost()
    host.watch.learn(healthyRecords(20, 8000))
    host.watch.learn(healthyRecords(20, 8000, 'other', 'n').slice(0, 19))
    host.sendTo('a', 0, started({ turn: 'a' })).sendTo('b', 0, started({ turn: 'b', model: 'n' }))
    host.sendTo('c', 0, started({ turn: 'c', provider: 'cursor' })).run(1000)
    expect(['a', 'b', 'c'].map((id) => host.watch.liveness(id).thresholdSource)).toEqual([
      'measured',
      'default',
      'default',
    ])
  })

  it('changes the limit of a turn that is silent already at the next tick', () => {
    const host = new WatchedHost().send(0, started({ turn: 't' }))
    host.at(60_500, () => host.watch.learn(healthyRecords(20, 8000))).run(70_000)
    expect(host.log).toEqual(['61000 t suspect', '61000 t stale silence'])
  })

  it('that raises the threshold makes a suspect turn run again', () => {
    const host = new WatchedHost({ thresholds: { firstTokenMs: 40_000 } }).send(0, started({ turn: 't' }))
    host.at(45_500, () => host.watch.learn(healthyRecords(1, 60_000))).run(46_000)
    expect(host.log).toEqual(['41000 t suspect'])
    expect(host.state()).toBe('running')
    expect(host.run(100_000).log.slice(1)).toEqual(['61000 t suspect', '76000 t stale silence'])
  })
})

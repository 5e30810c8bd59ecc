/** The requirement's own cases. */

import { describe, expect, it } from 'vitest'
import {
  completed,
  exit,
  healthyRecords,
  midStream,
  midStreamRow,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
} from './watched-host.ts'

const THRESHOLD = 90_000
const CONFIRM = THRESHOLD * 0.25

describe('the requirement', () => {
  it('healthy gaps of 18 s are never flagged, with defaults and with what they themselves taught', () => {
    const host = new WatchedHost()
    for (let i = 0; i < 30; i++) {
      const start = i * 200_000
      host.send(start, started({ turn: `t${i}` }))
      for (let at = start + 18_000; at <= start + 180_000; at += 18_000) host.send(at, token)
      host.send(start + 180_000, completed)
    }
    host.run(6_100_000)
    expect(host.log.map((line) => line.split(' ')[2])).toEqual(Array.from({ length: 30 }, () => 'completed'))
    expect(midStreamRow(host)).toMatchObject({
      samples: 30,
      thresholdMs: 27_000,
      thresholdSource: 'measured',
    })
  })

  it.each([0, 1, 333, 500, 999])(
    'silence past the threshold is flagged within threshold + confirm + 1 s (+%d ms)',
    (offset) => {
      const last = 1000 + offset
      const host = new WatchedHost()
        .send(0, started({ turn: 't' }))
        .send(last, token)
        .run(400_000)
      expect(host.log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['t suspect', 't stale silence'])
      const flaggedAt = Number.parseInt(host.log[1] as string, 10)
      expect(flaggedAt).toBeGreaterThan(last + THRESHOLD + CONFIRM)
      expect(flaggedAt).toBeLessThanOrEqual(last + THRESHOLD + CONFIRM + 1000)
    },
  )

  it('an open tool is never flagged, and the silence after it is', () => {
    const host = midStream().send(2000, toolStarts()).run(7_200_000)
    expect(host.log).toEqual([])
    expect(host.state()).toBe('tool')
    host.send(7_200_500, toolEnds()).run(7_400_000)
    expect(host.log).toEqual(['7291000 t suspect', '7314000 t stale silence'])
  })

  it.each(['mono-stops', 'both-advance'] as const)('a sleep of 99 s is never flagged (%s)', (clocks) => {
    for (const offset of [0, 250, 500, 999]) {
      for (const first of ['event', 'tick'] as const) {
        const host = midStream({ host: { first } })
        // The stream goes on when the machine does.
        host.sleepAt(80_000 + offset, 99_000, clocks).every(500, 179_000 + offset, 400_000, token)
        expect(host.run(400_000).log).toEqual([])
      }
    }
  })

  it('a dead provider is flagged at once', () => {
    const host = midStream().send(33_333, exit).run(34_000)
    expect(host.log).toEqual(['33333 t stale provider-dead'])
  })

  it('the threshold is the default up to 19 samples, measured from exactly 20 on', () => {
    const sources = [18, 19, 20, 21].map((count) => {
      const host = midStream()
      host.watch.learn(healthyRecords(count, 10_000))
      host.run(2000)
      const { thresholdMs, thresholdSource, samples } = host.watch.liveness('t')
      return [samples, thresholdSource, thresholdMs]
    })
    expect(sources).toEqual([
      [18, 'default', 90_000],
      [19, 'default', 90_000],
      [20, 'measured', 15_000],
      [21, 'measured', 15_000],
    ])
  })

  it('the threshold is never below the largest healthy gap', () => {
    for (const preset of ['standard', 'cautious'] as const) {
      for (const count of [1, 5, 19, 20, 200, 4500]) {
        const host = new WatchedHost({ thresholds: { preset } })
        host.watch.learn(healthyRecords(1, 200_000, 'largest'))
        host.watch.learn(healthyRecords(count - 1, 1000))
        for (const row of host.watch.thresholds()) expect(row.thresholdMs).toBeGreaterThanOrEqual(200_000)
      }
    }
  })
})

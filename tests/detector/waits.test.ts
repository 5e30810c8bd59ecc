import { describe, expect, it } from 'vitest'
import { WAIT_REASONS } from '../../instrumentation/events.ts'
import {
  attempt,
  completed,
  midStream,
  modelCall,
  progress,
  side,
  token,
  toolStarts,
  type WatchedHost,
  waitEnds,
  waitStarts,
} from './watched-host.ts'

const HOUR = 3_600_000
/** Epoch ms at a time of the virtual host. */
const wall = (ms: number) => Date.UTC(2026, 0, 1) + ms
const waiting = (host: WatchedHost) => host.watch.liveness('t').waiting?.reason ?? null

describe('a wait', () => {
  it.each(WAIT_REASONS)('for %s is shown, and never suspect', (reason) => {
    const host = midStream().send(2000, waitStarts(reason, 'w')).run(3_500_000)
    expect(host.log).toEqual([])
    expect(host.watch.liveness('t')).toMatchObject({
      state: 'waiting',
      waiting: { reason, id: 'w', since: '2026-01-01T00:00:02.000Z' },
      progressSilenceMs: 0,
    })
  })

  it('ends by its id only', () => {
    const host = midStream().send(2000, waitStarts('approval', 'a')).send(3000, waitEnds('b'), token, side).run(500_000)
    expect(host.log).toEqual([])
    expect(host.send(500_000, waitEnds('a')).run(620_000).log).toEqual(['591000 t suspect', '613000 t stale silence'])
  })

  it('that is announced twice is one wait', () => {
    const host = midStream().send(2000, waitStarts('input', 'i')).send(4000, waitStarts('input', 'i'), waitEnds('i'))
    expect(host.run(130_000).log).toEqual(['95000 t suspect', '117000 t stale silence'])
  })

  it.each([
    ['approval', 'background'],
    ['background', 'approval'],
    ['retry', 'hook'],
    ['hook', 'retry'],
  ] as const)('that changes from %s to %s under its id leaves nothing behind when it ends', (before, after) => {
    const host = midStream().send(2000, waitStarts(before, 'w')).send(3000, waitStarts(after, 'w')).run(4000)
    expect(waiting(host)).toBe(after)
    host.send(5000, waitEnds('w')).run(130_000)
    expect(host.log).toEqual(['96000 t suspect', '118000 t stale silence'])
  })

  it('of an ended turn does not cover the next one', () => {
    const host = midStream()
      .send(2000, waitStarts('input'))
      .send(3000, completed, { ...token, turn: 'u' })
    expect(host.run(130_000).log).toEqual(['3000 t completed', '94000 u suspect', '116000 u stale silence'])
  })
})

describe('waits for background work, a wake-up or a sub-agent', () => {
  it.each(['background', 'wakeup', 'subagent'] as const)(
    '%s: covers the turn, but not a model call that has begun and not ended',
    (reason) => {
      const before = midStream().send(2000, modelCall('start'), waitStarts(reason)).run(130_000)
      expect(before.log).toEqual(['93000 t suspect', '115000 t stale silence'])
      const ended = midStream().send(2000, waitStarts(reason), modelCall('start')).send(9000, modelCall('end'))
      expect(ended.run(900_000).log).toEqual([])
      expect(ended.state()).toBe('waiting')
    },
  )

  it.each(['approval', 'input', 'auth', 'hook', 'compaction', 'queue', 'retry'] as const)(
    '%s covers a model call, too',
    (reason) => {
      const host = midStream().send(2000, modelCall('start'), waitStarts(reason)).run(900_000)
      expect(host.log).toEqual([])
    },
  )

  it('a gap that such a wait divides belongs to the phase it was in', () => {
    const host = midStream()
      .send(2000, modelCall('start'))
      .send(3000, waitStarts('subagent', 's'))
      .send(20_000, waitEnds('s'))
      .send(27_000, token)
      .send(28_000, completed)
      .run(29_000)
    expect(host.ended[0]?.stats.turnwatch).toEqual({ v: 1, firstTokenMs: 1000, midStreamMs: 18_000, afterToolMs: 7000 })
  })
})

describe('an announced back-off', () => {
  const backOff = (until: number) => midStream().send(2000, waitStarts('retry', 'r', wall(until)))

  it('ends 10 s after its announced end, and a new attempt is judged from there', () => {
    const host = backOff(60_000).run(300_000)
    // The tick at 70 s ends it.
    expect(host.log).toEqual(['191000 t suspect', '221000 t stale silence'])
    expect(host.verdicts[0]).toMatchObject({ phase: 'first-token', thresholdMs: 120_000 })
  })

  it('is open until then, tools with it; the new attempt closes both', () => {
    const host = backOff(60_000)
      .send(3000, waitStarts('retry', 'r', wall(60_000)), toolStarts('c'))
      .run(69_999)
    // A tool that starts is progress: it ends the back-off.
    expect(waiting(host)).toBeNull()
    const tool = midStream().send(2000, toolStarts('c'), waitStarts('retry', 'r', wall(60_000)))
    expect(waiting(tool.run(69_999))).toBe('retry')
    expect(tool.run(70_000).watch.liveness('t')).toMatchObject({ waiting: null, openTool: null, phase: 'first-token' })
  })

  it.each([
    ['a token', token],
    ['progress', progress],
    ['a tool', toolStarts()],
    ['an attempt', attempt],
  ])('ends at %s, other waits do not', (_name, event) => {
    const host = backOff(HOUR).send(3000, waitStarts('hook', 'h')).send(4000, event).run(5000)
    expect(waiting(host)).toBe('hook')
  })

  it('does not end at a side event', () => {
    expect(waiting(backOff(60_000).send(4000, side).run(50_000))).toBe('retry')
  })

  it('lasts at most an hour and 10 s, and one announced for the past 10 s', () => {
    expect(waiting(backOff(50 * HOUR).run(2000 + HOUR + 9000))).toBe('retry')
    expect(waiting(backOff(50 * HOUR).run(2000 + HOUR + 10_000))).toBeNull()
    expect(waiting(backOff(-50 * HOUR).run(11_999))).toBe('retry')
    expect(waiting(backOff(-50 * HOUR).run(12_000))).toBeNull()
  })

  it('is a duration from its receipt on: steps of the wall clock do not move its end', () => {
    const host = backOff(60_000).stepWallAt(10_000, 40_000).stepWallAt(20_000, -900_000)
    expect(waiting(host.run(69_999))).toBe('retry')
    expect(waiting(host.run(70_000))).toBeNull()
  })

  it('that is read at a wake, before any tick, is as long as it says', () => {
    const host = midStream()
      .sleepAt(10_500, 3 * HOUR)
      .send(3 * HOUR + 10_600, waitStarts('retry', 'r', wall(3 * HOUR + 40_000)))
    expect(waiting(host.run(3 * HOUR + 49_000))).toBe('retry')
    expect(waiting(host.run(3 * HOUR + 51_000))).toBeNull()
  })

  it('that is announced anew ends at the new time', () => {
    const host = backOff(60_000).send(50_000, waitStarts('retry', 'r', wall(100_000)))
    expect(waiting(host.run(109_999))).toBe('retry')
    expect(waiting(host.run(110_000))).toBeNull()
  })

  it('two of them end each at its own time', () => {
    const host = backOff(20_000).send(3000, waitStarts('retry', 'q', wall(40_000)))
    expect(host.run(35_000).watch.liveness('t').waiting).toMatchObject({ id: 'q' })
    expect(waiting(host.run(50_000))).toBeNull()
  })

  it('without an announced end is held for an hour at most, and announced anew without one ends as it would have', () => {
    const host = midStream().send(2000, waitStarts('retry'))
    expect(waiting(host.run(HOUR + 11_000))).toBe('retry')
    expect(waiting(host.run(HOUR + 12_000))).toBeNull()
    const again = backOff(20_000).send(3000, waitStarts('retry', 'r'))
    expect(waiting(again.run(29_999))).toBe('retry')
    expect(waiting(again.run(30_000))).toBeNull()
  })

  it('of a reason that is none is no wait', () => {
    const host = midStream().send(2000, waitStarts('lunch' as never))
    expect(waiting(host.run(3000))).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import type { TurnStats } from '../../instrumentation/turn-stats.ts'
import { isoTime, statsId } from '../../instrumentation/turn-stats.ts'
import {
  completed,
  side,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
  waitEnds,
  waitStarts,
} from '../detector/watched-host.ts'

const statsOf = (host: WatchedHost): TurnStats => host.ended[0]?.stats as TurnStats

describe('the record of a turn', () => {
  it('has the ten keys of prism.stream-stats with their meaning, its own key, and its id', () => {
    const host = new WatchedHost()
      .sendTo('sub.boss.t', 1000, started({ turn: 't' }))
      .sendTo('sub.boss.t', 3500, side)
      .sendTo('sub.boss.t', 4000, token)
      .sendTo('sub.boss.t', 7000, token, toolStarts())
      .sendTo('sub.boss.t', 67_000, toolEnds())
      .sendTo('sub.boss.t', 68_000, token)
      .sendTo('sub.boss.t', 68_500, completed)
      .run(70_000)
    expect(statsOf(host)).toEqual({
      id: 'stats/sub.boss.t/t',
      threadId: 'sub.boss.t',
      turnId: 't',
      parentThreadId: 'boss',
      provider: 'codex',
      model: 'm',
      outcome: 'completed',
      state: 'completed',
      startedAt: '2026-01-01T00:00:01.000Z',
      endedAt: '2026-01-01T00:01:08.500Z',
      durationMs: 67_500,
      timeToFirstTokenMs: 3000,
      maxGapMs: 3000,
      eventCount: 8,
      usage: null,
      turnwatch: { v: 1, firstTokenMs: 3000, midStreamMs: 3000, afterToolMs: 1000 },
    })
  })

  it.each([
    ['completed', 'completed'],
    ['incomplete', 'completed'],
    ['aborted', 'aborted'],
    ['error', 'error'],
    ['lost', 'error'],
  ] as const)('says of a turn that ended %s the outcome %s, and keeps the state', (state, outcome) => {
    const host = new WatchedHost().send(0, started({ turn: 't' }), { kind: 'turn.ended', outcome: state }).run(1000)
    expect(statsOf(host)).toMatchObject({ outcome, state, timeToFirstTokenMs: null })
  })

  it('counts a gap between any two events, and none while a tool is open', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }), token)
      .send(5000, side)
      .send(9000, side)
      .send(12_000, token, toolStarts())
      .send(40_000, side)
      .send(70_000, toolEnds())
      .send(71_000, completed)
      .run(72_000)
    // The longest gap is 5 s, the longest silence 12 s.
    expect(statsOf(host)).toMatchObject({ maxGapMs: 5000, turnwatch: { midStreamMs: 12_000, afterToolMs: 1000 } })
  })

  it('counts a gap in which the turn waited, but judges none there', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }), token)
      .send(1000, waitStarts('approval', 'a'))
      .send(41_000, waitEnds('a'))
      .send(43_000, token, completed)
      .run(44_000)
    expect(statsOf(host)).toMatchObject({ maxGapMs: 40_000, turnwatch: { midStreamMs: 1000, afterToolMs: 2000 } })
  })

  it('measures gaps in observed time and the duration in real time', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }), token)
      .sleepAt(1500, 600_000)
      .send(603_500, token, completed)
      .run(604_000)
    expect(statsOf(host)).toMatchObject({ durationMs: 603_500, maxGapMs: 3500 })
  })

  it('carries the usage that the end brought', () => {
    const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 }
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }), { ...completed, usage } as typeof completed)
      .run(1000)
    expect(statsOf(host).usage).toEqual(usage)
  })

  it('of a turn that still runs is as if it was aborted now', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .run(5000)
    expect(host.watch.running()).toMatchObject([{ turnId: 't', outcome: 'aborted', durationMs: 5000, eventCount: 2 }])
    expect(host.ended).toEqual([])
  })
})

describe('ids and times', () => {
  it('the id of sample and activity is made of thread and turn', () => {
    expect(statsId('sub.a.b', 'turn/1')).toBe('stats/sub.a.b/turn/1')
  })

  it('a time that no calendar holds is the epoch, not an exception', () => {
    expect(isoTime(1_767_225_600_000)).toBe('2026-01-01T00:00:00.000Z')
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 1e300]) expect(isoTime(ms)).toBe('1970-01-01T00:00:00.000Z')
  })
})

import { describe, expect, it } from 'vitest'
import { History } from '../../detector/history.ts'
import type { Phase, TurnEvent } from '../../instrumentation/events.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'
import {
  completed,
  exit,
  healthyRecords,
  midStreamRow,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
} from './watched-host.ts'

/** What was learned of `codex` and `m`: samples and the largest in s, in a phase. */
function learned(host: WatchedHost, phase: Phase): [number, number] {
  const row = host.watch
    .thresholds()
    .find((one) => one.provider === 'codex' && one.model === 'm' && one.phase === phase)
  return row ? [row.samples, row.largestMs / 1000] : [0, 0]
}

const all = (host: WatchedHost) =>
  (['first-token', 'mid-stream', 'after-tool'] as const).map((phase) => learned(host, phase))

let threads = 0
/** A turn in a thread of its own: first token after 2 s, then a token after each of `gaps` (s), then `last`. */
function turn(host: WatchedHost, gaps: readonly number[], last: TurnEvent | null = completed): void {
  const thread = `thread-${++threads}`
  let at = Math.ceil(host.now / 1000) * 1000
  host.sendTo(thread, at, started({ turn: `turn-${threads}` }))
  at += 2000
  host.sendTo(thread, at, token)
  for (const gap of gaps) {
    at += gap * 1000
    host.sendTo(thread, at, token)
  }
  if (last) host.sendTo(thread, at, last)
  host.run(at)
}

const watch = (options: TurnwatchOptions = {}) => new WatchedHost(options)

describe('a healthy turn', () => {
  it('gives one sample a phase, its longest silence there, whatever the number of gaps', () => {
    const host = watch()
    turn(host, [1, 7, 3, 2, 6])
    expect(all(host)).toEqual([
      [1, 2],
      [1, 7],
      [0, 0],
    ])
  })

  it('gives none in a phase it never was in, and counts the time of tools in none', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), token)
      .send(1000, toolStarts())
      .send(81_000, toolEnds())
      .send(84_000, token, completed)
      .run(85_000)
    expect(all(host)).toEqual([
      [1, 0],
      [1, 1],
      [1, 3],
    ])
  })

  it('that was suspect, and never stale, is healthy', () => {
    const host = watch()
    turn(host, [100])
    expect(host.log.map((line) => line.split(' ')[2])).toEqual(['suspect', 'completed'])
    expect(learned(host, 'mid-stream')).toEqual([1, 100])
  })

  it('that ended incomplete is healthy', () => {
    const host = watch()
    turn(host, [5], { kind: 'turn.ended', outcome: 'incomplete' })
    expect(learned(host, 'mid-stream')).toEqual([1, 5])
  })

  it('includes the silence before its end', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), token)
      .send(11_000, completed)
      .run(12_000)
    expect(learned(host, 'mid-stream')).toEqual([1, 11])
  })
})

describe('no sample comes from a turn that', () => {
  it.each(['aborted', 'error', 'lost'] as const)('ended %s', (outcome) => {
    const host = watch()
    turn(host, [5], { kind: 'turn.ended', outcome })
    expect(all(host)).toEqual([0, 1, 2].map(() => [0, 0]))
  })

  it('had no token', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), toolStarts())
      .send(9000, toolEnds(), completed)
      .run(10_000)
    expect(all(host)).toEqual([0, 1, 2].map(() => [0, 0]))
  })

  it('was displaced', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), token)
      .send(9000, token, started({ turn: 'u' }))
      .run(10_000)
    expect(all(host)).toEqual([0, 1, 2].map(() => [0, 0]))
  })

  it('was stale, not even in the phases it was healthy in', () => {
    const host = watch()
    turn(host, [5, 150, 5])
    expect(all(host)).toEqual([0, 1, 2].map(() => [0, 0]))
  })

  it('was stale for another reason than silence, and completed', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), token, exit)
      .send(3000, token, completed)
      .run(4000)
    expect(all(host)).toEqual([0, 1, 2].map(() => [0, 0]))
  })
})

describe('pauses', () => {
  const stats = (host: WatchedHost) => host.ended[0]?.stats.turnwatch
  const paused = (pause: (host: WatchedHost) => WatchedHost) =>
    pause(
      watch({ thresholds: { midStreamMs: 500_000 } })
        .send(0, started({ turn: 't' }), token)
        .send(4000, token),
    )
      .send(200_000, token)
      .send(206_500, token, completed)
      .run(400_000)

  it.each<[string, (host: WatchedHost) => WatchedHost]>([
    ['a late tick', (host) => host.blockAt(150_500, 10_000)],
    ['a sleep that stops the monotonic clock', (host) => host.sleepAt(50_500, 130_000)],
    ['a sleep that does not', (host) => host.sleepAt(50_500, 130_000, 'both-advance')],
    ['a late tick at its very end', (host) => host.blockAt(195_000, 5000)],
  ])('a gap that contains %s gives no sample, the other gaps of the turn do', (_name, pause) => {
    const host = paused(pause)
    expect(stats(host)).toEqual({ v: 1, firstTokenMs: 0, midStreamMs: 6500, afterToolMs: null })
    expect(learned(host, 'mid-stream')).toEqual([1, 6.5])
  })

  it('a gap that was restarted by a wake gives none, however long the rest of it', () => {
    const host = watch()
      .send(0, started({ turn: 't' }), token)
      .sleepAt(1500, 99_000)
      .send(201_000, token)
      .send(202_000, token, completed)
      .run(203_000)
    expect(host.log).toEqual(['202000 t completed'])
    expect(stats(host)).toMatchObject({ midStreamMs: 1000 })
  })

  it('a turn of nothing but such gaps gives no sample', () => {
    const host = watch()
      .send(0, started({ turn: 't' }))
      .blockAt(500, 9000)
      .send(9600, token, completed)
      .run(20_000)
    expect(stats(host)).toMatchObject({ firstTokenMs: null, midStreamMs: 0 })
    expect(learned(host, 'first-token')).toEqual([0, 0])
  })
})

describe('a silence that was flagged', () => {
  it('waits for a second one; the smaller of the two becomes one sample', () => {
    const host = watch()
    turn(host, [130])
    turn(host, [5])
    expect(learned(host, 'mid-stream')).toEqual([1, 5])
    turn(host, [120])
    expect(learned(host, 'mid-stream')).toEqual([2, 120])
  })

  it('counts at most 1.5 times the threshold of that moment', () => {
    const host = watch()
    turn(host, [400])
    turn(host, [500])
    expect(learned(host, 'mid-stream')).toEqual([1, 135])
    expect(midStreamRow(host)?.thresholdMs).toBe(135_000)
  })

  it('pairs two and two', () => {
    const host = watch()
    // The first pair raises the threshold to 120 s, so the third silence is flagged at 150 s.
    for (const gap of [120, 121, 160]) turn(host, [gap])
    expect(learned(host, 'mid-stream')).toEqual([1, 120])
  })

  it.each([
    [199, 20_000],
    [200, 0],
  ])('is forgotten after 200 turns of the key: with %d between, the largest is %d ms', (between, largest) => {
    const history = new History()
    expect(history.quarantine(20_000, 15_000)).toBeNull()
    for (let i = 0; i < between; i++) history.add(0)
    const confirmed = history.quarantine(30_000, 15_000)
    expect(confirmed ?? 0).toBe(largest)
  })

  it('of a turn that was killed while stale is counted as censored, and no sample', () => {
    const host = watch()
    turn(host, [])
    for (const outcome of ['aborted', 'error', 'lost'] as const) {
      const thread = `killed-${outcome}`
      const at = Math.ceil(host.now / 1000) * 1000
      host.sendTo(thread, at, started({ turn: thread }), token)
      host.sendTo(thread, at + 200_000, { kind: 'turn.ended', outcome }).run(at + 200_000)
    }
    const row = midStreamRow(host)
    expect(row).toMatchObject({ censored: 3, samples: 1, largestMs: 0, thresholdMs: 90_000 })
  })

  it('of a turn that recovered and failed later is neither', () => {
    const host = watch()
    turn(host, [130], { kind: 'turn.ended', outcome: 'aborted' })
    turn(host, [130], { kind: 'turn.ended', outcome: 'aborted' })
    expect(midStreamRow(host)).toMatchObject({
      censored: 0,
      samples: 0,
    })
  })
})

it('turns that were killed while stale count among the next 200 that a quarantined silence has', () => {
  const history = new History()
  history.quarantine(30_000, 15_000)
  for (let i = 0; i < 100; i++) history.add(0)
  for (let i = 0; i < 100; i++) history.censor()
  expect(history.quarantine(30_000, 15_000)).toBeNull()
})

describe('the window', () => {
  it('keeps the last 8 blocks of 500 turns, and the largest ever beside them', () => {
    const history = new History()
    history.add(70_000)
    for (let i = 1; i < 4000; i++) history.add(1000)
    expect([history.count, history.largestMs]).toEqual([4000, 70_000])
    history.add(1000)
    expect([history.count, history.largestMs, history.largestEverMs]).toEqual([3501, 1000, 70_000])
    for (let i = 0; i < 499; i++) history.add(2000)
    expect([history.count, history.largestMs]).toEqual([4000, 2000])
  })

  it('no threshold goes below the largest ever, when its block is long gone', () => {
    const host = watch()
    host.watch.learn(healthyRecords(1, 200_000, 'slow'))
    host.watch.learn(healthyRecords(4000, 2000, 'fast'))
    const [row] = host.watch.thresholds()
    expect(row).toMatchObject({ samples: 3501, thresholdMs: 200_000, largestMs: 200_000 })
  })
})

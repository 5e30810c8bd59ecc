import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../instrumentation/events.ts'
import {
  attempt,
  modelCall,
  progress,
  side,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
  type WatchedHostOptions,
  waitEnds,
  waitStarts,
} from './watched-host.ts'

/** First-token 30 s, mid-stream 20 s, after-tool 10 s, so that the time of `suspect` tells the phase. */
const thresholds = { firstTokenMs: 30_000, midStreamMs: 20_000, afterToolMs: 10_000 }

/** A turn that gets `events` a second apart, from 1 s on, and nothing more. */
function turnOf(events: readonly TurnEvent[], options: WatchedHostOptions = {}): WatchedHost {
  const host = new WatchedHost({ thresholds, ...options }).send(0, started({ turn: 't' }))
  events.forEach((event, i) => {
    host.send((i + 1) * 1000, event)
  })
  return host
}

describe('the phase that a silence is judged in', () => {
  it.each<[string, string, readonly TurnEvent[]]>([
    ['from the start to the first token', 'first-token', []],
    ['until the first token, progress or not', 'first-token', [progress, side]],
    ['after a token', 'mid-stream', [token]],
    ['after a reasoning token', 'mid-stream', [{ kind: 'token', stream: 'reasoning' }]],
    ['after a token of tool arguments', 'mid-stream', [{ kind: 'token', stream: 'tool-args' }]],
    ['after progress between tokens', 'mid-stream', [token, progress]],
    ['after a tool', 'after-tool', [token, toolStarts(), toolEnds()]],
    ['after a tool that nobody saw start', 'after-tool', [token, toolEnds('x')]],
    ['after a tool before the first token', 'after-tool', [toolStarts(), toolEnds()]],
    ['after the token that follows a tool', 'mid-stream', [toolStarts(), toolEnds(), token]],
    ['after progress that follows a tool', 'after-tool', [token, toolStarts(), toolEnds(), progress]],
    ['after an approval', 'after-tool', [token, waitStarts('approval', 'a'), waitEnds('a')]],
    ['after an approval before the first token', 'after-tool', [waitStarts('approval', 'a'), waitEnds('a')]],
    ['after compaction', 'after-tool', [token, waitStarts('compaction', 'c'), waitEnds('c')]],
    ['after a queue before the first token', 'first-token', [waitStarts('queue', 'q'), waitEnds('q')]],
    ['after a back-off before the first token', 'first-token', [waitStarts('retry', 'r'), waitEnds('r')]],
    ['after a back-off that progress ended, before the first token', 'first-token', [waitStarts('retry'), progress]],
    ['after a queue after the first token', 'after-tool', [token, waitStarts('queue', 'q'), waitEnds('q')]],
    [
      'after a back-off that follows a tool',
      'after-tool',
      [token, toolStarts(), toolEnds(), waitStarts('retry', 'r'), waitEnds('r')],
    ],
    ['after a new attempt', 'first-token', [token, attempt]],
    ['after a new attempt that follows a tool', 'first-token', [token, toolStarts(), toolEnds(), attempt]],
    ['after a restore', 'first-token', [token, { kind: 'turn.restored' }]],
    ['after a second start of the running turn', 'mid-stream', [token, started({ turn: 't' })]],
  ])('%s: %s', (_name, phase, events) => {
    const host = turnOf(events).run(60_000)
    expect(host.verdicts.slice(0, 2).map((verdict) => [verdict.verdict, verdict.phase])).toEqual([
      ['suspect', phase],
      ['stale', phase],
    ])
    expect(host.watch.liveness('t').phase).toBe(phase)
  })
})

describe('silence counts from the latest of', () => {
  const silenceAfter = (events: readonly TurnEvent[]) =>
    turnOf([token, ...events])
      .run(5900)
      .silence()

  it.each<[string, number, readonly TurnEvent[]]>([
    ['the start', 5900, []],
    ['a token', 3900, [token]],
    ['progress', 3900, [progress]],
    ['a tool end', 2900, [toolStarts(), toolEnds()]],
    ['a wait end', 2900, [waitStarts('hook', 'h'), waitEnds('h')]],
    ['an attempt', 3900, [attempt]],
    ['a restore', 3900, [{ kind: 'turn.restored' }]],
    ['no side event', 4900, [side, { kind: 'interrupt.requested' }, { kind: 'turn.requested' }, started()]],
    ['no end of a wait that was not open', 4900, [waitEnds('x')]],
    ['no end of a wait while another is open', 0, [waitStarts('hook', 'h'), waitStarts('auth', 'a'), waitEnds('h')]],
    ['the end of a wait beside a model call', 1900, [waitStarts('background', 'b'), modelCall('start'), waitEnds('b')]],
  ])('%s: %d ms at 5.9 s', (name, silence, events) => {
    const host = name === 'the start' ? turnOf([]).run(5900) : null
    expect(host ? host.silence() : silenceAfter(events)).toBe(silence)
  })

  it('a restored turn has a full window from now, whenever it says it started', () => {
    const host = new WatchedHost({ thresholds })
      .send(10_000, { kind: 'turn.restored', turn: 't', provider: 'codex', startedAt: Date.UTC(2025, 11, 31) })
      .run(60_000)
    expect(host.log).toEqual(['41000 t suspect', '48000 t stale silence'])
    expect(host.watch.liveness('t').turn?.startedAt).toBe('2025-12-31T00:00:00.000Z')
  })
})

describe('unknown events', () => {
  const unknowns = (count: number) =>
    Array.from({ length: count }, () => ({ kind: 'progress', what: 'unknown' }) as const)

  it('count as progress, at most twenty in a row', () => {
    const host = turnOf([token, ...unknowns(60)]).run(90_000)
    // The twentieth comes at 21 s.
    expect(host.log).toEqual(['42000 t suspect', '47000 t stale silence'])
    expect(host.metric('events_total', { class: 'unknown' })).toBe(60)
  })

  it('count afresh after a known progress event, not after a side event or a wait', () => {
    const twice = turnOf([token, ...unknowns(20), progress, ...unknowns(30)]).run(90_000)
    expect(twice.log).toEqual(['63000 t suspect', '68000 t stale silence'])
    const sides = turnOf([token, ...unknowns(20), side, ...unknowns(30)]).run(90_000)
    expect(sides.log).toEqual(['42000 t suspect', '47000 t stale silence'])
  })

  it('as side events are never progress', () => {
    const host = turnOf([token, ...Array.from({ length: 60 }, () => ({ kind: 'side', what: 'unknown' }) as const)])
    expect(host.run(60_000).log).toEqual(['22000 t suspect', '27000 t stale silence'])
  })
})

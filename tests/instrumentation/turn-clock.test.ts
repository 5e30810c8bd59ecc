import { beforeEach, describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../instrumentation/events.ts'
import type { StampClock } from '../../instrumentation/stamp-clock.ts'
import type { Turn } from '../../instrumentation/turn.ts'
import {
  AFTER_TOOL,
  ALIVE,
  FIRST_SIGN,
  FIRST_TOKEN,
  MID_STREAM,
  NO_SIGN,
  TurnClock,
} from '../../instrumentation/turn-clock.ts'

class HandStamp implements StampClock {
  now = 0
  wallMs = 1000
  elapsedMs = 0
  pauseEpoch = 0
  read(): void {}

  wallAt(elapsedMs: number): number {
    return this.wallMs - (this.elapsedMs - elapsedMs)
  }

  pass(ms: number): void {
    this.now += ms
    this.wallMs += ms
    this.elapsedMs += ms
  }
}

const token: TurnEvent = { kind: 'token', stream: 'text' }
const identity = { threadId: 't', turnId: 't', provider: 'codex', model: 'm', parentThreadId: null }

let time: HandStamp
let clock: TurnClock
let turn: Turn

beforeEach(() => {
  time = new HandStamp()
  clock = new TurnClock(time)
  turn = clock.begin(identity, true)
})

function stamped(ms: number, event: TurnEvent) {
  time.pass(ms)
  return clock.stamp(turn, event)
}

describe('what it knows of a turn', () => {
  it('at its start: nothing but that', () => {
    expect(clock.read(turn)).toEqual({
      startedWallMs: 1000,
      durationMs: 0,
      eventCount: 0,
      lastEventElapsedMs: 0,
      lastEventKind: 'turn.started',
      lastProgressElapsedMs: null,
      lastProgressKind: 'turn.started',
      firstTokenMs: null,
      maxGapMs: 0,
    })
    expect([clock.phaseAt(turn.slot), clock.read(turn).firstTokenMs, clock.longestMs(turn.slot)]).toEqual([
      FIRST_TOKEN,
      null,
      [null, null, null],
    ])
  })

  it('the last event of any kind, and the last progress and its kind', () => {
    stamped(10, token)
    stamped(10, { kind: 'progress', what: 'plan' })
    stamped(10, { kind: 'side', what: 'usage' })
    expect(clock.read(turn)).toMatchObject({
      eventCount: 3,
      lastEventElapsedMs: 30,
      lastEventKind: 'usage',
      lastProgressElapsedMs: 20,
      lastProgressKind: 'plan',
      firstTokenMs: 10,
    })
  })

  it('its duration in real time, sleep included, though its silence is not', () => {
    time.elapsedMs += 99_000
    stamped(1000, token)
    expect(clock.read(turn)).toMatchObject({ durationMs: 100_000, firstTokenMs: 1000 })
  })

  it('its phase, from one to the next', () => {
    const phases = [
      token,
      { kind: 'tool.started', id: 'a' } as const,
      { kind: 'tool.ended', id: 'a' } as const,
      token,
      { kind: 'attempt.started' } as const,
    ].map((event) => {
      stamped(1, event)
      return clock.phaseAt(turn.slot)
    })
    expect(phases).toEqual([MID_STREAM, MID_STREAM, AFTER_TOOL, MID_STREAM, FIRST_TOKEN])
  })

  it.each<[string, TurnEvent, number]>([
    ['the first token', token, FIRST_SIGN],
    ['progress', { kind: 'progress', what: 'plan' }, ALIVE],
    ['a tool start', { kind: 'tool.started', id: 'a' }, ALIVE],
    ['a tool end', { kind: 'tool.ended', id: 'a' }, ALIVE],
    ['a wait start', { kind: 'wait.started', id: 'w', reason: 'hook' }, ALIVE],
    ['a wait end', { kind: 'wait.ended', id: 'w' }, NO_SIGN],
    ['a side event', { kind: 'side', what: 'ping' }, NO_SIGN],
    ['an attempt', { kind: 'attempt.started' }, NO_SIGN],
    ['an interrupt request', { kind: 'interrupt.requested' }, NO_SIGN],
    ['an error', { kind: 'error' }, NO_SIGN],
    ['an exit', { kind: 'exit' }, NO_SIGN],
    ['an end', { kind: 'turn.ended', outcome: 'completed' }, NO_SIGN],
  ])('whether an event speaks for it: %s', (_name, event, sign) => {
    expect(stamped(1, event)).toBe(sign)
  })

  it('that a later token is not the first', () => {
    expect([stamped(1, token), stamped(1, token)]).toEqual([FIRST_SIGN, ALIVE])
  })

  it('which tool and which wait are open longest', () => {
    stamped(1, { kind: 'tool.started', id: 'a', name: 'Bash' })
    stamped(1, { kind: 'tool.started', id: 'b' })
    stamped(1, { kind: 'wait.started', id: 'w', reason: 'approval' })
    expect(turn.oldestTool()).toEqual({ id: 'a', name: 'Bash', title: 'Bash', startedAt: 1, startedWallMs: 1001 })
    stamped(1, { kind: 'tool.ended', id: 'a' })
    expect(turn.oldestTool()).toMatchObject({ id: 'b', name: null })
    expect(turn.oldestWait()).toMatchObject({ id: 'w', reason: 'approval', since: 3, endsAt: null })
  })
})

describe('judged gaps', () => {
  const longest = () => clock.longestMs(turn.slot)
  const counts = (phase: number) =>
    clock.gaps.counts((clock.keyAt(turn.slot) as number) * 3 + phase).reduce((a, b) => a + b, 0)

  it('are kept by phase as the longest of each, in the order of PHASES', () => {
    stamped(2000, token)
    for (const ms of [10, 700, 30]) stamped(ms, token)
    stamped(40, { kind: 'tool.started', id: 'a' })
    stamped(60_000, { kind: 'tool.ended', id: 'a' })
    stamped(900, { kind: 'progress', what: 'plan' })
    stamped(100, token)
    expect(longest()).toEqual([2000, 900, 700])
    expect([counts(FIRST_TOKEN), counts(AFTER_TOOL), counts(MID_STREAM)]).toEqual([1, 2, 4])
  })

  it('end where a wait begins, and begin where it ends', () => {
    stamped(1000, token)
    stamped(300, { kind: 'wait.started', id: 'w', reason: 'approval' })
    stamped(50_000, { kind: 'wait.ended', id: 'w' })
    stamped(200, token)
    expect(longest()).toEqual([1000, 200, 300])
  })

  it('that saw a pause are in neither the longest nor the histogram', () => {
    stamped(1000, token)
    time.pauseEpoch++
    stamped(9000, token)
    stamped(20, token)
    expect(longest()).toEqual([1000, null, 20])
    expect(counts(MID_STREAM)).toBe(1)
  })

  it('side events do not end them', () => {
    stamped(1000, { kind: 'side', what: 'ping' })
    stamped(1000, { kind: 'side', what: 'ping' })
    stamped(500, token)
    expect(longest()).toEqual([2500, null, null])
  })

  it('an open one is put into the histogram once, whether the turn goes on or not', () => {
    stamped(1000, token)
    time.pass(5000)
    clock.observeOpenGap(turn.slot)
    clock.observeOpenGap(turn.slot)
    expect([counts(MID_STREAM), longest()[2]]).toEqual([1, 5000])
    stamped(4000, token)
    expect([counts(MID_STREAM), longest()[2]]).toEqual([1, 9000])
    stamped(10, token)
    expect(counts(MID_STREAM)).toBe(2)
  })

  it('none is open while a tool is', () => {
    stamped(1000, { kind: 'tool.started', id: 'a' })
    time.pass(70_000)
    clock.observeOpenGap(turn.slot)
    expect([counts(FIRST_TOKEN), longest()]).toEqual([1, [1000, null, null]])
  })
})

describe('rows', () => {
  it('are used again, without anything of the turn that had them', () => {
    stamped(1000, token)
    stamped(10, { kind: 'wait.started', id: 'w', reason: 'retry', until: 1e9 })
    stamped(10, { kind: 'wait.started', id: 'x', reason: 'background' })
    stamped(10, { kind: 'progress', what: 'model-call-start' })
    for (let i = 0; i < 25; i++) stamped(1, { kind: 'progress', what: 'unknown' })
    for (let i = 0; i < 12; i++) stamped(1, { kind: 'attempt.started' })
    stamped(10, { kind: 'wait.started', id: 'y', reason: 'subagent' })
    const { slot } = turn
    clock.release(turn)
    expect(turn.slot).toBe(-1)
    const next = clock.begin({ ...identity, turnId: 'u' }, true)
    expect(next.slot).toBe(slot)
    expect(clock.read(next)).toMatchObject({
      eventCount: 0,
      firstTokenMs: null,
      maxGapMs: 0,
      lastProgressElapsedMs: null,
    })
    time.pass(100_000)
    clock.expireWaits()
    expect([clock.silenceMs(slot), clock.isCovered(slot), clock.longestMs(slot)]).toEqual([
      100_000,
      false,
      [null, null, null],
    ])
    turn = next
    stamped(0, { kind: 'wait.started', id: 'x', reason: 'background' })
    expect(clock.isCovered(slot)).toBe(true)
    stamped(0, { kind: 'wait.ended', id: 'x' })
    expect(clock.isCovered(slot)).toBe(false)
    stamped(5000, { kind: 'attempt.started' })
    expect(clock.silenceMs(slot)).toBe(0)
    for (let i = 0; i < 20; i++) stamped(10, { kind: 'progress', what: 'unknown' })
    expect(clock.silenceMs(slot)).toBe(0)
  })

  it('grow with the number of turns and keep what is in them', () => {
    stamped(1000, token)
    const many = Array.from({ length: 1000 }, (_, i) => clock.begin({ ...identity, turnId: `u${i}` }, true))
    expect(new Set(many.map(({ slot }) => slot)).size).toBe(1000)
    expect(clock.read(turn)).toMatchObject({ eventCount: 1, firstTokenMs: 1000 })
    expect(clock.high).toBe(1001)
  })
})

it('an attempt ends the model call that the wire showed begun', () => {
  stamped(1, { kind: 'progress', what: 'model-call-start' })
  stamped(1, { kind: 'wait.started', id: 'w', reason: 'background' })
  expect(clock.isCovered(turn.slot)).toBe(false)
  stamped(1, { kind: 'attempt.started' })
  expect(clock.isCovered(turn.slot)).toBe(true)
})

describe('counts of events', () => {
  it('are kept by model and class', () => {
    const of = (name: Parameters<TurnClock['eventCount']>[1]) => clock.eventCount(clock.keyAt(turn.slot), name)
    stamped(1, token)
    stamped(1, { kind: 'tool.started', id: 'a' })
    stamped(1, { kind: 'side', what: 'ping' })
    stamped(1, { kind: 'side', what: 'unknown' })
    stamped(1, { kind: 'progress', what: 'unknown' })
    clock.countAfterEnd(clock.keyAt(turn.slot))
    expect(['token', 'progress', 'side', 'unknown', 'after-end'].map((name) => of(name as 'token'))).toEqual([
      1, 1, 1, 2, 1,
    ])
    expect(clock.eventCount(99, 'token')).toBe(0)
  })
})

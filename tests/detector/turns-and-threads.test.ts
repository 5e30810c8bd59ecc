import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../instrumentation/events.ts'
import {
  attempt,
  completed,
  exit,
  failure,
  interrupt,
  midStream,
  progress,
  side,
  started,
  THREAD,
  token,
  toolEnds,
  toolStarts,
  unknown,
  WatchedHost,
  waitEnds,
  waitStarts,
} from './watched-host.ts'

const turnIn = (host: WatchedHost) => host.watch.running().find(({ threadId }) => threadId === THREAD)?.turnId ?? null

const STARTING: readonly TurnEvent[] = [
  started(),
  { kind: 'turn.restored' },
  token,
  progress,
  toolStarts(),
  waitStarts('approval'),
]
const NOT_STARTING: readonly TurnEvent[] = [
  side,
  unknown,
  toolEnds(),
  waitEnds('w'),
  attempt,
  interrupt,
  failure,
  exit,
  completed,
  { kind: 'turn.requested' },
]
const named = (event: TurnEvent) => [event.kind === 'progress' ? event.what : event.kind, event] as const

describe('an event that names a turn never seen', () => {
  it.each(STARTING.map(named))('%s starts it', (_name, event) => {
    const host = new WatchedHost().send(1000, { ...event, turn: 'new' }).run(2000)
    expect(turnIn(host)).toBe('new')
    expect(host.log).toEqual([])
  })

  it.each(NOT_STARTING.map(named))('%s does not', (_name, event) => {
    const host = new WatchedHost().send(1000, { ...event, turn: 'new' }).run(300_000)
    expect(turnIn(host)).toBeNull()
    expect(host.log).toEqual([])
    expect(host.faults).toEqual([])
  })

  it.each(STARTING.map(named))('%s displaces the turn that still runs in the thread', (_name, event) => {
    const host = midStream()
      .send(5000, { ...event, turn: 'new' })
      .run(6000)
    expect(turnIn(host)).toBe('new')
    expect(host.log).toEqual(['5000 t aborted'])
  })

  it.each(NOT_STARTING.map(named))('%s leaves the turn that runs as it is', (_name, event) => {
    const host = midStream()
      .send(50_000, { ...event, turn: 'new' })
      .run(130_000)
    expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence'])
  })
})

describe('an ended turn', () => {
  it.each([...STARTING, ...NOT_STARTING].map(named))('is not started again by %s with its id', (_name, event) => {
    const host = midStream()
      .send(5000, completed)
      .send(6000, { ...event, turn: 't' })
      .run(300_000)
    expect(turnIn(host)).toBeNull()
    expect(host.log).toEqual(['5000 t completed'])
  })

  it.each([...STARTING, ...NOT_STARTING].map(named))('%s with its id does not touch the next turn', (_name, event) => {
    const host = midStream()
      .send(5000, completed)
      .send(6000, started({ turn: 'u' }))
      .send(7000, token)
      .send(50_000, { ...event, turn: 't' })
    expect(host.run(130_000).log).toEqual(['5000 t completed', '98000 u suspect', '120000 u stale silence'])
  })

  it('a second end is nothing, and the first outcome stays', () => {
    const host = midStream().send(5000, completed).send(5500, { kind: 'turn.ended', outcome: 'error' }).run(6000)
    expect(host.log).toEqual(['5000 t completed'])
    expect(host.ended).toMatchObject([{ outcome: 'completed', stats: { eventCount: 3 } }])
  })

  it('events after it are counted by thread and by handle', () => {
    const host = new WatchedHost()
    const turn = host.watch.startTurn({ threadId: THREAD, turnId: 't', provider: 'codex', model: 'm' })
    turn.observe(token)
    turn.observe(completed)
    turn.observe(token)
    turn.observe(completed)
    host.watch.observe(THREAD, { ...token, turn: 't' })
    host.watch.observe(THREAD, side)
    expect(host.metric('events_total', { class: 'after-end' })).toBe(4)
    expect([turnIn(host), host.ended.length]).toEqual([null, 1])
  })

  it('leaves the last known state of its thread, with the numbers of its last turn', () => {
    const host = midStream().send(5000, completed).run(9000)
    expect(host.watch.liveness(THREAD)).toMatchObject({
      state: 'ended',
      turn: null,
      openTool: null,
      waiting: null,
      lastStreamAt: '2026-01-01T00:00:05.000Z',
      silenceMs: 4000,
      lastProgressAt: '2026-01-01T00:00:01.000Z',
      phase: null,
    })
  })

  it('is forgotten after a day, or when too many threads came after it', () => {
    const old = midStream({ keepThreadsMs: 60_000 }).send(5000, completed).run(64_000)
    expect(old.state()).toBe('ended')
    expect(old.run(66_000).state()).toBe('idle')
    const crowded = midStream({ keepThreads: 2 }).send(5000, completed)
    for (const thread of ['a', 'b']) crowded.sendTo(thread, 6000, started({ turn: thread }), completed)
    crowded.run(7000)
    expect([crowded.state(THREAD), crowded.state('a'), crowded.state('b')]).toEqual(['idle', 'ended', 'ended'])
  })
})

describe('on a wire without turn ids', () => {
  it.each([started(), { kind: 'turn.restored' } as const, token, progress, toolStarts()].map(named))(
    'after a terminal %s opens a new turn',
    (_name, event) => {
      const host = new WatchedHost().send(0, started()).send(1000, completed).send(2000, event).run(3000)
      expect(turnIn(host)).not.toBeNull()
      expect(host.log).toHaveLength(1)
    },
  )

  it.each([waitStarts('approval'), ...NOT_STARTING].map(named))('after a terminal %s does not', (_name, event) => {
    const host = new WatchedHost().send(0, started()).send(1000, completed).send(2000, event).run(3000)
    expect(turnIn(host)).toBeNull()
    expect(host.log).toHaveLength(1)
  })

  it('every event belongs to the turn that runs, a start too', () => {
    const host = new WatchedHost().send(0, started()).send(1000, token).send(50_000, started()).run(130_000)
    expect(host.log.map((line) => line.replace(/ \S+ /, ' '))).toEqual(['92000 suspect', '114000 stale silence'])
  })

  it('a turn that was started before the wire had named it takes the first name that comes', () => {
    const host = new WatchedHost()
      .send(0, started())
      .send(1000, { ...token, turn: 'wire' })
      .send(2000, completed)
    expect(host.run(3000).log).toEqual(['2000 wire completed'])
  })
})

describe('what a start says', () => {
  it('the parent is named by the thread unless the start or the host says otherwise', () => {
    const host = new WatchedHost()
      .sendTo('sub.boss.one', 0, started({ turn: 'a' }))
      .sendTo('sub.x.y', 0, started({ turn: 'b', parent: 'other' }))
      .run(1000)
    const parents = ['sub.boss.one', 'sub.x.y'].map((thread) => host.watch.liveness(thread).parentThreadId)
    expect(parents).toEqual(['boss', 'other'])
  })

  it('a later start of the running turn completes what the first did not know', () => {
    const host = new WatchedHost()
      .send(0, { ...token, turn: 't' })
      .send(1000, started({ turn: 't' }))
      .send(2000, completed)
    expect(host.run(3000).ended).toMatchObject([
      { stats: { turnId: 't', provider: 'codex', model: 'm', eventCount: 3 } },
    ])
  })

  it('a request shows until the turn starts', () => {
    const host = new WatchedHost().send(1000, { kind: 'turn.requested' }).run(2000)
    expect(host.state()).toBe('requested')
    expect(
      host
        .send(3000, started({ turn: 't' }))
        .run(4000)
        .state(),
    ).toBe('running')
    expect(host.send(5000, completed).run(6000).state()).toBe('ended')
  })
})

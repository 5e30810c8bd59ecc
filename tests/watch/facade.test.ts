import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { createTurnwatch, type Message, type Turnwatch, type TurnwatchOptions } from '../../index.ts'

const TEXT = { kind: 'token', stream: 'text' } as const

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** A watch on a virtual clock, and a way to let time pass. */
function host(options: TurnwatchOptions = {}) {
  const virtual = new VirtualHost()
  const faults: string[] = []
  const watch = createTurnwatch({ clock: virtual.clock, onError: (fault) => faults.push(fault.message), ...options })
  const pass = (seconds: number) => virtual.run(virtual.now + seconds * 1000, () => watch.tick())
  return { watch, pass, faults, virtual }
}

function value(watch: Turnwatch, name: string, labels: Record<string, string> = {}): number | undefined {
  const family = watch.metrics().find((one) => one.name === `turnwatch_${name}`)
  if (family === undefined || family.type === 'histogram') return undefined
  return family.points.find((point) => Object.entries(labels).every(([key, text]) => point.labels[key] === text))?.value
}

describe('bad options', () => {
  it.each([
    [{ thresholds: { preset: 'bold' } }, 'thresholds.preset: "bold" is none of standard, cautious'],
    [{ thresholds: { firstTokenMs: -1 } }, 'thresholds.firstTokenMs: -1 is not a positive number of ms'],
    [{ thresholds: { midStreamMs: '90s' } }, 'thresholds.midStreamMs: "90s" is not a positive number of ms'],
    [{ thresholds: { afterToolMs: Number.NaN } }, 'thresholds.afterToolMs: null is not a positive number of ms'],
    [{ keepThreads: 1.5 }, 'keepThreads: 1.5 is not a whole number of threads'],
    [{ notify: 'https://x' }, 'notify: a URL is neither a function, a channel, nor an object with channels'],
  ])('%j are refused with their name and value', (options, message) => {
    expect(() => createTurnwatch(options as never)).toThrow(message)
  })
})

describe('a stale child', () => {
  it('is told to its parent once, in a message that says it all', async () => {
    const told: Message[] = []
    const { watch, pass } = host({ notify: (message) => void told.push(message) })
    const turn = watch.startTurn({ threadId: 'sub.boss.one', turnId: 't1', provider: 'claudeAgent', model: 'opus' })
    pass(1)
    turn.observe(TEXT)
    pass(300)
    expect(told).toEqual([
      {
        verdict: 'stale',
        key: 'stale/sub.boss.one/t1/1',
        thread: 'sub.boss.one',
        turn: 't1',
        parent: 'boss',
        provider: 'claudeAgent',
        model: 'opus',
        reason: 'silence',
        phase: 'mid-stream',
        lastEventAt: '1970-01-01T00:00:01.000Z',
        lastEventKind: 'text',
        silenceMs: 113_000,
        thresholdMs: 90_000,
        thresholdSource: 'default',
        text:
          'Child thread sub.boss.one (claudeAgent, opus) has stopped streaming: no progress for 113.0 s (reason silence; ' +
          'threshold 90.0 s default, preset standard, mid-stream). Its last progress was text at 1970-01-01T00:00:01.000Z. ' +
          'Nothing was cancelled or retried. You may wait, because it can still go on, look at it, or stop it and start ' +
          'its work again. Another supervisor may have told you already.',
      },
    ])
    await settle()
    expect(watch.liveness('boss').messages).toEqual([
      { key: 'stale/sub.boss.one/t1/1', at: '1970-01-01T00:01:54.000Z', text: told[0]?.text },
    ])
    turn.observe(TEXT)
    pass(300)
    expect(told.map(({ key }) => key)).toEqual(['stale/sub.boss.one/t1/1', 'stale/sub.boss.one/t1/2'])
  })

  it('is reported although notify throws or rejects, and the tick goes on', async () => {
    for (const notify of [
      () => {
        throw new Error('no')
      },
      () => Promise.reject(new Error('no')),
    ]) {
      const { watch, pass, faults } = host({ notify })
      watch.startTurn({ threadId: 'a' })
      watch.startTurn({ threadId: 'b' })
      pass(151)
      await settle()
      expect(faults).toEqual(['turnwatch: notifier: callback: threw Error; will be tried again'])
      expect(value(watch, 'internal_errors_total', { where: 'notifier' })).toBe(2)
      expect([watch.liveness('a').stale, watch.liveness('b').stale]).toEqual([true, true])
    }
  })

  it('hostile names stay one line of bounded length', () => {
    const told: Message[] = []
    const { watch, pass } = host({ notify: (message) => void told.push(message) })
    watch.startTurn({ threadId: `a\n\u001b[31mb${'x'.repeat(1000)}`, model: 'm\r\nm' })
    pass(200)
    expect(told[0]?.text).not.toMatch(/\p{Cc}/u)
    expect(told[0]?.text.length).toBeLessThan(600)
  })
})

describe('listeners', () => {
  it('one that throws or rejects stops neither the tick nor the others, and unsubscribing is final', async () => {
    const { watch, pass, faults } = host()
    const heard: string[] = []
    watch.on('stale', () => {
      throw new Error('broken')
    })
    watch.on('stale', async () => {
      throw new Error('broken too')
    })
    const off = watch.on('stale', ({ threadId }) => heard.push(threadId))
    watch.startTurn({ threadId: 'a' })
    watch.startTurn({ threadId: 'b' })
    pass(200)
    await Promise.resolve()
    expect(heard).toEqual(['a', 'b'])
    expect(faults.sort()).toEqual([
      'turnwatch: listener: broken',
      'turnwatch: listener: broken',
      'turnwatch: listener: broken too',
      'turnwatch: listener: broken too',
    ])
    off()
    watch.startTurn({ threadId: 'c' })
    pass(200)
    expect(heard).toEqual(['a', 'b'])
  })

  it('a broken onError harms nobody', () => {
    const { watch, pass } = host({
      onError: () => {
        throw new Error('even this')
      },
    })
    watch.on('stale', () => {
      throw new Error('broken')
    })
    watch.startTurn({ threadId: 'a' })
    expect(() => pass(200)).not.toThrow()
    expect(watch.liveness('a').stale).toBe(true)
  })

  it('hear of ends with the record of the turn', () => {
    const { watch, pass } = host()
    const ended = vi.fn()
    watch.on('turn-ended', ended)
    const turn = watch.startTurn({ threadId: 'a', turnId: 't', provider: 'p', model: 'm' })
    pass(2)
    turn.observe(TEXT)
    pass(3)
    turn.observe({ kind: 'turn.ended', outcome: 'incomplete' })
    expect(ended).toHaveBeenCalledTimes(1)
    expect(ended.mock.calls[0]?.[0]).toEqual({
      outcome: 'incomplete',
      named: true,
      stats: {
        id: 'stats/a/t',
        threadId: 'a',
        turnId: 't',
        parentThreadId: null,
        provider: 'p',
        model: 'm',
        outcome: 'completed',
        state: 'incomplete',
        startedAt: '1970-01-01T00:00:00.000Z',
        endedAt: '1970-01-01T00:00:05.000Z',
        durationMs: 5000,
        timeToFirstTokenMs: 2000,
        maxGapMs: 3000,
        eventCount: 2,
        usage: null,
        turnwatch: { v: 1, firstTokenMs: 2000, midStreamMs: 3000, afterToolMs: null },
      },
    })
  })
})

describe('a handle', () => {
  it('of a turn that has ended or was displaced counts and changes nothing', () => {
    const { watch, pass } = host()
    const old = watch.startTurn({ threadId: 'a', turnId: 't1', provider: 'p', model: 'm' })
    const current = watch.startTurn({ threadId: 'a', turnId: 't2', provider: 'p', model: 'm' })
    old.observe({ kind: 'turn.ended', outcome: 'error' })
    old.observe(TEXT)
    expect(watch.liveness('a').turn).toMatchObject({ turnId: 't2', eventCount: 0 })
    expect(value(watch, 'events_total', { provider: 'p', class: 'after-end' })).toBe(2)
    current.observe({ kind: 'turn.ended', outcome: 'completed' })
    pass(1)
    expect(value(watch, 'turns_ended_total', { outcome: 'aborted' })).toBe(1)
    expect(value(watch, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('takes hostile events without a throw', () => {
    const { watch } = host()
    const turn = watch.startTurn({ threadId: '__proto__', turnId: 'constructor' })
    for (const event of [
      { kind: 'nonsense' },
      {},
      { kind: 'tool.started' },
      { kind: 'wait.started', id: 'x', reason: 'odd', until: Number.NaN },
    ]) {
      expect(() => turn.observe(event as never)).not.toThrow()
      expect(() => watch.observe('other', event as never)).not.toThrow()
    }
    expect(() => watch.observe('other', null as never)).not.toThrow()
    expect(watch.liveness('__proto__').turn?.turnId).toBe('constructor')
  })
})

describe('a start by the host and by the wire', () => {
  it('of the same turn is one, whichever comes first', () => {
    const { watch, pass } = host()
    watch.observe('a', { kind: 'turn.started', turn: 't1' })
    watch.observe('a', { kind: 'tool.started', id: 'x', turn: 't1' })
    pass(1)
    const turn = watch.startTurn({ threadId: 'a', turnId: 't1', provider: 'codex', model: 'm' })
    expect(watch.liveness('a')).toMatchObject({ state: 'tool', turn: { turnId: 't1', provider: 'codex', model: 'm' } })
    turn.observe({ kind: 'turn.ended', outcome: 'completed' })
    expect(value(watch, 'turns_ended_total', { provider: 'codex', outcome: 'completed' })).toBe(1)
    expect(value(watch, 'turns_ended_total', { provider: 'codex', outcome: 'aborted' })).toBe(0)
  })

  it('of a turn that has ended is none', () => {
    const { watch, pass } = host()
    watch.observe('a', { kind: 'turn.started', turn: 't1', provider: 'p', model: 'm' })
    watch.observe('a', { kind: 'turn.ended', turn: 't1', outcome: 'completed' })
    const late = watch.startTurn({ threadId: 'a', turnId: 't1', provider: 'p', model: 'm' })
    late.observe(TEXT)
    pass(500)
    expect(watch.liveness('a')).toMatchObject({ state: 'ended', turn: null, stale: false })
    expect(value(watch, 'events_total', { class: 'after-end' })).toBe(1)
  })

  it('an unnamed turn takes the first id that the wire names, of an error or end too', () => {
    const { watch } = host()
    const turn = watch.startTurn({ threadId: 'a', provider: 'p', model: 'm' })
    turn.observe({ kind: 'error', turn: 't9', message: 'overloaded' })
    expect(watch.liveness('a')).toMatchObject({ stale: true, reason: 'provider-error', turn: { turnId: 't9' } })
    watch.observe('a', { kind: 'turn.ended', turn: 't9', outcome: 'error' })
    expect(watch.liveness('a').state).toBe('ended')
  })

  it('counts under the model that the wire names later', () => {
    const { watch, pass } = host()
    watch.startTurn({ threadId: 'a', provider: 'claudeAgent' })
    pass(2)
    watch.observe('a', { kind: 'turn.started', provider: 'claudeAgent', model: 'opus' })
    watch.observe('a', TEXT)
    expect(value(watch, 'turns_started_total', { model: 'opus' })).toBe(1)
    expect(value(watch, 'turns_started_total', { model: '' })).toBe(0)
    watch.startTurn({ threadId: 'b', provider: 'codex' })
    watch.startTurn({ threadId: 'c', provider: 'codex' }).observe({ kind: 'turn.ended', outcome: 'aborted' })
    expect(value(watch, 'turns_started_total', { provider: 'codex', model: '' })).toBe(1)
    pass(11)
    expect(value(watch, 'turns_started_total', { provider: 'codex', model: '' })).toBe(2)
  })
})

describe('events that no wire should send', () => {
  it('break no scrape and leave no turn behind', () => {
    const { watch } = host()
    const turn = watch.startTurn({ threadId: 'a', provider: 'p', model: 'm' })
    turn.observe({ kind: 'wait.started', id: 'w', reason: 'lunch' as never })
    turn.observe({ kind: 'turn.started', model: 5 as never, provider: {} as never })
    expect(watch.liveness('a')).toMatchObject({ state: 'running', waiting: null, turn: { provider: 'p', model: 'm' } })
    expect(() => watch.metrics()).not.toThrow()
    turn.observe({ kind: 'turn.ended', outcome: 'failed' as never })
    expect(watch.liveness('a').state).toBe('ended')
    expect(value(watch, 'turns_ended_total', { outcome: 'error' })).toBe(1)
  })
})

describe('a step of the wall clock', () => {
  it('is no silence on the route', () => {
    const { watch, pass, virtual } = host()
    watch.startTurn({ threadId: 'a' }).observe(TEXT)
    pass(2)
    virtual.stepWallClock(3_600_000)
    expect(watch.liveness('a')).toMatchObject({
      now: '1970-01-01T01:00:02.000Z',
      lastStreamAt: '1970-01-01T01:00:00.000Z',
      silenceMs: 2000,
    })
    virtual.stepWallClock(-7_200_000)
    expect(watch.liveness('a').silenceMs).toBe(2000)
  })
})

describe('a request that no turn follows', () => {
  it('is over when the thread says so', () => {
    const { watch } = host()
    watch.observe('a', { kind: 'turn.requested' })
    watch.observe('a', { kind: 'error', message: 'refused' })
    expect(watch.liveness('a').state).toBe('idle')
    expect(value(watch, 'turns_not_started')).toBe(0)
  })
})

describe('threads that ended', () => {
  it('keep their last known state, bounded in number', () => {
    const { watch, pass } = host({ keepThreads: 3 })
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      watch.startTurn({ threadId: id }).observe({ kind: 'turn.ended', outcome: 'completed' })
      pass(1)
    }
    expect(['a', 'b', 'c', 'd', 'e'].map((id) => watch.liveness(id).state)).toEqual([
      'idle',
      'idle',
      'ended',
      'ended',
      'ended',
    ])
    expect(watch.liveness('e')).toMatchObject({ turn: null, lastStreamAt: '1970-01-01T00:00:04.000Z', silenceMs: 1000 })
  })

  it('and in age', () => {
    const { watch, pass } = host({ keepThreadsMs: 60_000 })
    watch.startTurn({ threadId: 'a' }).observe({ kind: 'turn.ended', outcome: 'completed' })
    pass(59)
    expect(watch.liveness('a').state).toBe('ended')
    pass(3)
    expect(watch.liveness('a').state).toBe('idle')
  })

  it('are 10,000 for 24 h by default', () => {
    const { watch, pass } = host()
    const end = (id: string) => watch.startTurn({ threadId: id }).observe({ kind: 'turn.ended', outcome: 'completed' })
    for (let i = 0; i <= 10_000; i++) end(`t${i}`)
    expect([watch.liveness('t0').state, watch.liveness('t1').state]).toEqual(['idle', 'ended'])
    pass(86_400 - 1)
    expect(watch.liveness('t1').state).toBe('ended')
    pass(3)
    expect(watch.liveness('t1').state).toBe('idle')
  })

  it('show the flag of a failed turn until the next turn starts', () => {
    const { watch, pass } = host()
    const turn = watch.startTurn({ threadId: 'a' })
    pass(5)
    turn.observe({ kind: 'error', message: 'overloaded' })
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    pass(1000)
    expect(watch.liveness('a')).toMatchObject({
      state: 'ended',
      stale: true,
      reason: 'provider-error',
      staleSince: '1970-01-01T00:00:05.000Z',
    })
    watch.startTurn({ threadId: 'a' })
    expect(watch.liveness('a')).toMatchObject({ state: 'running', stale: false, reason: null, staleSince: null })
  })
})

describe('gaps', () => {
  it('are summed up by model and phase, those of open tools left out', () => {
    const { watch, pass } = host()
    const turn = watch.startTurn({ threadId: 'a', provider: 'p', model: 'm' })
    pass(2)
    for (let i = 0; i < 99; i++) turn.observe(TEXT)
    pass(4)
    turn.observe({ kind: 'tool.started', id: 't' })
    pass(500)
    turn.observe({ kind: 'tool.ended', id: 't' })
    pass(3)
    turn.observe(TEXT)
    expect(watch.gaps()).toEqual([
      { provider: 'p', model: 'm', phase: 'first-token', count: 1, p50Ms: 1500, p99Ms: 1990, largestMs: 2000 },
      { provider: 'p', model: 'm', phase: 'after-tool', count: 1, p50Ms: 2750, p99Ms: 2995, largestMs: 3000 },
      {
        provider: 'p',
        model: 'm',
        phase: 'mid-stream',
        count: 99,
        p50Ms: expect.closeTo(5, 0),
        p99Ms: expect.closeTo(2515),
        largestMs: 4000,
      },
    ])
  })
})

describe('what is shown and never called stale', () => {
  it('turns requested and not started, interrupts not settled, ends the host has not noticed', () => {
    const { watch, pass, faults } = host({ runningThreads: () => ['a', 'b', 'unknown'] })
    watch.observe('r', { kind: 'turn.requested' })
    watch.startTurn({ threadId: 'a' }).observe({ kind: 'turn.ended', outcome: 'completed' })
    watch.startTurn({ threadId: 'b' }).observe({ kind: 'interrupt.requested' })
    pass(100)
    expect(watch.liveness('r').state).toBe('requested')
    expect(value(watch, 'turns_not_started')).toBe(1)
    expect(value(watch, 'interrupts_unsettled')).toBe(1)
    expect(value(watch, 'turns_unsettled')).toBe(1)
    watch.observe('r', { kind: 'turn.started' })
    expect(watch.liveness('r').state).toBe('running')
    expect(value(watch, 'turns_not_started')).toBe(0)
    expect(faults).toEqual([])
  })

  it('a runningThreads that throws breaks no scrape', () => {
    const { watch, faults } = host({
      runningThreads: () => {
        throw new Error('db')
      },
    })
    expect(value(watch, 'turns_unsettled')).toBe(0)
    expect(faults).toEqual(['turnwatch: collector: db'])
  })
})

describe('a thread whose id becomes known later', () => {
  it('goes on under its new id, with its parent', () => {
    const { watch, pass } = host()
    const turn = watch.startTurn({ threadId: 'pid-1', provider: 'p' })
    pass(10)
    watch.renameThread('pid-1', 'sub.boss.x')
    watch.observe('sub.boss.x', TEXT)
    expect(watch.liveness('sub.boss.x')).toMatchObject({
      parentThreadId: 'boss',
      turn: { eventCount: 1, startedAt: '1970-01-01T00:00:00.000Z' },
    })
    expect(watch.liveness('pid-1').state).toBe('idle')
    expect(turn.threadId).toBe('sub.boss.x')
  })
})

describe('a real timer', () => {
  const watches: Turnwatch[] = []
  afterEach(() => Promise.all(watches.splice(0).map((watch) => watch.stop())))

  it('ticks after start, not after stop, and does not keep the process alive', async () => {
    const watch = createTurnwatch()
    watches.push(watch)
    watch.start().start()
    await vi.waitUntil(() => watch.self.ticks > 0, { timeout: 10_000 })
    await watch.stop()
    await watch.stop()
    const script = `import { createTurnwatch } from './index.ts'; createTurnwatch().start()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('a process that is gone makes its turn provider-dead', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const watch = createTurnwatch()
    watches.push(watch)
    watch.startTurn({ threadId: 'a', pid: child.pid })
    const tick = () => {
      watch.tick()
      return watch.liveness('a').reason
    }
    await vi.waitUntil(() => child.pid !== undefined)
    expect(tick()).toBe(null)
    child.kill('SIGKILL')
    await vi.waitUntil(() => tick() === 'provider-dead', { timeout: 20_000, interval: 50 })
  })
})

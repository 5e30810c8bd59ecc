/** Where messages were once lost, doubled or kept: each a case that a review of the notifier found. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { DeliveryFailed } from '../../notifier/channel.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { completed, failure, NotifiedHost, type NotifiedHostOptions, Receiver, settle, token } from './notified-host.ts'

const KEY = 'stale/sub.boss.one/t/1'

let folder: string
let virtual: VirtualHost
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-edges-'))
  virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = () => join(folder, 'store.db')
const host = (options: NotifiedHostOptions = {}) =>
  new NotifiedHost({ virtual, store: sqliteStore(file()), ...options })

/** Lets time pass for processes that live at the same time. */
async function passFor(hosts: readonly NotifiedHost[], seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    virtual.run(virtual.now + 1000, () => {
      for (const one of hosts) one.watch.tick()
    })
    await settle()
  }
}

describe('an episode', () => {
  it.each(['gets another name', 'gets its id'])(
    'whose turn %s meanwhile still takes on a stronger reason',
    async (how) => {
      const one = new NotifiedHost()
      one.receiver.answer = () => 'busy'
      const turn =
        how === 'gets its id'
          ? one.watch.startTurn({ threadId: 'sub.boss.tmp', provider: 'codex', model: 'm' })
          : one.start('sub.boss.tmp')
      turn.observe(token)
      await one.leap(113)
      if (how === 'gets its id') one.watch.observe('sub.boss.tmp', { kind: 'side', what: 'ping', turn: 'real' })
      else one.watch.renameThread('sub.boss.tmp', 'sub.boss.real')
      turn.observe(failure)
      turn.observe({ kind: 'turn.ended', outcome: 'error' })
      one.receiver.answer = () => {}
      await one.pass(40)
      expect(one.receiver.got.at(-1)?.message.reason).toBe('provider-error')
      expect(new Set(one.receiver.keys).size).toBe(1)
      expect(one.metric('notifications_suppressed_total')).toBe(0)
    },
  )

  it('of before a restart takes on a stronger reason too, before and after its message is taken over', async () => {
    const first = host()
    first.receiver.answer = () => 'busy'
    await first.stale()
    const second = host()
    const turn = second.start()
    turn.observe({ kind: 'turn.restored' })
    await second.pass(2)
    turn.observe({ kind: 'exit' })
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    await second.pass(60)
    expect(second.receiver.got.map(({ message, attempt }) => [attempt.key, message.reason])).toEqual([
      [KEY, 'provider-dead'],
    ])
  })

  it('of a turn that moved to a process that ran already is a new one if the turn went on there', async () => {
    const [a, b] = [host(), host()]
    await a.stale()
    const turn = b.start()
    turn.observe({ kind: 'turn.restored' })
    await b.pass(2)
    turn.observe(token)
    await b.pass(200)
    expect([a.receiver.keys, b.receiver.keys]).toEqual([[KEY], ['stale/sub.boss.one/t/2']])
  })

  it('has a key of its own, whatever is in the ids', async () => {
    const one = host()
    one.start('sub.boss.a/b', 'c').observe(failure)
    one.start('sub.boss.a', 'b/c').observe(failure)
    one.start('sub.boss.a', 'b%2Fc').observe(failure)
    one.start('sub.boss.\ud800', 't').observe(failure)
    await one.pass(2)
    expect(one.receiver.keys).toEqual([
      'stale/sub.boss.a/b/c/1',
      'stale/sub.boss.a/b%2Fc/1',
      'stale/sub.boss.a/b%252Fc/1',
      'stale/sub.boss.\ufffd/t/1',
    ])
  })
})

describe('two processes that live', () => {
  it.each([60_000, -7_200_000])('take nothing over when the wall clock is set by %i ms', async (stepMs) => {
    const alerts = new Receiver('alerts', { repeatMs: 60_000 })
    const other = new Receiver('alerts', { repeatMs: 60_000 })
    const [a, b] = [host({ channels: [alerts] }), host({ channels: [other] })]
    a.start().observe(token)
    await passFor([a, b], 120)
    virtual.stepWallClock(stepMs)
    await passFor([a, b], 400)
    expect(other.got).toEqual([])
    expect(alerts.got.every(({ attempt }) => attempt.endedAt === null)).toBe(true)
    expect(a.watch.liveness('sub.boss.one').stale).toBe(true)
  })

  it('write down what arrived, although the other took it over meanwhile', async () => {
    const a = host()
    let arrive: () => void = () => {}
    a.receiver.answer = () =>
      new Promise((resolve) => {
        arrive = () => resolve('delivered')
      })
    await a.stale()
    const busy = new Receiver()
    busy.answer = () => 'busy'
    const b = host({ channels: [busy] })
    // The first is stopped for a minute, with a try under way.
    await b.pass(60)
    arrive()
    await settle()
    await passFor([a, b], 5)
    const db = new DatabaseSync(file(), { readOnly: true })
    expect(db.prepare('SELECT state FROM deliveries').all()).toMatchObject([{ state: 'delivered' }])
    db.close()
    expect(a.receiver.got).toHaveLength(1)
  })
})

describe('a channel that shows a state', () => {
  it.each([
    ['one 503', new DeliveryFailed('server_error', 'HTTP 503')],
    ['one 404', new DeliveryFailed('client_error', 'HTTP 404', { retry: false })],
  ])('and fails once at a repeat, by %s, is told again well within five minutes', async (_name, error) => {
    const alerts = new Receiver('alerts', { repeatMs: 60_000 })
    const at: number[] = []
    const one = new NotifiedHost({ channels: [alerts], virtual })
    let times = 0
    alerts.answer = () => {
      if (++times === 6) return Promise.reject(error)
      at.push(virtual.now)
    }
    await one.stale()
    await one.pass(1200)
    const gaps = at.slice(1).map((time, i) => time - (at[i] as number))
    expect(gaps.length).toBeGreaterThan(15)
    expect(Math.max(...gaps)).toBeLessThan(120_000)
  })
})

describe('a watch that stops', () => {
  it('waits for a host that is asked whether another supervisor tells', async () => {
    const one = host({ isManagedElsewhere: () => new Promise((resolve) => setTimeout(() => resolve(false), 100)) })
    await one.stale()
    await one.watch.stop()
    expect(one.receiver.keys).toEqual([KEY])
    expect(one.faults).toEqual([])
  })

  it('says one line of what was under way, not one more of the try', async () => {
    const one = new NotifiedHost({ closeMs: 0 })
    one.receiver.answer = (_message, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    await one.stale()
    await one.watch.stop()
    expect(one.faults).toEqual(['turnwatch: notifier: 1 message not delivered in time, lost'])
  })

  it('twice, or at once, stops once', async () => {
    const one = host()
    await one.stale()
    await Promise.all([one.watch.stop(), one.watch.stop()])
    await one.watch.stop()
    one.watch.tick()
    expect(one.faults).toEqual([])
    expect(one.receiver.keys).toEqual([KEY])
  })
})

describe('a host that is not careful', () => {
  it.each<[string, () => unknown]>([
    ['undefined', () => undefined],
    ['a number', () => 7],
    ['a promise', () => Promise.resolve('boss')],
    ['the thread itself', () => 'main'],
  ])('and names %s as the parent has a thread without one', async (_name, parentOf) => {
    const one = new NotifiedHost({ parentOf: parentOf as () => string })
    await one.stale('main')
    expect(one.receiver.got.map(({ message }) => message.parent)).toEqual([null])
  })

  it('and asks for a Retry-After that is no number is not waited for longer', async () => {
    const one = new NotifiedHost()
    one.receiver.answer = () =>
      Promise.reject(new DeliveryFailed('server_error', 'HTTP 503', { retryAfterMs: Number.NaN }))
    await one.stale()
    one.receiver.answer = () => {}
    await one.pass(3)
    expect(one.receiver.got).toHaveLength(2)
  })

  it('and throws what throws when it is looked at harms nobody', async () => {
    const one = new NotifiedHost()
    one.receiver.answer = () => {
      throw Object.defineProperty(new Error('x'), 'code', {
        get: () => {
          throw new Error('look away')
        },
      })
    }
    await one.stale()
    one.receiver.answer = () => {}
    await one.pass(3)
    expect(one.receiver.got).toHaveLength(2)
  })

  it('and ends its turn in a listener for stale is told, and the end is known', async () => {
    const alerts = new Receiver('alerts', { repeatMs: 60_000 })
    const one = new NotifiedHost({ channels: [alerts] })
    one.watch.on('stale', ({ threadId }) => one.watch.observe(threadId, completed))
    await one.stale()
    await one.pass(200)
    expect(alerts.got.map(({ attempt }) => attempt.endedAt === null)).toEqual([true, false])
  })
})

describe('a message that is old', () => {
  it.each<[string, Receiver['answer']]>([
    [
      'on a channel that pauses',
      () => Promise.reject(new DeliveryFailed('client_error', '429', { retryAfterMs: 3.6e6 })),
    ],
    ['in a try that never ends', () => new Promise(() => {})],
  ])('%s is dead too', async (_name, answer) => {
    const one = new NotifiedHost({ expireMs: 7_200_000 })
    one.receiver.answer = answer
    for (const child of ['a', 'b', 'c']) one.start(`sub.boss.${child}`)
    await one.leap(151)
    await one.pass(60)
    for (let hour = 0; hour < 3; hour++) await one.leap(3600)
    expect(one.metric('notifications_pending')).toBe(0)
    expect(one.metric('notifications_suppressed_total', { reason: 'expired' })).toBe(3)
  })
})

describe('a poisoned message', () => {
  it('is not tried more often because others arrive', async () => {
    const one = new NotifiedHost()
    one.receiver.answer = ({ thread }) =>
      thread === 'sub.boss.bad' ? Promise.reject(new DeliveryFailed('connection', 'ECONNRESET')) : undefined
    await one.stale('sub.boss.bad')
    for (let child = 0; child < 100; child++) {
      one.start(`sub.boss.${child}`).observe(failure)
      await one.pass(6)
    }
    expect(one.receiver.threads.filter((thread) => thread === 'sub.boss.bad').length).toBeLessThan(20)
  })
})

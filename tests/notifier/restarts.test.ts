import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { completed, failure, NotifiedHost, type NotifiedHostOptions, Receiver, settle, token } from './notified-host.ts'

const KEY = 'stale/sub.boss.one/t/1'

let folder: string
let virtual: VirtualHost
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-outbox-'))
  virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = () => join(folder, 'store.db')

/** A process on the shared file. One that is no longer let time pass has been killed. */
const host = (options: NotifiedHostOptions = {}) =>
  new NotifiedHost({ virtual, store: sqliteStore(file()), ...options })

function rows(query = 'SELECT key, state, attempts FROM deliveries ORDER BY since, key'): Record<string, unknown>[] {
  const db = new DatabaseSync(file(), { readOnly: true })
  const found = db.prepare(query).all()
  db.close()
  return found.map((row) => ({ ...row }))
}

const states = () => rows().map(({ key, state }) => `${state} ${key}`)

describe('a message that was pending when its process died', () => {
  it('is delivered by the next one, under the same key, when the lease is over', async () => {
    const first = host()
    first.receiver.answer = () => 'busy'
    await first.stale()
    await first.pass(10)
    const second = host()
    await second.pass(15)
    expect(second.receiver.keys).toEqual([])
    await second.pass(30)
    expect(second.receiver.keys).toEqual([KEY])
    expect(second.receiver.got[0]?.attempt.attempt).toBe(first.receiver.got.length + 1)
    expect(states()).toEqual([`delivered ${KEY}`])
  })

  it('is delivered at once when it was stopped in good order', async () => {
    const first = host({ closeMs: 0 })
    first.receiver.answer = () => 'busy'
    await first.stale()
    await first.watch.stop()
    expect(first.faults).toEqual(['turnwatch: notifier: 1 message not delivered in time, kept for the next start'])
    const second = host()
    await second.pass(31)
    expect(second.receiver.keys).toEqual([KEY])
  })

  it('is withdrawn when its turn goes on there first', async () => {
    const first = host({ closeMs: 0 })
    first.receiver.answer = () => 'busy'
    await first.stale()
    await first.watch.stop()
    const busy = new Receiver()
    busy.answer = () => 'busy'
    const second = host({ channels: [busy] })
    second.start().observe(token)
    await second.pass(5)
    expect(states()).toEqual([`withdrawn ${KEY}`])
    expect(second.metric('notifications_suppressed_total', { reason: 'recovered' })).toBe(1)
  })

  it('of a provider failure is delivered although nobody knows the turn any more', async () => {
    const first = host({ closeMs: 0 })
    first.receiver.answer = () => 'busy'
    const turn = first.start()
    turn.observe(failure)
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    await settle()
    await first.watch.stop()
    const second = host()
    await second.pass(31)
    expect(second.receiver.got.map(({ message }) => [message.key, message.reason])).toEqual([[KEY, 'provider-error']])
    expect(second.receiver.got[0]?.message.text).toContain('Its turn has ended since.')
  })

  it('is not given to another receiver that has the same name', async () => {
    const first = host({ closeMs: 0, channels: [new Receiver('webhook', { target: 'a', deliver: () => 'busy' })] })
    await first.stale()
    await first.watch.stop()
    const other = new Receiver('webhook', { target: 'b' })
    const second = host({ channels: [other], closeMs: 0 })
    await second.pass(60)
    await second.watch.stop()
    const same = new Receiver('webhook', { target: 'a' })
    await host({ channels: [same] }).pass(31)
    expect([other.keys, same.keys]).toEqual([[], [KEY]])
  })

  it('is dead a day later when no process has its channel, which is counted', async () => {
    const first = host({ closeMs: 0 })
    first.receiver.answer = () => 'busy'
    await first.stale()
    await first.watch.stop()
    virtual.block(86_500_000)
    const second = host({ channels: [new Receiver('another')] })
    await second.pass(2)
    expect(states()).toEqual([`dead ${KEY}`])
    expect(second.metric('notifications_suppressed_total', { reason: 'expired' })).toBe(1)
  })

  it('does not wait for a wall clock that was set back, nor die of one that jumped for an hour', async () => {
    const first = host({ closeMs: 0 })
    first.receiver.answer = () => 'busy'
    await first.stale()
    virtual.stepWallClock(-7_200_000)
    const second = host()
    second.receiver.answer = () => 'busy'
    await second.pass(45)
    expect(second.receiver.keys[0]).toBe(KEY)
    virtual.stepWallClock(10_800_000)
    second.receiver.answer = () => {}
    await second.pass(31)
    expect(states()).toEqual([`delivered ${KEY}`])
  })
})

describe('a turn that is restored after a restart', () => {
  it('and is still silent is stale again, in the same episode: nobody is told twice', async () => {
    const first = host()
    await first.stale()
    const second = host()
    second.start().observe({ kind: 'turn.restored' })
    await second.leap(400)
    expect(second.watch.liveness('sub.boss.one')).toMatchObject({ state: 'stale', episode: 1 })
    expect([first.receiver.keys, second.receiver.keys]).toEqual([[KEY], []])
  })

  it('and goes on and falls silent again is told of once more, under the next key', async () => {
    const first = host()
    await first.stale()
    const second = host()
    second.watch.observe('sub.boss.one', { kind: 'turn.restored', turn: 't' })
    await second.pass(2)
    second.watch.observe('sub.boss.one', token)
    await second.leap(400)
    expect(second.receiver.keys).toEqual(['stale/sub.boss.one/t/2'])
    expect(second.receiver.got[0]?.message.parent).toBe('boss')
    expect(rows('SELECT key, resolution FROM episodes ORDER BY key')).toEqual([
      { key: KEY, resolution: 'recovered' },
      { key: 'stale/sub.boss.one/t/2', resolution: null },
    ])
  })

  it('and had gone on before the restart uses no key twice', async () => {
    const first = host()
    const turn = await first.stale()
    turn.observe(token)
    await first.leap(113)
    turn.observe(token)
    await first.pass(2)
    const second = host()
    second.start().observe({ kind: 'turn.restored' })
    await second.leap(400)
    expect([...first.receiver.keys, ...second.receiver.keys]).toEqual([
      KEY,
      'stale/sub.boss.one/t/2',
      'stale/sub.boss.one/t/3',
    ])
  })

  it('gives no sample, because it was stale before', async () => {
    const first = host()
    await first.stale()
    const second = host()
    const turn = second.start()
    turn.observe(token)
    await second.pass(3)
    turn.observe(completed)
    expect(second.watch.thresholds().map(({ samples }) => samples)).toEqual([0, 0, 0])
  })

  it("with per: 'turn' is told of no second time", async () => {
    const first = host({ per: 'turn' })
    await first.stale()
    const second = host({ per: 'turn' })
    second.start().observe(token)
    await second.leap(400)
    expect(second.receiver.keys).toEqual([])
  })
})

describe('a channel that shows a state', () => {
  const shown = () => new Receiver('alerts', { repeatMs: 60_000 })
  const told = ({ got }: Receiver) => got.map(({ attempt }) => (attempt.endedAt === null ? 'fires' : 'ends'))

  it('is told again every minute while the episode lasts, once when it ends, and then no more', async () => {
    const alerts = shown()
    const one = host({ channels: [alerts] })
    const turn = await one.stale()
    await one.pass(185)
    expect(told(alerts)).toEqual(['fires', 'fires', 'fires', 'fires'])
    turn.observe(token)
    await one.pass(60)
    expect(told(alerts)).toEqual(['fires', 'fires', 'fires', 'fires', 'ends'])
    expect(alerts.got.at(-1)?.attempt.endedAt).toBe('2026-01-01T00:04:58.000Z')
    expect(new Set(alerts.got.map(({ attempt }) => `${attempt.key} ${attempt.since}`)).size).toBe(1)
    expect(one.metric('notification_delay_seconds')).toBe(1)
    // The operator was told, not the parent.
    expect(one.watch.liveness('boss').messages).toEqual([])
  })

  it('is told of the end although the channel fails just then, and not for ever', async () => {
    const alerts = shown()
    const one = host({ channels: [alerts] })
    const turn = await one.stale()
    alerts.answer = () => Promise.reject(new Error('down'))
    turn.observe(completed)
    await one.pass(20)
    alerts.answer = () => {}
    await one.pass(40)
    expect(told(alerts).at(-1)).toBe('ends')
    const tries = alerts.got.length
    await one.pass(400)
    expect(alerts.got).toHaveLength(tries)

    await one.stale('sub.boss.two')
    alerts.answer = () => Promise.reject(new Error('down'))
    one.watch.observe('sub.boss.two', completed)
    await one.pass(310)
    const triedToEnd = alerts.got.length
    await one.pass(400)
    expect(alerts.got).toHaveLength(triedToEnd)
  })

  it('goes on over a restart, and ends when the restored turn goes on', async () => {
    const first = host({ channels: [shown()] })
    await first.stale()
    await first.watch.stop()
    const alerts = shown()
    const second = host({ channels: [alerts] })
    const turn = second.start()
    turn.observe({ kind: 'turn.restored' })
    await second.pass(400)
    expect(told(alerts)).toEqual(Array.from({ length: told(alerts).length }, () => 'fires'))
    expect(alerts.got.length).toBeGreaterThan(5)
    turn.observe(token)
    await second.pass(70)
    expect(told(alerts).at(-1)).toBe('ends')
    expect(told(alerts).filter((one) => one === 'ends')).toHaveLength(1)
  })

  it('ends over a restart when the turn had ended before, or has gone on before the lease was over', async () => {
    const first = host({ channels: [shown()] })
    await first.stale()
    const alerts = shown()
    const second = host({ channels: [alerts] })
    const turn = second.start()
    await second.pass(3)
    turn.observe(token)
    await second.pass(100)
    expect(told(alerts)).toEqual(['ends'])
  })

  it('ends within minutes of a restart when nobody knows the turn any more', async () => {
    const first = host({ channels: [shown()] })
    await first.stale()
    await first.watch.stop()
    const alerts = shown()
    const second = host({ channels: [alerts] })
    await second.pass(400)
    expect(told(alerts)).toEqual(['fires', 'fires', 'fires', 'fires', 'ends'])
    expect(rows('SELECT resolution FROM episodes')).toEqual([{ resolution: 'lost' }])
  })

  it('of a turn that failed and ended at once is told in any case', async () => {
    const alerts = shown()
    const one = host({ channels: [alerts] })
    const turn = one.start()
    turn.observe(failure)
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    await one.pass(100)
    expect(alerts.got.length).toBeGreaterThan(0)
    expect(one.metric('notifications_suppressed_total')).toBe(0)
    const tries = alerts.got.length
    await one.pass(400)
    expect(alerts.got).toHaveLength(tries)
  })
})

describe('several processes on one file', () => {
  it('deliver what is theirs; what a dead one left is taken over by one of them', async () => {
    const [dying, a, b] = [host(), host(), host()]
    dying.receiver.answer = () => 'busy'
    for (let child = 0; child < 50; child++) dying.start(`sub.boss.${child}`)
    await dying.leap(160)
    a.start('sub.boss.of-a')
    b.start('sub.boss.of-b')
    for (let second = 0; second < 200; second++) {
      virtual.run(virtual.now + 1000, () => {
        a.watch.tick()
        b.watch.tick()
      })
      await settle()
    }
    const delivered = [...a.receiver.threads, ...b.receiver.threads]
    expect(delivered).toHaveLength(52)
    expect(new Set(delivered).size).toBe(52)
    expect(a.receiver.threads).toContain('sub.boss.of-a')
    expect(b.receiver.threads).toContain('sub.boss.of-b')
    expect(states().every((state) => state.startsWith('delivered'))).toBe(true)
  })

  it('do not take over what one holds that only slept, and it does not send what was taken over meanwhile', async () => {
    const slept = host()
    slept.receiver.answer = () => 'busy'
    await slept.stale()
    const other = host()
    // Nobody ticks the first one: its machine sleeps, and its lease runs out.
    await other.pass(70)
    expect(other.receiver.keys).toEqual([KEY])
    const tries = slept.receiver.got.length
    slept.receiver.answer = () => {}
    await slept.pass(60)
    expect(slept.receiver.got).toHaveLength(tries)
    expect(slept.metric('notifications_pending')).toBe(0)
  })

  it('that saw the same turn stale tell of it once', async () => {
    const [a, b] = [host(), host()]
    a.start()
    b.start()
    for (let second = 0; second < 200; second++) {
      virtual.run(virtual.now + 1000, () => {
        a.watch.tick()
        b.watch.tick()
      })
      await settle()
    }
    expect([...a.receiver.keys, ...b.receiver.keys]).toEqual([KEY])
  })

  it('give a new episode a new key although the other used the first', async () => {
    const a = host()
    const b = host()
    const turn = await a.stale()
    turn.observe(completed)
    await a.pass(2)
    b.start()
    await b.leap(160)
    expect(b.receiver.keys).toEqual(['stale/sub.boss.one/t/2'])
    b.watch.observe('sub.boss.one', token)
    await b.leap(130)
    expect(b.receiver.keys).toEqual(['stale/sub.boss.one/t/2', 'stale/sub.boss.one/t/3'])
  })
})

describe('what is settled', () => {
  it('is forgotten after a while, with its episode; what lasts is not', async () => {
    const one = host({ keepMs: 3_600_000 })
    const turn = await one.stale()
    turn.observe(completed)
    await one.pass(2)
    await one.stale('sub.boss.two')
    await one.pass(1)
    expect(states()).toHaveLength(2)
    virtual.block(3_700_000)
    await one.pass(60)
    expect(states()).toEqual([])
    expect(one.receiver.got).toHaveLength(2)
    await one.leap(600)
    expect(one.receiver.got).toHaveLength(2)
  })
})

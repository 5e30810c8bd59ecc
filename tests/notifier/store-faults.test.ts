import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OutboxStore } from '../../notifier/outbox-store.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { NotifiedHost, Receiver, settle, token } from './notified-host.ts'

const KEY = 'stale/sub.boss.one/t/1'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-faults-'))
})
afterEach(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

const file = () => join(folder, 'store.db')
const host = () => new NotifiedHost({ store: sqliteStore(file()) })

function deliveries(): { key: unknown; state: unknown }[] {
  const db = new DatabaseSync(file(), { readOnly: true })
  const rows = db.prepare('SELECT key, state FROM deliveries ORDER BY since').all()
  db.close()
  return rows.map(({ key, state }) => ({ key, state }))
}

describe('a store that is locked', () => {
  it('holds a message up for two seconds at most; it is told so once, and is written to when it is free', async () => {
    const one = host()
    const locker = new DatabaseSync(file())
    locker.exec('BEGIN EXCLUSIVE')
    await one.stale()
    await one.pass(2)
    expect(one.receiver.keys).toEqual([KEY])
    await one.pass(30)
    expect(one.faults).toEqual(['turnwatch: store: database is locked'])
    expect(one.metric('store_errors_total', { op: 'outbox' })).toBeGreaterThan(1)
    expect(one.metric('notifications_failed_total', { reason: 'store' })).toBe(1)
    expect(one.watch.liveness('sub.boss.one').stale).toBe(true)
    locker.exec('ROLLBACK')
    locker.close()
    await one.pass(35)
    expect(deliveries()).toEqual([{ key: KEY, state: 'delivered' }])
    expect(one.receiver.keys).toEqual([KEY])
    // It works again, so the next outage is news again.
    const again = new DatabaseSync(file())
    again.exec('BEGIN EXCLUSIVE')
    await one.stale('sub.boss.two')
    await one.pass(30)
    expect(one.faults).toHaveLength(2)
    again.close()
    expect(one.receiver.threads).toEqual(['sub.boss.one', 'sub.boss.two'])
  })

  it('from before the start is used as soon as it is free, with what it had kept', async () => {
    const before = new NotifiedHost({ store: sqliteStore(file()), closeMs: 0 })
    before.receiver.answer = () => 'busy'
    await before.stale()
    await before.watch.stop()
    const locker = new DatabaseSync(file())
    locker.exec('BEGIN EXCLUSIVE')
    const one = new NotifiedHost({ store: sqliteStore(file()), virtual: before.virtual })
    await one.stale('sub.boss.two')
    await one.pass(2)
    expect(one.receiver.threads).toEqual(['sub.boss.two'])
    locker.close()
    await one.pass(40)
    expect(one.receiver.threads).toEqual(['sub.boss.two', 'sub.boss.one'])
    expect(deliveries().map(({ state }) => state)).toEqual(['delivered', 'delivered'])
  })
})

describe('a store that is locked for a moment', () => {
  it('holds the message until it is written, so that a crash just then loses nothing', async () => {
    const one = host()
    one.start().observe(token)
    await one.leap(112)
    const locker = new DatabaseSync(file())
    locker.exec('BEGIN EXCLUSIVE')
    await one.leap(1)
    expect([one.watch.liveness('sub.boss.one').stale, one.receiver.keys]).toEqual([true, []])
    locker.exec('ROLLBACK')
    locker.close()
    while (one.receiver.keys.length === 0) await settle()
    expect(deliveries().map(({ key }) => key)).toEqual([KEY])
    expect(one.faults).toEqual([])
  })

  it('hears of episodes that opened and closed meanwhile in that order', async () => {
    const one = host()
    const locker = new DatabaseSync(file())
    locker.exec('BEGIN EXCLUSIVE')
    const turns = Array.from({ length: 250 }, (_, i) => one.start(`sub.boss.${i}`))
    await one.leap(160)
    for (const turn of turns) turn.observe(token)
    await one.pass(3)
    locker.exec('ROLLBACK')
    locker.close()
    await one.pass(40)
    const db = new DatabaseSync(file(), { readOnly: true })
    expect(db.prepare('SELECT count(*) AS n, count(closed_at) AS closed FROM episodes').get()).toMatchObject({
      n: 250,
      closed: 250,
    })
    db.close()
  })
})

describe('a store that cannot be used', () => {
  const cases: [string, (path: string) => void, RegExp][] = [
    [
      'that is no database',
      (path) => writeFileSync(path, 'x'.repeat(5000)),
      /file is not a database; going on from memory$/,
    ],
    [
      'that a newer version wrote',
      (path) => {
        const db = new DatabaseSync(path)
        db.exec('CREATE TABLE deliveries (all_new TEXT); PRAGMA user_version = 9')
        db.close()
      },
      /its schema 9 is newer than this version of turnwatch knows \(2\); going on from memory$/,
    ],
    ['that is a folder', (path) => mkdirSync(path), /unable to open database file; going on from memory$/],
  ]
  it.each(cases)('%s is one line; messages go out from memory, once', async (_name, spoil, line) => {
    spoil(file())
    const one = host()
    const turn = await one.stale()
    expect(one.receiver.keys).toEqual([KEY])
    turn.observe(token)
    await one.pass(120)
    await one.watch.stop()
    expect(one.receiver.keys).toEqual([KEY, 'stale/sub.boss.one/t/2'])
    expect(one.faults).toEqual([expect.stringMatching(line)])
    expect(one.metric('store_errors_total', { op: 'outbox' })).toBeGreaterThan(0)
    expect(one.metric('notifications_failed_total', { reason: 'store' })).toBe(2)
  })

  it('any more, because it was damaged meanwhile, is one line; what was pending goes out from memory', async () => {
    const one = host()
    one.receiver.answer = () => 'busy'
    await one.stale()
    for (const suffix of ['-wal', '-shm']) rmSync(file() + suffix, { force: true })
    writeFileSync(file(), Buffer.concat([readFileSync(file()).subarray(0, 100), Buffer.alloc(20_000, 7)]))
    one.start('sub.boss.two')
    await one.leap(160)
    one.receiver.answer = () => {}
    await one.pass(40)
    expect(new Set(one.receiver.keys)).toEqual(new Set([KEY, 'stale/sub.boss.two/t/1']))
    expect(one.metric('notifications_pending')).toBe(0)
    expect(new Set(one.faults).size).toBe(one.faults.length)
    expect(one.faults.length).toBeLessThanOrEqual(2)
  })

  it.skipIf(process.platform === 'win32')('because its disk is full is one line; messages go out', async () => {
    const { stdout } = await child('trap "" XFSZ; ulimit -f 600; ', FULL)
    const found = JSON.parse(stdout) as { keys: string[]; faults: string[]; errors: number; states: string[] }
    expect(new Set(found.keys).size).toBe(400)
    expect(found.keys).toHaveLength(400)
    expect(found.faults.length).toBeGreaterThan(0)
    expect(found.faults.length).toBeLessThanOrEqual(2)
    expect(found.faults[0]).toMatch(/^turnwatch: store: (database or disk is full|disk I\/O error)$/)
    expect(found.errors).toBeGreaterThan(0)
    // What was written before is whole.
    expect(found.states.length).toBeGreaterThan(10)
  })

  it.skipIf(process.platform === 'win32')('because it may only be read is one line; messages go out', async () => {
    await host().watch.stop()
    chmodSync(file(), 0o444)
    chmodSync(folder, 0o555)
    const { stdout } = await child('', READ_ONLY)
    const found = JSON.parse(stdout) as { keys: string[]; faults: string[]; errors: number }
    expect(found.keys).toEqual(['stale/sub.boss.0/t/1'])
    expect(found.faults).toEqual([expect.stringMatching(/^turnwatch: store: .*read-?only/)])
    expect(found.errors).toBeGreaterThan(0)
  })
})

/** The super-user may write everything and has no limits, so this looks from another user's process. */
const AS = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const SCRIPT = (children: number, after: string) => `
  const [{ createTurnwatch }, { sqliteStore }, file] = [
    await import(process.argv[1]), await import(process.argv[2]), process.argv[3]]
  const [keys, faults] = [[], []]
  const watch = createTurnwatch({
    store: sqliteStore(file),
    onError: ({ message }) => faults.push(message),
    notify: ({ key }) => void keys.push(key),
  })
  for (let i = 0; i < ${children}; i++) {
    watch.startTurn({ threadId: 'sub.boss.' + i, turnId: 't' }).observe({ kind: 'error', message: 'x' })
  }
  while (keys.length < ${children}) await new Promise((resolve) => setTimeout(resolve, 10))
  watch.tick()
  const errors = watch.self.storeErrors.outbox + watch.self.storeErrors.claim
  let states = []
  ${after}
  console.log(JSON.stringify({ keys, faults, errors, states }))
  process.exit()`
const FULL = SCRIPT(
  400,
  `const { DatabaseSync } = await import('node:sqlite')
   states = new DatabaseSync(file).prepare('SELECT state FROM deliveries').all().map(({ state }) => state)`,
)
const READ_ONLY = SCRIPT(1, '')

async function child(limits: string, script: string) {
  if ('uid' in AS) chmodSync(folder, limits === '' ? 0o555 : 0o777)
  const path = (name: string) => join(import.meta.dirname, '../../', name)
  const urls = [path('turnwatch.ts'), path('storage/sqlite-store.ts'), file()]
  const node = ['exec "$0" --no-warnings --input-type=module -e "$1" "$2" "$3" "$4"']
  const args = ['-c', limits + node[0], process.execPath, script, ...urls]
  return await promisify(execFile)('/bin/bash', args, { ...AS, cwd: folder })
}

describe('a store of a host', () => {
  /** Answers later, as a database over a network does. */
  function slowStore(saves: () => Promise<void>): OutboxStore & { saved: string[] } {
    const saved: string[] = []
    return {
      saved,
      episodes: async () => [],
      claim: async () => ({ deliveries: [], episodes: [], held: null, expired: 0 }),
      save: async (batch) => {
        await saves()
        for (const { deliveries: opened } of batch.opened) saved.push(...opened.map(({ state }) => state))
        saved.push(...batch.changed.map(({ state }) => state))
        return []
      },
      release: async () => {},
    }
  }
  const hostWith = (outbox: OutboxStore) =>
    new NotifiedHost({ store: { load: () => ({ samples: [], extras: [] }), save: () => {}, outbox } })

  it('that answers later is waited for, so that the message is written before it goes out', async () => {
    let answer: () => void = () => {}
    const outbox = slowStore(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    const one = hostWith(outbox)
    await one.stale()
    expect(one.receiver.keys).toEqual([])
    answer()
    await settle()
    expect(one.receiver.keys).toEqual([KEY])
    answer()
    await settle()
    expect(outbox.saved).toEqual(['pending', 'delivered'])
  })

  it('that never answers holds a message up for two seconds, and no tick', async () => {
    const one = hostWith(slowStore(() => new Promise(() => {})))
    await one.stale()
    await one.pass(1)
    expect(one.receiver.keys).toEqual([])
    await one.pass(2)
    expect(one.receiver.keys).toEqual([KEY])
    await one.stale('sub.boss.two')
    await one.pass(3)
    expect(one.receiver.threads).toEqual(['sub.boss.one', 'sub.boss.two'])
  })

  it('that rejects is tried again; nothing is sent twice', async () => {
    let tries = 0
    const outbox = slowStore(async () => {
      if (++tries < 4) throw new Error('connection lost')
    })
    const one = hostWith(outbox)
    await one.stale()
    await one.pass(30)
    expect(one.receiver.keys).toEqual([KEY])
    expect(outbox.saved).toEqual(['delivered'])
    expect(one.faults).toEqual(['turnwatch: store: connection lost'])
  })

  it('that lies about what it holds harms nobody', async () => {
    const outbox: OutboxStore = {
      episodes: () => 5 as never,
      claim: () => undefined as never,
      save: () => undefined as never,
      release: () => {
        throw new Error('no')
      },
    }
    const one = hostWith(outbox)
    await one.stale()
    await one.pass(60)
    await one.watch.stop()
    expect(one.receiver.keys).toEqual([KEY])
  })
})

describe('without a store', () => {
  it('everything is as with one, within the process', async () => {
    const receiver = new Receiver()
    const one = new NotifiedHost({ channels: [receiver] })
    receiver.answer = () => 'busy'
    const turn = await one.stale()
    await one.pass(60)
    receiver.answer = () => {}
    await one.pass(31)
    turn.observe(token)
    await one.leap(120)
    expect(new Set(receiver.keys)).toEqual(new Set([KEY, 'stale/sub.boss.one/t/2']))
    expect(one.metric('notification_delay_seconds')).toBe(2)
  })

  it('what is pending at the end is lost, which is said', async () => {
    const one = new NotifiedHost({ closeMs: 100 })
    one.receiver.answer = () => 'busy'
    await one.stale()
    await one.watch.stop()
    expect(one.faults).toEqual(['turnwatch: notifier: 1 message not delivered in time, lost'])
  })

  it('what is due when the watch stops still goes out', async () => {
    const one = new NotifiedHost()
    let answer: () => void = () => {}
    one.receiver.answer = () =>
      new Promise((resolve) => {
        answer = () => resolve('delivered')
      })
    await one.stale()
    setTimeout(() => answer(), 100)
    await one.watch.stop()
    expect(one.faults).toEqual([])
    expect(one.metric('notifications_pending')).toBe(0)
  })
})

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { extras, sample } from './stored.ts'
import { completed, midStreamRow, started, token, WatchedHost } from './watched-host.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-store-'))
  file = join(folder, 'state', 'samples.db')
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const many = (count: number, from = 0) => Array.from({ length: count }, (_, i) => sample(`s${from + i}`, from + i))

function opened(path = file) {
  const store = sqliteStore(path)
  const learning = store.load() as Exclude<ReturnType<typeof store.load>, Promise<unknown>>
  return { store, learning }
}

describe('a store in a file', () => {
  it('is made with its folder, and gives back what was saved, oldest first', () => {
    const { store, learning } = opened()
    expect(learning).toEqual({ samples: [], extras: [] })
    const samples = [sample('a', 5.5), sample('b', 7, { model: null, phase: 'first-token' }), sample('c', 0)]
    const rows = [
      extras({ largestEverMs: 9.5, censored: 2, quarantineMs: 4, quarantineTurnsLeft: 3 }),
      extras({ model: null }),
    ]
    store.save(samples, rows)
    store.close?.()
    const again = opened()
    expect(again.learning.samples).toEqual(samples)
    expect(again.learning.extras).toEqual(expect.arrayContaining(rows))
    expect(again.learning.extras).toHaveLength(2)
    again.store.close?.()
  })

  it('counts an id once in each phase', () => {
    const { store } = opened()
    store.save([sample('a', 1), sample('a', 2), sample('a', 3, { phase: 'after-tool' })], [])
    store.save([sample('a', 4)], [])
    store.close?.()
    expect(opened().learning.samples.map(({ silenceMs }) => silenceMs)).toEqual([1, 3])
  })

  it('keeps the last 4000 of each provider, model and phase', () => {
    const { store } = opened()
    store.save(many(4500), [extras()])
    store.save([sample('z', 5, { model: null })], [extras({ model: null })])
    store.close?.()
    const ids = opened().learning.samples.map(({ id }) => id)
    expect([ids.length, ids[0], ids.at(-2), ids.at(-1)]).toEqual([4001, 's500', 's4499', 'z'])
  })

  it('never lowers the largest ever', () => {
    const { store } = opened()
    store.save([], [extras({ largestEverMs: 100, censored: 5 })])
    store.save([], [extras({ largestEverMs: 50, censored: 1 })])
    store.close?.()
    expect(opened().learning.extras).toEqual([extras({ largestEverMs: 100, censored: 5 })])
  })
})

describe('a watch on such a store', () => {
  const learn = async (threads: readonly string[]) => {
    const host = new WatchedHost({ store: sqliteStore(file) })
    for (const id of threads) host.sendTo(id, 1000, started({ turn: id }), token).sendTo(id, 9000, token, completed)
    host.run(12_000)
    await host.watch.stop()
    expect(host.faults).toEqual([])
    return host
  }
  const threadIds = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

  it('goes on after a restart where it was: twelve turns and eight more are twenty', async () => {
    await learn(threadIds('a', 12))
    const second = await learn(threadIds('b', 8))
    const third = new WatchedHost({ store: sqliteStore(file) })
    expect(third.watch.thresholds()).toEqual(second.watch.thresholds())
    expect(midStreamRow(third)).toMatchObject({
      samples: 20,
      thresholdMs: 12_000,
      thresholdSource: 'measured',
    })
    await third.watch.stop()
  })

  it('a record that was learned before the restart does not count again after it', async () => {
    const first = await learn(['a'])
    const second = new WatchedHost({ store: sqliteStore(file) })
    expect(second.watch.learn(first.ended.map(({ stats }) => stats))).toBe(0)
    await second.watch.stop()
  })

  it('shares its file with another: nothing that either learned is lost', async () => {
    const hosts = ['a', 'b'].map((id) => {
      const host = new WatchedHost({ store: sqliteStore(file) })
      return host.sendTo(id, 1000, started({ turn: id }), token).sendTo(id, 3000, token, completed)
    })
    for (let at = 1000; at <= 6000; at += 1000) for (const host of hosts) host.run(at)
    for (const host of hosts) await host.watch.stop()
    expect(hosts.flatMap(({ faults }) => faults)).toEqual([])
    expect(
      opened()
        .learning.samples.map(({ id }) => id)
        .sort(),
    ).toEqual(['stats/a/a', 'stats/a/a', 'stats/b/b', 'stats/b/b'])
  })

  it('a locked file is tried again, without a wait that the event loop would notice', async () => {
    const host = new WatchedHost({ store: sqliteStore(file) })
    host.send(1000, started({ turn: 't' }), token, completed)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    host.run(3000)
    await new Promise((resolve) => setImmediate(resolve))
    other.exec('COMMIT')
    other.close()
    expect(host.watch.self.storeErrors.save).toBeGreaterThan(0)
    await host.watch.stop()
    expect(opened().learning.samples).toHaveLength(2)
  })
})

describe('a file that cannot be used', () => {
  const useless = (path: string) => {
    const host = new WatchedHost({ store: sqliteStore(path) })
    host.send(1000, started({ turn: 't' }), token, completed).run(9000)
    return host
  }

  it('because it is no database: one line says so, memory is used, the file stays as it is', async () => {
    writeFileSync(
      join(folder, 'notes.txt'),
      'these are my notes, not a database, and they are long enough to be read as one\n'.repeat(90),
    )
    const before = readFileSync(join(folder, 'notes.txt'))
    const host = useless(join(folder, 'notes.txt'))
    await host.watch.stop()
    expect(host.faults).toHaveLength(1)
    expect(host.faults[0]).toMatch(/^turnwatch: store: .*notes\.txt: .*; going on from memory$/)
    expect(readFileSync(join(folder, 'notes.txt'))).toEqual(before)
    expect(readdirSync(folder)).toEqual(['notes.txt'])
    expect(host.watch.thresholds()[0]).toMatchObject({ samples: 1 })
  })

  it('because a newer version wrote it: the same, byte for byte', async () => {
    const newer = new DatabaseSync(join(folder, 'newer.db'))
    newer.exec('CREATE TABLE samples (everything_is_different TEXT); PRAGMA user_version = 3')
    newer.close()
    const before = readFileSync(join(folder, 'newer.db'))
    const host = useless(join(folder, 'newer.db'))
    await host.watch.stop()
    expect(host.faults).toEqual([
      `turnwatch: store: ${join(folder, 'newer.db')}: its schema 3 is newer than this version of turnwatch knows (2); going on from memory`,
    ])
    expect(host.watch.self.storeErrors).toEqual({ load: 1, save: 0, close: 0, claim: 0, outbox: 0 })
    expect(readFileSync(join(folder, 'newer.db'))).toEqual(before)
    expect(readdirSync(folder)).toEqual(['newer.db'])
  })

  it('because its folder cannot be made: the same', async () => {
    writeFileSync(join(folder, 'file'), '')
    const host = useless(join(folder, 'file', 'samples.db'))
    await host.watch.stop()
    expect(host.faults).toHaveLength(1)
  })

  it.runIf(process.platform === 'linux')(
    'because its file system makes no folders: the same, and at once',
    async () => {
      const host = useless('/proc/turnwatch/state/samples.db')
      await host.watch.stop()
      expect(host.faults).toHaveLength(1)
    },
  )

  it('because half of it is gone: what is left harms nobody', async () => {
    const { store } = opened()
    store.save(many(3000), [extras()])
    store.close?.()
    writeFileSync(file, readFileSync(file).subarray(0, 10_000))
    const host = useless(file)
    await host.watch.stop()
    expect(host.faults.length).toBeGreaterThan(0)
    expect(host.log).toEqual(['1000 t completed'])
  })
})

describe.skipIf(process.platform === 'win32')('a file that may only be read', () => {
  // The super-user may write everything, so this looks from another user's process.
  const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const SCRIPT = `
    const { sqliteStore } = await import(process.argv[1])
    const store = sqliteStore(process.argv[2])
    const said = []
    const tried = (work) => { try { return work() } catch (error) { said.push(error.message) } }
    const learning = tried(() => store.load()) ?? { samples: [] }
    tried(() => store.save([{ id: 'new', provider: 'p', model: null, phase: 'mid-stream', silenceMs: 5 }], []))
    tried(() => store.close())
    console.log(JSON.stringify({ samples: learning.samples.length, said }))
  `
  const script = join(import.meta.dirname, '../../storage/sqlite-store.ts')

  async function look(folderMode: number) {
    const { store } = opened()
    store.save(many(3), [extras()])
    store.close?.()
    const before = readFileSync(file)
    chmodSync(file, 0o444)
    chmodSync(folder, 0o755)
    chmodSync(join(folder, 'state'), folderMode)
    const args = ['--input-type=module', '-e', SCRIPT, pathToFileURL(script).href, file]
    const run = promisify(execFile)(process.execPath, args, { ...as, cwd: folder })
    const { stdout } = await run.finally(() => chmodSync(join(folder, 'state'), 0o755))
    expect(readFileSync(file)).toEqual(before)
    return JSON.parse(stdout) as { samples: number; said: string[] }
  }

  it('with its folder: one line says so, memory is used, the file stays as it is', async () => {
    const { samples, said } = await look(0o555)
    expect([samples, said.length]).toEqual([0, 1])
    expect(said[0]).toMatch(/read-?only.*; going on from memory$/)
  })

  it('in a folder that may be written: the file stays as it is', async () => {
    const { samples, said } = await look(0o777)
    expect(samples).toBe(3)
    expect(said).toEqual(['attempt to write a readonly database'])
  })
})

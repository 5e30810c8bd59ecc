/** One SQLite file (`node:sqlite`, WAL) that several processes may share: opening it, its tables, its transactions. */

import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StoreBusy } from '../detector/sample-store.ts'
import { makeFolder } from './make-folder.ts'
import { OUTBOX_TABLES } from './sqlite-outbox.ts'
import { SAMPLE_TABLES } from './sqlite-samples.ts'

/** What each version of the schema adds to the one before. */
const MIGRATIONS = [SAMPLE_TABLES, OUTBOX_TABLES]
const SQLITE_BUSY = 5

export class SqliteFile {
  readonly #file: string
  readonly #busyTimeoutMs: number
  #db: DatabaseSync | null = null
  /** Why it cannot be used at all. */
  #broken: Error | null = null
  #isClosed = false

  constructor(file: string, busyTimeoutMs: number) {
    this.#file = file
    this.#busyTimeoutMs = busyTimeoutMs
  }

  /** Opened at the first call. Throws the same error from then on where that failed, unless the file was only locked. */
  db(): DatabaseSync {
    if (this.#broken) throw this.#broken
    if (this.#isClosed) throw new Error(`${this.#file}: is closed`)
    try {
      this.#db ??= open(this.#file, this.#busyTimeoutMs)
      return this.#db
    } catch (error) {
      const text = `${this.#file}: ${(error as Error).message}; going on from memory`
      if (isBusy(error)) throw new StoreBusy(text)
      this.#broken = new Error(text)
      throw this.#broken
    }
  }

  /** Whether nothing can be written to it. */
  get isUseless(): boolean {
    return this.#broken !== null || this.#isClosed
  }

  /** A watch begins to use it, perhaps after another. */
  reopen(): void {
    this.#isClosed = false
  }

  /** Runs the work in one transaction that writes; a locked file is a StoreBusy. */
  transaction<T>(work: (db: DatabaseSync) => T): T {
    const db = this.db()
    try {
      db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      throw isBusy(error) ? new StoreBusy((error as Error).message) : error
    }
    try {
      const result = work(db)
      db.exec('COMMIT')
      return result
    } catch (error) {
      // A full disk or a broken page has ended the transaction already.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  /** What comes after it fails, or is passed over, like that of a file that cannot be used. */
  close(): void {
    this.#db?.close()
    this.#db = null
    this.#isClosed = true
  }
}

/** Also while another process recovers the file or has an older snapshot of it, which are codes above the plain one. */
function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY
}

function open(file: string, timeout: number): DatabaseSync {
  const { DatabaseSync } = nodeSqlite()
  makeFolder(dirname(file))
  const db = new DatabaseSync(file, { timeout })
  try {
    migrate(db)
    db.exec('PRAGMA synchronous = NORMAL')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function migrate(db: DatabaseSync): void {
  const newest = MIGRATIONS.length
  if (versionOf(db) > newest) throw newer(versionOf(db))
  if (versionOf(db) === newest) return
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('BEGIN IMMEDIATE')
  // Another process, perhaps of a newer version, may have made the tables while this one waited.
  if (versionOf(db) < newest) {
    for (const tables of MIGRATIONS.slice(versionOf(db))) db.exec(tables)
    db.exec(`PRAGMA user_version = ${newest}`)
  }
  db.exec('COMMIT')
  if (versionOf(db) > newest) throw newer(versionOf(db))
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

function newer(version: number): Error {
  return new Error(`its schema ${version} is newer than this version of turnwatch knows (${MIGRATIONS.length})`)
}

/** Loaded when a store is opened, not on import; its warning that it is experimental is nothing a user can act on. */
function nodeSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    const sqlite = process.getBuiltinModule('node:sqlite')
    if (sqlite === undefined) throw new Error('this runtime has no node:sqlite')
    return sqlite
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Samples in a SQLite file (`node:sqlite`, WAL) that several processes may share. */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type SampleStore, StoreBusy, type StoredExtras, type StoredLearning } from '../detector/sample-store.ts'
import { PHASES, type Phase } from '../instrumentation/events.ts'
import type { Sample } from '../instrumentation/turn-stats.ts'

/** Rises with every change of the tables. */
const SCHEMA_VERSION = 1
/** Samples kept per (provider, model, phase): the window of the detector. */
const KEEP_SAMPLES = 4000
/** A locked file is tried again at the next flush; the event loop must not wait for it. */
const BUSY_TIMEOUT_MS = 50
const SQLITE_BUSY = 5

const SCHEMA = `
  CREATE TABLE samples (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    phase TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT,
    silence_ms REAL NOT NULL,
    UNIQUE (id, phase)
  );
  CREATE INDEX samples_key ON samples (provider, model, phase, seq);
  CREATE TABLE learning (
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    phase TEXT NOT NULL,
    largest_ever_ms REAL NOT NULL,
    censored INTEGER NOT NULL,
    quarantine_ms REAL,
    quarantine_turns_left INTEGER NOT NULL,
    PRIMARY KEY (provider, model, phase)
  ) WITHOUT ROWID;
`

/** No model and the empty name are told apart by this; no wire uses it. */
const NO_MODEL = '\u0000'

/**
 * A store in `file`, made when it is missing, with its folder. Throws nothing: where the file cannot be used (not a
 * database, a newer version of turnwatch, read-only, no `node:sqlite`), `load` says so once and the detector goes on from
 * memory, without touching the file.
 */
export function sqliteStore(file: string, options: SqliteStoreOptions = {}): SampleStore {
  return new SqliteStore(file, options.busyTimeoutMs ?? BUSY_TIMEOUT_MS)
}

export interface SqliteStoreOptions {
  /** How long a call may wait, and hold the event loop, for another process to unlock the file, in ms. @default 50 */
  readonly busyTimeoutMs?: number
}

class SqliteStore implements SampleStore {
  readonly #file: string
  readonly #busyTimeoutMs: number
  #db: DatabaseSync | null = null

  constructor(file: string, busyTimeoutMs: number) {
    this.#file = file
    this.#busyTimeoutMs = busyTimeoutMs
  }

  load(): StoredLearning {
    try {
      this.#db = open(this.#file, this.#busyTimeoutMs)
    } catch (error) {
      throw new Error(`${this.#file}: ${(error as Error).message}; going on from memory`)
    }
    return { samples: readSamples(this.#db), extras: readExtras(this.#db) }
  }

  save(samples: readonly Sample[], extras: readonly StoredExtras[]): void {
    const db = this.#db
    if (db === null) return
    this.#begin(db)
    try {
      const insert = db.prepare(
        'INSERT OR IGNORE INTO samples (id, phase, provider, model, silence_ms) VALUES (?, ?, ?, ?, ?)',
      )
      for (const { id, phase, provider, model, silenceMs } of samples) insert.run(id, phase, provider, model, silenceMs)
      const upsert = db.prepare(
        `INSERT INTO learning VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (provider, model, phase) DO UPDATE SET
           largest_ever_ms = max(largest_ever_ms, excluded.largest_ever_ms),
           censored = max(censored, excluded.censored),
           quarantine_ms = excluded.quarantine_ms,
           quarantine_turns_left = excluded.quarantine_turns_left`,
      )
      const prune = db.prepare(
        // Not numbered, which node:sqlite takes by position only from 22.20 and 24.8 on.
        `DELETE FROM samples WHERE provider = ? AND model IS ? AND phase = ? AND seq <= (
           SELECT seq FROM samples WHERE provider = ? AND model IS ? AND phase = ?
           ORDER BY seq DESC LIMIT 1 OFFSET ${KEEP_SAMPLES})`,
      )
      for (const row of extras) {
        const { provider, model, phase } = row
        upsert.run(
          provider,
          model ?? NO_MODEL,
          phase,
          row.largestEverMs,
          row.censored,
          row.quarantineMs,
          row.quarantineTurnsLeft,
        )
        prune.run(provider, model, phase, provider, model, phase)
      }
      db.exec('COMMIT')
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }

  #begin(db: DatabaseSync): void {
    try {
      db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      throw (error as { errcode?: number }).errcode === SQLITE_BUSY ? new StoreBusy((error as Error).message) : error
    }
  }

  close(): void {
    this.#db?.close()
    this.#db = null
  }
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

/** Not `mkdirSync`'s own recursion, which never ends where a file system makes no folders, such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function migrate(db: DatabaseSync): void {
  if (versionOf(db) > SCHEMA_VERSION) throw newer(versionOf(db))
  if (versionOf(db) === SCHEMA_VERSION) return
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('BEGIN IMMEDIATE')
  // Another process may have made the tables while this one waited.
  if (versionOf(db) === 0) db.exec(`${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION};`)
  db.exec('COMMIT')
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

function newer(version: number): Error {
  return new Error(`its schema ${version} is newer than this version of turnwatch knows (${SCHEMA_VERSION})`)
}

function readSamples(db: DatabaseSync): Sample[] {
  const rows = db.prepare('SELECT id, phase, provider, model, silence_ms FROM samples ORDER BY seq').all()
  return rows
    .filter((row) => isPhase(row.phase))
    .map((row) => ({
      id: String(row.id),
      phase: row.phase as Phase,
      provider: String(row.provider),
      model: row.model === null ? null : String(row.model),
      silenceMs: Number(row.silence_ms),
    }))
}

function readExtras(db: DatabaseSync): StoredExtras[] {
  const rows = db.prepare('SELECT * FROM learning').all()
  return rows
    .filter((row) => isPhase(row.phase))
    .map((row) => ({
      provider: String(row.provider),
      model: row.model === NO_MODEL ? null : String(row.model),
      phase: row.phase as Phase,
      largestEverMs: Number(row.largest_ever_ms),
      censored: Number(row.censored),
      quarantineMs: row.quarantine_ms === null ? null : Number(row.quarantine_ms),
      quarantineTurnsLeft: Number(row.quarantine_turns_left),
    }))
}

function isPhase(value: unknown): boolean {
  return (PHASES as readonly unknown[]).includes(value)
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

/** Samples in a SQLite file. */

import type { DatabaseSync } from 'node:sqlite'
import type { SampleStore, StoredExtras, StoredLearning } from '../detector/sample-store.ts'
import { PHASES, type Phase } from '../instrumentation/events.ts'
import type { Sample } from '../instrumentation/turn-stats.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** Samples kept per (provider, model, phase): the window of the detector. */
const KEEP_SAMPLES = 4000

export const SAMPLE_TABLES = `
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

export class SqliteSamples implements SampleStore {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  load(): StoredLearning {
    this.#file.reopen()
    const db = this.#file.db()
    return { samples: readSamples(db), extras: readExtras(db) }
  }

  /** Samples are learned anew; where the file cannot be used at all, `load` has said so. */
  save(samples: readonly Sample[], extras: readonly StoredExtras[]): void {
    if (this.#file.isUseless) return
    this.#file.transaction((db) => {
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
    })
  }
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

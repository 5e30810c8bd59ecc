/** A store in a SQLite file (`node:sqlite`, WAL): samples and messages. Several processes may share one. */

import { SqliteFile } from './sqlite-file.ts'
import { SqliteOutbox } from './sqlite-outbox.ts'
import { SqliteSamples } from './sqlite-samples.ts'
import type { Store } from './store.ts'

/** A locked file is tried again later; the event loop must not wait for it. */
const BUSY_TIMEOUT_MS = 50

export interface SqliteStoreOptions {
  /** How long a call may wait, and hold the event loop, for another process to unlock the file, in ms. @default 50 */
  readonly busyTimeoutMs?: number
}

/**
 * A store in `file`, made when it is missing, with its folder. Throws nothing: where the file cannot be used (not a
 * database, a newer version of turnwatch, read-only, no `node:sqlite`), that is said once, and samples and messages go on
 * from memory, without touching the file.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): Required<Store> {
  const file = new SqliteFile(path, options.busyTimeoutMs ?? BUSY_TIMEOUT_MS)
  const samples = new SqliteSamples(file)
  return {
    outbox: new SqliteOutbox(file),
    load: () => samples.load(),
    save: (learned, extras) => samples.save(learned, extras),
    close: () => file.close(),
  }
}

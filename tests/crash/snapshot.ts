/** What a store says at one moment, read without touching it. */

import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StaleReason } from '../../instrumentation/turn-counters.ts'
import type { DeliveryState } from '../../notifier/outbox-store.ts'

interface LastEpisode {
  readonly number: number
  readonly isOpen: boolean
}

interface StoredMessage {
  readonly key: string
  readonly state: DeliveryState
  /** Null unless it was taken back. */
  readonly reason: StaleReason | null
}

export interface Snapshot {
  /** Whether each episode is open, by key. */
  readonly episodes: ReadonlyMap<string, boolean>
  /** By turn id. */
  readonly lastOf: ReadonlyMap<string, LastEpisode>
  /** By `deliveryId`. */
  readonly messages: ReadonlyMap<string, StoredMessage>
}

export const NOTHING: Snapshot = { episodes: new Map(), lastOf: new Map(), messages: new Map() }

export function deliveryId(channel: string, key: string): string {
  return `${channel} ${key}`
}

/** Of a file that no process may have made yet. */
export function snapshotOf(file: string): Snapshot {
  return existsSync(file) ? reading(file, readSnapshot) : NOTHING
}

/** Reads without touching the file, unless a kill has left it so that whoever opens it next must mend it. */
function reading<T>(file: string, read: (db: DatabaseSync) => T): T {
  try {
    return opened(file, true, read)
  } catch (error) {
    if (!(error as Error).message.includes('readonly database')) throw error
    return opened(file, false, read)
  }
}

function opened<T>(file: string, readOnly: boolean, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly, timeout: 30_000 })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

export function readSnapshot(db: DatabaseSync): Snapshot {
  const tables = db.prepare(`SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('episodes', 'deliveries')`).get()
  if (tables?.n !== 2) return NOTHING
  const episodes = new Map<string, boolean>()
  const lastOf = new Map<string, LastEpisode>()
  for (const row of db.prepare('SELECT key, turn, episode, closed_at FROM episodes ORDER BY episode').all()) {
    const isOpen = row.closed_at === null
    episodes.set(String(row.key), isOpen)
    lastOf.set(String(row.turn), { number: Number(row.episode), isOpen })
  }
  const messages = new Map<string, StoredMessage>()
  // The reason of a message matters where it was taken back; to read it from all takes most of the time.
  const reason = `CASE WHEN state = 'withdrawn' THEN json_extract(message, '$.reason') END`
  for (const row of db.prepare(`SELECT key, channel, state, ${reason} AS reason FROM deliveries`).all()) {
    const key = String(row.key)
    const state = row.state as DeliveryState
    const reason = row.reason as StaleReason | null
    messages.set(deliveryId(String(row.channel), key), { key, state, reason })
  }
  return { episodes, lastOf, messages }
}

/** Null when the file is whole, else what is wrong with it. */
export function damageOf(file: string): string | null {
  return reading(file, (db) => {
    const [row] = db.prepare('PRAGMA integrity_check').all()
    return row?.integrity_check === 'ok' ? null : String(row?.integrity_check)
  })
}

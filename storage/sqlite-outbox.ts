/** Messages in a SQLite file: episodes, their deliveries, and the leases of the processes that deliver them. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Resolution, StaleReason } from '../instrumentation/turn-counters.ts'
import type { Message } from '../notifier/message.ts'
import type {
  Claimed,
  ClaimRequest,
  DeliveryState,
  KnownEpisode,
  OutboxBatch,
  OutboxStore,
  StoredDelivery,
  StoredEpisode,
} from '../notifier/outbox-store.ts'
import type { SqliteFile } from './sqlite-file.ts'

export const OUTBOX_TABLES = `
  CREATE TABLE episodes (
    key TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    episode INTEGER NOT NULL,
    reason TEXT NOT NULL,
    owner TEXT NOT NULL,
    opened_at REAL NOT NULL,
    closed_at REAL,
    resolution TEXT
  ) WITHOUT ROWID;
  CREATE INDEX episodes_opened ON episodes (opened_at);
  CREATE TABLE deliveries (
    key TEXT NOT NULL,
    channel TEXT NOT NULL,
    episode TEXT NOT NULL,
    owner TEXT NOT NULL,
    grouped TEXT,
    since REAL NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL,
    firing INTEGER NOT NULL,
    -- 1 while anything is left to do with it.
    open INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    rejections INTEGER NOT NULL,
    due_at REAL NOT NULL,
    failure TEXT,
    settled_at REAL,
    PRIMARY KEY (key, channel)
  ) WITHOUT ROWID;
  CREATE INDEX deliveries_open ON deliveries (owner, channel, since, grouped) WHERE open = 1;
  CREATE INDEX deliveries_since ON deliveries (since);
  CREATE INDEX deliveries_episode ON deliveries (episode);
  -- Whose lease is over stays here while anything of theirs is open: what they left is found by it.
  CREATE TABLE relays (
    owner TEXT PRIMARY KEY,
    lease_until REAL NOT NULL
  ) WITHOUT ROWID;
`

/** Episodes that a process that starts has to know of: the last ones. */
const REMEMBERED = 20_000
/** Rows that one claim makes dead, or forgets. */
const PRUNED = 1000

export class SqliteOutbox implements OutboxStore {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  episodes(since: number): StoredEpisode[] {
    const rows = this.#file
      .db()
      .prepare(
        `SELECT *, NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.episode = episodes.key)
           OR EXISTS (SELECT 1 FROM deliveries WHERE deliveries.episode = episodes.key AND state <> 'withdrawn') AS told
         FROM episodes WHERE opened_at >= ? ORDER BY opened_at DESC LIMIT ${REMEMBERED}`,
      )
      .all(since)
    return rows.reverse().map((row) => ({ ...episodeOf(row), told: row.told === 1 }))
  }

  claim(request: ClaimRequest): Claimed {
    return this.#file.transaction((db) => {
      const { owner, now, leaseUntil } = request
      const own = db.prepare('SELECT lease_until FROM relays WHERE owner = ?').get(owner)
      db.prepare('INSERT OR REPLACE INTO relays VALUES (?, ?)').run(owner, leaseUntil)
      const held = own !== undefined && Number(own.lease_until) > now ? null : heldBy(db, owner)
      if (request.limit === 0) return { deliveries: [], episodes: [], held, expired: 0 }
      // A lease far in the future was given before the clock was set back.
      db.prepare('UPDATE relays SET lease_until = 0 WHERE lease_until > ?').run(2 * leaseUntil - now)
      const deliveries = takeOver(db, request)
      const episodeByKey = db.prepare('SELECT * FROM episodes WHERE key = ?')
      const keys = new Set(deliveries.map(({ episode }) => episode))
      const episodes = [...keys].flatMap((key) => episodeByKey.all(key).map(episodeOf))
      return { deliveries, episodes, held, expired: prune(db, request) }
    })
  }

  save({ owner, leaseUntil, opened, closed, worse, changed }: OutboxBatch): KnownEpisode[] {
    return this.#file.transaction((db) => {
      const known: KnownEpisode[] = []
      // Where no claim has gone through yet: what nobody is known to hold would be found by nobody.
      db.prepare('INSERT OR IGNORE INTO relays VALUES (?, ?)').run(owner, leaseUntil)
      const before = db.prepare('SELECT owner, opened_at, closed_at FROM episodes WHERE key = ?')
      const insert = db.prepare('INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      const put = db.prepare('INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      for (const { episode, deliveries } of opened) {
        const there = episode === null ? undefined : before.get(episode.key)
        // What we wrote ourselves, without hearing that it was written, is written again.
        if (episode !== null && there !== undefined && there.owner !== owner) {
          known.push({ key: episode.key, openedAt: Number(there.opened_at), open: there.closed_at === null })
          continue
        }
        if (episode !== null) {
          const { key, thread, turn, reason, openedAt, closedAt, resolution } = episode
          insert.run(key, thread, turn, episode.episode, reason, owner, openedAt, closedAt, resolution)
        }
        for (const delivery of deliveries) put.run(...valuesOf(delivery, owner))
      }
      const close = db.prepare('UPDATE episodes SET closed_at = ?, resolution = ? WHERE key = ? AND closed_at IS NULL')
      for (const { key, closedAt, resolution } of closed) close.run(closedAt, resolution, key)
      const worsen = db.prepare('UPDATE episodes SET reason = ? WHERE key = ?')
      const retell = db.prepare("UPDATE deliveries SET message = ? WHERE key = ? AND state = 'pending'")
      for (const { key, reason, message } of worse) {
        worsen.run(reason, key)
        retell.run(JSON.stringify(message), key)
      }
      const update = db.prepare(
        `UPDATE deliveries SET message = ?, state = ?, firing = ?, open = ?, attempts = ?, rejections = ?, due_at = ?,
           failure = ?, settled_at = ? WHERE key = ? AND channel = ? AND (owner = ? OR ? = 'delivered')`,
      )
      for (const delivery of changed) {
        const { key, channel, state } = delivery
        // That it has arrived is true whoever holds it by now.
        update.run(...progressOf(delivery), key, channel, owner, state)
      }
      return known
    })
  }

  release(owner: string): void {
    this.#file.transaction((db) => db.prepare('UPDATE relays SET lease_until = 0 WHERE owner = ?').run(owner))
  }
}

/** One UPDATE, so that two processes never take the same row; all of a group, because it goes out as one. */
function takeOver(db: DatabaseSync, { owner, channels, limit, now }: ClaimRequest): StoredDelivery[] {
  const rows = db
    .prepare(
      `WITH orphans AS (
         SELECT key, channel, grouped, since FROM deliveries
         WHERE open = 1 AND owner IN (SELECT owner FROM relays WHERE lease_until <= ?)
           AND channel IN (SELECT value FROM json_each(?))),
       first AS (SELECT key, channel, grouped FROM orphans ORDER BY since LIMIT ?)
       UPDATE deliveries SET owner = ? WHERE (key, channel) IN (
         SELECT key, channel FROM first
         UNION SELECT key, channel FROM orphans WHERE grouped IN (SELECT grouped FROM first))
       RETURNING *`,
    )
    .all(now, JSON.stringify(channels), limit, owner)
  const spoil = db.prepare(
    "UPDATE deliveries SET state = 'dead', firing = 0, open = 0, failure = 'unreadable' WHERE key = ? AND channel = ?",
  )
  const taken = rows.flatMap((row) => {
    try {
      return [deliveryOf(row)]
    } catch {
      spoil.run(row.key ?? null, row.channel ?? null)
      return []
    }
  })
  return taken.sort((a, b) => a.since - b.since)
}

function heldBy(db: DatabaseSync, owner: string): Set<string> {
  const rows = db.prepare('SELECT key, channel FROM deliveries WHERE open = 1 AND owner = ?').all(owner)
  return new Set(rows.map(({ key, channel }) => `${key}\n${channel}`))
}

/** Makes dead what nobody can deliver, and forgets what is old. Returns how many are dead now. */
function prune(db: DatabaseSync, { now, expireFrom, keepFrom }: ClaimRequest): number {
  const orphaned = 'open = 1 AND owner IN (SELECT owner FROM relays WHERE lease_until <= ?)'
  const dead = db
    .prepare(
      `UPDATE deliveries SET state = 'dead', firing = 0, open = 0, failure = 'expired', settled_at = ?
       WHERE ${orphaned} AND state = 'pending' AND since < ?`,
    )
    .run(now, now, expireFrom)
  db.prepare(`UPDATE deliveries SET firing = 0, open = 0 WHERE ${orphaned} AND firing = 1 AND since < ?`).run(
    now,
    keepFrom,
  )
  db.prepare(
    `DELETE FROM relays WHERE lease_until <= ? AND NOT EXISTS (
       SELECT 1 FROM deliveries WHERE deliveries.owner = relays.owner AND open = 1)`,
  ).run(now)
  db.prepare(
    `DELETE FROM deliveries WHERE (key, channel) IN (
       SELECT key, channel FROM deliveries WHERE since < ? AND open = 0 LIMIT ${PRUNED})`,
  ).run(keepFrom)
  db.prepare(
    `DELETE FROM episodes WHERE key IN (
       SELECT key FROM episodes WHERE opened_at < ?
         AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.episode = episodes.key) LIMIT ${PRUNED})`,
  ).run(keepFrom)
  return Number(dead.changes)
}

type Row = Record<string, SQLOutputValue>

function valuesOf(delivery: StoredDelivery, owner: string) {
  const { key, channel, episode, group, since } = delivery
  return [key, channel, episode, owner, group, since, ...progressOf(delivery)] as const
}

/** What changes of a delivery. */
function progressOf({ message, state, firing, attempts, rejections, dueAt, failure, settledAt }: StoredDelivery) {
  const open = state === 'pending' || firing
  const counts = [attempts, rejections, dueAt] as const
  return [JSON.stringify(message), state, firing ? 1 : 0, open ? 1 : 0, ...counts, failure, settledAt] as const
}

function deliveryOf(row: Row): StoredDelivery {
  return {
    key: String(row.key),
    channel: String(row.channel),
    episode: String(row.episode),
    message: JSON.parse(String(row.message)) as Message,
    group: row.grouped === null ? null : String(row.grouped),
    since: Number(row.since),
    state: String(row.state) as DeliveryState,
    firing: row.firing === 1,
    attempts: Number(row.attempts),
    rejections: Number(row.rejections),
    dueAt: Number(row.due_at),
    failure: row.failure === null ? null : String(row.failure),
    settledAt: row.settled_at === null ? null : Number(row.settled_at),
  }
}

function episodeOf(row: Row): StoredEpisode {
  return {
    key: String(row.key),
    thread: String(row.thread),
    turn: String(row.turn),
    episode: Number(row.episode),
    reason: String(row.reason) as StaleReason,
    openedAt: Number(row.opened_at),
    closedAt: row.closed_at === null ? null : Number(row.closed_at),
    resolution: row.resolution === null ? null : (String(row.resolution) as Resolution),
  }
}

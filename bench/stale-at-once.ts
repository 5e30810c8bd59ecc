/** Ten thousand turns that are stale in one tick: what the notifier adds to it, and how long it holds the event loop. */

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VirtualHost } from '../hosts/replay/virtual-host.ts'
import { sqliteStore } from '../storage/sqlite-store.ts'
import { createTurnwatch } from '../turnwatch.ts'
import type { TurnwatchOptions } from '../turnwatch-options.ts'
import { type Figure, heading, printTable, times } from './report.ts'

const TURNS = 10_000
const RUNS = 5
/** The tick, in seconds, that finds a turn stale whose last token came at 0. */
const STALE_AT = 113

interface Run {
  /** The tick that finds them stale. */
  readonly tickMs: number
  /** The longest that the event loop was held until all were told. */
  readonly heldMs: number
}

export async function benchStaleAtOnce(): Promise<Figure[]> {
  heading(`${TURNS.toLocaleString('en')} turns stale in one tick`)
  const folder = await mkdtemp(join(tmpdir(), 'turnwatch-bench-'))
  try {
    let made = 0
    const store = () => ({ store: sqliteStore(join(folder, `${made++}.db`)) })
    const alone = await runs(() => ({}))
    const memory = await runs((told) => ({ notify: told }))
    const sqlite = await runs((told) => ({ notify: told, ...store() }))
    printTable(
      ['', 'tick, median ms', 'event loop held after it, worst ms'],
      [
        ['no notifier', alone.tickMs.toFixed(1), ''],
        ['notifier, in memory', memory.tickMs.toFixed(1), memory.heldMs.toFixed(1)],
        ['notifier, SQLite', sqlite.tickMs.toFixed(1), sqlite.heldMs.toFixed(1)],
      ],
    )
    return [
      {
        what: '1e4 stale at once: the tick',
        measured: `${sqlite.tickMs.toFixed(0)} ms`,
        peer: `without a notifier: ${times(alone.tickMs, sqlite.tickMs)} of it`,
        ok: null,
      },
      {
        what: '1e4 stale at once: event loop held at most',
        measured: `${sqlite.heldMs.toFixed(0)} ms`,
        peer: `in memory: ${times(memory.heldMs, sqlite.heldMs)} of it`,
        ok: null,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runs(options: (told: () => void) => TurnwatchOptions): Promise<Run> {
  const found: Run[] = []
  for (let run = 0; run < RUNS; run++) found.push(await staleAtOnce(options))
  const ticks = found.map(({ tickMs }) => tickMs).sort((a, b) => a - b)
  return { tickMs: ticks[Math.floor(RUNS / 2)] as number, heldMs: Math.max(...found.map(({ heldMs }) => heldMs)) }
}

async function staleAtOnce(options: (told: () => void) => TurnwatchOptions): Promise<Run> {
  const host = new VirtualHost()
  let told = 0
  const given = options(() => {
    told++
  })
  const watch = createTurnwatch({ clock: host.clock, ...given })
  for (let i = 0; i < TURNS; i++) {
    const turn = watch.startTurn({ threadId: `sub.boss-${i % 100}.${i}`, turnId: 't', provider: 'p', model: 'm' })
    turn.observe({ kind: 'token', stream: 'text' })
  }
  host.run((STALE_AT - 1) * 1000, () => watch.tick())
  const before = performance.now()
  host.run(STALE_AT * 1000, () => watch.tick())
  const tickMs = performance.now() - before
  let heldMs = 0
  for (let last = performance.now(); given.notify && told < TURNS; ) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = performance.now()
    heldMs = Math.max(heldMs, now - last)
    last = now
  }
  await watch.stop()
  return { tickMs, heldMs }
}

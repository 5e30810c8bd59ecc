/** What a running turn keeps alive: its row, its handle, and the ids it came with, which the host holds anyway. */

import { TOKEN } from '../instrumentation/sources/source.ts'
import { createTurnwatch } from '../turnwatch.ts'
import { flatId, identity } from './ids.ts'
import { bytesKept } from './measure.ts'
import { type Figure, heading, printFigures, printTable, times } from './report.ts'

const TURNS = 1e5
const BUDGET_BYTES = 400

export function benchMemory(): Figure[] {
  heading(`Memory, ${TURNS.toLocaleString('en')} running turns with UUIDs for ids`)
  const ids = bytesKept(() => Array.from({ length: 2 * TURNS }, flatId)) / TURNS
  const byId = bytesKept(threadsOnly) / TURNS
  const byHandle = bytesKept(withHandles) / TURNS
  const naive = bytesKept(naiveTurns) / TURNS
  printTable(
    ['', 'bytes a turn'],
    [
      ['turnwatch, events by thread id', byId.toFixed(0)],
      ['turnwatch, with a handle', byHandle.toFixed(0)],
      ['a Map of objects with a timer', naive.toFixed(0)],
      ["of each: the two ids, which are the host's own strings", ids.toFixed(0)],
    ],
  )
  return [
    {
      what: 'memory per running turn',
      budget: `<= ${BUDGET_BYTES} bytes`,
      measured: `${(byHandle - ids).toFixed(0)} bytes with its handle, and ${ids.toFixed(0)} of ids`,
      peer: `an object and a timer: ${times(naive, byHandle)} of it`,
      ok: byHandle - ids <= BUDGET_BYTES,
    },
  ]
}

function threadsOnly(): unknown {
  const watch = createTurnwatch()
  for (let i = 0; i < TURNS; i++) {
    const { threadId, turnId, provider, model } = identity(i)
    watch.observe(threadId, { kind: 'turn.started', turn: turnId, provider, model })
    watch.observe(threadId, TOKEN.text)
  }
  return watch
}

function withHandles(): unknown {
  const watch = createTurnwatch()
  const handles = Array.from({ length: TURNS }, (_, i) => watch.startTurn(identity(i)))
  for (const handle of handles) handle.observe(TOKEN.text)
  return { watch, handles }
}

function naiveTurns(): unknown {
  const turns = new Map<string, unknown>()
  for (let i = 0; i < TURNS; i++) {
    const who = identity(i)
    const timer = setTimeout(() => turns.delete(who.threadId), 90_000).unref()
    turns.set(who.threadId, { ...who, startedAt: i, lastEventAt: i, tokens: 0, longestMs: 0, openTools: null, timer })
  }
  return turns
}

if (import.meta.main) printFigures(benchMemory())

/** What a tick over many running turns costs, beside the same comparison over a Map of objects. */

import type { Clock } from '../detector/observed-clock.ts'
import { createTurnwatch } from '../turnwatch.ts'
import { flatId } from './ids.ts'
import { msPerRun } from './measure.ts'
import { type Figure, heading, printFigures, printTable, times } from './report.ts'

const TURNS = 1e5
const BUDGET_MS = 1
const RUNS = 300

export async function benchTick(): Promise<Figure[]> {
  heading(`A tick over ${TURNS.toLocaleString('en')} running turns`)
  const ours = await msPerRun(watchTick(), RUNS)
  const naive = await msPerRun(naiveTick(), RUNS)
  printTable(
    ['', 'median ms', 'worst ms'],
    [
      ['turnwatch', ours.median.toFixed(3), ours.worst.toFixed(3)],
      ['a Map of objects', naive.median.toFixed(3), naive.worst.toFixed(3)],
    ],
  )
  return [
    {
      what: 'tick over 1e5 running turns',
      budget: `<= ${BUDGET_MS} ms`,
      measured: `${ours.median.toFixed(2)} ms, worst ${ours.worst.toFixed(2)}`,
      peer: `a Map of objects: ${times(naive.median, ours.median)} of it`,
      ok: ours.median <= BUDGET_MS,
    },
  ]
}

/** A clock on which every tick is on time. */
function steppedClock(): Clock & { step(): void } {
  let ms = 0
  return {
    monoMs: () => ms,
    wallMs: () => ms,
    uptimeMs: () => ms,
    step: () => {
      ms += 1000
    },
  }
}

/** One turn in ten has a tool open, the others stream; the limits are far off, so that nothing is flagged on the way. */
function watchTick(): () => void {
  const clock = steppedClock()
  const far = 1e12
  const watch = createTurnwatch({
    clock,
    thresholds: { firstTokenMs: far, midStreamMs: far, afterToolMs: far },
    lostAfterMs: far,
  })
  for (let i = 0; i < TURNS; i++) {
    const turn = watch.startTurn({ threadId: flatId(), provider: `provider-${i % 8}`, model: `model-${i % 50}` })
    if (i % 3 > 0) turn.observe({ kind: 'token', stream: 'text' })
    if (i % 10 === 0) turn.observe({ kind: 'tool.started', id: 'call-1', name: 'Bash' })
  }
  return () => {
    clock.step()
    watch.tick()
  }
}

interface NaiveTurn {
  lastEventAt: number
  thresholdMs: number
  readonly openTools: Set<string>
  stale: boolean
}

function naiveTick(): () => void {
  const turns = new Map<string, NaiveTurn>()
  for (let i = 0; i < TURNS; i++) {
    const openTools = new Set(i % 10 === 0 ? ['call-1'] : [])
    turns.set(flatId(), { lastEventAt: 0, thresholdMs: 1e12, openTools, stale: false })
  }
  let now = 0
  return () => {
    now += 1000
    for (const turn of turns.values()) {
      if (turn.openTools.size > 0 || turn.stale) continue
      if (now - turn.lastEventAt > turn.thresholdMs) turn.stale = true
    }
  }
}

if (import.meta.main) printFigures(await benchTick())

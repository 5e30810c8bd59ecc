/** How long after its limit a dead turn is flagged, while ticks are on time: on a virtual clock, over many turns. */

import { VirtualHost } from '../hosts/replay/virtual-host.ts'
import { createTurnwatch } from '../turnwatch.ts'
import { type Figure, heading, printFigures } from './report.ts'
import { Random } from './simulation/random.ts'

const TURNS = 10_000
const THRESHOLD_MS = 20_000
const BUDGET_MS = 1000

export function benchDelay(): Figure[] {
  const host = new VirtualHost()
  const watch = createTurnwatch({
    clock: host.clock,
    thresholds: { firstTokenMs: THRESHOLD_MS, midStreamMs: THRESHOLD_MS, afterToolMs: THRESHOLD_MS },
  })
  const delays: number[] = []
  watch.on('stale', ({ silenceMs, thresholdMs }) => delays.push(silenceMs - thresholdMs * 1.25))
  const random = new Random(11, 0)
  host.schedule(
    Array.from({ length: TURNS }, (_, i) => ({
      due: random.uniform() * 60_000,
      act: () => watch.startTurn({ threadId: `thread-${i}` }).observe({ kind: 'token', stream: 'text' }),
    })),
  )
  host.run(120_000, () => watch.tick())
  delays.sort((a, b) => a - b)
  const worst = delays.at(-1) ?? Number.NaN
  heading(`Verdict delay: ${delays.length.toLocaleString('en')} of ${TURNS.toLocaleString('en')} dead turns flagged`)
  console.log(`median ${delays[delays.length >> 1]} ms past 1.25 T, worst ${worst} ms\n`)
  return [
    {
      what: 'verdict delay past the limit',
      budget: 'one tick (1000 ms)',
      measured: `worst ${worst} ms of ${TURNS.toLocaleString('en')} turns`,
      ok: delays.length === TURNS && worst <= BUDGET_MS,
    },
  ]
}

if (import.meta.main) printFigures(benchDelay())

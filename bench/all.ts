/** Every benchmark in one run, and its figures beside their budgets. A missed budget is reported; it fails nothing. */

import { benchDelay } from './delay.ts'
import { benchFalseFlags } from './false-flags.ts'
import { benchMemory } from './memory.ts'
import { benchObserve } from './observe.ts'
import { benchReplay } from './replay.ts'
import { type Figure, heading, printFigures } from './report.ts'
import { benchScrape } from './scrape.ts'
import { benchStaleAtOnce } from './stale-at-once.ts'
import { benchT3 } from './t3.ts'
import { benchTick } from './tick.ts'
import { benchWatchdog } from './watchdog.ts'

const figures: Figure[] = []
// Events first: the others would leave the hot path compiled for more than one clock.
for (const bench of [
  benchObserve,
  benchTick,
  benchMemory,
  benchScrape,
  benchStaleAtOnce,
  benchT3,
  benchWatchdog,
  benchReplay,
  benchDelay,
  benchFalseFlags,
]) {
  figures.push(...(await bench()))
}
heading('Summary')
printFigures(figures)

/** What a scrape costs with every series there can be, beside plain prom-client gauges of the same number. */

import { Gauge, Registry } from 'prom-client'
import type { Family } from '../instrumentation/metrics/family.ts'
import { turnwatchProducer } from '../instrumentation/metrics/opentelemetry.ts'
import { writeMetrics } from '../liveness/metrics-text.ts'
import { createTurnwatch, type Turnwatch } from '../turnwatch.ts'
import { msPerRun, type Spread } from './measure.ts'
import { type Figure, heading, printFigures, printTable, times } from './report.ts'

const THREADS = 500
/** Of these 500 have series of their own. */
const CONCURRENT = 10_000
const MODELS = 50
const BUDGET_MS = 10
const RUNS = 40
/** As many families as the catalogue has, more or less. */
const GAUGES = 40

export async function benchScrape(): Promise<Figure[]> {
  return [...(await benchThreads(THREADS)), ...(await benchThreads(CONCURRENT))]
}

async function benchThreads(threads: number): Promise<Figure[]> {
  const watch = busyWatch(threads)
  const series = seriesOf(watch.metrics())
  const plain = plainGauges(series)
  const of = `${threads.toLocaleString('en')} threads`
  heading(`A scrape of ${of} and ${MODELS} models: ${series.toLocaleString('en')} series`)
  const collect = await msPerRun(() => watch.metrics(), RUNS)
  const text = await msPerRun(() => writeMetrics(watch.metrics(), false), RUNS)
  const blockMs = await longestBlock(() => writeMetrics(watch.metrics(), false))
  const producer = turnwatchProducer(watch)
  const produce = await msPerRun(() => producer.collect(), RUNS)
  const peer = await msPerRun(() => plain.metrics(), RUNS)
  const row = (name: string, { median, worst }: Spread) => [name, median.toFixed(1), worst.toFixed(1)]
  printTable(
    ['', 'median ms', 'worst ms'],
    [
      row('turnwatch, collect', collect),
      row('turnwatch, collect and prom-client text', text),
      row('turnwatch, collect for OpenTelemetry', produce),
      row('prom-client gauges, text', peer),
    ],
  )
  console.log(`  Between two families the event loop gets its turn: the longest block is ${blockMs.toFixed(1)} ms.\n`)
  return [
    {
      what: `scrape of ${of}, collect`,
      budget: `<= ${BUDGET_MS} ms`,
      measured: `${collect.median.toFixed(1)} ms, worst ${collect.worst.toFixed(1)}`,
      ok: collect.median <= BUDGET_MS,
    },
    {
      what: `scrape of ${of}, with text`,
      budget: `<= ${BUDGET_MS} ms`,
      measured: `${text.median.toFixed(1)} ms, worst ${text.worst.toFixed(1)}`,
      peer: `plain gauges: ${peer.median.toFixed(1)} ms, ${times(peer.median, text.median)} of it`,
      ok: text.median <= BUDGET_MS,
    },
    {
      what: 'event loop blocked by it',
      budget: `<= ${BUDGET_MS} ms`,
      measured: `${blockMs.toFixed(1)} ms`,
      ok: blockMs <= BUDGET_MS,
    },
  ]
}

/** The longest time in ms between two turns of the event loop, median of several runs. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const blocks: number[] = []
  for (let run = 0; run < RUNS; run++) {
    let longest = 0
    let last = performance.now()
    let running = true
    const beat = () => {
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
      if (running) setImmediate(beat)
    }
    setImmediate(beat)
    await work()
    running = false
    blocks.push(longest)
  }
  return blocks.sort((a, b) => a - b)[Math.floor(RUNS / 2)] as number
}

/** Each thread has had a turn, and has another that runs. */
function busyWatch(threads: number): Turnwatch {
  const watch = createTurnwatch()
  const start = (i: number) =>
    watch.startTurn({
      threadId: `sub.3f1c9a52-8f0e-4f5b-9d52-2f0f0a6d1b7e.worker-${i % threads}`,
      turnId: `turn-${i}`,
      provider: ['claudeAgent', 'codex', 'opencode'][(i % MODELS) % 3] as string,
      model: `vendor/model-${i % MODELS}-preview`,
    })
  for (let i = 0; i < threads * 2; i++) {
    const turn = start(i)
    for (let token = 0; token < 20; token++) turn.observe({ kind: 'token', stream: 'text' })
    if (i < threads) turn.observe({ kind: 'turn.ended', outcome: 'completed' })
    else if (i % 5 === 0) turn.observe({ kind: 'tool.started', id: `call-${i}`, name: 'Bash' })
    else if (i % 7 === 0) turn.observe({ kind: 'wait.started', id: `ask-${i}`, reason: 'approval' })
    else if (i % 11 === 0) turn.observe({ kind: 'error', message: 'overloaded' })
  }
  watch.tick()
  return watch
}

/** Lines of the text format: a histogram has one a bucket, and sum and count. */
function seriesOf(families: readonly Family[]): number {
  let series = 0
  for (const family of families) {
    if (family.type !== 'histogram') series += family.points.length
    else for (const { bounds } of family.points) series += bounds.length + 3
  }
  return series
}

function plainGauges(series: number): Registry {
  const registry = new Registry()
  const gauges = Array.from(
    { length: GAUGES },
    (_, i) =>
      new Gauge({
        name: `plain_${i}`,
        help: 'A gauge.',
        labelNames: ['provider', 'model', 'thread'],
        registers: [registry],
      }),
  )
  for (let i = 0; i < series; i++) {
    const labels = { provider: 'claudeAgent', model: `vendor/model-${i % MODELS}-preview`, thread: `worker-${i}` }
    gauges[i % GAUGES]?.set(labels, i / 1000)
  }
  return registry
}

if (import.meta.main) printFigures(await benchScrape())

/**
 * Runs turns that each have a new thread and a new id, reads them over every route as they go, and prints a line of
 * JSON: series and heap at the start, after half of them and at the end. With the argument `unread` it reads nothing in
 * between. Needs `--expose-gc`.
 */

import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { Registry } from 'prom-client'
import { turnwatchProducer } from '../../instrumentation/metrics/opentelemetry.ts'
import { registerTurnwatch } from '../../instrumentation/metrics/prom-client.ts'
import { fixture } from '../liveness/manual-clock.ts'

const HALF = 10_000
const AT_A_TIME = 100
const MODELS = 60
const isRead = process.argv[2] !== 'unread'

class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

// Of the threads that have ended the watch remembers so many, which the first half must have filled.
const { watch, pass } = fixture({ keepThreads: 1000 })
const registry = new Registry()
registerTurnwatch(registry, watch)
const reader = new Reader({ metricProducers: [turnwatchProducer(watch)] })
new MeterProvider({ readers: [reader] })

/** Ids of every kind: plain, with what must be cleaned, and so long that they are cut. */
const idOf = (i: number) => `sub.boss-${i}.${i % 3 === 0 ? '\u0000' : ''}${'x'.repeat(i % 7 === 0 ? 300 : 0)}`

function run(i: number): void {
  const turn = watch.startTurn({ threadId: idOf(i), turnId: idOf(i), provider: 'codex', model: `m${i % MODELS}` })
  turn.observe({ kind: 'token', stream: 'text' })
  watch.unclassified('codex-exec-json', `type ${i}`)
  watch.streamStarted(`client ${i}`)
}

async function churn(from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += AT_A_TIME) {
    for (let i = start; i < start + AT_A_TIME; i++) run(i)
    pass(1)
    if (isRead) await scrape()
    for (let i = start; i < start + AT_A_TIME; i++) watch.observe(idOf(i), { kind: 'turn.ended', outcome: 'completed' })
  }
}

async function scrape(): Promise<{ text: number; producer: number }> {
  const text = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  const { resourceMetrics } = await reader.collect()
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap((one) => one.dataPoints as object[]),
  )
  return { text, producer: points.length }
}

async function measure() {
  const series = await scrape()
  // What is held weakly goes only with the next collection, or the one after it.
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  return { ...series, heap: process.memoryUsage().heapUsed }
}

// Every model, and every name that is bounded, once.
await churn(0, AT_A_TIME * 2)
const start = await measure()
await churn(HALF, HALF * 2)
const middle = await measure()
await churn(HALF * 2, HALF * 3)
console.log(JSON.stringify({ start, middle, end: await measure() }))

import { Counter as SuccessorCounter, Registry as SuccessorRegistry } from '@prometheus-io/client'
import { Counter, Registry, type RegistryContentType } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { catalogue } from '../../instrumentation/metrics/catalogue.ts'
import { registerTurnwatch } from '../../instrumentation/metrics/prom-client.ts'
import { livenessApp } from '../../liveness/index.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { type Sample, samplesOf } from './exposition.ts'

const MODEL = { provider: 'codex', model: 'gpt' }
const TOKEN = { kind: 'token', stream: 'text' } as const
/** Metrics of the catalogue. */
const ALL = Object.keys(catalogue).length

/** The successor has the same surface, with types of its own. */
const LIBRARIES = [
  ['prom-client', Registry, Counter],
  ['its successor', SuccessorRegistry as unknown as typeof Registry, SuccessorCounter as unknown as typeof Counter],
] as const

const of = (samples: readonly Sample[], name: string) => samples.filter((one) => one.name === `turnwatch_${name}`)

describe.each(LIBRARIES)('a registry of %s', (_, AnyRegistry, AnyCounter) => {
  function registered() {
    const at = fixture({ onError: () => {} })
    const turn = at.watch.startTurn({ threadId: 'a', ...MODEL })
    at.pass(3)
    turn.observe(TOKEN)
    const registry = new AnyRegistry<RegistryContentType>()
    const undo = registerTurnwatch(registry, at.watch)
    return { ...at, registry, undo, read: async () => samplesOf(await registry.metrics()) }
  }

  test('has the values of the watch, histograms cumulative', async () => {
    const samples = await registered().read()
    const buckets = of(samples, 'time_to_first_token_seconds_bucket')
    const bucket = (le: string) => buckets.find(({ labels }) => labels.le === le)?.value
    expect([bucket('2'), bucket('4'), bucket('240'), bucket('+Inf')]).toEqual([0, 1, 1, 1])
    expect(of(samples, 'time_to_first_token_seconds_sum')[0]?.value).toBe(3)
    expect(of(samples, 'time_to_first_token_seconds_count')[0]?.value).toBe(1)
  })

  test('keeps nothing of turns that have ended', async () => {
    const { watch, registry } = registered()
    expect(await registry.metrics()).toContain('thread="a"')
    watch.observe('a', { kind: 'turn.ended', outcome: 'completed' })
    expect(await registry.metrics()).not.toContain('thread="a"')
  })

  test('gives every series its default labels, but for those that the series has itself', async () => {
    const { registry, read } = registered()
    registry.setDefaultLabels({ host: 'h"1', thread: 'default' })
    const samples = await read()
    expect(new Set(samples.map(({ labels }) => labels.host))).toEqual(new Set(['h"1']))
    expect(of(samples, 'thread_stale').map(({ labels }) => labels)).toEqual([{ host: 'h"1', thread: 'a' }])
    expect(of(samples, 'ticks_total').map(({ labels }) => labels)).toEqual([{ host: 'h"1', thread: 'default' }])
    registry.setDefaultLabels({})
    expect((await read()).filter(({ labels }) => 'host' in labels)).toEqual([])
  })

  test('gives its metrics as JSON, every label of a series with it', async () => {
    const { registry } = registered()
    registry.setDefaultLabels({ host: 'h' })
    const metrics = await registry.getMetricsAsJSON()
    expect(metrics).toHaveLength(ALL)
    const firstToken = metrics.find(({ name }) => name === 'turnwatch_time_to_first_token_seconds')
    expect(firstToken).toMatchObject({ type: 'histogram', aggregator: 'sum' })
    expect((firstToken as unknown as { values: unknown[] }).values).toContainEqual({
      metricName: 'turnwatch_time_to_first_token_seconds_bucket',
      labels: { provider: 'codex', model: 'gpt', le: 4, host: 'h' },
      value: 1,
    })
  })

  test('is merged with others', async () => {
    const { registry, read } = registered()
    const other = new AnyRegistry<RegistryContentType>()
    new AnyCounter({ name: 'of_the_host_total', help: 'Theirs.', registers: [other] }).inc(7)
    const merged = samplesOf(await AnyRegistry.merge([registry, other] as unknown as Registry[]).metrics())
    expect(merged).toEqual([...(await read()), { name: 'of_the_host_total', labels: {}, value: 7 }])
  })

  test('writes OpenMetrics and the classic text in turn, the same samples in both', async () => {
    const { registry, read } = registered()
    const classic = await read()
    for (let round = 0; round < 2; round++) {
      registry.setContentType(AnyRegistry.OPENMETRICS_CONTENT_TYPE)
      const text = await registry.metrics()
      expect(text).toMatch(/^# TYPE turnwatch_ticks counter$/m)
      expect(samplesOf(text)).toEqual(classic)
      expect((await registry.getMetricsAsJSON()).map(({ name }) => name)).toContain('turnwatch_ticks_total')
      registry.setContentType(AnyRegistry.PROMETHEUS_CONTENT_TYPE)
      const again = await registry.metrics()
      expect(again).toMatch(/^# TYPE turnwatch_ticks_total counter$/m)
      expect(samplesOf(again)).toEqual(classic)
    }
  })

  test('writes no family twice as OpenMetrics, and none without its type', async () => {
    const { registry } = registered()
    registry.setContentType(AnyRegistry.OPENMETRICS_CONTENT_TYPE)
    const families = [...(await registry.metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    const names = families.map(([, name]) => name)
    expect(names).toHaveLength(ALL)
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
    const unknown = families.filter(([, , type]) => type === 'unknown')
    expect(unknown.map(([, name]) => name)).toEqual(['turnwatch_turns_stale_total'])
  })

  test('takes one watch once: a second try is refused, and the first still works', async () => {
    const { registry, watch, read } = registered()
    const line = 'the registry has turnwatch_thread_silence_seconds already: a registry takes one watch, once'
    expect(() => registerTurnwatch(registry, watch)).toThrow(line)
    expect(() => registerTurnwatch(registry, fixture().watch)).toThrow(line)
    expect(of(await read(), 'thread_stale')).toHaveLength(1)
  })

  test('that has a metric of such a name already gets none of ours', () => {
    const registry = new AnyRegistry<RegistryContentType>()
    new AnyCounter({ name: 'turnwatch_ticks_total', help: 'Theirs.', registers: [registry] })
    expect(() => registerTurnwatch(registry, fixture().watch)).toThrow('the registry has turnwatch_ticks_total already')
    expect(registry.getMetricsAsArray()).toHaveLength(1)
  })

  test('can be cleared, or left by the undo, and joined again', async () => {
    const { registry, watch, undo } = registered()
    new AnyCounter({ name: 'of_the_host_total', help: 'Theirs.', registers: [registry] })
    registry.resetMetrics()
    undo()
    expect(registry.getMetricsAsArray()).toHaveLength(1)
    registerTurnwatch(registry, watch)
    registry.clear()
    registerTurnwatch(registry, watch)
    undo()
    expect(registry.getMetricsAsArray(), 'the undo is for its own registration').toHaveLength(ALL)
  })

  test('keeps its other metrics when the watch fails, and shows the fault when that is over', async () => {
    const { registry, clock, read } = registered()
    new AnyCounter({ name: 'of_the_host_total', help: 'Theirs.', registers: [registry] }).inc(7)
    const monoMs = clock.monoMs
    clock.monoMs = () => {
      throw new Error('no clock')
    }
    expect(await read()).toEqual([{ name: 'of_the_host_total', labels: {}, value: 7 }])
    expect(await registry.getMetricsAsJSON()).toHaveLength(ALL + 1)
    clock.monoMs = monoMs
    const faults = of(await read(), 'internal_errors_total')
    expect(faults.find(({ labels }) => labels.where === 'collector')?.value).toBe(2)
  })

  test('says how the metrics of several processes become one', async () => {
    const aggregators = (await registered().registry.getMetricsAsJSON()).map(({ name, aggregator }) => [
      name,
      aggregator,
    ])
    expect(Object.fromEntries(aggregators)).toMatchObject({
      turnwatch_turns_running: 'sum',
      turnwatch_turns_ended_total: 'sum',
      turnwatch_event_gap_seconds: 'sum',
      turnwatch_silence_max_seconds: 'max',
      turnwatch_last_tick_timestamp_seconds: 'max',
      turnwatch_build_info: 'max',
    })
  })

  test('reads the watch once a scrape', async () => {
    const { watch } = fixture()
    let reads = 0
    const metrics = () => {
      reads++
      return watch.metrics()
    }
    const registry = new AnyRegistry<RegistryContentType>()
    registerTurnwatch(registry, { metrics })
    await registry.metrics()
    await registry.getMetricsAsJSON()
    expect(reads).toBe(2)
  })

  test('refuses a mode of threads that is none, and registers nothing', () => {
    const registry = new AnyRegistry<RegistryContentType>()
    expect(() => registerTurnwatch(registry, fixture().watch, { perThread: 'none' as 'off' })).toThrow(
      new TypeError('perThread: "none" is none of all, stale, off'),
    )
    expect(registry.getMetricsAsArray()).toEqual([])
  })

  test('has no series of threads if the host wants none', async () => {
    const { watch } = registered()
    const registry = new AnyRegistry<RegistryContentType>()
    registerTurnwatch(registry, watch, { perThread: 'off' })
    const samples = samplesOf(await registry.metrics())
    expect(samples.filter(({ labels }) => 'thread' in labels)).toEqual([])
    expect(of(samples, 'turns_started_total').map(({ value }) => value)).toEqual([1])
  })
})

test('/metrics of a watch that fails is an error, never an empty page, and the fault shows when that is over', async () => {
  const { watch, clock } = fixture({ onError: () => {} })
  const app = livenessApp(watch)
  const monoMs = clock.monoMs
  clock.monoMs = () => {
    throw new Error('no clock')
  }
  expect((await app.request('/metrics')).status).toBe(500)
  clock.monoMs = monoMs
  const text = await (await app.request('/metrics')).text()
  expect(text).toContain('turnwatch_internal_errors_total{where="collector"} 1')
})

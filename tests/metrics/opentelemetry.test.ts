import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ValueType } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricProducer,
  MetricReader,
} from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { catalogue, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import { type OtlpOptions, startOtlp, turnwatchProducer } from '../../instrumentation/metrics/opentelemetry.ts'
import { ReportingExporter } from '../../instrumentation/metrics/otlp-reports.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { OtlpReceiver } from './routes.ts'

const MODEL = { provider: 'codex', model: 'gpt' }
const NAMED = { 'service.name': 'server', 'service.instance.id': 'one' }

describe('the producer', () => {
  async function collected() {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL })
    const { resourceMetrics, errors } = await turnwatchProducer(at.watch).collect()
    expect(errors).toEqual([])
    return {
      ...at,
      scopes: resourceMetrics.scopeMetrics,
      metrics: resourceMetrics.scopeMetrics.flatMap((s) => s.metrics),
    }
  }

  test('is what the SDK takes for one', () => {
    const producer: MetricProducer = turnwatchProducer(fixture().watch)
    expect(producer.collect).toBeTypeOf('function')
  })

  test('has one scope, and every name, unit and kind of the catalogue', async () => {
    const { scopes, metrics } = await collected()
    expect(scopes.map(({ scope }) => scope)).toEqual([{ name: 'turnwatch' }])
    const KIND = { counter: DataPointType.SUM, gauge: DataPointType.GAUGE, histogram: DataPointType.HISTOGRAM }
    for (const { descriptor, dataPointType, aggregationTemporality } of metrics) {
      const { type, unit, help } = catalogue[descriptor.name.slice(PREFIX.length) as keyof typeof catalogue]
      expect(descriptor).toEqual({ name: descriptor.name, unit, description: help, valueType: ValueType.DOUBLE })
      expect(dataPointType, descriptor.name).toBe(KIND[type])
      expect(aggregationTemporality).toBe(AggregationTemporality.CUMULATIVE)
    }
    const monotonic = metrics.filter((metric) => 'isMonotonic' in metric && metric.isMonotonic)
    expect(monotonic.length).toBe(metrics.filter(({ dataPointType }) => dataPointType === DataPointType.SUM).length)
  })

  test('no unit adds a suffix that the name has not, whoever translates it', () => {
    for (const [name, { unit }] of Object.entries(catalogue)) {
      expect(unit === '' || unit === 's' || /^\{\w+\}$/.test(unit), name).toBe(true)
    }
  })

  test('every point lasts from the start of the process until now, on the clock of the watch', async () => {
    const { metrics, watch } = await collected()
    for (const { startTime, endTime } of metrics.flatMap<{ startTime: number[]; endTime: number[] }>(
      (m) => m.dataPoints,
    )) {
      expect(endTime).toEqual([Date.parse(watch.now()) / 1000, 0])
      expect(startTime[0]).toBeLessThanOrEqual(endTime[0] as number)
    }
    const now = () => new Date(performance.timeOrigin + 60_000).toISOString()
    const later = await turnwatchProducer({ metrics: () => watch.metrics(), now }).collect()
    const [point] = later.resourceMetrics.scopeMetrics[0]?.metrics[0]?.dataPoints ?? []
    expect(point?.startTime).toEqual([
      Math.floor(performance.timeOrigin / 1000),
      (Math.floor(performance.timeOrigin) % 1000) * 1e6,
    ])
  })

  test.each([
    ['an error', new Error('broken'), 'broken'],
    ['nothing', undefined, 'turnwatch could not be read'],
  ])('a source that throws %s leaves the other metrics of the host alone', async (_, thrown, message) => {
    const broken = {
      now: () => '2026-01-05T08:00:00.000Z',
      metrics: () => {
        throw thrown
      },
    }
    const producer = turnwatchProducer(broken)
    const result = await producer.collect()
    expect(result.resourceMetrics.scopeMetrics).toEqual([])
    expect(result.errors.map((error) => (error as Error).message)).toEqual([message])
    const exporter = new PrometheusExporter({ preventServerStart: true, metricProducers: [producer] })
    const provider = new MeterProvider({ readers: [exporter] })
    provider.getMeter('host').createCounter('of_the_host').add(7)
    const { resourceMetrics } = await exporter.collect()
    const names = resourceMetrics.scopeMetrics.flatMap((s) => s.metrics.map(({ descriptor }) => descriptor.name))
    expect(names).toEqual(['of_the_host'])
    await provider.shutdown()
  })

  test('refuses a mode of threads that is none', () => {
    expect(() => turnwatchProducer(fixture().watch, { perThread: 'none' as 'off' })).toThrow(
      new TypeError('perThread: "none" is none of all, stale, off'),
    )
  })

  test('has no series of threads if the host wants none', async () => {
    const { watch } = await collected()
    class Reader extends MetricReader {
      protected async onForceFlush(): Promise<void> {}
      protected async onShutdown(): Promise<void> {}
    }
    const reader = new Reader({ metricProducers: [turnwatchProducer(watch, { perThread: 'off' })] })
    new MeterProvider({ readers: [reader] })
    const { resourceMetrics } = await reader.collect()
    const names = resourceMetrics.scopeMetrics.flatMap((s) => s.metrics.map(({ descriptor }) => descriptor.name))
    expect(names.filter((name) => name.startsWith('turnwatch_thread_'))).toEqual(['turnwatch_thread_series_omitted'])
    await reader.shutdown()
  })
})

describe('the exporter', () => {
  test('begins no export while one is under way, and says so', () => {
    const under: { metrics: string; done: (result: { code: number }) => void }[] = []
    const reports: unknown[] = []
    const exporter = new ReportingExporter<string>(
      {
        export: (metrics, done) => under.push({ metrics, done }),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
      (error) => reports.push(error),
    )
    const results: number[] = []
    const done = ({ code }: { code: number }) => results.push(code)
    exporter.export('first', done)
    exporter.export('second', done)
    expect(under.map(({ metrics }) => metrics)).toEqual(['first'])
    expect(results, 'the second is over').toEqual([0])
    expect(reports).toEqual([new Error('the export before it is not over')])
    under[0]?.done({ code: 0 })
    exporter.export('third', done)
    expect(under.map(({ metrics }) => metrics)).toEqual(['first', 'third'])
    expect(reports).toHaveLength(1)
  })
})

describe('startOtlp', () => {
  const ENVIRONMENT = [
    'OTEL_SERVICE_NAME',
    'OTEL_RESOURCE_ATTRIBUTES',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
  ]
  beforeEach(() => {
    for (const name of ENVIRONMENT) vi.stubEnv(name, undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  async function started(options: OtlpOptions = {}, status: number | null = 200) {
    const receiver = await OtlpReceiver.start()
    receiver.status = status
    const faults: string[] = []
    const at = fixture({ onError: () => {} })
    const otlp = await startOtlp(at.watch, {
      url: receiver.url,
      resource: NAMED,
      onError: ({ message }) => faults.push(message),
      ...options,
    })
    return { ...at, receiver, faults, otlp }
  }

  test('exports every metric, under the name of the server', async () => {
    const { receiver, otlp, faults } = await started({ headers: { authorization: 'Bearer x' } })
    await otlp.flush()
    expect(receiver.requests).toHaveLength(1)
    expect(receiver.resource()).toMatchObject({ ...NAMED, 'telemetry.sdk.name': 'opentelemetry' })
    expect(receiver.headers[0]).toMatchObject({ authorization: 'Bearer x' })
    const names = receiver.metrics().map(({ name }) => name)
    expect(names).toContain('turnwatch_ticks_total')
    await otlp.stop()
    expect(receiver.requests, 'once more when it stops').toHaveLength(2)
    expect(faults).toEqual([])
    receiver.close()
  })

  test('exports again and again by itself, until it stops', async () => {
    const { receiver, otlp } = await started({ intervalMs: 300 })
    await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBeGreaterThan(3)
    await otlp[Symbol.asyncDispose]()
    const { length } = receiver.requests
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(receiver.requests).toHaveLength(length)
    await otlp.stop()
    await otlp.flush()
    expect(receiver.requests).toHaveLength(length)
    receiver.close()
  })

  test('takes the name from the environment, what the options say first', async () => {
    vi.stubEnv('OTEL_SERVICE_NAME', 'from the environment')
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'service.instance.id=two,deployment.environment.name=test%20bed')
    const { receiver, otlp } = await started({ resource: { 'service.name': 'from the options' } })
    await otlp.stop()
    expect(receiver.resource()).toMatchObject({
      'service.name': 'from the options',
      'service.instance.id': 'two',
      'deployment.environment.name': 'test bed',
    })
    receiver.close()
  })

  test.each([
    ['service.name and service.instance.id', {}, {}],
    ['service.instance.id', { 'service.name': 'a' }, {}],
    ['service.instance.id', {}, { OTEL_SERVICE_NAME: 'a' }],
    ['service.name', {}, { OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=a' }],
    ['service.name', { ...NAMED, 'service.name': 'unknown_service:node' }, {}],
    ['service.name', { ...NAMED, 'service.name': 'unknown_service' }, {}],
    ['service.instance.id', { ...NAMED, 'service.instance.id': ' ' }, {}],
  ] as [string, Record<string, string>, Record<string, string>][])(
    'does not start without %s: %j %j',
    async (missing, resource, environment) => {
      for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
      const starting = startOtlp(fixture().watch, { resource })
      await expect(starting).rejects.toThrow(TypeError)
      await expect(starting).rejects.toThrow(
        `turnwatch: otlp: ${missing} missing, without which two servers are one: set resource or OTEL_RESOURCE_ATTRIBUTES`,
      )
    },
  )

  test.each([
    [TypeError, { url: 'collector:4318' }, 'url: not an http or https URL'],
    [TypeError, { url: 'ftp://user:secret@collector' }, 'url: not an http or https URL'],
    [RangeError, { intervalMs: 0 }, 'intervalMs: 0 is not a positive number of ms'],
    [RangeError, { intervalMs: 1e12 }, 'intervalMs: 1000000000000 is not a positive number of ms'],
    [RangeError, { timeoutMs: '10s' }, 'timeoutMs: "10s" is not a positive number of ms'],
    [TypeError, { onError: 'log' }, 'onError: "log" is not a function'],
    [TypeError, { resource: { 'service.name': 1 } }, 'resource: service.name is 1, not a string'],
    [TypeError, { perThread: 'none' }, 'perThread: "none" is none of all, stale, off'],
    [TypeError, { headers: 'authorization: x' }, 'headers: not an object of strings'],
    [TypeError, { headers: ['a'] }, 'headers: not an object of strings'],
    [TypeError, { headers: { a: 5 } }, 'headers: "a" is not a string'],
    [TypeError, { headers: { a: undefined } }, 'headers: "a" is not a string'],
    [TypeError, { headers: { 'a b': 'secret' } }, 'headers: "a b" is not a header that HTTP takes'],
    [TypeError, { headers: { '': 'secret' } }, 'headers: "" is not a header that HTTP takes'],
    [TypeError, { headers: { a: 'secret\nb: c' } }, 'headers: "a" is not a header that HTTP takes'],
    [TypeError, { headers: { a: 'secret\n' } }, 'headers: "a" is not a header that HTTP takes'],
    [TypeError, { headers: { a: 'ключ' } }, 'headers: "a" is not a header that HTTP takes'],
  ])('refuses with a %o: %j', async (kind, options, line) => {
    const starting = startOtlp(fixture().watch, { resource: NAMED, ...options } as unknown as OtlpOptions)
    await expect(starting).rejects.toThrow(kind)
    await expect(starting).rejects.toHaveProperty('message', line)
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'grpc://user:secret@collector'],
  ])('refuses with a TypeError: %s=%s, where there is no url', async (name, value) => {
    vi.stubEnv(name, value)
    const { watch } = fixture()
    const starting = startOtlp(watch, { resource: NAMED })
    await expect(starting).rejects.toThrow(TypeError)
    await expect(starting).rejects.toHaveProperty('message', `${name}: not an http or https URL`)
    const otlp = await startOtlp(watch, {
      resource: NAMED,
      url: 'http://127.0.0.1:9/',
      intervalMs: 1000,
      onError: () => {},
    })
    await otlp.stop()
  })

  test('takes the endpoint of metrics from the environment, whatever that of all signals is', async () => {
    const receiver = await OtlpReceiver.start()
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'nothing')
    vi.stubEnv('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', receiver.url)
    const otlp = await startOtlp(fixture().watch, { resource: NAMED })
    await otlp.stop()
    expect(receiver.requests).toHaveLength(1)
    receiver.close()
  })

  test.each([
    ['nothing', undefined],
    ['no watch', {}],
    ['no clock', { metrics: () => [] }],
    ['no metrics', { now: () => '' }],
  ])('refuses a source that is %s', async (_, source) => {
    const starting = startOtlp(source as unknown as Parameters<typeof startOtlp>[0], { resource: NAMED })
    await expect(starting).rejects.toThrow(TypeError)
    await expect(starting).rejects.toHaveProperty('message', 'source: has no metrics() and now(), as a watch has')
  })

  test.each([
    ['that is refused', null],
    ['that hangs', { status: null }],
  ])(
    'an export %s does not keep a process alive that has nothing else to do',
    async (_, hanging) => {
      const receiver = await OtlpReceiver.start()
      receiver.status = null
      if (hanging === null) receiver.close()
      const child = fileURLToPath(new URL('./otlp-exit-child.ts', import.meta.url))
      const run = promisify(execFile)(process.execPath, [child, receiver.url, '400'], { timeout: 90_000 })
      await expect(run).resolves.toEqual({ stdout: 'told of failures\n', stderr: '' })
      receiver.close()
    },
    120_000,
  )

  test.each([
    ['the option', { timeoutMs: 300_000 }, {}],
    ['the environment', {}, { OTEL_EXPORTER_OTLP_TIMEOUT: '300000' }],
    ['the default', {}, {}],
  ] as [string, OtlpOptions, Record<string, string>][])(
    'gives up before the next export begins, whatever %s allows',
    async (_, options, environment) => {
      for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
      const { receiver, otlp, faults } = await started({ intervalMs: 1000, ...options }, null)
      await otlp.flush()
      // The SDK alone would give up in silence.
      expect(faults[0]).toBe('turnwatch: otlp: nothing was exported: Request timed out')
      await otlp.stop()
      receiver.close()
    },
    60_000,
  )

  test.each([
    ['refuses', 400, 'status 400'],
    ['has no time', 503, 'Export failed with retryable status'],
  ])('tells of a receiver that %s, and goes on', async (_, status, reason) => {
    const { receiver, otlp, faults } = await started({ timeoutMs: 500 }, status)
    await otlp.flush()
    expect(faults).toEqual([`turnwatch: otlp: nothing was exported: ${reason}`])
    receiver.status = 200
    await otlp.flush()
    expect(faults).toHaveLength(1)
    expect(receiver.metrics().length).toBeGreaterThan(0)
    await otlp.stop()
    receiver.close()
  })

  test('tells of a receiver that never answers', async () => {
    const { receiver, otlp, faults } = await started({ timeoutMs: 200 }, null)
    await otlp.flush()
    expect(faults).toEqual(['turnwatch: otlp: nothing was exported: Request timed out'])
    receiver.close()
    await otlp.stop()
  })

  test('neither a receiver that is gone nor a broken onError reaches the host', async () => {
    const rejections: unknown[] = []
    const keep = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', keep)
    const { receiver, otlp } = await started({
      intervalMs: 20,
      timeoutMs: 100,
      onError: () => {
        throw new Error('broken')
      },
    })
    receiver.close()
    await otlp.flush()
    await new Promise((resolve) => setTimeout(resolve, 200))
    await otlp.stop()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', keep)
    expect(rejections).toEqual([])
  })

  test('exports nothing, says so each time, and lives on, while the watch fails', async () => {
    const { receiver, otlp, faults, clock, watch } = await started()
    const { monoMs } = clock
    clock.monoMs = () => {
      throw new Error('no clock')
    }
    await otlp.flush()
    await otlp.flush()
    expect(receiver.requests).toEqual([])
    const line = 'turnwatch: otlp: nothing was exported: the metrics could not be read: no clock'
    expect(faults).toEqual([line, line])
    clock.monoMs = monoMs
    await otlp.flush()
    expect(receiver.samples()).toContainEqual({
      name: 'turnwatch_internal_errors_total',
      labels: { where: 'collector' },
      value: 2,
    })
    expect(faults).toHaveLength(2)
    expect(watch.self.faults.collector).toBe(2)
    await otlp.stop()
    receiver.close()
  })

  test('names the packages that are missing in a line', async () => {
    const child = fileURLToPath(new URL('./without-peers-child.ts', import.meta.url))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [child])
    expect(stderr).toBe('')
    expect(stdout).toBe(
      'turnwatch: otlp: packages missing: @opentelemetry/resources, @opentelemetry/exporter-metrics-otlp-http (npm install @opentelemetry/api @opentelemetry/resources @opentelemetry/sdk-metrics @opentelemetry/exporter-metrics-otlp-http)\n',
    )
  })
})

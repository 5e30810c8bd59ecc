import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { livenessApp } from '../../liveness/index.ts'
import type { Fixture } from '../liveness/manual-clock.ts'
import { installPackages } from '../setup/npm-packages.ts'
import type { Sample } from './exposition.ts'
import { type OpenTelemetry, openTelemetryOf } from './open-telemetry.ts'
import { OtlpReceiver, otlp, ownMetrics, ownReader, promClient, prometheusExporter, successor } from './routes.ts'
import { everything } from './scenario.ts'

const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'

const hasLine2 = await installPackages('tests/opentelemetry-2')
const line3 = openTelemetryOf(new URL('../../', import.meta.url))
const line2 = hasLine2 ? openTelemetryOf(new URL('../opentelemetry-2/', import.meta.url)) : undefined

/** Samples as text, a line each, their labels and themselves in order. */
function lines(samples: readonly Sample[]): string[] {
  return samples.map((sample) => `${seriesOf(sample)} ${sample.value}`).sort()
}

function seriesOf({ name, labels }: Sample): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`)
  return `${name}{${pairs.sort()}}`
}

let at: Fixture
let samples: Sample[]

beforeAll(async () => {
  at = await everything()
  samples = await ownMetrics(at.watch)
})

describe('the scenario', () => {
  /** The values of a metric whose labels are, among others, these. */
  const values = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    samples
      .filter((sample) => sample.name === `turnwatch_${name}`)
      .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
      .map(({ value }) => value)

  test('has turns in every state, ends of every kind, a sleep, and messages that failed', () => {
    for (const state of ['running', 'tool', 'waiting', 'suspect', 'stale']) {
      expect(values('thread_state', { state }), state).toContain(1)
    }
    for (const outcome of ['completed', 'incomplete', 'aborted', 'error', 'lost']) {
      expect(values('turns_ended_total', { outcome }), outcome).toContain(1)
    }
    for (const reason of ['silence', 'provider-dead', 'provider-error']) {
      expect(Math.max(...values('turns_stale', { reason })), reason).toBeGreaterThan(0)
    }
    expect(values('turns_recovered_total', { provider: 'codex', reason: 'silence', phase: 'mid-stream' })).toEqual([1])
    expect(values('host_suspends_total')).toEqual([1])
    expect(values('notifications_total', { channel: 'callback' })[0]).toBeGreaterThan(0)
    expect(values('notifications_failed_total', { channel: '__proto__', reason: 'server_error' })[0]).toBeGreaterThan(0)
    expect(values('turns_not_started')).toEqual([1])
    expect(values('interrupts_unsettled')).toEqual([1])
    expect(values('turns_unsettled')).toEqual([1])
    expect(values('turns_waiting', { reason: 'approval' })).toEqual([1])
  })

  test('leaves no metric at zero', () => {
    const families = at.watch.metrics()
    const isZero = (point: (typeof families)[number]['points'][number]) =>
      'value' in point ? point.value === 0 : Array.from(point.counts).every((count) => count === 0)
    expect(families.filter(({ points }) => points.every(isZero)).map(({ name }) => name)).toEqual([])
  })

  test('has every series once, and only numbers', () => {
    const series = samples.map(seriesOf)
    expect(series.filter((one, i) => series.indexOf(one) !== i)).toEqual([])
    expect(samples.filter(({ value }) => !Number.isFinite(value))).toEqual([])
  })
})

/**
 * What a route may lack or have besides: `target_info` (OpenTelemetry's exporter says it of the resource; off here),
 * labels of the scope (off with `withoutScopeInfo`), HELP and UNIT (the same text in another form). Names, labels and
 * values are the same.
 */
describe.each<[string, OpenTelemetry | undefined, (watch: Fixture['watch'], line: OpenTelemetry) => Promise<Sample[]>]>(
  [
    ['/metrics as OpenMetrics', line3, (watch) => ownMetrics(watch, OPEN_METRICS)],
    ['a registry of prom-client', line3, promClient],
    ['a registry of its successor', line3, successor],
    ["OpenTelemetry's Prometheus exporter, 3.x", line3, prometheusExporter],
    ["OpenTelemetry's Prometheus exporter, 2.x", line2, prometheusExporter],
    ['OTLP, 3.x', line3, otlp],
    ['OTLP, 2.x', line2, otlp],
    ["a reader of the host's own, 3.x", line3, ownReader],
    ["a reader of the host's own, 2.x", line2, ownReader],
  ],
)('%s', (_, line, read) => {
  test.skipIf(line === undefined)('has the same series with the same values as /metrics', async () => {
    expect(lines(await read(at.watch, line as OpenTelemetry))).toEqual(lines(samples))
  })

  test.skipIf(line === undefined)('has no series of a turn that has ended', async () => {
    const { watch } = await everything()
    const before = await read(watch, line as OpenTelemetry)
    const isOf = ({ labels }: Sample) => labels.thread === 'busy'
    expect(before.filter(isOf)).toHaveLength(6)
    watch.observe('busy', { kind: 'turn.ended', outcome: 'completed' })
    const after = await read(watch, line as OpenTelemetry)
    expect(after.filter(isOf)).toEqual([])
    // One of those that had none has its place.
    expect(after).toHaveLength(before.length)
  })
})

test.skipIf(!hasLine2)('startOtlp runs with 2.x', async () => {
  const receiver = await OtlpReceiver.start()
  const child = fileURLToPath(new URL('../opentelemetry-2/otlp-child.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [child, receiver.url])
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' })
  expect(receiver.resource()).toMatchObject({ 'telemetry.sdk.version': '2.12.0', 'service.name': 'tests' })
  expect(receiver.metrics().map(({ name }) => name)).toContain('turnwatch_build_info')
  receiver.close()
})

describe.skipIf(inject('missing').includes('prometheus'))('promtool', () => {
  test('finds nothing wrong with the classic text', async () => {
    const text = await (await livenessApp(at.watch).request('/metrics')).text()
    const { status, stderr, stdout } = spawnSync('/usr/bin/promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    expect({ status, stderr, stdout }).toEqual({ status: 0, stderr: '', stdout: '' })
  })
})

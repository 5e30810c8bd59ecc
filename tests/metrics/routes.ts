/** Every way out of the metrics, read as whoever stands at its end reads it, as the same kind of samples. */

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Registry as SuccessorRegistry } from '@prometheus-io/client'
import { Registry } from 'prom-client'
import { turnwatchProducer } from '../../instrumentation/metrics/opentelemetry.ts'
import { registerTurnwatch } from '../../instrumentation/metrics/prom-client.ts'
import { livenessApp } from '../../liveness/index.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import { type Sample, samplesOf } from './exposition.ts'
import type { OpenTelemetry } from './open-telemetry.ts'

export async function ownMetrics(watch: Turnwatch, accept = 'text/plain'): Promise<Sample[]> {
  const response = await livenessApp(watch).request('/metrics', { headers: { accept } })
  return samplesOf(await response.text())
}

export async function promClient(watch: Turnwatch): Promise<Sample[]> {
  const registry = new Registry()
  registerTurnwatch(registry, watch)
  return samplesOf(await registry.metrics())
}

export async function successor(watch: Turnwatch): Promise<Sample[]> {
  const registry = new SuccessorRegistry()
  registerTurnwatch(registry, watch)
  return samplesOf(await registry.metrics())
}

/** What a Prometheus gets of OpenTelemetry's own exporter. */
export async function prometheusExporter(watch: Turnwatch, { sdk, prometheus }: OpenTelemetry): Promise<Sample[]> {
  const exporter = new prometheus.PrometheusExporter({
    // A port of 0 would be its default port, so that the test brings the server.
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
    metricProducers: [turnwatchProducer(watch)],
  })
  const provider = new sdk.MeterProvider({ readers: [exporter] })
  const server = await listening((request, response) => exporter.getMetricsRequestHandler(request, response))
  try {
    return samplesOf(await (await fetch(`${server.url}/metrics`)).text())
  } finally {
    server.close()
    await provider.shutdown()
  }
}

/** What a collector gets over OTLP/HTTP. */
export async function otlp(watch: Turnwatch, { sdk, otlp: exporters }: OpenTelemetry): Promise<Sample[]> {
  const receiver = await OtlpReceiver.start()
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: new exporters.OTLPMetricExporter({ url: receiver.url }),
    metricProducers: [turnwatchProducer(watch)],
  })
  const provider = new sdk.MeterProvider({ readers: [reader] })
  try {
    await provider.forceFlush()
    return receiver.samples()
  } finally {
    await provider.shutdown()
    receiver.close()
  }
}

/** What a reader of the host's own gets. */
export async function ownReader(watch: Turnwatch, { sdk }: OpenTelemetry): Promise<Sample[]> {
  class Reader extends sdk.MetricReader {
    protected async onForceFlush(): Promise<void> {}
    protected async onShutdown(): Promise<void> {}
  }
  const reader = new Reader({ metricProducers: [turnwatchProducer(watch)] })
  const provider = new sdk.MeterProvider({ readers: [reader] })
  const { resourceMetrics, errors } = await reader.collect()
  await provider.shutdown()
  if (errors.length > 0) throw errors[0]
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  return metrics.flatMap(({ descriptor: { name }, dataPoints }) =>
    (dataPoints as { attributes: Record<string, string>; value: number | HistogramValue }[]).flatMap(
      ({ attributes, value }) =>
        typeof value === 'number'
          ? [{ name, labels: attributes, value }]
          : histogramSamples(name, attributes, value.buckets.boundaries, value.buckets.counts, value.sum, value.count),
    ),
  )
}

interface HistogramValue {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
  readonly sum: number
  readonly count: number
}

interface OtlpPoint {
  readonly attributes: readonly { key: string; value: { stringValue: string } }[]
  readonly asDouble?: number
  readonly explicitBounds?: number[]
  readonly bucketCounts?: number[]
  readonly sum?: number
  readonly count?: number
}

interface OtlpData {
  readonly aggregationTemporality?: number
  readonly isMonotonic?: boolean
  readonly dataPoints: readonly OtlpPoint[]
}

interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly gauge?: OtlpData
  readonly sum?: OtlpData
  readonly histogram?: OtlpData
}

interface OtlpRequest {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: OtlpPoint['attributes'] }
    readonly scopeMetrics: readonly { readonly scope: { readonly name: string }; readonly metrics: OtlpMetric[] }[]
  }[]
}

/** Takes OTLP/HTTP as JSON and keeps what came. */
export class OtlpReceiver {
  readonly url: string
  readonly requests: OtlpRequest[] = []
  readonly headers: NodeJS.Dict<string | string[]>[] = []
  /** What it answers; null leaves the request open. */
  status: number | null = 200
  readonly close: () => void

  private constructor(url: string, close: () => void) {
    this.url = `${url}/v1/metrics`
    this.close = close
  }

  static async start(): Promise<OtlpReceiver> {
    let receiver: OtlpReceiver | undefined
    const server = await listening(async (request, response) => {
      const body = JSON.parse(await text(request)) as OtlpRequest
      if (receiver === undefined || receiver.status === null) return
      receiver.headers.push(request.headers)
      receiver.requests.push(body)
      response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}')
    })
    receiver = new OtlpReceiver(server.url, server.close)
    return receiver
  }

  /** The metrics of the last request. */
  metrics(): OtlpMetric[] {
    const { resourceMetrics } = this.requests.at(-1) ?? { resourceMetrics: [] }
    return resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  }

  /** The attributes of the resource of the last request. */
  resource(): Readonly<Record<string, string>> {
    return attributesOf(this.requests.at(-1)?.resourceMetrics[0]?.resource.attributes ?? [])
  }

  samples(): Sample[] {
    return this.metrics().flatMap(({ name, gauge, sum, histogram }) => [
      ...[...(gauge?.dataPoints ?? []), ...(sum?.dataPoints ?? [])].map(({ attributes, asDouble }) => ({
        name,
        labels: attributesOf(attributes),
        value: asDouble as number,
      })),
      ...(histogram?.dataPoints ?? []).flatMap(({ attributes, explicitBounds = [], bucketCounts = [], sum, count }) =>
        histogramSamples(name, attributesOf(attributes), explicitBounds, bucketCounts, sum as number, Number(count)),
      ),
    ])
  }
}

function attributesOf(attributes: OtlpPoint['attributes']): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))
}

/** A histogram as Prometheus has it: cumulative, a series a bucket. */
function histogramSamples(
  name: string,
  labels: Readonly<Record<string, string>>,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
  count: number,
): Sample[] {
  let total = 0
  const buckets = counts.map((one, i) => {
    total += Number(one)
    return { name: `${name}_bucket`, labels: { ...labels, le: `${bounds[i] ?? '+Inf'}` }, value: total }
  })
  return [...buckets, { name: `${name}_sum`, labels, value: sum }, { name: `${name}_count`, labels, value: count }]
}

async function listening(handler: RequestListener): Promise<{ url: string; close: () => void }> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/// <reference lib="esnext.disposable" preserve="true" />

/** Push over OTLP/HTTP for servers that nobody scrapes. The packages of OpenTelemetry are loaded only when it starts. */

import { type TimedSource, turnwatchProducer } from './metric-producer.ts'
import type { CollectOptions } from './metric-source.ts'

export interface OtlpOptions extends CollectOptions {
  /** The whole URL, path included. @default OTEL_EXPORTER_OTLP_*, else `http://localhost:4318/v1/metrics` */
  readonly url?: string
  /** Sent with each request, over those of OTEL_EXPORTER_OTLP_*. @default none */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Attributes of this server, over those of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. `service.name` and
   * `service.instance.id` must be in one of them.
   */
  readonly resource?: Readonly<Record<string, string>>
  /** From one export to the next. @default 60000 */
  readonly intervalMs?: number
  /** How long an export may take, tries and their pauses together. @default OTEL_EXPORTER_OTLP_*, else 10000 */
  readonly timeoutMs?: number
  /** Hears of each export that failed, in one line. @default prints to stderr */
  readonly onError?: (fault: Error) => void
}

export interface Otlp extends AsyncDisposable {
  /** Exports now. Never rejects: `onError` hears of a failure. */
  flush(): Promise<void>
  /** Exports once more and stops. Never rejects. */
  stop(): Promise<void>
}

/** Without them the series of two servers are one. */
const IDENTITY = ['service.name', 'service.instance.id'] as const
/** The longest time that a timer can wait. */
const MAX_MS = 2 ** 31 - 1
/** The SDK's own limit of an export. */
const EXPORT_MS = 30_000

/**
 * Starts to export every metric of a watch over OTLP/HTTP, with a MeterProvider of its own: what the host has set up is
 * not touched. Rejects with one line where a package is missing, an option is bad (TypeError, RangeError) or the server
 * has no name (TypeError). Later it never throws: what fails is told to `onError`.
 */
export async function startOtlp(source: TimedSource, options: OtlpOptions = {}): Promise<Otlp> {
  refuseBadOptions(options)
  const { resources, sdk, exporters } = await loadPeers()
  const attributes = { ...resources.envDetector.detect().attributes, ...options.resource }
  refuseNameless(attributes)
  const report = reporter(options.onError)
  const { url, headers, intervalMs = 60_000, timeoutMs } = options
  const exporter = new exporters.OTLPMetricExporter({
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(timeoutMs === undefined ? {} : { timeoutMillis: timeoutMs }),
  })
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: new ReportingExporter(exporter, report),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(EXPORT_MS, intervalMs),
    metricProducers: [turnwatchProducer(source, options)],
  })
  const resource = resources.defaultResource().merge(resources.resourceFromAttributes(attributes))
  const provider = new sdk.MeterProvider({ resource, readers: [reader] })
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= provider.shutdown().catch(report)
    return stopped
  }
  return {
    flush: () => (stopped ? stopped : provider.forceFlush().catch(report)),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

interface ExportResult {
  code: number
  error?: Error
}

interface Exporter<T> {
  export(metrics: T, done: (result: ExportResult) => void): void
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}

/** Tells of failures itself, because the SDK tells nobody whom the host has not set up for it. */
class ReportingExporter<T> implements Exporter<T> {
  readonly #exporter: Exporter<T>
  readonly #report: (error: unknown) => void

  constructor(exporter: Exporter<T>, report: (error: unknown) => void) {
    this.#exporter = exporter
    this.#report = report
  }

  export(metrics: T, done: (result: ExportResult) => void): void {
    try {
      this.#exporter.export(metrics, (result) => {
        if (result.code !== 0) this.#report(result.error)
        done({ code: 0 })
      })
    } catch (error) {
      this.#report(error)
      done({ code: 0 })
    }
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

function reporter(onError: OtlpOptions['onError']): (error: unknown) => void {
  return (error) => {
    const fault = new Error(`turnwatch: otlp: nothing was exported: ${reasonOf(error)}`)
    try {
      if (onError) onError(fault)
      else process.stderr.write(`${fault.message}\n`)
    } catch {
      // A broken onError has nobody left to tell.
    }
  }
}

/** What a receiver says, and what a system says of an address, may hold what no log should: a status or a code will do. */
function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (typeof code === 'number') return `status ${code}`
  if (typeof code === 'string') return code
  // The exporter's own words.
  return typeof message === 'string' && message !== '' ? (message.split('\n')[0] as string) : 'no reason given'
}

/** Loads the optional peers, or says which are missing. */
async function loadPeers() {
  const names = [
    '@opentelemetry/api',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-metrics',
    '@opentelemetry/exporter-metrics-otlp-http',
  ]
  const loading = [
    import('@opentelemetry/api'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ] as const
  const settled = await Promise.allSettled(loading)
  const missing = names.filter((_, i) => settled[i]?.status === 'rejected' && isMissing(settled[i].reason))
  if (missing.length > 0) {
    throw new Error(`turnwatch: otlp: packages missing: ${missing.join(', ')} (npm install ${names.join(' ')})`)
  }
  const [, resources, sdk, exporters] = await Promise.all(loading)
  return { resources, sdk, exporters }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_MODULE_NOT_FOUND'
}

function refuseBadOptions({ url, intervalMs, timeoutMs, onError, resource }: OtlpOptions): void {
  // Not quoted: it may hold a password.
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new TypeError('url: not an http or https URL')
  }
  for (const [name, ms] of Object.entries({ intervalMs, timeoutMs })) {
    if (ms !== undefined && !(typeof ms === 'number' && ms > 0 && ms <= MAX_MS)) {
      throw new RangeError(`${name}: ${JSON.stringify(ms) ?? ms} is not a positive number of ms`)
    }
  }
  if (onError !== undefined && typeof onError !== 'function') {
    throw new TypeError(`onError: ${JSON.stringify(onError)} is not a function`)
  }
  for (const [name, value] of Object.entries(resource ?? {})) {
    if (typeof value !== 'string') throw new TypeError(`resource: ${name} is ${JSON.stringify(value)}, not a string`)
  }
}

/** Refuses a server that could be any: the name that the SDK makes up is none. */
function refuseNameless(attributes: Readonly<Record<string, unknown>>): void {
  const missing = IDENTITY.filter((name) => {
    const value = attributes[name]
    return typeof value !== 'string' || value.trim() === '' || /^unknown_service(:|$)/.test(value)
  })
  if (missing.length === 0) return
  throw new TypeError(
    `turnwatch: otlp: ${missing.join(' and ')} missing, without which two servers are one: set resource or OTEL_RESOURCE_ATTRIBUTES`,
  )
}

/// <reference lib="esnext.disposable" preserve="true" />

/** Push over OTLP/HTTP for servers that nobody scrapes. The packages of OpenTelemetry are loaded only when it starts. */

import { type TimedSource, turnwatchProducer } from './metric-producer.ts'
import { exportMs, type OtlpOptions, refuseBadOptions, refuseNameless } from './otlp-options.ts'
import { ReportingExporter, reporter, reportingProducer } from './otlp-reports.ts'

export interface Otlp extends AsyncDisposable {
  /** Exports now. Never rejects: `onError` hears of a failure. */
  flush(): Promise<void>
  /** Exports once more and stops. Never rejects. */
  stop(): Promise<void>
}

/**
 * Starts to export every metric of a watch over OTLP/HTTP, with a MeterProvider of its own: what the host has set up is
 * not touched. Rejects with one line where a package is missing, an option is bad (TypeError, RangeError) or the server
 * has no name (TypeError). Later it never throws: what fails is told to `onError`.
 */
export async function startOtlp(source: TimedSource, options: OtlpOptions = {}): Promise<Otlp> {
  refuseBadOptions(source, options)
  const { resources, sdk, exporters } = await loadPeers()
  const attributes = { ...resources.envDetector.detect().attributes, ...options.resource }
  refuseNameless(attributes)
  const report = reporter(options.onError)
  const { url, headers, intervalMs = 60_000, timeoutMs } = options
  const exporter = new exporters.OTLPMetricExporter({
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    timeoutMillis: exportMs(timeoutMs, intervalMs),
  })
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: new ReportingExporter(exporter, report),
    exportIntervalMillis: intervalMs,
    // The exporter gives up before.
    exportTimeoutMillis: intervalMs,
    metricProducers: [reportingProducer(turnwatchProducer(source, options), report)],
  })
  const resource = resources.defaultResource().merge(resources.resourceFromAttributes(attributes))
  const provider = new sdk.MeterProvider({ resource, readers: [reader] })
  // Readers of the first 2.x do not wait for the export under way.
  const afterExport = (work: () => Promise<void>) => exporter.forceFlush().then(work).catch(report)
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= afterExport(() => provider.shutdown())
    return stopped
  }
  return {
    flush: () => stopped ?? afterExport(() => provider.forceFlush()),
    stop,
    [Symbol.asyncDispose]: stop,
  }
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

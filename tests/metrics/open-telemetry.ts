/** A line of OpenTelemetry's packages, as the package of a folder has them. */

import { createRequire } from 'node:module'

/** What the tests use of a line of the SDK; both lines have it, with the types of the newer one. */
export interface OpenTelemetry {
  readonly sdk: typeof import('@opentelemetry/sdk-metrics')
  readonly prometheus: typeof import('@opentelemetry/exporter-prometheus')
  readonly otlp: typeof import('@opentelemetry/exporter-metrics-otlp-http')
  readonly resources: typeof import('@opentelemetry/resources')
}

/** The packages as the package of a folder has them. */
export function openTelemetryOf(folder: URL): OpenTelemetry {
  const load = createRequire(new URL('package.json', folder))
  return {
    sdk: load('@opentelemetry/sdk-metrics'),
    prometheus: load('@opentelemetry/exporter-prometheus'),
    otlp: load('@opentelemetry/exporter-metrics-otlp-http'),
    resources: load('@opentelemetry/resources'),
  }
}

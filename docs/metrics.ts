/** Writes docs/metrics.md from the catalogue. Run `node docs/metrics.ts`; a test holds the file current. */

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  CATALOGUE_GROUPS,
  CATALOGUE_VERSION,
  type Definition,
  type MetricName,
  PREFIX,
} from '../instrumentation/metrics/catalogue.ts'
import { labelValues, MAX_PAIRS, MAX_THREADS, OPEN_LABELS } from '../instrumentation/metrics/label-values.ts'

/** Series of one running thread, and of one provider/model pair. A test counts them. */
const THREAD_SERIES = 6
export const PAIR_SERIES = 214

const PREAMBLE = `# Metrics

Every metric of turnwatch, generated from its catalogue (\`node docs/metrics.ts\`). All names begin with \`${PREFIX}\`. They are the
same on every route, with the same labels and values.

## Routes

A watch serves them itself, as classic text or OpenMetrics, whichever the scraper asks for:

\`\`\`ts
import { createTurnwatch } from 'turnwatch'
import { serveLiveness } from 'turnwatch/liveness'

const watch = createTurnwatch().start()
await serveLiveness(watch, { port: 9464 }) // http://127.0.0.1:9464/metrics
\`\`\`

A server that has a registry of prom-client 15, or of its successor \`@prometheus-io/client\`, adds them to it. They are computed
at each scrape; the registry's default labels, \`merge\` and both of its formats work. It returns its undo.

\`\`\`ts
import { register } from 'prom-client' // or '@prometheus-io/client'
import { registerTurnwatch } from 'turnwatch/prom-client'

registerTurnwatch(register, watch)
\`\`\`

A server that has OpenTelemetry's SDK, 2.x or 3.x, gives the producer to any of its readers. With the Prometheus exporter leave the
scope out: series with its labels are not those of the other routes, and rules that match labels one to one miss them.

\`\`\`ts
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { turnwatchProducer } from 'turnwatch/opentelemetry'

const exporter = new PrometheusExporter({
  host: '127.0.0.1',
  withoutScopeInfo: true,
  metricProducers: [turnwatchProducer(watch)],
})
new MeterProvider({ readers: [exporter] })
\`\`\`

A server that nobody can scrape pushes over OTLP/HTTP, with a MeterProvider of its own. It needs \`@opentelemetry/api\`,
\`@opentelemetry/resources\`, \`@opentelemetry/sdk-metrics\` and \`@opentelemetry/exporter-metrics-otlp-http\`. Without \`service.name\`
and \`service.instance.id\`, here or in \`OTEL_RESOURCE_ATTRIBUTES\`, it does not start: the series of two servers would be one. Exports
that fail are told to \`onError\`, and nothing is thrown. One export is under way at a time, with at most half the interval for its
tries: it does not keep alive a process that has nothing else to do. What a receiver takes and rejects in part (\`partialSuccess\`) is
told to OpenTelemetry's \`diag\` only.

\`\`\`ts
import { hostname } from 'node:os'
import { startOtlp } from 'turnwatch/opentelemetry'

const otlp = await startOtlp(watch, {
  url: 'http://127.0.0.1:4318/v1/metrics',
  resource: { 'service.name': 'agents', 'service.instance.id': hostname() },
})
await otlp.stop()
\`\`\`

For another encoding give the producer to a \`PeriodicExportingMetricReader\` with an exporter of yours.

A watch that cannot be read answers 500 on its own \`/metrics\`. On the other routes its series are missing from that one
scrape and the host's other metrics stay; \`${PREFIX}internal_errors_total{where="collector"}\` shows it afterwards. OpenTelemetry's
Prometheus exporter answers 200 in any case.

A registry, and an exporter, is for one watch of a process: a registry refuses a second one, and two producers in one exporter give
the same series twice.

## Names

Units and \`_total\` are part of a name on every route, against OpenTelemetry's advice, on purpose: its JavaScript exporter adds no
unit, collectors and Prometheus' own receiver do, and only a name that has its unit already is the same behind all of them. A
rule or dashboard fits whatever lies between. Histograms have the same buckets everywhere, and no \`min\` or \`max\`. In OpenMetrics a
family is named without \`_total\`; \`${PREFIX}turns_stale_total\` would then be another one, and is of type \`unknown\` there, here and in a
registry of prom-client.

## Series

Per thread: only running ones have series, ${THREAD_SERIES} each, at most ${MAX_THREADS} threads: first the stale, then the suspect, then those nearest
to their threshold. \`${PREFIX}thread_series_omitted\` counts the rest. \`perThread: 'stale'\` shows stale threads only, \`'off'\` none;
the aggregates, of which alerts are made, count all. What a Prometheus stores grows with every turn that it sees: ${THREAD_SERIES} series
times the turns that last until a scrape.

Per model: a provider/model pair has some ${PAIR_SERIES} series, buckets included, all at 0 from its first turn on, so that the first
failure is a rise. After ${MAX_PAIRS} pairs the rest is \`other\`. A pair that is known from stored samples only has them while there is
room: the first turn of a new pair takes its place.

Label values are any UTF-8 without control characters, cut at 200 characters with \`~\` and 8 digits of a hash. Two values that are
the same then stay apart: the later one gets a hash. No label holds a prompt, a URL, a user or a message.
`

/** The catalogue as tables, a part each. */
export function metricsTable(): string {
  return CATALOGUE_GROUPS.map(({ title, note, metrics }) => {
    const rows = Object.entries(metrics).map(([name, definition]) => row(name as MetricName, definition))
    return `## ${title}\n\n${note}\n\n| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n${rows.join('\n')}\n`
  }).join('\n')
}

function row(name: MetricName, { type, unit, labels, help }: Definition): string {
  const said = labels.map((label) => {
    const values = labelValues(name, label)
    return values === null ? `\`${label}\`` : `\`${label}\` = ${values.map((value) => `\`${value}\``).join(' ')}`
  })
  const cells = [`\`${PREFIX}${name}\``, type, unit === '' ? '' : `\`${unit}\``, said.join('<br>'), help]
  return `| ${cells.join(' | ')} |`
}

function openLabels(): string {
  const rows = Object.entries(OPEN_LABELS).map(([label, meaning]) => `| \`${label}\` | ${meaning} |`)
  return `## Labels without a fixed set of values\n\n| label | value |\n|---|---|\n${rows.join('\n')}\n`
}

/** The whole of docs/metrics.md. */
export function metricsDoc(): string {
  return `${PREAMBLE}\nThis is catalogue ${CATALOGUE_VERSION}, the label of \`${PREFIX}build_info\`.\n\n${metricsTable()}\n${openLabels()}`
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('metrics.md', import.meta.url)), metricsDoc())

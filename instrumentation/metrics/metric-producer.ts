/**
 * The OpenTelemetry bridge: a MetricProducer, not instruments, because an instrument exports a label set that has
 * vanished for ever. It is structural, so nothing of OpenTelemetry is imported; it serves the SDKs of the 2.x and the
 * 3.x line alike.
 */

import type { Family, Labels } from './family.ts'
import { type CollectOptions, type MetricSource, refuseBadCollectOptions } from './metric-source.ts'

/** A source that also tells the time of its own clock, ISO 8601: a watch. */
export interface TimedSource extends MetricSource {
  now(): string
}

/** Seconds and nanoseconds. */
type HrTime = [number, number]

interface DataPoint<T> {
  startTime: HrTime
  endTime: HrTime
  attributes: Record<string, string>
  value: T
}

interface HistogramValue {
  buckets: { boundaries: number[]; counts: number[] }
  sum: number
  count: number
}

/** These are the numbers of the SDK's enums; a test compares them. */
const DOUBLE = 1
const CUMULATIVE = 1
const HISTOGRAM = 0
const GAUGE = 2
const SUM = 3

interface OfMetric {
  descriptor: { name: string; description: string; unit: string; valueType: typeof DOUBLE }
  aggregationTemporality: typeof CUMULATIVE
}

export type ProducedMetric = OfMetric &
  (
    | { dataPointType: typeof SUM; isMonotonic: true; dataPoints: DataPoint<number>[] }
    | { dataPointType: typeof GAUGE; dataPoints: DataPoint<number>[] }
    | { dataPointType: typeof HISTOGRAM; dataPoints: DataPoint<HistogramValue>[] }
  )

/** An empty one: the reader takes that of its own MeterProvider. */
interface Resource {
  attributes: Record<string, string>
  merge<T>(other: T): NonNullable<T>
  getRawAttributes(): []
}

export interface Produced {
  resourceMetrics: {
    resource: Resource
    scopeMetrics: { scope: { name: string }; metrics: ProducedMetric[] }[]
  }
  errors: unknown[]
}

/** What a PrometheusExporter, or any other reader of the SDK, takes among its `metricProducers`. */
export interface TurnwatchProducer {
  collect(): Promise<Produced>
}

/** Without a version, which would make every series a new one at each release. */
const SCOPE = { name: 'turnwatch' }
const RESOURCE: Resource = {
  attributes: {},
  merge: (other) => (other ?? RESOURCE) as NonNullable<typeof other>,
  getRawAttributes: () => [],
}

/**
 * The producer of a watch. Names are the final Prometheus names on every route; counters and histograms are cumulative
 * since the start of the process. A source that throws gives no metrics and one of `errors`; a watch also counts and
 * reports the fault itself. Throws TypeError for an option that is none.
 */
export function turnwatchProducer(source: TimedSource, options: CollectOptions = {}): TurnwatchProducer {
  refuseBadCollectOptions(options)
  const produced = (metrics: ProducedMetric[], errors: unknown[]): Produced => ({
    resourceMetrics: {
      resource: RESOURCE,
      scopeMetrics: metrics.length === 0 ? [] : [{ scope: { ...SCOPE }, metrics }],
    },
    errors,
  })
  return {
    async collect() {
      try {
        const families = source.metrics(options)
        const endMs = Date.parse(source.now())
        // A wall clock that was set back must not end a series before it starts.
        const times = { startTime: hrTime(Math.min(performance.timeOrigin, endMs)), endTime: hrTime(endMs) }
        return produced(
          families.filter(({ points }) => points.length > 0).map((family) => metricOf(family, times)),
          [],
        )
      } catch (error) {
        // The SDK reads the name of what it is given here, so it must be an error.
        return produced([], [error instanceof Error ? error : new Error('turnwatch could not be read')])
      }
    },
  }
}

type Times = Pick<DataPoint<unknown>, 'startTime' | 'endTime'>

function metricOf(family: Family, times: Times): ProducedMetric {
  const of: OfMetric = {
    descriptor: { name: family.name, description: family.help, unit: family.unit, valueType: DOUBLE },
    aggregationTemporality: CUMULATIVE,
  }
  const point = <T>(labels: Labels, value: T): DataPoint<T> => ({ ...times, attributes: { ...labels }, value })
  switch (family.type) {
    case 'counter': {
      const dataPoints = family.points.map(({ labels, value }) => point(labels, value))
      return { ...of, dataPointType: SUM, isMonotonic: true, dataPoints }
    }
    case 'gauge':
      return { ...of, dataPointType: GAUGE, dataPoints: family.points.map(({ labels, value }) => point(labels, value)) }
    case 'histogram': {
      const dataPoints = family.points.map(({ labels, bounds, counts, sum }) => {
        const all = Array.from(counts)
        const count = all.reduce((total, one) => total + one, 0)
        return point(labels, { buckets: { boundaries: [...bounds], counts: all }, sum, count })
      })
      return { ...of, dataPointType: HISTOGRAM, dataPoints }
    }
    default:
      return family satisfies never
  }
}

function hrTime(ms: number): HrTime {
  const whole = Math.floor(ms)
  return [Math.floor(whole / 1000), (whole % 1000) * 1_000_000]
}

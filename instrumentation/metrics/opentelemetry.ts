/** The entry point `turnwatch/opentelemetry`. Importing it loads no package. */

export type { Produced, ProducedMetric, TimedSource, TurnwatchProducer } from './metric-producer.ts'
export { turnwatchProducer } from './metric-producer.ts'
export type { CollectOptions } from './metric-source.ts'
export { type Otlp, startOtlp } from './otlp.ts'
export type { OtlpOptions } from './otlp-options.ts'

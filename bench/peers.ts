/** What a host would call per event instead: the peers of `observe`, each as one call. */

import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { Histogram, Registry } from 'prom-client'

export interface Peer {
  readonly name: string
  readonly call: () => unknown
  close(): void
}

/** Without a reader the SDK stores nothing, and recording would cost nothing. */
class PullReader extends MetricReader {
  protected async onShutdown(): Promise<void> {}
  protected async onForceFlush(): Promise<void> {}
}

const MODELS = 50

/** `histogram.record` with three attributes; the attribute objects are made once, as a careful host would. */
export function openTelemetryRecord(): Peer {
  const provider = new MeterProvider({ readers: [new PullReader()] })
  const histogram = provider.getMeter('bench').createHistogram('gap', { unit: 's' })
  const attributes = labelSets()
  let i = 0
  return {
    name: 'OpenTelemetry record',
    call: () => {
      i = i + 1 === MODELS ? 0 : i + 1
      histogram.record(0.025, attributes[i])
    },
    close: () => void provider.shutdown(),
  }
}

/** `histogram.observe` with three labels. */
export function promClientObserve(): Peer {
  const labelNames = ['provider', 'model', 'phase'] as const
  const histogram = new Histogram({ name: 'gap_seconds', help: 'Gaps.', labelNames, registers: [new Registry()] })
  const labels = labelSets()
  let i = 0
  return {
    name: 'prom-client observe',
    call: () => {
      i = i + 1 === MODELS ? 0 : i + 1
      histogram.observe(labels[i] as (typeof labels)[number], 0.025)
    },
    close: () => {},
  }
}

/** A watchdog timer of 90 s per turn, made anew on every event. */
export function timeoutRearmed(turns: number): Peer {
  const fire = () => {}
  const timers = Array.from({ length: turns }, () => setTimeout(fire, 90_000))
  let i = 0
  return {
    name: 'clearTimeout + setTimeout',
    call: () => {
      i = i + 1 === turns ? 0 : i + 1
      clearTimeout(timers[i])
      timers[i] = setTimeout(fire, 90_000)
    },
    close: () => timers.forEach(clearTimeout),
  }
}

/** The same timer, refreshed in place. */
export function timeoutRefreshed(turns: number): Peer {
  const timers = Array.from({ length: turns }, () => setTimeout(() => {}, 90_000))
  let i = 0
  return {
    name: 'timeout.refresh',
    call: () => {
      i = i + 1 === turns ? 0 : i + 1
      ;(timers[i] as NodeJS.Timeout).refresh()
    },
    close: () => timers.forEach(clearTimeout),
  }
}

/** As the gap histogram of this package has them. */
function labelSets() {
  return Array.from({ length: MODELS }, (_, i) => ({
    provider: `provider-${i % 8}`,
    model: `model-${i}`,
    phase: 'mid-stream',
  }))
}

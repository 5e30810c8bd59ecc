/**
 * PromQL of what the variables at the top of a dashboard select: every selector here carries the matchers of the
 * variables that its labels allow. Recorded series are over all hosts, so the host cannot be chosen in them.
 */

import { catalogue, type MetricName } from '../instrumentation/metrics/catalogue.ts'
import type { Severity } from '../rules/alert.ts'
import { buckets, metric } from '../rules/metric.ts'
import { ALERTS, PACK_KNOBS } from '../rules/pack.ts'
import { recordings } from '../rules/recording.ts'

type Matchers<N extends MetricName> = Parameters<typeof metric<N>>[1]

const OF_HOST = 'job=~"$job", instance=~"$instance"'
const OF_MODEL = 'provider=~"$provider", model=~"$model"'
/** Alerts over a fleet have no host: an empty label is always in. */
const OF_ALERT = 'job=~"$job|", instance=~"$instance|", provider=~"$provider|", model=~"$model|"'

export function shown<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return scoped(name, metric(name, matchers))
}

/** The buckets of a histogram. */
function shownBuckets<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return scoped(name, buckets(name, matchers))
}

/** What the recording rules of the pack have made. Throws for a name that they do not make. */
export function recorded(name: string, matchers?: string): string {
  if (!recordings(PACK_KNOBS).some(({ record }) => record === name)) throw new Error(`${name} is not recorded`)
  return withMatchers(matchers ? `${name}{${matchers}}` : name, `job=~"$job", ${OF_MODEL}`)
}

/** Alerts of the pack that fire, by their severities. */
export function firing(severities: readonly Severity[]): string {
  const names = ALERTS.map(({ name }) => name).join('|')
  return `ALERTS{alertname=~"${names}", alertstate="firing", severity=~"${severities.join('|')}", ${OF_ALERT}}`
}

/** 0 where nothing is counted while a host is there, so that `no data` can only mean that none is. */
export function orZero(expr: string): string {
  return `${expr} or 0 * sum(${shown('build_info')})`
}

/** A quantile of a histogram over the last interval, by some of its labels. */
export function quantile<N extends MetricName>(q: number, name: N, by: readonly string[] = []): string {
  const labels = ['le', ...by].join(', ')
  return `histogram_quantile(${q}, sum by (${labels}) (rate(${shownBuckets(name)}[$__rate_interval])))`
}

const THREAD = 'job, instance, thread'
const WHO = 'turn, parent, provider, model'

/**
 * Silence of every running turn as a share of its threshold, with who it is. Where metrics are pushed, the turn before may
 * still be seen beside the one that runs: one of them is taken, or the join would be refused.
 */
export function silenceShare(): string {
  const silence = shown('thread_silence_seconds')
  const threshold = shown('thread_silence_threshold_seconds')
  return `${silence} / ${threshold} * on (${THREAD}) group_left (${WHO}) topk by (${THREAD}) (1, ${shown('thread_info')})`
}

function scoped(name: MetricName, selector: string): string {
  const hasModel = (catalogue[name].labels as readonly string[]).includes('provider')
  return withMatchers(selector, hasModel ? `${OF_HOST}, ${OF_MODEL}` : OF_HOST)
}

function withMatchers(selector: string, matchers: string): string {
  return selector.endsWith('}') ? `${selector.slice(0, -1)}, ${matchers}}` : `${selector}{${matchers}}`
}

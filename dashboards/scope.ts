/**
 * PromQL of what the variables at the top of a dashboard select: every selector here carries the matchers of the
 * variables that its labels allow. Most recorded series are over all hosts, so the host cannot be chosen in them.
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

/** What the recording rules of the pack have made, by the labels that its level names. Throws for a name that they do not make. */
export function recorded(name: string, matchers?: string): string {
  if (!recordings(PACK_KNOBS).some(({ record }) => record === name)) throw new Error(`${name} is not recorded`)
  const level = name.split(':', 1)[0] ?? ''
  const chosen = [level === 'instance' ? OF_HOST : 'job=~"$job"', ...(level.startsWith('provider') ? [OF_MODEL] : [])]
  return withMatchers(matchers ? `${name}{${matchers}}` : name, chosen.join(', '))
}

/**
 * Of the thread that is chosen. Grafana leaves double quotes in a value as they are, so that the value stands in
 * backticks, where PromQL takes everything for itself.
 */
export function ofThread<N extends MetricName>(name: N, matchers?: Matchers<N>): string {
  return withMatchers(shown(name, matchers), `thread=\`\${thread:raw}\``)
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

/** What was counted in the time shown. Prometheus extrapolates, and there are no halves of what is counted. */
export function counted(increase: string): string {
  return `round(${increase})`
}

/** Hosts that are seen: an upgrade of one that pushes shows two versions of it for some minutes. */
export const HOSTS_UP = `count(count by (job, instance) (${shown('build_info')}))`

/** How long ago a host's detector ticked when the host was last seen; what has passed since then is not its fault. */
export const SINCE_TICK = `timestamp(${shown('last_tick_timestamp_seconds')}) - ${shown('last_tick_timestamp_seconds')}`

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

/** What can be chosen at the top of a dashboard, and what is drawn over every chart. */

import type { AnnotationQuery, VariableModel } from '@grafana/schema'
import { firing, shown, silenceShare } from './scope.ts'

export const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const

/** Members of Grafana's enumerations. */
const ON_TIME_RANGE_CHANGE = 2
const NATURAL = 7
const AS_FOUND = 0
/** As many as anybody scrolls through. */
const MOST_THREADS = 500

export function variables(): VariableModel[] {
  return [
    {
      name: 'datasource',
      label: 'Data Source',
      type: 'datasource',
      query: 'prometheus',
      regex: '',
      description: 'The Prometheus that scrapes the hosts.',
    },
    // A host always has these two labels.
    several('job', 'Job', 'label_values(turnwatch_build_info, job)', '.+'),
    several('instance', 'Host', 'label_values(turnwatch_build_info{job=~"$job"}, instance)', '.+'),
    // A wire may name no model, and an empty label is none.
    several('provider', 'Provider', `label_values(${hosts('turns_started_total')}, provider)`, '.*'),
    several('model', 'Model', `label_values(${hosts('turns_started_total', 'provider=~"$provider"')}, model)`, '.*'),
  ]
}

/**
 * One running or past thread. The first one is chosen where nothing else is: that whose turn is nearest to being flagged,
 * or beyond. Past ones come last, so that a thread which is looked at stays chosen when its turn ends.
 */
export function threadVariable(): VariableModel {
  const past = `max by (thread) (0 * last_over_time(${shown('thread_info')}[$__range]) - 1)`
  const query = `query_result(sort_desc(topk(${MOST_THREADS}, max by (thread) (${silenceShare()}) or ${past})))`
  return {
    ...queried('thread', 'Thread', query),
    sort: AS_FOUND,
    // A result is written as {thread="…"} and its value.
    regex: '/^\\{thread="(.*)"\\} /',
    description: 'A thread that ran a turn in the time shown: the running ones first, the most silent before all.',
  }
}

function several(name: string, label: string, query: string, allValue: string): VariableModel {
  return {
    ...queried(name, label, query),
    multi: true,
    includeAll: true,
    allValue,
    current: { selected: true, text: ['All'], value: ['$__all'] },
  }
}

function queried(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query,
    definition: query,
    regex: '',
    refresh: ON_TIME_RANGE_CHANGE,
    sort: NATURAL,
    options: [],
  } satisfies VariableModel & { definition: string }
}

function hosts(name: string, more?: string): string {
  return `turnwatch_${name}{job=~"$job", instance=~"$instance"${more ? `, ${more}` : ''}}`
}

/** Everything that may explain a step in a chart. */
export function annotations(): AnnotationQuery[] {
  const build = shown('build_info')
  // All look back over `$__rate_interval`, which is never less than the time between two points.
  return [
    // One for each alert, however many hosts and models it is about.
    annotation('Alerts', 'red', `max by (alertname, severity) (${firing(['critical', 'warning'])})`, {
      titleFormat: '{{alertname}}',
      textFormat: 'Severity {{severity}}',
      tagKeys: 'severity',
    }),
    annotation(
      'Restarts, new hosts and versions',
      'blue',
      `max by (job, instance) (resets(${shown('ticks_total')}[$__rate_interval])) > 0 or max by (job, instance, version) (${build} unless on (job, instance, version) ${build} offset $__rate_interval)`,
      { titleFormat: 'Restarted, new or another version', textFormat: '{{instance}} {{version}}', tagKeys: '' },
    ),
    annotation(
      'Suspended hosts',
      'purple',
      `sum by (job, instance) (increase(${shown('host_suspends_total')}[$__rate_interval])) > 0`,
      { titleFormat: 'Suspended', textFormat: '{{instance}}', tagKeys: '' },
    ),
  ]
}

interface Format {
  readonly titleFormat: string
  readonly textFormat: string
  readonly tagKeys: string
}

function annotation(name: string, iconColor: string, expr: string, format: Format) {
  return { name, datasource: DATASOURCE, enable: true, iconColor, expr, step: '60s', ...format } as AnnotationQuery
}

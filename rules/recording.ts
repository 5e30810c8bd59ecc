/** Recording rules: what the fleet's dashboards read often, and what alerts read over long windows. Named level:metric:operations. */

import type { PackKnobs } from './alert.ts'
import { buckets, count, metric } from './metric.ts'

export interface Recording {
  readonly group: string
  readonly record: string
  readonly expr: string
  /** How often its group is evaluated, where that is not as often as all others. */
  readonly interval?: string
  /** What it says, for the docs. */
  readonly help: string
}

/** Every recorded series keeps `job` and whatever labels the operator has added; `without` takes off only what is named. */
export function recordings({ hostLabels }: PackKnobs): Recording[] {
  return [
    ...perHost(),
    ...overHosts(hostLabels),
    ...latencies(hostLabels),
    ...outcomes(hostLabels),
    ...judgements(hostLabels),
  ]
}

function perHost(): Recording[] {
  const group = 'turnwatch-hosts.rules'
  // However seldom others are evaluated: HostVanishedWithTurnsRunning reads the last value when the host is gone, and what
  // began or ended since then is not in it.
  const interval = '15s'
  // A host shows no model before its first turn. With a 0 until then, what a host was last seen to run is never what ran
  // there before a restart.
  const none = `sum without (version, node_version, catalogue) (0 * ${metric('build_info')})`
  return [
    {
      group,
      interval,
      record: 'instance:turnwatch_turns_running:sum',
      expr: `sum without (provider, model, state) (${metric('turns_running')})\nor\n${none}`,
      help: 'Running turns of a host.',
    },
    {
      group,
      interval,
      record: 'instance:turnwatch_turns_stale:sum',
      expr: `sum without (provider, model, reason) (${metric('turns_stale')})\nor\n${none}`,
      help: 'Stale turns of a host.',
    },
  ]
}

function overHosts(host: string): Recording[] {
  const group = 'turnwatch-fleet.rules'
  return [
    {
      group,
      record: 'job:turnwatch_hosts:count',
      expr: `count without (${host}, version, node_version, catalogue) (${metric('build_info')})`,
      help: 'Hosts that are seen.',
    },
    {
      group,
      record: 'provider_model:turnwatch_turns_running:sum',
      expr: `sum without (${host}, state) (${metric('turns_running')})`,
      help: 'Running turns over all hosts.',
    },
    {
      group,
      record: 'provider_model_state:turnwatch_turns_running:sum',
      expr: `sum without (${host}) (${metric('turns_running')})`,
      help: 'The same by what they do.',
    },
    {
      group,
      record: 'provider_model:turnwatch_turns_stale:sum',
      expr: `sum without (${host}, reason) (${metric('turns_stale')})`,
      help: 'Stale turns over all hosts.',
    },
    {
      group,
      record: 'provider_model:turnwatch_silence_seconds:max',
      expr: `max without (${host}) (${metric('silence_max_seconds')})`,
      help: 'The longest judged silence on any host.',
    },
    {
      group,
      record: 'provider_model:turnwatch_turns_started:rate5m',
      expr: `sum without (${host}) (rate(${metric('turns_started_total')}[5m]))`,
      help: 'Turns started a second.',
    },
    {
      group,
      record: 'provider_model_outcome:turnwatch_turns_ended:rate5m',
      expr: `sum without (${host}) (rate(${metric('turns_ended_total')}[5m]))`,
      help: 'Turns ended a second, by outcome.',
    },
    {
      group,
      record: 'provider_model_class:turnwatch_events:rate5m',
      expr: `sum without (${host}) (rate(${metric('events_total')}[5m]))`,
      help: 'Events a second, by class.',
    },
  ]
}

function latencies(host: string): Recording[] {
  const group = 'turnwatch-latency.rules'
  const firstToken = (quantile: number) =>
    `histogram_quantile(${quantile}, sum without (${host}) (rate(${buckets('time_to_first_token_seconds')}[15m])))`
  return [
    {
      group,
      record: 'provider_model:turnwatch_time_to_first_token_seconds:p50_15m',
      expr: firstToken(0.5),
      help: 'Half of the first tokens came within this.',
    },
    {
      group,
      record: 'provider_model:turnwatch_time_to_first_token_seconds:p95_15m',
      expr: firstToken(0.95),
      help: 'All but one in twenty did.',
    },
    {
      group,
      record: 'provider_model:turnwatch_time_to_first_token_seconds:increase15m',
      expr: `sum without (${host}) (increase(${count('time_to_first_token_seconds')}[15m]))`,
      help: 'First tokens behind these quantiles.',
    },
    {
      group,
      record: 'provider_model_phase:turnwatch_event_gap_seconds:p95_15m',
      expr: `histogram_quantile(0.95, sum without (${host}) (rate(${buckets('event_gap_seconds')}[15m])))`,
      help: 'All but one in twenty judged gaps were shorter.',
    },
    {
      group,
      record: 'provider_model_phase:turnwatch_event_gap_seconds:increase15m',
      expr: `sum without (${host}) (increase(${count('event_gap_seconds')}[15m]))`,
      help: 'Gaps behind this quantile.',
    },
  ]
}

function outcomes(host: string): Recording[] {
  const group = 'turnwatch-outcomes.rules'
  return [
    {
      group,
      record: 'provider_model:turnwatch_turns_ended:increase15m',
      expr: `sum without (${host}, outcome) (increase(${metric('turns_ended_total')}[15m]))`,
      help: 'Turns that ended.',
    },
    {
      group,
      record: 'provider_model:turnwatch_turns_failed:ratio_increase15m',
      expr: `sum without (${host}, outcome) (increase(${metric('turns_ended_total', { outcome: 'error' })}[15m]))\n/ (provider_model:turnwatch_turns_ended:increase15m > 0)`,
      help: 'The share of them that ended in errors.',
    },
  ]
}

/** Over a day, which is much to read: so not every 15 s, and often enough to be found within the 5 m of a lookup. */
function judgements(host: string): Recording[] {
  const group = 'turnwatch-judgements.rules'
  const interval = '2m'
  const flags = (name: 'turns_stale_total' | 'turns_recovered_total') =>
    `sum without (${host}, reason, phase) (increase(${metric(name, { reason: 'silence' })}[1d]))`
  return [
    {
      group,
      interval,
      record: 'provider_model:turnwatch_turns_stale:increase1d',
      expr: flags('turns_stale_total'),
      help: 'Flags for silence in a day.',
    },
    {
      group,
      interval,
      record: 'provider_model:turnwatch_turns_recovered:ratio_increase1d',
      expr: `${flags('turns_recovered_total')}\n/ (provider_model:turnwatch_turns_stale:increase1d > 0)`,
      help: 'The share of these flags that progress took back.',
    },
  ]
}

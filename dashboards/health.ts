/** turnwatch itself: does every detector tick, are its verdicts right, do messages arrive, does anything else fail. */

import { percent } from '../rules/knob.ts'
import type { DashboardSource } from './dashboard.ts'
import { HOSTS_GONE } from './hosts-gone.ts'
import { limitOf, TICK_GONE_S, TICK_LATE_S, TICKS_WELL } from './limits.ts'
import { toDashboard, toLabels, toRow, toRunbook } from './links.ts'
import { chart, stat } from './panels.ts'
import { counted, HOSTS_UP, orZero, quantile, SINCE_TICK, shown } from './scope.ts'
import { alertsAt, noneIsGood, PHASE_IN_WORDS, PLAIN, QUANTILE_COLOURS, quiet, upTo, wellFrom } from './states.ts'
import { table } from './table.ts'

const THREADS = toDashboard('thread', 'Running turns, one by one')
const ONE_HOST = toLabels('health', 'Only this host', ['instance'])

const FLAGS_TAKEN_BACK = limitOf('FlagsRecovering', 'share')
const THRESHOLD_S = limitOf('ThresholdExcessive', 'seconds')
const OLDEST_S = limitOf('NotifierBacklog', 'seconds')

const QUANTILES = [
  { legends: /^p50$/, colour: QUANTILE_COLOURS.half },
  { legends: /^p9\d$/, colour: QUANTILE_COLOURS.most },
]

/** A rate of every host: what is usual, the worst, and by name those that it is too low on. A choice of hosts in each point would be dots. */
function ofHosts(name: 'ticks_total' | 'observed_seconds_total') {
  const rate = `rate(${shown(name)}[$__rate_interval])`
  return {
    queries: [
      { expr: `quantile(0.5, ${rate})`, legend: 'Half of the hosts' },
      { expr: `min(${rate})`, legend: 'Lowest host' },
      { expr: `${rate} < ${TICKS_WELL}`, legend: '{{instance}}' },
    ],
    looks: [
      { legends: /^Half of the hosts$/, colour: 'blue' },
      { legends: /^Lowest host$/, colour: 'purple' },
    ],
    limits: wellFrom(TICKS_WELL),
    valueLinks: [ONE_HOST],
    empty: 'No host was seen',
  }
}

export function healthDashboard(): DashboardSource {
  return {
    name: 'health',
    description: 'Whether turnwatch itself can be trusted: its hosts, its detector, its notifier and its store.',
    from: 'now-3h',
    rows: [
      { title: 'Is every host there, and does it tick?', panels: hosts() },
      { title: 'Are its verdicts right?', panels: verdicts() },
      { title: 'Do messages arrive?', panels: messages() },
      { title: 'Does anything else fail?', panels: errors() },
    ],
  }
}

function hosts() {
  return [
    stat({
      title: 'Hosts up',
      description: 'Hosts that show turnwatch now.',
      unit: 'short',
      steps: PLAIN,
      queries: [{ expr: HOSTS_UP, legend: 'Hosts' }],
      links: [toRunbook('ServerDown')],
      width: 6,
      height: 4,
    }),
    stat({
      ...HOSTS_GONE,
      queries: [...HOSTS_GONE.queries],
      links: [toRunbook('HostVanishedWithTurnsRunning')],
      width: 6,
      height: 4,
    }),
    stat({
      title: 'Time since the last tick, slowest host',
      description: `When the host was last scraped. A detector ticks every second; from ${TICK_GONE_S} seconds on it stands still and finds nothing stale, or the clocks of the host and of Prometheus differ.`,
      unit: 's',
      steps: upTo(TICK_GONE_S / 3, TICK_GONE_S),
      queries: [{ expr: `max(${SINCE_TICK})`, legend: 'Since the last tick' }],
      links: [toRunbook('DetectorStopped')],
      width: 6,
      height: 4,
    }),
    stat({
      title: 'Time that hosts were suspended',
      description: 'Sleeps of a machine, or stops of its process, in the time shown and over all hosts. 0 is usual.',
      unit: 's',
      steps: noneIsGood('orange'),
      queries: [
        {
          expr: orZero(`sum(increase(${shown('host_suspend_seconds_total')}[$__range]))`),
          legend: 'Suspended',
        },
      ],
      links: [toRunbook('HostSuspended')],
      width: 6,
      height: 4,
    }),
    chart({
      title: 'Ticks per second',
      description: `One tick a second is right. A host below ${TICKS_WELL} (green line) has a line of its own; at 0 nothing on it is found stale.`,
      unit: 'short',
      ...ofHosts('ticks_total'),
      links: [toRunbook('DetectorStopped')],
      width: 8,
      height: 8,
    }),
    chart({
      title: 'How late ticks were',
      description: `Half of the ticks were less late than p50, 99 of 100 less than p99. Beyond ${TICK_LATE_S} seconds (orange line) the host is blocked, and verdicts wait.`,
      unit: 's',
      limits: noneIsGood('orange', TICK_LATE_S),
      softMax: 1.1 * TICK_LATE_S,
      queries: [
        { expr: quantile(0.5, 'tick_lag_seconds'), legend: 'p50' },
        { expr: quantile(0.99, 'tick_lag_seconds'), legend: 'p99' },
      ],
      looks: QUANTILES,
      links: [toRunbook('DetectorStopped')],
      width: 8,
      height: 8,
    }),
    chart({
      title: 'Time observed, share of the clock',
      description: `Time in which a host could have read events. A host below ${percent(TICKS_WELL)} (green line) has a line of its own: it slept or was blocked, and silence did not grow.`,
      unit: 'percentunit',
      max: 1,
      ...ofHosts('observed_seconds_total'),
      links: [toRunbook('HostSuspended')],
      width: 8,
      height: 8,
    }),
  ]
}

function verdicts() {
  const by = 'by (provider, model, phase)'
  const flags = (name: 'turns_stale_total' | 'turns_recovered_total') =>
    `increase(${shown(name, { reason: 'silence' })}[$__range])`
  return [
    stat({
      title: 'Flags for silence that progress took back',
      description: `The share of the turns flagged for silence, in the time shown, that went on after all. Above ${percent(FLAGS_TAKEN_BACK)} a threshold may be too low.`,
      unit: 'percentunit',
      steps: upTo(FLAGS_TAKEN_BACK / 2, FLAGS_TAKEN_BACK),
      queries: [
        {
          expr: `sum(${flags('turns_recovered_total')}) / (sum(${flags('turns_stale_total')}) > 0)`,
          legend: 'Taken back',
        },
      ],
      links: [toRunbook('FlagsRecovering')],
      empty: 'No turn was flagged',
      width: 6,
      height: 8,
    }),
    chart({
      title: 'From the limit to the verdict',
      description:
        'How long after a turn had crossed its limit it was found stale. About a second is right; p99 is what one in a hundred exceeded.',
      unit: 's',
      interval: '5m',
      queries: [
        { expr: quantile(0.5, 'stale_detection_delay_seconds'), legend: 'p50' },
        { expr: quantile(0.99, 'stale_detection_delay_seconds'), legend: 'p99' },
      ],
      looks: QUANTILES,
      links: [toRunbook('DetectorDisagrees')],
      empty: 'No turn became stale by silence',
      width: 9,
      height: 8,
    }),
    chart({
      title: 'Events of unknown type, per minute',
      description:
        'Events that a source could not name, by type: after an upgrade of an agent they may need a new class.',
      unit: 'short',
      interval: '5m',
      queries: [
        {
          expr: `60 * sum by (source, type) (rate(${shown('unclassified_events_total')}[$__rate_interval]))`,
          legend: '{{source}} {{type}}',
        },
      ],
      stacked: true,
      links: [toRunbook('UnclassifiedEvents')],
      empty: 'Every event was known',
      width: 9,
      height: 8,
    }),
    table({
      title: 'Thresholds, and what they rest on',
      description: `By model and phase: the threshold in force, the longest silence of a healthy turn, on how many turns that rests, and in the time shown the flags for silence and the share that progress took back. ${PHASE_IN_WORDS}`,
      labels: { provider: 'Provider', model: 'Model', phase: 'Phase' },
      labelLinks: { model: [toRow('thread', 'Running turns of this model', ['provider', 'model'])] },
      columns: [
        {
          title: 'Threshold',
          expr: `max ${by} (${shown('threshold_seconds')})`,
          unit: 's',
          steps: quiet(alertsAt(THRESHOLD_S)),
        },
        { title: 'Longest healthy silence', expr: `max ${by} (${shown('healthy_gap_max_seconds')})`, unit: 's' },
        { title: 'Healthy turns', expr: `max ${by} (${shown('healthy_samples')})`, unit: 'short' },
        { title: 'Flags', expr: counted(`sum ${by} (${flags('turns_stale_total')})`), unit: 'short' },
        {
          title: 'Taken back',
          expr: `sum ${by} (${flags('turns_recovered_total')}) / (sum ${by} (${flags('turns_stale_total')}) > 0)`,
          unit: 'percentunit',
          steps: quiet(upTo(FLAGS_TAKEN_BACK / 2, FLAGS_TAKEN_BACK)),
        },
      ],
      sortedBy: 'Threshold',
      links: [toRunbook('ThresholdExcessive')],
      width: 24,
      height: 9,
    }),
  ]
}

function messages() {
  return [
    chart({
      title: 'Tries to deliver a message, per minute',
      description:
        'Tries by channel, and those that failed with the reason. No failures is good; failed ones are tried again.',
      unit: 'short',
      queries: [
        {
          expr: `60 * sum by (channel) (rate(${shown('notifications_total')}[$__rate_interval]))`,
          legend: '{{channel}}',
        },
        {
          expr: `60 * sum by (channel, reason) (rate(${shown('notifications_failed_total')}[$__rate_interval])) > 0`,
          legend: '{{channel}} failed: {{reason}}',
        },
      ],
      looks: [{ legends: / failed: /, colour: 'red' }],
      links: [toRunbook('NotifierFailing')],
      empty: 'No channel is set up',
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Messages that wait to be delivered',
      description:
        'By channel. They rise while a channel does not answer or a parent is busy, and fall to 0 by themselves.',
      unit: 'short',
      queries: [{ expr: `sum by (channel) (${shown('notifications_pending')})`, legend: '{{channel}}' }],
      links: [toRunbook('NotifierBacklog')],
      empty: 'No channel is set up',
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Age of the oldest waiting message',
      description: `By channel. Beyond ${OLDEST_S / 60} minutes (red line) an alert fires by default; after a day a message is given up.`,
      unit: 's',
      limits: alertsAt(OLDEST_S),
      softMax: 1.1 * OLDEST_S,
      queries: [{ expr: `max by (channel) (${shown('notification_oldest_pending_seconds')})`, legend: '{{channel}}' }],
      links: [toRunbook('NotifierBacklog')],
      empty: 'No channel is set up',
      width: 8,
      height: 8,
    }),
    chart({
      title: 'From the verdict to the delivery',
      description:
        'How long a message took to be delivered: half were faster than p50, nineteen of twenty faster than p95.',
      unit: 's',
      interval: '5m',
      queries: [
        { expr: quantile(0.5, 'notification_delay_seconds', ['channel']), legend: 'p50: {{channel}}' },
        { expr: quantile(0.95, 'notification_delay_seconds', ['channel']), legend: 'p95: {{channel}}' },
      ],
      links: [toRunbook('NotifierBacklog')],
      empty: 'No message was delivered',
      width: 8,
      height: 8,
    }),
    chart({
      title: 'Messages left out on purpose, per minute',
      description:
        'By reason: managed (another supervisor takes care), no-parent (nobody to tell), recovered or ended (it was over before), expired (undelivered for a day).',
      unit: 'short',
      interval: '5m',
      queries: [
        {
          expr: `60 * sum by (reason) (rate(${shown('notifications_suppressed_total')}[$__rate_interval]))`,
          legend: '{{reason}}',
        },
      ],
      looks: [
        { legends: /^managed$/, colour: 'blue' },
        { legends: /^no-parent$/, colour: 'purple' },
        { legends: /^recovered$/, colour: 'green' },
        { legends: /^ended$/, colour: 'light-blue' },
        { legends: /^expired$/, colour: 'red' },
      ],
      stacked: true,
      links: [toRunbook('NotifierFailing')],
      width: 8,
      height: 8,
    }),
  ]
}

function errors() {
  return [
    chart({
      title: 'Errors that were caught, per minute',
      description:
        'Faults of turnwatch or of a callback, by where, and operations of its store that failed. None is good.',
      unit: 'short',
      interval: '5m',
      queries: [
        {
          expr: `60 * sum by (where) (rate(${shown('internal_errors_total')}[$__rate_interval]))`,
          legend: 'In {{where}}',
        },
        {
          expr: `60 * sum by (op) (rate(${shown('store_errors_total')}[$__rate_interval]))`,
          legend: 'Store: {{op}}',
        },
      ],
      stacked: true,
      ranked: true,
      links: [toRunbook('DetectorStopped')],
      width: 18,
      height: 8,
    }),
    stat({
      title: 'Running threads that are not shown',
      description: 'Threads beyond the 500 of a host that get series of their own. They are watched all the same.',
      unit: 'short',
      steps: noneIsGood('orange'),
      queries: [{ expr: orZero(`sum(${shown('thread_series_omitted')})`), legend: 'Threads' }],
      links: [THREADS, toRunbook('SeriesOmitted')],
      width: 6,
      height: 8,
    }),
  ]
}

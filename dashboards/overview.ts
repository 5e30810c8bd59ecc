/** The fleet: is anything stale now, which provider or model is it, is it us, what changed. */

import { percent } from '../rules/knob.ts'
import type { DashboardSource } from './dashboard.ts'
import { alertsThatFire } from './firing-alerts.ts'
import { HOSTS_GONE } from './hosts-gone.ts'
import { limitOf, TICK_GONE_S } from './limits.ts'
import { toDashboard, toLabels, toRow, toRunbook } from './links.ts'
import { chart, stat } from './panels.ts'
import { counted, HOSTS_UP, orZero, recorded, SINCE_TICK, shown, silenceShare } from './scope.ts'
import {
  alertsAt,
  noneIsGood,
  OUTCOME_COLOURS,
  PHASE_IN_WORDS,
  PLAIN,
  quiet,
  SHARE,
  SHARE_IN_WORDS,
  STARTED_COLOUR,
  STATE_COLOURS,
  upTo,
} from './states.ts'
import { table } from './table.ts'

const MODEL = ['provider', 'model'] as const
const BY_MODEL = 'by (provider, model)'
const MODEL_LEGEND = '{{provider}} {{model}}'
const THREADS = toDashboard('thread', 'Running turns, one by one')
const HEALTH = toDashboard('health', 'Detector and notifier')
const ONE_MODEL = toLabels('thread', 'Running turns of this model', MODEL)

export function overviewDashboard(): DashboardSource {
  return {
    name: 'overview',
    description:
      'Agent turns over all hosts: whether any is stale, which provider or model it is, whether it is us, and what changed. Needs the recording rules of turnwatch.',
    from: 'now-3h',
    rows: [
      { title: 'Is anything stale now?', panels: now() },
      { title: 'Which provider or model?', panels: models() },
      { title: 'Is it us?', panels: us() },
      { title: 'What changed?', panels: changes() },
    ],
  }
}

const stale = `sum ${BY_MODEL} (${shown('turns_stale')})`
const running = `sum ${BY_MODEL} (${shown('turns_running')})`

/** As the alert ProviderStalled sees it. */
const stalledProviders = `count(sum by (provider) (${shown('turns_stale', { reason: 'silence' })}) >= ${limitOf('ProviderStalled', 'turns')} and sum by (provider) (${shown('turns_stale', { reason: 'silence' })}) > ${limitOf('ProviderStalled', 'share')} * sum by (provider) (${shown('turns_running')}))`

const ERRORS = limitOf('TurnErrorRatioHigh', 'share')
const FIRST_TOKEN_S = limitOf('FirstTokenSlow', 'seconds')
const GAP_S = limitOf('EventGapSlow', 'seconds')
const THRESHOLD_S = limitOf('ThresholdExcessive', 'seconds')

const RULES_WORDS = [
  {
    type: 'value',
    options: {
      0: { text: 'not loaded', color: 'red', index: 0 },
      1: { text: 'loaded', color: 'green', index: 1 },
    },
  },
] as never

function now() {
  return [
    stat({
      title: 'Stale turns now',
      description: 'Running turns that have been silent for too long, or whose provider died or failed. 0 is good.',
      unit: 'short',
      steps: noneIsGood('red'),
      queries: [{ expr: orZero(`sum(${shown('turns_stale')})`), legend: 'Stale turns' }],
      links: [THREADS, toRunbook('TurnStale')],
      width: 6,
      height: 5,
    }),
    stat({
      title: 'Longest silence, of its threshold',
      description: `How near the most silent running turn is to being flagged, as a share of its threshold. A turn that waits for a tool or a person counts as 0 %. ${SHARE_IN_WORDS}`,
      unit: 'percentunit',
      steps: SHARE,
      queries: [{ expr: `max(${silenceShare()})`, legend: 'Share of its threshold' }],
      links: [THREADS],
      empty: 'No running turn is shown',
      width: 6,
      height: 5,
    }),
    alertsThatFire([HEALTH]),
    stat({
      title: 'Providers that stopped answering',
      description:
        'Providers with three or more silent turns that are stale, and more than half of their running turns. 0 is good.',
      unit: 'short',
      steps: noneIsGood('red'),
      queries: [{ expr: orZero(stalledProviders), legend: 'Providers' }],
      links: [toRunbook('ProviderStalled')],
      width: 6,
      height: 5,
    }),
    stat({
      ...HOSTS_GONE,
      queries: [...HOSTS_GONE.queries],
      links: [HEALTH, toRunbook('HostVanishedWithTurnsRunning')],
      width: 6,
      height: 5,
    }),
  ]
}

function models() {
  return [
    table({
      title: 'Models now',
      description:
        'Every model that has run a turn: how many run, how many of them are stale, and the longest silence; then, over the last 15 minutes and all hosts, the time to the first token that half of the turns (p50) and nineteen of twenty (p95) kept to, and the share of turns that ended in errors.',
      labels: { provider: 'Provider', model: 'Model' },
      labelLinks: {
        provider: [toRow('overview', 'Only this provider', ['provider'])],
        model: [toRow('thread', 'Running turns of this model', MODEL)],
      },
      columns: [
        { title: 'Running', expr: running, unit: 'short' },
        { title: 'Stale', expr: stale, unit: 'short', steps: quiet(noneIsGood('red')) },
        { title: 'Stale, share', expr: `${stale} / (${running} > 0)`, unit: 'percentunit' },
        {
          title: 'Longest silence',
          expr: `max ${BY_MODEL} (${shown('silence_max_seconds')})`,
          unit: 's',
        },
        {
          title: 'First token, p50',
          expr: `max ${BY_MODEL} (${recorded('provider_model:turnwatch_time_to_first_token_seconds:p50_15m')})`,
          unit: 's',
        },
        {
          title: 'First token, p95',
          expr: `max ${BY_MODEL} (${recorded('provider_model:turnwatch_time_to_first_token_seconds:p95_15m')})`,
          unit: 's',
        },
        {
          title: 'Ended in errors',
          expr: `max ${BY_MODEL} (${recorded('provider_model:turnwatch_turns_failed:ratio_increase15m')})`,
          unit: 'percentunit',
          steps: quiet(upTo(ERRORS / 2, ERRORS)),
        },
      ],
      sortedBy: 'Stale',
      links: [THREADS],
      width: 24,
      height: 8,
    }),
    chart({
      title: 'Stale turns by model',
      description: 'Which model the stale turns belong to. None is good.',
      unit: 'short',
      interval: '1m',
      queries: [{ expr: `${stale} > 0`, legend: MODEL_LEGEND }],
      stacked: true,
      ranked: true,
      empty: 'No stale turn was seen',
      links: [THREADS],
      valueLinks: [ONE_MODEL],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Longest silence by model, share of the threshold',
      description: `How near the most silent turn of each model came to being flagged: from 100 % of its threshold (orange line) it is suspect, from 125 % (red line) stale. Beyond 200 % it is cut off. Solid lines tell models apart, their colours say no more.`,
      unit: 'percentunit',
      limits: SHARE,
      max: 2,
      ranked: true,
      interval: '1m',
      queries: [{ expr: `max ${BY_MODEL} (${silenceShare()})`, legend: MODEL_LEGEND }],
      links: [THREADS],
      valueLinks: [ONE_MODEL],
      empty: 'No running turn was shown',
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Running turns by what they do',
      interval: '1m',
      description: `What the running turns of all hosts are at: using a tool, waiting for something that is not their model, or waiting for output. ${PHASE_IN_WORDS}`,
      unit: 'short',
      queries: [
        {
          expr: `sum by (state) (${recorded('provider_model_state:turnwatch_turns_running:sum')})`,
          legend: '{{state}}',
        },
      ],
      looks: [
        { legends: /^first-token$/, colour: 'light-green' },
        { legends: /^mid-stream$/, colour: STATE_COLOURS.running },
        { legends: /^after-tool$/, colour: 'dark-green' },
        { legends: /^tool$/, colour: STATE_COLOURS.tool },
        { legends: /^waiting$/, colour: STATE_COLOURS.waiting },
      ],
      stacked: true,
      links: [THREADS],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Turns that end in errors, share by model',
      description: `Of the turns that ended in the last 15 minutes, over all hosts. Above ${percent(ERRORS)} (red line) an alert fires by default.`,
      unit: 'percentunit',
      max: 1,
      limits: alertsAt(ERRORS),
      ranked: true,
      queries: [
        {
          expr: `max ${BY_MODEL} (${recorded('provider_model:turnwatch_turns_failed:ratio_increase15m')})`,
          legend: MODEL_LEGEND,
        },
      ],
      links: [toRunbook('TurnErrorRatioHigh')],
      valueLinks: [ONE_MODEL],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Time to the first token, p95',
      description: `From the start of a turn to its first output: nineteen of twenty turns were faster, over the last 15 minutes and all hosts. Above ${FIRST_TOKEN_S} s (red line) an alert fires by default.`,
      unit: 's',
      limits: alertsAt(FIRST_TOKEN_S),
      softMax: 1.1 * FIRST_TOKEN_S,
      ranked: true,
      queries: [
        {
          expr: `max ${BY_MODEL} (${recorded('provider_model:turnwatch_time_to_first_token_seconds:p95_15m')})`,
          legend: MODEL_LEGEND,
        },
      ],
      links: [toRunbook('FirstTokenSlow')],
      valueLinks: [ONE_MODEL],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Pauses while a model writes, p95',
      description: `Nineteen of twenty pauses in the stream were shorter, over the last 15 minutes and all hosts. Above ${GAP_S} s (red line, drawn where it is near) an alert fires by default.`,
      unit: 's',
      limits: alertsAt(GAP_S),
      ranked: true,
      queries: [
        {
          expr: `max ${BY_MODEL} (${recorded('provider_model_phase:turnwatch_event_gap_seconds:p95_15m', 'phase="mid-stream"')})`,
          legend: MODEL_LEGEND,
        },
      ],
      links: [toRunbook('EventGapSlow')],
      valueLinks: [ONE_MODEL],
      width: 12,
      height: 8,
    }),
  ]
}

function us() {
  return [
    stat({
      title: 'Hosts, detector, notifier',
      description: `Hosts that are seen; whether the rules run, without which no alert fires; detectors without a tick for ${TICK_GONE_S} seconds, so that nothing there is found stale; messages about stale turns that wait to be delivered; deliveries that failed, and suspends of hosts, both in the time shown. All numbers but the first should be 0.`,
      unit: 'short',
      queries: [
        { expr: HOSTS_UP, legend: 'Hosts up' },
        { expr: orZero(`count(${recorded('job:turnwatch_hosts:count')}) > bool 0`), legend: 'Rules' },
        { expr: orZero(`count(${SINCE_TICK} > ${TICK_GONE_S})`), legend: 'Detectors stopped' },
        { expr: orZero(`sum(${shown('notifications_pending')})`), legend: 'Messages waiting' },
        {
          expr: orZero(counted(`sum(increase(${shown('notifications_failed_total')}[$__range]))`)),
          legend: 'Failed deliveries',
        },
        {
          expr: orZero(counted(`sum(increase(${shown('host_suspends_total')}[$__range]))`)),
          legend: 'Suspends',
        },
      ],
      steps: noneIsGood('orange'),
      looks: [
        { legends: /^Hosts up$/, steps: PLAIN },
        { legends: /^Rules$/, mappings: RULES_WORDS },
        { legends: /^Detectors stopped$/, steps: noneIsGood('red') },
      ],
      links: [HEALTH],
      width: 24,
      height: 4,
    }),
  ]
}

function changes() {
  return [
    chart({
      title: 'Turns started and ended, per minute',
      interval: '2m',
      description: 'Turns that began, and turns that ended by how: a change of load or of outcome shows here.',
      unit: 'short',
      queries: [
        { expr: `60 * sum(rate(${shown('turns_started_total')}[$__rate_interval]))`, legend: 'started' },
        {
          expr: `60 * sum by (outcome) (rate(${shown('turns_ended_total')}[$__rate_interval]))`,
          legend: 'ended: {{outcome}}',
        },
      ],
      looks: [
        { legends: /^started$/, colour: STARTED_COLOUR },
        ...Object.entries(OUTCOME_COLOURS).map(([outcome, colour]) => ({
          legends: new RegExp(`^ended: ${outcome}$`),
          colour,
        })),
      ],
      links: [toRunbook('TurnErrorRatioHigh')],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Highest threshold by model',
      description: `The threshold is the silence from which a turn is suspect. It moves as more turns of the model are measured. Above ${THRESHOLD_S / 60} minutes (red line, drawn where it is near) an alert fires by default.`,
      unit: 's',
      level: true,
      interval: '5m',
      limits: alertsAt(THRESHOLD_S),
      ranked: true,
      queries: [{ expr: `max ${BY_MODEL} (${shown('threshold_seconds')})`, legend: MODEL_LEGEND }],
      links: [HEALTH],
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Hosts by version of turnwatch',
      description: 'How many hosts run each version: an upgrade is where one line falls and another rises.',
      unit: 'short',
      level: true,
      stacked: true,
      queries: [{ expr: `count by (version) (${shown('build_info')})`, legend: 'turnwatch {{version}}' }],
      links: [HEALTH],
      width: 12,
      height: 8,
    }),
    table({
      title: 'Models that are new in the time shown',
      description: 'Models that no host had run at the start of the time shown, and on how many hosts they ran since.',
      labels: { provider: 'Provider', model: 'Model' },
      labelLinks: { model: [toRow('thread', 'Running turns of this model', MODEL)] },
      columns: [
        {
          title: 'Hosts',
          expr: `count ${BY_MODEL} (${shown('silence_max_seconds')}) unless count ${BY_MODEL} (${shown('silence_max_seconds')} offset $__range)`,
          unit: 'short',
        },
      ],
      sortedBy: 'Hosts',
      links: [THREADS],
      empty: 'No new model',
      width: 12,
      height: 8,
    }),
  ]
}

/** One turn: which is nearest to its threshold, how one came there, and whether it is the turn, its model or its host. */

import { percent } from '../rules/knob.ts'
import type { DashboardSource } from './dashboard.ts'
import { TICKS_WELL } from './limits.ts'
import { toDashboard, toRow, toRunbook, toThread } from './links.ts'
import { chart, stat, timeline } from './panels.ts'
import { ofThread, recorded, shown, silenceShare } from './scope.ts'
import { PLAIN, SHARE, SHARE_IN_WORDS, STALE_AT, STATE_COLOURS, STATES, stateNumber, wellFrom } from './states.ts'
import { table } from './table.ts'

const HEALTH = toDashboard('health', 'Detector and notifier')
const THREAD = 'by (job, instance, thread)'
/** As many rows as anybody reads; there may be hundreds on every host. */
const MOST_TURNS = 200
const NOT_RUNNING = 'This thread runs no turn'

/** Words and colours of the numbers of states. */
const STATE_WORDS = [
  {
    type: 'value',
    options: Object.fromEntries(
      STATES.map((state, index) => [`${index + 1}`, { text: state, color: STATE_COLOURS[state], index }]),
    ),
  },
] as never

const STATES_IN_WORDS =
  'Running: its model is at work. Tool, waiting: a tool is open, or it waits for something that is not its model, and is never flagged. Suspect: silent beyond its threshold. Stale: silent beyond 125 % of it, or its provider died.'

export function threadDashboard(): DashboardSource {
  return {
    name: 'thread',
    description: 'The running turns, the most silent first, and one of them over time.',
    from: 'now-1h',
    rows: [
      { title: 'Which running turn is nearest to its threshold?', panels: [runningTurns()] },
      { title: 'Is $thread stale, and since when?', panels: one() },
      { title: 'Is it this turn, its model or its host?', panels: around() },
    ],
  }
}

function runningTurns() {
  const shares = `topk(${MOST_TURNS}, max by (job, instance, thread, provider, model) (${silenceShare()}))`
  // The other columns are of the same turns.
  const ofThese = (expr: string) => `max ${THREAD} ((${expr}) and on (job, instance, thread) ${shares})`
  return table({
    title: 'Running turns, the most silent first',
    description: `The running turns, up to ${MOST_TURNS} of them, with their silence as a share of the threshold. ${SHARE_IN_WORDS} Choose a thread to see it below. Hosts may leave out threads, see the health dashboard.`,
    labels: {
      thread: 'Thread',
      provider: 'Provider',
      model: 'Model',
      instance: 'Host',
      job: 'Job',
    },
    labelWidths: { thread: 260 },
    labelLinks: { thread: [toRow('thread', 'Show this thread below', ['thread', 'job', 'instance'])] },
    columns: [
      {
        title: 'Share of threshold',
        expr: shares,
        unit: 'percentunit',
        steps: SHARE,
      },
      {
        title: 'Silence',
        expr: ofThese(shown('thread_silence_seconds')),
        unit: 's',
      },
      {
        title: 'Threshold',
        expr: ofThese(shown('thread_silence_threshold_seconds')),
        unit: 's',
      },
      {
        title: 'State',
        expr: ofThese(stateNumber((state) => shown('thread_state', { state }))),
        unit: 'none',
        mappings: STATE_WORDS,
      },
    ],
    sortedBy: 'Share of threshold',
    links: [toRunbook('TurnStale')],
    empty: 'No running turn is shown',
    width: 24,
    height: 9,
  })
}

function one() {
  const silence = ofThread('thread_silence_seconds')
  const threshold = ofThread('thread_silence_threshold_seconds')
  const state = `max ${THREAD} (${stateNumber((name) => ofThread('thread_state', { state: name }))})`
  return [
    stat({
      title: 'State now',
      description: STATES_IN_WORDS,
      unit: 'none',
      mappings: STATE_WORDS,
      queries: [{ expr: state, legend: '{{thread}}' }],
      links: [toRunbook('TurnStale')],
      empty: NOT_RUNNING,
      width: 6,
      height: 4,
    }),
    stat({
      title: 'Silence, share of its threshold',
      description: SHARE_IN_WORDS,
      unit: 'percentunit',
      steps: SHARE,
      queries: [{ expr: `max ${THREAD} (${silence} / ${threshold})`, legend: '{{thread}}' }],
      links: [toRunbook('TurnStale')],
      empty: NOT_RUNNING,
      width: 6,
      height: 4,
    }),
    stat({
      title: 'Stale after this much silence',
      description: '125 % of the threshold that applies to what the turn does now.',
      unit: 's',
      steps: PLAIN,
      queries: [{ expr: `max ${THREAD} (${STALE_AT} * ${threshold})`, legend: '{{thread}}' }],
      links: [HEALTH],
      empty: NOT_RUNNING,
      width: 6,
      height: 4,
    }),
    stat({
      title: 'Last progress',
      description: 'When the turn last showed a sign of getting on: output, a tool, a step of its plan.',
      unit: 'dateTimeFromNow',
      steps: PLAIN,
      queries: [
        {
          expr: `1000 * max ${THREAD} (${ofThread('thread_last_progress_timestamp_seconds')})`,
          legend: '{{thread}}',
        },
      ],
      links: [toRunbook('TurnStale')],
      empty: NOT_RUNNING,
      width: 6,
      height: 4,
    }),
    chart({
      title: 'Silence against its threshold',
      description:
        'Silence grows while nothing happens and falls to 0 with each sign of progress, or while a tool is open. Where it crosses its threshold (orange line) the turn is suspect, at the limit (red line) stale.',
      unit: 's',
      queries: [
        { expr: `max ${THREAD} (${silence})`, legend: 'Silence' },
        { expr: `max ${THREAD} (${threshold})`, legend: 'Threshold: suspect' },
        { expr: `max ${THREAD} (${STALE_AT} * ${threshold})`, legend: 'Limit: stale' },
      ],
      looks: [
        { legends: /^Silence/, colour: 'blue' },
        { legends: /^Threshold/, colour: STATE_COLOURS.suspect, dashed: true },
        { legends: /^Limit/, colour: STATE_COLOURS.stale, dashed: true },
      ],
      links: [toRunbook('TurnStale')],
      empty: 'This thread ran no turn in the time shown',
      width: 24,
      height: 9,
    }),
    timeline({
      title: 'States of its turns',
      description: `${STATES_IN_WORDS} A hole is time in which it ran no turn.`,
      unit: 'none',
      mappings: STATE_WORDS,
      queries: [{ expr: state, legend: '{{thread}}' }],
      links: [toRunbook('TurnStale')],
      empty: 'This thread ran no turn in the time shown',
      width: 24,
      height: 4,
    }),
    table({
      title: 'Who it is',
      description: 'The running turn of the thread, the thread that started it, its model and its host.',
      labels: {
        thread: 'Thread',
        turn: 'Turn',
        parent: 'Started by',
        provider: 'Provider',
        model: 'Model',
        instance: 'Host',
        job: 'Job',
      },
      labelLinks: { parent: [toThread('Show the thread that started it', 'parent')] },
      columns: [
        {
          title: 'Running',
          expr: `max by (thread, turn, parent, provider, model, instance, job) (${ofThread('thread_info')})`,
          unit: 'none',
        },
      ],
      labelsOnly: true,
      links: [toDashboard('overview', 'All providers and models')],
      empty: NOT_RUNNING,
      width: 24,
      height: 4,
    }),
  ]
}

function around() {
  const itsModel = `max by (provider, model) (${ofThread('thread_info')})`
  const itsHost = `max by (job, instance) (${ofThread('thread_info')})`
  const ofItsModel = (expr: string) => `${expr} * on (provider, model) group_left () ${itsModel}`
  return [
    chart({
      title: 'Turns of the same model',
      description:
        'Running and stale turns of the same provider and model on all hosts, while the thread runs. Many stale ones say that it is the provider.',
      unit: 'short',
      queries: [
        {
          expr: ofItsModel(`sum by (provider, model) (${recorded('provider_model:turnwatch_turns_running:sum')})`),
          legend: 'Running',
        },
        {
          expr: ofItsModel(`sum by (provider, model) (${recorded('provider_model:turnwatch_turns_stale:sum')})`),
          legend: 'Stale',
        },
      ],
      looks: [
        { legends: /^Running$/, colour: STATE_COLOURS.running },
        { legends: /^Stale$/, colour: STATE_COLOURS.stale },
      ],
      links: [toDashboard('overview', 'All providers and models'), toRunbook('ProviderStalled')],
      empty: 'This thread ran no turn in the time shown',
      width: 12,
      height: 8,
    }),
    chart({
      title: 'Time in which its host could read events, share of the clock',
      description: `Near 100 % is good. Below ${percent(TICKS_WELL)} (green line) the host slept or was blocked, and the silence of its turns did not grow meanwhile.`,
      unit: 'percentunit',
      max: 1,
      limits: wellFrom(TICKS_WELL),
      queries: [
        {
          expr: `max by (job, instance) (rate(${shown('observed_seconds_total')}[$__rate_interval])) * on (job, instance) group_left () ${itsHost}`,
          legend: '{{instance}}',
        },
      ],
      links: [HEALTH, toRunbook('HostSuspended')],
      empty: 'This thread ran no turn in the time shown',
      width: 12,
      height: 8,
    }),
  ]
}

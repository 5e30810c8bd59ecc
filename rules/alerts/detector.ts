/** Alerts on the detector: it has stopped, disagrees with its own numbers, or flags what was well. */

import { alert, MODEL } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { count, seconds, share, time } from '../knob.ts'
import { metric } from '../metric.ts'
import { sameHost, woken } from './host-seen.ts'

const GROUP = 'turnwatch-detector'
const HOST = ['job', 'instance'] as const
const PAGE = { uid: DASHBOARD_UIDS.health, labels: HOST }

/** A turn is stale at this multiple of its threshold (the detector's own rule). */
const STALE_AT = 1.25

export const detectorAlerts = [
  alert('DetectorStopped', GROUP, {
    severity: 'critical',
    for: '1m',
    knobs: {
      window: time(
        '2m',
        'How far back it looks for a tick; at least four scrapes, so raise it where those are over 30s apart',
      ),
    },
    expr: ({ window }) => `increase(${metric('ticks_total')}[${window}]) == 0`,
    summary: 'A detector no longer ticks.',
    description:
      '{{ $labels.instance }} answers scrapes and its detector stands still: no turn there will be found stale.',
    dashboard: PAGE,
  }),
  alert('DetectorDisagrees', GROUP, {
    severity: 'warning',
    for: '2m',
    knobs: {
      margin: seconds(15, 'How late a verdict may be; at least the time between two scrapes'),
      mute: time('10m', 'How long it says nothing after the host woke: verdicts wait then, on purpose'),
    },
    expr: ({ margin, mute }, pack) =>
      `${metric('thread_silence_seconds')} > ${STALE_AT} * ${metric('thread_silence_threshold_seconds')} + ${margin}\nand\n${metric('thread_stale')} == 0\nunless ${sameHost(pack)}\n(\n${indented(woken(mute))}\n)`,
    summary: 'A silent turn is not flagged.',
    description: ({ margin }) =>
      `{{ $labels.thread }} on {{ $labels.instance }} has been silent for {{ $value | humanizeDuration }}, over ${margin} s beyond where it should be stale, and is not.`,
    dashboard: { uid: DASHBOARD_UIDS.thread, labels: [...HOST, 'thread'] },
  }),
  alert('ThresholdExcessive', GROUP, {
    severity: 'info',
    for: '1h',
    knobs: {
      seconds: seconds(1800, 'The longest a dead turn may go unnoticed; raise it for models that think for longer'),
    },
    expr: ({ seconds }) => `${metric('threshold_seconds')} > ${seconds}`,
    summary: 'A threshold is so high that a dead turn is noticed late.',
    description: `The {{ $labels.phase }} threshold of {{ $labels.provider }} ${MODEL} on {{ $labels.instance }} is {{ $value | humanizeDuration }}.`,
    dashboard: { uid: DASHBOARD_UIDS.health, labels: [...HOST, 'provider', 'model'] },
  }),
  alert('FlagsRecovering', GROUP, {
    severity: 'info',
    knobs: {
      share: share(0.2, 'The share of false flags that you put up with'),
      flags: count(5, 'Fewer flags in a day say nothing'),
    },
    expr: ({ share, flags }) =>
      `provider_model:turnwatch_turns_recovered:ratio_increase1d > ${share}\nand\nprovider_model:turnwatch_turns_stale:increase1d >= ${flags}`,
    summary: 'Many flagged turns go on after all.',
    description: `{{ $value | humanizePercentage }} of the flags for silence of {{ $labels.provider }} ${MODEL} in the last day were followed by progress: the threshold may be too low.`,
    dashboard: { uid: DASHBOARD_UIDS.health, labels: ['job', 'provider', 'model'] },
  }),
]

function indented(lines: string): string {
  return lines.replace(/^/gm, '  ')
}

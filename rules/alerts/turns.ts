/** Alerts on turns: one is stale or has failed, many are, or none gets on. */

import { alert, MODEL } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { count, percent, share, time } from '../knob.ts'
import { metric } from '../metric.ts'
import { present, SEEN, sameHost } from './host-seen.ts'

const GROUP = 'turnwatch-turns'
const HOST_MODEL = ['job', 'instance', 'provider', 'model'] as const
const PAGE = { uid: DASHBOARD_UIDS.overview, labels: HOST_MODEL }

const stale = metric('turns_stale')
const running = metric('turns_running')
const silent = metric('turns_stale', { reason: 'silence' })
const failures = metric('turns_stale_total', { reason: /provider-.*/ })

export const turnAlerts = [
  alert('TurnStale', GROUP, {
    severity: 'warning',
    for: '1m',
    knobs: {
      hold: time(
        '10m',
        'How long it outlives a host that is gone; longer than HostVanishedWithTurnsRunning takes, 5m + its for',
      ),
    },
    expr: ({ hold }, pack) => `${present(stale, hold, pack)} > 0`,
    summary: 'Turns are stale.',
    description: `Stale turns of {{ $labels.provider }} ${MODEL} on {{ $labels.instance }}: {{ $value }}, reason {{ $labels.reason }}.`,
    dashboard: PAGE,
  }),
  alert('TurnFailed', GROUP, {
    severity: 'info',
    knobs: { window: time('5m', 'How long a failure is shown; at least four scrapes') },
    // A model's first turn may fail before its counter was ever scraped at 0; on a host known before, that is an increase.
    expr: ({ window }, pack) =>
      `sum without (phase) (increase(${failures}[${window}])) > 0\nor\nsum without (phase) (\n  (${failures} > 0 unless ${failures} offset ${window})\n  and ${sameHost(pack)} ${SEEN} offset ${window}\n)`,
    summary: 'A provider failed a turn.',
    description: `Turns of {{ $labels.provider }} ${MODEL} on {{ $labels.instance }} ended in a failure of the provider, reason {{ $labels.reason }}.`,
    dashboard: PAGE,
  }),
  alert('ManyTurnsStale', GROUP, {
    severity: 'critical',
    for: '2m',
    knobs: {
      turns: count(3, 'Fewer stale turns on a host page nobody'),
      share: share(0.25, 'Nor does a smaller share of those that run there; raise it where hosts run few turns'),
    },
    expr: ({ turns, share }, pack) => {
      const all = `sum without (provider, model, reason) ${present(stale, pack.gap, pack)}`
      const ofAll = `sum without (provider, model, state) ${present(running, pack.gap, pack)}`
      return `${all} >= ${turns}\nand\n${all}\n  > ${share} * ${ofAll}`
    },
    summary: 'Many turns of a host are stale.',
    description: ({ share }) =>
      `{{ $value }} turns on {{ $labels.instance }} are stale, more than ${percent(share)} of those that run there.`,
    dashboard: { uid: DASHBOARD_UIDS.overview, labels: ['job', 'instance'] },
  }),
  alert('ProviderStalled', GROUP, {
    severity: 'critical',
    for: '2m',
    knobs: {
      turns: count(
        3,
        'Fewer silent turns of a provider, over all hosts, page nobody; raise it with the size of the fleet',
      ),
      share: share(0.5, 'Nor does a smaller share of those that run'),
    },
    expr: ({ turns, share }, pack) => {
      const all = `sum without (${pack.hostLabels}, model, reason) ${present(silent, pack.gap, pack)}`
      const ofAll = `sum without (${pack.hostLabels}, model, state) ${present(running, pack.gap, pack)}`
      return `${all} >= ${turns}\nand\n${all}\n  > ${share} * ${ofAll}`
    },
    summary: 'A provider has stopped answering.',
    description: ({ share }) =>
      `{{ $value }} turns of {{ $labels.provider }} are silent beyond their thresholds, over all hosts and models, more than ${percent(share)} of those that run.`,
    dashboard: { uid: DASHBOARD_UIDS.overview, labels: ['job', 'provider'] },
  }),
  alert('NoProgress', GROUP, {
    severity: 'warning',
    for: '10m',
    knobs: {
      window: time(
        '5m',
        'How far back it looks for any progress; raise it for models that are silent for longer before they answer',
      ),
    },
    expr: ({ window }, pack) => {
      const working = present(
        metric('turns_running', { state: ['first-token', 'after-tool', 'mid-stream'] }),
        pack.gap,
        pack,
      )
      const events = metric('events_total', { class: ['token', 'progress'] })
      return `sum without (provider, model, state) ${working} > 0\nand\nsum without (provider, model, class) (increase(${events}[${window}])) == 0`
    },
    summary: 'No turn of a host gets on.',
    description:
      'Turns on {{ $labels.instance }} that wait for their models: {{ $value }}. No turn there has seen a token or other progress.',
    dashboard: { uid: DASHBOARD_UIDS.overview, labels: ['job', 'instance'] },
  }),
]

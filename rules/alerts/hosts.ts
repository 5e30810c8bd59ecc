/** Alerts on hosts: gone, gone with work in hand, asleep, or silent about turnwatch altogether. */

import { alert } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { pattern, time } from '../knob.ts'
import { metric } from '../metric.ts'
import { SEEN, sameHost, woken } from './host-seen.ts'

const GROUP = 'turnwatch-hosts'
const HOST = ['job', 'instance'] as const
const PAGE = { uid: DASHBOARD_UIDS.health, labels: HOST }

export const hostAlerts = [
  alert('HostVanishedWithTurnsRunning', GROUP, {
    severity: 'critical',
    for: '2m',
    knobs: { memory: time('1h', 'How long it keeps firing, if nobody brings the host back') },
    // Covers a killed process, a deleted pod and a push that stopped: none of them leaves an `up` of 0 behind.
    // The recorded sum is 0 once a host runs nothing, where a series of its own from before a restart is still not; the raw
    // ones stand in for it where only the alerts are loaded.
    expr: ({ memory }, pack) => {
      const raw = `sum without (provider, model, state) (last_over_time(${metric('turns_running')}[${memory}]))`
      return `(\n  last_over_time(instance:turnwatch_turns_running:sum[${memory}])\n  or\n  ${raw}\n) > 0\nunless ${sameHost(pack)} ${SEEN}`
    },
    summary: 'A host is gone, and its turns with it.',
    description:
      '{{ $labels.instance }} of {{ $labels.job }} is no longer seen. Turns that ran there when it last was, and that nobody watches now: {{ $value }}.',
    dashboard: PAGE,
  }),
  alert('ServerDown', GROUP, {
    severity: 'critical',
    for: '2m',
    knobs: {
      memory: time('1d', 'How long a target counts as a host of turnwatch after it was last seen as one'),
      jobs: pattern(
        '(.*[-_/])?turnwatch.*',
        'Jobs whose targets are all hosts of turnwatch, so that one which never answered counts too',
      ),
    },
    // The other targets of a Prometheus, even of the same job, are not ours to judge.
    expr: ({ memory, jobs }, pack) =>
      `(up == 0 and ${sameHost(pack)} last_over_time(${SEEN}[${memory}]))\nor\nup{job=~"${jobs}"} == 0`,
    summary: 'A host cannot be scraped.',
    description: '{{ $labels.instance }} of {{ $labels.job }} does not answer scrapes.',
    dashboard: PAGE,
  }),
  alert('MetricsAbsent', GROUP, {
    severity: 'critical',
    for: '5m',
    off: true,
    expr: () => `absent(${SEEN})`,
    summary: 'No host shows turnwatch.',
    description: 'No metrics of turnwatch arrive from anywhere.',
    dashboard: { uid: DASHBOARD_UIDS.health, labels: [] },
  }),
  alert('HostSuspended', GROUP, {
    severity: 'info',
    knobs: { window: time('10m', 'How long a sleep is shown after the host woke; at least four scrapes') },
    expr: ({ window }) => woken(window),
    summary: 'A host was suspended.',
    description:
      '{{ $labels.instance }} slept, or its process was stopped; the silence of its turns was counted anew from when it woke.',
    dashboard: PAGE,
  }),
]

/** Alerts on the notifier: messages fail, or pile up. */

import { alert } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { seconds, share, time } from '../knob.ts'
import { metric } from '../metric.ts'

const GROUP = 'turnwatch-notifier'
const PAGE = { uid: DASHBOARD_UIDS.health, labels: ['job', 'instance'] as const }

const failedShare = (window: string) =>
  `sum without (reason) (increase(${metric('notifications_failed_total')}[${window}]))\n  / (increase(${metric('notifications_total')}[${window}]) > 0)`

export const notifierAlerts = [
  alert('NotifierFailing', GROUP, {
    severity: 'warning',
    for: '5m',
    knobs: {
      share: share(0, 'The share of failed tries that is put up with'),
      window: time('5m', 'How far back it looks for tries; at least four scrapes'),
      longWindow: time('15m', 'The same while messages wait: longer than the 5m that may be between two tries'),
    },
    // Tries come up to 5 minutes apart: between two of them what is still pending says that the failure lasts.
    expr: ({ share, window, longWindow }) =>
      `${failedShare(window)} > ${share}\nor\n${failedShare(longWindow)} > ${share}\n  and ${metric('notifications_pending')} > 0`,
    summary: 'Messages cannot be delivered.',
    description:
      '{{ $value | humanizePercentage }} of the tries over {{ $labels.channel }} on {{ $labels.instance }} fail.',
    dashboard: PAGE,
  }),
  alert('NotifierBacklog', GROUP, {
    severity: 'warning',
    knobs: { seconds: seconds(300, 'How old a message may grow before it is told') },
    expr: ({ seconds }) => `${metric('notification_oldest_pending_seconds')} > ${seconds}`,
    summary: 'Messages wait for too long.',
    description:
      'A message over {{ $labels.channel }} on {{ $labels.instance }} has waited for {{ $value | humanizeDuration }}.',
    dashboard: PAGE,
  }),
]

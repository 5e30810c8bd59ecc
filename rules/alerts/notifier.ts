/** Alerts on the notifier: messages fail, or pile up. */

import { alert } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { seconds, share, time } from '../knob.ts'
import { metric } from '../metric.ts'

const GROUP = 'turnwatch-notifier'
const PAGE = { uid: DASHBOARD_UIDS.health, labels: ['job', 'instance'] as const }

/** Not 1: Prometheus extrapolates a counter that began at 0 by up to a scrape less than another. */
const ALL = 0.95

const failedShare = (window: string) =>
  `sum without (reason) (increase(${metric('notifications_failed_total')}[${window}]))\n  / (increase(${metric('notifications_total')}[${window}]) > 0)`

export const notifierAlerts = [
  alert('NotifierFailing', GROUP, {
    severity: 'warning',
    for: '5m',
    knobs: {
      share: share(0, 'The share of failed tries that is put up with'),
      window: time('5m', 'How far back it looks for tries; at least four scrapes'),
      longWindow: time(
        '15m',
        'How long it says so if no try arrives; at least twice the 5m that may be between two of a message',
      ),
    },
    // A message that was refused is not tried again, and one that failed is up to 5 minutes later: until a try arrives,
    // the failure lasts.
    expr: ({ share, window, longWindow }) =>
      `${failedShare(window)} > ${share}\nor\n${failedShare(longWindow)} > ${ALL}`,
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

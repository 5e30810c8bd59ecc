/** What is shown and never called stale, and what the numbers themselves lack. */

import { CATALOGUE_VERSION } from '../../instrumentation/metrics/catalogue.ts'
import { alert, MODEL } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { seconds, time } from '../knob.ts'
import { metric } from '../metric.ts'

const GROUP = 'turnwatch-advice'
const HOST = ['job', 'instance'] as const
const OVERVIEW = { uid: DASHBOARD_UIDS.overview, labels: HOST }
const HEALTH = { uid: DASHBOARD_UIDS.health, labels: HOST }

export const advisoryAlerts = [
  alert('ToolOpenLong', GROUP, {
    severity: 'info',
    knobs: { seconds: seconds(3600, 'Longer than your longest tool takes') },
    expr: ({ seconds }) => `${metric('open_tool_max_seconds')} > ${seconds}`,
    summary: 'A tool has been open for long.',
    description: `A tool of {{ $labels.provider }} ${MODEL} on {{ $labels.instance }} has been open for {{ $value | humanizeDuration }}. Open tools are not judged by silence.`,
    dashboard: { uid: DASHBOARD_UIDS.overview, labels: [...HOST, 'provider', 'model'] },
  }),
  alert('WaitLong', GROUP, {
    severity: 'info',
    knobs: { seconds: seconds(1800, 'How long somebody may take to answer') },
    expr: ({ seconds }) => `${metric('wait_max_seconds', { reason: ['approval', 'input'] })} > ${seconds}`,
    summary: 'A turn waits for somebody.',
    description:
      'A turn on {{ $labels.instance }} has waited for {{ $labels.reason }} for {{ $value | humanizeDuration }}.',
    dashboard: OVERVIEW,
  }),
  alert('TurnNotStarted', GROUP, {
    severity: 'info',
    for: '5m',
    expr: () => `${metric('turns_not_started')} > 0`,
    summary: 'Turns that were asked for do not begin.',
    description: 'Turns on {{ $labels.instance }} that were requested and have not started: {{ $value }}.',
    dashboard: OVERVIEW,
  }),
  alert('InterruptNotSettled', GROUP, {
    severity: 'info',
    for: '5m',
    expr: () => `${metric('interrupts_unsettled')} > 0`,
    summary: 'Turns that were told to stop go on.',
    description: 'Turns on {{ $labels.instance }} that were interrupted and have not ended: {{ $value }}.',
    dashboard: OVERVIEW,
  }),
  alert('TurnNotSettled', GROUP, {
    severity: 'info',
    for: '5m',
    expr: () => `${metric('turns_unsettled')} > 0`,
    summary: 'Turns have ended and their host shows them running.',
    description:
      'Turns on {{ $labels.instance }} that have ended and that the host still shows as running: {{ $value }}.',
    dashboard: OVERVIEW,
  }),
  alert('SeriesOmitted', GROUP, {
    severity: 'info',
    expr: () => `${metric('thread_series_omitted')} > 0`,
    summary: 'More threads run than have series of their own.',
    description:
      'Running threads on {{ $labels.instance }} without series of their own: {{ $value }}. Stale and silent ones are kept first; aggregates are complete.',
    dashboard: HEALTH,
  }),
  alert('UnclassifiedEvents', GROUP, {
    severity: 'info',
    knobs: { window: time('1h', 'How long an unknown type is shown; at least four scrapes') },
    // The series of a type begins with its first event, so that there is no 0 to increase from.
    expr: ({ window }) =>
      `increase(${metric('unclassified_events_total')}[${window}]) > 0\nor\n(${metric('unclassified_events_total')} > 0 unless ${metric('unclassified_events_total')} offset ${window})`,
    summary: 'An agent sends events that its source does not know.',
    description:
      '{{ $labels.source }} on {{ $labels.instance }} has met events of the type {{ $labels.type }}, which it does not know.',
    dashboard: HEALTH,
  }),
  alert('CatalogueMismatch', GROUP, {
    severity: 'info',
    expr: () => `${metric('build_info', { catalogue: { not: CATALOGUE_VERSION } })} > 0`,
    summary: 'A host speaks another catalogue than these rules.',
    description: `{{ $labels.instance }} runs turnwatch {{ $labels.version }} with catalogue {{ $labels.catalogue }}; these rules are for ${CATALOGUE_VERSION}.`,
    dashboard: HEALTH,
  }),
]

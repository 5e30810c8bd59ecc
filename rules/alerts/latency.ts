/** Alerts on how well the models do: slow to begin, slow to go on, failing. */

import { alert, MODEL } from '../alert.ts'
import { DASHBOARD_UIDS } from '../dashboard-link.ts'
import { count, seconds, share } from '../knob.ts'

const GROUP = 'turnwatch-latency'
const PAGE = { uid: DASHBOARD_UIDS.overview, labels: ['job', 'provider', 'model'] as const }

export const latencyAlerts = [
  alert('FirstTokenSlow', GROUP, {
    severity: 'warning',
    for: '15m',
    knobs: {
      seconds: seconds(60, 'What you call slow; raise it for models that think before they speak'),
      turns: count(5, 'Fewer first tokens in 15 minutes say nothing'),
    },
    expr: ({ seconds, turns }) =>
      `provider_model:turnwatch_time_to_first_token_seconds:p95_15m > ${seconds}\nand\nprovider_model:turnwatch_time_to_first_token_seconds:increase15m >= ${turns}`,
    summary: 'First tokens are slow.',
    description: `One in twenty turns of {{ $labels.provider }} ${MODEL} waits {{ $value | humanizeDuration }} or longer for its first token.`,
    dashboard: PAGE,
  }),
  alert('EventGapSlow', GROUP, {
    severity: 'warning',
    for: '15m',
    knobs: {
      seconds: seconds(30, 'What you call slow; raise it for models that are slow to read what a tool has answered'),
      gaps: count(20, 'Fewer gaps in 15 minutes say nothing'),
    },
    // The gap before the first token is what FirstTokenSlow is about.
    expr: ({ seconds, gaps }) =>
      `provider_model_phase:turnwatch_event_gap_seconds:p95_15m{phase!="first-token"} > ${seconds}\nand\nprovider_model_phase:turnwatch_event_gap_seconds:increase15m >= ${gaps}`,
    summary: 'Streams stutter.',
    description: `One in twenty {{ $labels.phase }} gaps of {{ $labels.provider }} ${MODEL} lasts {{ $value | humanizeDuration }} or longer.`,
    dashboard: PAGE,
  }),
  alert('TurnErrorRatioHigh', GROUP, {
    severity: 'warning',
    for: '15m',
    knobs: {
      share: share(0.2, 'The share of failures that you put up with'),
      turns: count(5, 'Fewer ended turns in 15 minutes say nothing'),
    },
    expr: ({ share, turns }) =>
      `provider_model:turnwatch_turns_failed:ratio_increase15m > ${share}\nand\nprovider_model:turnwatch_turns_ended:increase15m >= ${turns}`,
    summary: 'Many turns end in errors.',
    description: `{{ $value | humanizePercentage }} of the turns of {{ $labels.provider }} ${MODEL} that ended in the last 15 minutes failed.`,
    dashboard: PAGE,
  }),
]

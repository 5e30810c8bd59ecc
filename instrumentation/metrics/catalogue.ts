/** Every metric, once: the source of the bridges, the docs, the rules and the dashboards. */

export interface Definition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** UCUM; braces where Prometheus has no unit. */
  readonly unit: string
  readonly labels: readonly string[]
  readonly help: string
}

const M = ['provider', 'model'] as const

/** Prefix of every name. */
export const PREFIX = 'turnwatch_'
/** Rises when a name, label or meaning changes. */
export const CATALOGUE_VERSION = '1'

const ofThreads = {
  thread_silence_seconds: gauge('s', ['thread'], 'Judged silence of a running turn, 0 while a tool or wait is open.'),
  thread_silence_threshold_seconds: gauge(
    's',
    ['thread'],
    'Silence at which the turn becomes suspect; stale is 1.25 times it.',
  ),
  thread_last_progress_timestamp_seconds: gauge('s', ['thread'], 'Unix time of the last progress of a running turn.'),
  thread_stale: gauge('', ['thread'], 'Whether a running turn is stale, 0 or 1.'),
  thread_info: gauge('', ['thread', 'turn', 'parent', ...M], 'Who a running turn is, always 1.'),
  thread_state: gauge('', ['thread', 'state'], 'The current state of a running turn, always 1.'),
  thread_series_omitted: gauge('{thread}', [], 'Running threads beyond the cap on series.'),
} as const satisfies Record<string, Definition>

const ofModels = {
  turns_running: gauge('{turn}', [...M, 'state'], 'Running turns by what they do.'),
  turns_waiting: gauge('{turn}', ['reason'], 'Running turns that wait for something that is not their model.'),
  wait_max_seconds: gauge('s', ['reason'], 'The longest open wait.'),
  turns_stale: gauge('{turn}', [...M, 'reason'], 'Running turns that are stale now.'),
  silence_max_seconds: gauge('s', M, 'The longest judged silence of any running turn.'),
  open_tool_max_seconds: gauge('s', M, 'The longest open tool.'),
  turns_not_started: gauge('{turn}', [], 'Turns that were requested and have not started.'),
  interrupts_unsettled: gauge('{turn}', [], 'Running turns that were asked to stop.'),
  turns_unsettled: gauge('{turn}', [], 'Turns that have ended and that the host still shows as running.'),
  turns_started_total: counter('{turn}', M, 'Turns started.'),
  events_total: counter('{event}', [...M, 'class'], 'Events of turns by class.'),
  turns_ended_total: counter('{turn}', [...M, 'outcome'], 'Turns ended.'),
  turns_suspected_total: counter('{turn}', [...M, 'phase'], 'Times a turn became suspect.'),
  turns_stale_total: counter('{turn}', [...M, 'reason', 'phase'], 'Stale episodes opened.'),
  turns_recovered_total: counter('{turn}', [...M, 'reason', 'phase'], 'Stale episodes that progress closed.'),
  turn_duration_seconds: histogram('s', [...M, 'outcome'], 'Duration of ended turns.'),
  time_to_first_token_seconds: histogram('s', M, 'From the start of a turn to its first token.'),
  event_gap_seconds: histogram(
    's',
    [...M, 'phase'],
    'Judged gaps; an open one is observed when the turn ends or goes stale.',
  ),
  stale_duration_seconds: histogram('s', ['resolution'], 'How long stale episodes lasted.'),
  stale_detection_delay_seconds: histogram('s', [], 'From the crossing of the limit to the stale verdict, by silence.'),
  threshold_seconds: gauge('s', [...M, 'phase'], 'Threshold in force.'),
  healthy_gap_max_seconds: gauge('s', [...M, 'phase'], 'The largest healthy silence on record.'),
  healthy_samples: gauge('{sample}', [...M, 'phase'], 'Samples behind the threshold.'),
  unclassified_events_total: counter('{event}', ['source', 'type'], 'Events of types that their source does not know.'),
} as const satisfies Record<string, Definition>

const ofPromptCaches = {
  prompt_cache_read_tokens_total: counter('{token}', M, 'Input tokens of ended turns that were read from the cache.'),
  prompt_cache_write_tokens_total: counter(
    '{token}',
    [...M, 'ttl'],
    'Input tokens of ended turns that were written to the cache, by how long they live in it.',
  ),
  prompt_cache_uncached_tokens_total: counter(
    '{token}',
    M,
    'Input tokens of ended turns that were neither read from the cache nor written to it.',
  ),
} as const satisfies Record<string, Definition>

const ofStreams = {
  streams_started_total: counter('{stream}', ['source'], 'Streams that were watched, each attempt for itself.'),
  streams_stalled_total: counter('{stream}', ['source', 'phase'], 'Watched streams that a deadline ended.'),
  stream_retries_total: counter('{retry}', ['source', 'result'], 'Streams that were issued again after a stall.'),
} as const satisfies Record<string, Definition>

const ofItself = {
  ticks_total: counter('{tick}', [], 'Ticks of the detector.'),
  observed_seconds_total: counter('s', [], 'Time in which this process could have read events.'),
  host_suspends_total: counter('{suspend}', [], 'Sleeps of the machine, or stops of this process, that were noticed.'),
  host_suspend_seconds_total: counter('s', [], 'How long they lasted.'),
  last_tick_timestamp_seconds: gauge('s', [], 'Unix time of the last tick.'),
  tick_lag_seconds: histogram('s', [], 'How late ticks were.'),
  internal_errors_total: counter('{error}', ['where'], 'Faults of ours or of a callback that were caught.'),
  store_errors_total: counter('{error}', ['op'], 'Failed operations of the store.'),
  notifications_total: counter('{try}', ['channel'], 'Tries to deliver a message, or to repeat a state.'),
  notifications_failed_total: counter('{try}', ['channel', 'reason'], 'Tries that failed.'),
  notifications_suppressed_total: counter('{message}', ['reason'], 'Messages that were not delivered on purpose.'),
  notifications_pending: gauge('{message}', ['channel'], 'Messages that wait to be delivered.'),
  notification_oldest_pending_seconds: gauge('s', ['channel'], 'Age of the oldest of them.'),
  notification_delay_seconds: histogram('s', ['channel'], 'From the stale verdict to the delivery of its message.'),
  build_info: gauge('', ['version', 'node_version', 'catalogue'], 'Version of turnwatch, always 1.'),
} as const satisfies Record<string, Definition>

export const catalogue = { ...ofThreads, ...ofModels, ...ofPromptCaches, ...ofStreams, ...ofItself } as const

export type MetricName = keyof typeof catalogue

/** The catalogue as its readers take it in, part by part. */
export const CATALOGUE_GROUPS = [
  { title: 'Running turns', note: 'Gone when the turn ends.', metrics: ofThreads },
  { title: 'Aggregates', note: 'What alerts are made of.', metrics: ofModels },
  {
    title: 'Prompt cache',
    note: 'Of turns whose wire tells what they used. What an OpenAI chat stream tells after its `finish_reason`, as OpenAI does of usage, is not counted. The first turn of a thread that `codex exec` resumes counts what the thread had used before, unless this process saw that.',
    metrics: ofPromptCaches,
  },
  {
    title: 'Watched streams',
    note: 'Of the streams whose watchdog was given this watch. A source has no series until its first stream, and all of them from then on.',
    metrics: ofStreams,
  },
  { title: 'turnwatch itself', note: 'The detector, the notifier and the store.', metrics: ofItself },
] as const satisfies readonly { title: string; note: string; metrics: Record<string, Definition> }[]

function gauge<const L extends readonly string[]>(unit: string, labels: L, help: string) {
  return { type: 'gauge', unit, labels, help } as const
}

function counter<const L extends readonly string[]>(unit: string, labels: L, help: string) {
  return { type: 'counter', unit, labels, help } as const
}

function histogram<const L extends readonly string[]>(unit: string, labels: L, help: string) {
  return { type: 'histogram', unit, labels, help } as const
}

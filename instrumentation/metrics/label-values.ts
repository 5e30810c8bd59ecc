/** Which values a label may have: closed sets, so that every combination starts at 0, and what bounds the open ones. */

import { OUTCOMES, PHASES, WAIT_REASONS } from '../events.ts'
import { EVENT_CLASSES } from '../turn-clock.ts'
import { CACHE_TTLS, RESOLUTIONS, STALE_REASONS } from '../turn-counters.ts'
import { CATALOGUE_VERSION, catalogue, type MetricName } from './catalogue.ts'

/** Running threads that get series of their own. */
export const MAX_THREADS = 500
/** Provider/model pairs with labels of their own; the rest is `other`. */
export const MAX_PAIRS = 50

/** What a running turn does, by the phase of its model where it does nothing else. */
export const RUNNING_STATES = [...PHASES, 'tool', 'waiting'] as const
/** How a running turn is judged. */
export const THREAD_STATES = ['running', 'tool', 'waiting', 'suspect', 'stale'] as const

const BY_LABEL: Readonly<Record<string, readonly string[]>> = {
  phase: PHASES,
  outcome: OUTCOMES,
  class: EVENT_CLASSES,
  resolution: RESOLUTIONS,
  ttl: CACHE_TTLS,
  // Rooms that this one may not import have these; a test compares them.
  where: ['source', 'clock', 'tick', 'listener', 'verify', 'store', 'collector', 'notifier'],
  op: ['load', 'save', 'close', 'claim', 'outbox'],
  catalogue: [CATALOGUE_VERSION],
}

const BY_METRIC: Readonly<Partial<Record<MetricName, Readonly<Record<string, readonly string[]>>>>> = {
  thread_state: { state: THREAD_STATES },
  turns_running: { state: RUNNING_STATES },
  turns_waiting: { reason: WAIT_REASONS },
  wait_max_seconds: { reason: WAIT_REASONS },
  turns_stale: { reason: STALE_REASONS },
  turns_stale_total: { reason: STALE_REASONS },
  turns_recovered_total: { reason: STALE_REASONS },
  streams_stalled_total: { phase: ['headers', 'first_content', 'between_content', 'liveness', 'total'] },
  stream_retries_total: { result: ['content', 'stalled', 'failed', 'aborted'] },
  notifications_failed_total: {
    reason: ['timeout', 'connection', 'client_error', 'server_error', 'rejected', 'store', 'other'],
  },
  notifications_suppressed_total: { reason: ['managed', 'no-parent', 'recovered', 'ended', 'expired'] },
}

/** What an open label holds, and what bounds it. */
export const OPEN_LABELS: Readonly<Record<string, string>> = {
  thread: `id of a running thread, at most ${MAX_THREADS}`,
  turn: 'id of its turn',
  parent: 'id of the thread that started it; empty without one',
  provider: `at most ${MAX_PAIRS} pairs with \`model\`; further ones are \`other\``,
  model: 'empty where the wire names none',
  source:
    'name of a source; of watched streams at most 100, further ones are `other`, and `custom` where none was given',
  type: 'type of an event, at most 100 with `source`; further ones are `other`',
  channel: 'configured name of a channel',
  version: 'of turnwatch',
  node_version: 'of Node',
}

/** The closed set of values that a label of a metric has; null where the set is open, see `OPEN_LABELS`. */
export function labelValues(name: MetricName, label: string): readonly string[] | null {
  if (!(catalogue[name].labels as readonly string[]).includes(label)) throw new Error(`${name} has no label ${label}`)
  return BY_METRIC[name]?.[label] ?? BY_LABEL[label] ?? null
}

/** Generators of turn events for property tests. */

import fc from 'fast-check'
import { OUTCOMES, type TurnEvent, WAIT_REASONS } from '../../instrumentation/events.ts'

/** Few ids, so that they meet; some that a careless program would trip over. */
const ids = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor', '\u0000', '\n', 'ü'.repeat(300))

const kinds: fc.Arbitrary<TurnEvent> = fc.oneof(
  fc.constant<TurnEvent>({ kind: 'turn.requested' }),
  fc.record(
    {
      kind: fc.constant('turn.started' as const),
      provider: fc.constantFrom('codex', 'claudeAgent', ''),
      model: fc.constantFrom('m', 'n', ''),
      parent: ids,
      blindTools: fc.boolean(),
    },
    { requiredKeys: ['kind'] },
  ) as fc.Arbitrary<TurnEvent>,
  fc.record(
    { kind: fc.constant('turn.restored' as const), startedAt: fc.constantFrom(0, -1, 1.8e12, Number.NaN, 1e300) },
    { requiredKeys: ['kind'] },
  ) as fc.Arbitrary<TurnEvent>,
  fc.constant<TurnEvent>({ kind: 'attempt.started' }),
  fc.constantFrom<TurnEvent>(
    { kind: 'token', stream: 'text' },
    { kind: 'token', stream: 'reasoning' },
    { kind: 'token', stream: 'tool-args' },
  ),
  fc
    .constantFrom('plan', 'model-call-start', 'model-call-end', 'unknown', '__proto__')
    .map((what): TurnEvent => ({ kind: 'progress', what })),
  fc.constantFrom('ping', 'unknown', '').map((what): TurnEvent => ({ kind: 'side', what })),
  ids.map((id): TurnEvent => ({ kind: 'tool.started', id })),
  ids.map((id): TurnEvent => ({ kind: 'tool.ended', id })),
  fc.record(
    {
      kind: fc.constant('wait.started' as const),
      id: ids,
      reason: fc.constantFrom(...WAIT_REASONS),
      until: fc.constantFrom(0, 1.767e12, 1.7672e12 + 90_000, 1e300, Number.NaN, Number.POSITIVE_INFINITY),
    },
    { requiredKeys: ['kind', 'id', 'reason'] },
  ) as fc.Arbitrary<TurnEvent>,
  ids.map((id): TurnEvent => ({ kind: 'wait.ended', id })),
  fc.constant<TurnEvent>({ kind: 'interrupt.requested' }),
  fc.constantFrom<TurnEvent>({ kind: 'error', message: 'overloaded' }, { kind: 'error' }),
  fc.constantFrom<TurnEvent>({ kind: 'exit', code: 1, signal: null }, { kind: 'exit' }),
  fc.constantFrom(...OUTCOMES).map((outcome): TurnEvent => ({ kind: 'turn.ended', outcome })),
)

/** Any event, of any turn or of none. */
export const anyEvent: fc.Arbitrary<TurnEvent> = fc
  .tuple(kinds, fc.option(ids, { nil: undefined }))
  .map(([event, turn]) => (turn === undefined ? event : { ...event, turn }))

export const THREADS = ['t', 'u', 'sub.t.x', '', '__proto__']
export const anyThread = fc.constantFrom(...THREADS)

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ReplayVerdict } from '../../hosts/replay/result.ts'
import { parseTrace, replayTrace, traceStats } from '../../hosts/replay/trace.ts'

const folder = new URL('../../examples/traces/', import.meta.url)
const traces = readdirSync(folder).map(
  (file) => [file, parseTrace(file, readFileSync(new URL(file, folder), 'utf8'))] as const,
)
const traceOf = (name: string) => traces.find(([file]) => file === `${name}.jsonl`)?.[1] as (typeof traces)[number][1]

const failed = new Set([
  'claude-err400',
  'claude-stall-300s',
  'codex-appserver-fail',
  'codex-fail',
  'codex-stall',
  'opencode-err',
])
const healthy = traces.filter(([file]) => !failed.has(file.replace('.jsonl', '')))

const brief = (verdicts: readonly ReplayVerdict[]) =>
  verdicts
    .filter(({ verdict }) => verdict !== 'suspect')
    .map(({ verdict, reason, phase, at }) => [verdict, reason, phase, at])

/** The statistics of every recording, repeated under new ids until each key has twenty samples. */
const history = Array.from({ length: 20 }, (_, round) =>
  traces.flatMap(([, trace]) => traceStats(trace).map((stats) => ({ ...stats, id: `${stats.id}#${round}` }))),
).flat()

describe.each(['event', 'tick'] as const)('where an %s goes first at the same instant', (first) => {
  it.each(healthy)('%s is never stale, with defaults and with what all recordings taught', (file, trace) => {
    for (const known of [[], history]) {
      const result = replayTrace(file, trace, { first, history: known })
      expect(brief(result.verdicts)).toEqual([])
      expect(result.turns.map(({ outcome }) => outcome)).toEqual(['completed'])
    }
  })

  it.each([
    ['claude-err400', [['stale', 'provider-error', 'first-token', 359]]],
    ['codex-fail', [['stale', 'provider-error', 'first-token', 459]]],
    ['codex-appserver-fail', [['stale', 'provider-error', 'first-token', 463]]],
    ['codex-stall', [['stale', 'provider-error', 'mid-stream', 14335]]],
    ['opencode-err', [['stale', 'provider-error', 'first-token', 2029]]],
  ] as const)('%s is stale once, with its reason', (name, verdicts) => {
    const result = replayTrace(name, traceOf(name), { first })
    expect(brief(result.verdicts)).toEqual(verdicts)
    expect(result.turns.map(({ outcome }) => outcome)).toEqual(['error'])
  })
})

it('what the recordings teach makes every key of a recording measured', () => {
  const measured = replayTrace('', traceOf('claude-stall-300s'), { history }).verdicts
  expect(measured.filter(({ verdict }) => verdict === 'stale')).toEqual([
    expect.objectContaining({ thresholdSource: 'measured', thresholdMs: 5150 * 1.5 }),
  ])
})

describe('claude-stall-300s', () => {
  const result = replayTrace('claude-stall-300s.jsonl', traceOf('claude-stall-300s'))

  it('is stale when its limit has passed, and recovers when the CLI asks again', () => {
    expect(brief(result.verdicts)).toEqual([
      ['stale', 'silence', 'mid-stream', 115_000],
      ['recovered', 'silence', 'mid-stream', 302_142],
    ])
  })

  it('is unfinished at the end of the recording', () => {
    expect(result.turns).toEqual([
      {
        turn: expect.any(String),
        thread: '11acf2ae-ec7c-4ca4-b938-cb0ea8ffdcdc',
        provider: 'claudeAgent',
        model: 'claude-opus-4-6',
        outcome: null,
        startedAt: 671,
        endedAt: null,
        durationMs: null,
        timeToFirstTokenMs: 75,
        maxGapMs: 300_035,
        eventCount: 43,
      },
    ])
  })

  it('is flagged once by the cautious preset too, later', () => {
    const cautious = replayTrace('', traceOf('claude-stall-300s'), { preset: 'cautious', untilMs: 2_000_000 })
    expect(brief(cautious.verdicts)).toEqual([['stale', 'silence', 'mid-stream', 303_443 + 750_000 + 557]])
  })
})

it('replies that our side sent end their waits', () => {
  const lines = [
    [0, 'in', { method: 'turn/started', params: { threadId: 'a', turn: { id: 't' } } }],
    [100, 'in', { id: 5, method: 'item/fileChange/requestApproval', params: { threadId: 'a', turnId: 't' } }],
    [400_000, 'out', { id: 5, result: {} }],
    [600_000, 'in', { method: 'warning', params: { threadId: 'a' } }],
  ] as const
  const text = lines.map(([t, dir, event]) => JSON.stringify({ t, dir, event })).join('\n')
  const { verdicts } = replayTrace('', parseTrace('x.jsonl', text))
  expect(brief(verdicts)).toEqual([['stale', 'silence', 'after-tool', 513_000]])
})

it('a tool that a recording shows only when finished counts against 300 s, not 90 s', () => {
  const at = (t: number, type: string) => JSON.stringify({ t, event: { type, sessionID: 's', part: {} } })
  const text = [at(0, 'step_start'), at(1000, 'text'), at(350_000, 'tool_use'), at(800_000, 'text')].join('\n')
  const { verdicts } = replayTrace('', parseTrace('x.jsonl', text))
  expect(brief(verdicts)).toEqual([
    ['stale', 'silence', 'mid-stream', 726_000],
    ['recovered', 'silence', 'mid-stream', 800_000],
  ])
})

it('several turns of one process each get their own events', () => {
  const init = { type: 'system', subtype: 'init', session_id: 's', model: 'm' }
  const result = { type: 'result', subtype: 'success', is_error: false, session_id: 's' }
  const token = { type: 'system', subtype: 'thinking_tokens', estimated_tokens_delta: 5, session_id: 's' }
  const status = { type: 'system', subtype: 'session_state_changed', state: 'idle', session_id: 's' }
  const events = [init, token, result, status, init, token, token, token, result, status]
  const text = events.map((event, i) => JSON.stringify({ t: i * 100, event })).join('\n')
  const { turns } = replayTrace('', parseTrace('x.jsonl', text))
  expect(
    turns.map(({ thread, outcome, startedAt, endedAt, eventCount }) => [
      thread,
      outcome,
      startedAt,
      endedAt,
      eventCount,
    ]),
  ).toEqual([
    ['s', 'completed', 0, 200, 3],
    ['s', 'completed', 400, 800, 5],
  ])
})

it('an announced retry in a recording that has no dates is a new attempt, not an hour of patience', () => {
  const status = (t: number, more: object) =>
    JSON.stringify({ t, event: { type: 'session.status', properties: { sessionID: 's', status: more } } })
  const text = [status(0, { type: 'busy' }), status(1000, { type: 'retry', next: 1_796_028_569_000 })].join('\n')
  const { verdicts } = replayTrace('', parseTrace('x.jsonl', text), { untilMs: 400_000 })
  expect(brief(verdicts)).toEqual([['stale', 'silence', 'first-token', 152_000]])
})

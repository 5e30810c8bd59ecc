import { describe, expect, test } from 'vitest'
import type { Usage } from '../../instrumentation/events.ts'
import { TurnCounters } from '../../instrumentation/turn-counters.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { read, trace } from '../sources/read.ts'

/** What the turns of a recording used, each at its end. */
function usages(name: Parameters<typeof read>[0], raws: readonly unknown[]): (Usage | undefined)[] {
  return read(name, raws).flatMap(({ event }) => (event.kind === 'turn.ended' ? [event.usage] : []))
}

describe('what a turn has used', () => {
  test('Claude Code: all of its model calls, and how long what they wrote lives', () => {
    expect(usages('claude-code-stream-json', trace('claude.jsonl'))).toEqual([
      {
        inputTokens: 24,
        outputTokens: 84,
        cacheReadTokens: 0,
        cacheWriteTokens: 40_000,
        cacheWriteByTtl: { '5m': 0, '1h': 40_000 },
      },
    ])
  })

  test('Claude Code: of a thread that goes on only this turn, though the wire tells what the whole thread used too', () => {
    expect(usages('claude-code-stream-json', trace('claude-continue.jsonl'))).toMatchObject([
      { inputTokens: 12, cacheReadTokens: 20_000, cacheWriteTokens: 0 },
    ])
  })

  test('Messages API: the lifetimes that its start tells, the counts that come last', () => {
    const [start, delta, stop] = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          model: 'claude-opus-4-5',
          usage: {
            input_tokens: 30,
            cache_read_input_tokens: 400,
            cache_creation_input_tokens: 50,
            cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
            output_tokens: 1,
          },
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 84 } },
      { type: 'message_stop' },
    ]
    expect(usages('anthropic-messages', [start, delta, delta, stop])).toEqual([
      {
        inputTokens: 30,
        outputTokens: 84,
        cacheReadTokens: 400,
        cacheWriteTokens: 50,
        cacheWriteByTtl: { '5m': 20, '1h': 30 },
      },
    ])
  })

  test('Codex: a process that resumes a thread tells its total, of which this turn is the growth', () => {
    const [first] = usages('codex-exec-json', trace('codex.jsonl'))
    const [second] = usages('codex-exec-json', trace('codex-resume.jsonl'))
    expect(first).toMatchObject({ inputTokens: 60, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 20 })
    expect(second).toMatchObject({ inputTokens: 30, outputTokens: 42, cacheReadTokens: 60, cacheWriteTokens: 10 })
    expect(usages('codex-exec-json', trace('codex-resume.jsonl')), 'the same recording again').toMatchObject([
      { outputTokens: 126, cacheReadTokens: 180, cacheWriteTokens: 30 },
    ])
  })

  test('T3: what the adapter of Claude passes on', () => {
    const usage = {
      input_tokens: 12,
      output_tokens: 42,
      cache_read_input_tokens: 20_000,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 0 },
    }
    const of = (type: string, payload: object) => ({
      type,
      provider: 'claudeAgent',
      threadId: 'a',
      turnId: 't',
      payload,
    })
    const ended = (payload: object) => [
      of('turn.started', {}),
      of('turn.completed', { state: 'completed', ...payload }),
    ]
    expect(usages('t3-canonical', ended({ usage }))).toMatchObject([
      { inputTokens: 12, cacheReadTokens: 20_000, cacheWriteTokens: 300, cacheWriteByTtl: { '5m': 300, '1h': 0 } },
    ])
    expect(usages('t3-canonical', ended({ usage: { tokens: 7 } }))).toEqual([undefined])
  })
})

describe('the counters', () => {
  const counted = (...usages: unknown[]) => {
    const counters = new TurnCounters()
    counters.addKey()
    for (const usage of usages) counters.used(0, usage as Usage)
    const { cacheRead, cacheWritten, uncached } = counters.at(0)
    return { cacheRead, cacheWritten, uncached }
  }
  const plain = { inputTokens: 5, outputTokens: 9, cacheReadTokens: 70, cacheWriteTokens: 30 }

  test('add up turns, what was written by how long it lives', () => {
    expect(counted(plain, { ...plain, cacheWriteByTtl: { '5m': 20, '1h': 4 } })).toEqual({
      cacheRead: 140,
      cacheWritten: { '5m': 20, '1h': 4, unknown: 36 },
      uncached: 10,
    })
  })

  test('take nothing that is no number of tokens', () => {
    const none = { cacheRead: 0, cacheWritten: { '5m': 0, '1h': 0, unknown: 0 }, uncached: 0 }
    for (const bad of [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300, '5', null, undefined, {}]) {
      const usage = { inputTokens: bad, cacheReadTokens: bad, cacheWriteTokens: bad, cacheWriteByTtl: { '5m': bad } }
      expect(counted(usage), String(bad)).toEqual(none)
    }
    expect(counted({}, { ...plain, cacheWriteByTtl: { '1h': 1000 } }), 'more of a lifetime than was written').toEqual({
      cacheRead: 70,
      cacheWritten: { '5m': 0, '1h': 1000, unknown: 0 },
      uncached: 5,
    })
  })
})

describe('the metrics', () => {
  /** What was counted, by metric, model and lifetime. */
  const tokens = (watch: Turnwatch) => {
    const families = watch.metrics().filter(({ name }) => name.startsWith('turnwatch_prompt_cache_'))
    const entries = families.flatMap(({ name, points }) =>
      points.map((point) => [
        [name.slice('turnwatch_prompt_cache_'.length), point.labels.model, point.labels.ttl].join(' ').trim(),
        'value' in point ? point.value : null,
      ]),
    )
    return Object.fromEntries(entries)
  }
  const usage = {
    inputTokens: 5,
    outputTokens: 9,
    cacheReadTokens: 70,
    cacheWriteTokens: 30,
    cacheWriteByTtl: { '5m': 20, '1h': 4 },
  }

  test('start at 0 and count a turn at its end, once, by its model', () => {
    const { watch } = fixture()
    const start = () => watch.startTurn({ threadId: 'a', provider: 'claudeAgent', model: 'opus' })
    const turn = watch.startTurn({ threadId: 'a', turnId: 't', provider: 'claudeAgent', model: 'opus' })
    expect(tokens(watch)).toEqual({
      'read_tokens_total opus': 0,
      'write_tokens_total opus 5m': 0,
      'write_tokens_total opus 1h': 0,
      'write_tokens_total opus unknown': 0,
      'uncached_tokens_total opus': 0,
    })
    const ended = { kind: 'turn.ended', outcome: 'completed', usage } as const
    turn.observe(ended)
    turn.observe(ended)
    watch.observe('a', { ...ended, turn: 't' })
    start().observe({ ...ended, outcome: 'aborted' })
    start().observe({ kind: 'turn.ended', outcome: 'completed' })
    expect(tokens(watch)).toEqual({
      'read_tokens_total opus': 140,
      'write_tokens_total opus 5m': 40,
      'write_tokens_total opus 1h': 8,
      'write_tokens_total opus unknown': 12,
      'uncached_tokens_total opus': 10,
    })
  })

  test('count a recorded run, and nothing of the calls within it twice', () => {
    const { watch } = fixture()
    for (const { thread, event } of read('claude-code-stream-json', trace('claude.jsonl'))) watch.observe(thread, event)
    expect(tokens(watch)).toEqual({
      'read_tokens_total claude-opus-4-6': 0,
      'write_tokens_total claude-opus-4-6 5m': 0,
      'write_tokens_total claude-opus-4-6 1h': 40_000,
      'write_tokens_total claude-opus-4-6 unknown': 0,
      'uncached_tokens_total claude-opus-4-6': 24,
    })
  })
})

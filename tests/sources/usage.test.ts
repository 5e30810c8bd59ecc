import { describe, expect, test } from 'vitest'
import type { TurnEvent, Usage } from '../../instrumentation/events.ts'
import { PiSource } from '../../instrumentation/sources/pi.ts'
import { watchIterable } from '../../instrumentation/taps/iterable.ts'
import { read } from './read.ts'

type End = readonly [outcome: string, usage: Usage | undefined]

function ends(said: readonly { event: TurnEvent }[]): End[] {
  return said.flatMap(({ event }) => (event.kind === 'turn.ended' ? [[event.outcome, event.usage] as const] : []))
}

function pi(...raws: Record<string, unknown>[]): End[] {
  const source = new PiSource()
  const said: { event: TurnEvent }[] = []
  for (const raw of raws) source.read(raw, (_thread, event) => said.push({ event }))
  return ends(said)
}

const opencode = (type: string, properties: object) => ({ type, properties: { sessionID: 's', ...properties } })
const step = (input: number, cached: number) =>
  opencode('message.part.updated', {
    part: {
      id: `step ${input}`,
      sessionID: 's',
      messageID: 'm',
      type: 'step-finish',
      tokens: { input, output: 1, cache: { read: cached, write: 0 } },
    },
  })
const answer = (input: number, cacheRead: number) => ({
  type: 'message_end',
  message: { role: 'assistant', model: 'x', usage: { input, cacheRead, output: 1 } },
})
const appServer = (method: string, params: object) => ({ method, params: { threadId: 't', ...params } })
const counted = (turnId: string, totalTokens: number, last: object) =>
  appServer('thread/tokenUsage/updated', { turnId, tokenUsage: { total: { totalTokens }, last } })

describe('what comes after the end of a turn counts nothing twice', () => {
  test('OpenCode: what an aborted turn still does', () => {
    const said = read('opencode-sse', [
      opencode('session.status', { status: { type: 'busy' } }),
      step(100, 1000),
      opencode('session.error', { error: { name: 'MessageAbortedError', data: { message: 'stopped' } } }),
      opencode('message.part.updated', {
        part: { id: 'p', sessionID: 's', messageID: 'm', type: 'text', text: 'abc' },
      }),
      opencode('session.idle', {}),
    ])
    expect(ends(said)).toEqual([
      ['aborted', { inputTokens: 100, outputTokens: 1, cacheReadTokens: 1000, cacheWriteTokens: 0 }],
      ['completed', undefined],
    ])
  })

  test('pi: a run whose start was not seen', () => {
    const token = {
      type: 'message_update',
      message: { role: 'assistant' },
      assistantMessageEvent: { type: 'text_delta', delta: 'x' },
    }
    const end = { type: 'agent_end', messages: [] }
    expect(pi({ type: 'agent_start' }, answer(100, 1000), end, token, end)).toEqual([
      ['completed', { inputTokens: 100, outputTokens: 1, cacheReadTokens: 1000, cacheWriteTokens: 0 }],
      ['completed', undefined],
    ])
  })

  test('Codex: a turn whose start was not seen', () => {
    const said = read('codex-app-server', [
      appServer('turn/started', { turn: { id: '1' } }),
      counted('1', 1100, { inputTokens: 1000, cachedInputTokens: 400, outputTokens: 100 }),
      appServer('turn/completed', { turn: { id: '1', status: 'completed' } }),
      appServer('item/agentMessage/delta', { turnId: '2', itemId: 'i', delta: 'x' }),
      appServer('turn/completed', { turn: { id: '2', status: 'completed' } }),
    ])
    expect(ends(said)).toEqual([
      ['completed', { inputTokens: 600, outputTokens: 100, cacheReadTokens: 400, cacheWriteTokens: 0 }],
      ['completed', undefined],
    ])
  })
})

describe('a negative part of usage is none, and takes nothing of other steps', () => {
  const used = { inputTokens: 100, outputTokens: 2, cacheReadTokens: 1000, cacheWriteTokens: 0 }

  test('pi', () => {
    const [end] = pi({ type: 'agent_start' }, answer(100, 1000), answer(-90, -999), { type: 'agent_end', messages: [] })
    expect(end).toEqual(['completed', used])
  })

  test('OpenCode', () => {
    const busy = opencode('session.status', { status: { type: 'busy' } })
    const said = read('opencode-sse', [busy, step(100, 1000), step(-90, -999), opencode('session.idle', {})])
    expect(ends(said)).toEqual([['completed', used]])
    const item = (input: number, cached: number) => ({
      type: 'step_finish',
      sessionID: 's',
      part: { tokens: { input, output: 1, cache: { read: cached } } },
    })
    const error = { type: 'error', sessionID: 's', error: 'failed' }
    expect(ends(read('opencode-run-json', [item(100, 1000), item(-90, -999), error]))).toEqual([['error', used]])
  })

  test('Codex', () => {
    const said = read('codex-app-server', [
      appServer('turn/started', { turn: { id: '1' } }),
      counted('1', 1100, { inputTokens: 1100, cachedInputTokens: 1000, outputTokens: 1 }),
      counted('1', 1101, { inputTokens: -5, cachedInputTokens: -999, outputTokens: 1 }),
      appServer('turn/completed', { turn: { id: '1', status: 'completed' } }),
    ])
    expect(ends(said)).toEqual([['completed', used]])
    const usage = { input_tokens: 50, cached_input_tokens: -100, output_tokens: 3 }
    expect(ends(read('codex-exec-json', [{ type: 'turn.started' }, { type: 'turn.completed', usage }]))).toEqual([
      ['completed', { inputTokens: 50, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 }],
    ])
  })
})

describe('the Messages API tells what a turn uses before its end', () => {
  const start = (id: string) => ({
    type: 'message_start',
    message: {
      id,
      model: 'claude-opus-4-5',
      usage: { input_tokens: 10, cache_read_input_tokens: 5000, cache_creation_input_tokens: 300 },
    },
  })
  const token = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'x' } }
  const known = { inputTokens: 10, outputTokens: 0, cacheReadTokens: 5000, cacheWriteTokens: 300 }

  /** What is told of the stream by a consumer that stops after so many messages. */
  async function stopped(raws: readonly object[], after: number) {
    const said: { event: TurnEvent }[] = []
    const watch = {
      observe: (_thread: string, event: TurnEvent) => said.push({ event }),
      unclassified: () => {},
      unreadable: () => {},
    }
    async function* stream() {
      yield* raws
    }
    let left = after
    for await (const _ of watchIterable(stream(), watch, { source: 'anthropic-messages', thread: 'a' })) {
      if (--left === 0) break
    }
    return ends(said)
  }

  test('which counts where another response displaces it', () => {
    const said = read('anthropic-messages', [
      start('1'),
      token,
      start('2'),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ])
    expect(ends(said)).toEqual([
      ['aborted', known],
      ['completed', { ...known, outputTokens: 3 }],
    ])
  })

  test('which counts where its consumer stops it', async () => {
    expect(await stopped([start('1'), token, token, token], 3)).toEqual([['aborted', known]])
  })

  test('and is not told again of a turn that is over', async () => {
    const stop = { type: 'message_stop' }
    expect(await stopped([start('1'), token, stop, token], 4)).toEqual([['completed', known]])
    expect(await stopped([start('1'), token, stop, start('2'), token], 5)).toEqual([
      ['completed', known],
      ['aborted', known],
    ])
  })
})

import { describe, expect, it } from 'vitest'
import { folded, lines, read, trace } from './read.ts'

describe('codex exec', () => {
  const NAME = 'codex-exec-json'
  const begin = [{ type: 'thread.started', thread_id: 'c' }, { type: 'turn.started' }]
  const item = (type: string, what: string, id = 'i') => ({ type: `item.${what}`, item: { id, type } })

  it('reads a recorded run', () => {
    const id = '01a22b9e-07a1-7533-b2a9-c7c27d5bedd7'
    expect(lines(read(NAME, trace('codex.jsonl')))).toEqual([
      `${id} turn.started provider=codex`,
      `${id} token stream=reasoning`,
      `${id} token stream=text`,
      `${id} tool.started id=item_3 name=command_execution`,
      `${id} tool.ended id=item_3`,
      `${id} token stream=text`,
      `${id} turn.ended outcome=completed`,
    ])
  })

  it('a reconnect is a new attempt, the final error ends the turn', () => {
    expect(lines(read(NAME, trace('codex-fail.jsonl'))).map((line) => line.split(' ').slice(1, 3).join(' '))).toEqual([
      'turn.started provider=codex',
      'attempt.started',
      'error message=stream',
      'turn.ended outcome=error',
      'error message=stream',
      'turn.ended outcome=error',
    ])
  })

  it('usage is what the running total of the thread grew by', () => {
    const usage = (input: number, cached: number, output: number) => ({
      type: 'turn.completed',
      usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: output },
    })
    const said = read(NAME, [...begin, usage(200, 120, 84), { type: 'turn.started' }, usage(300, 180, 126)])
    const used = said.flatMap(({ event }) => (event.kind === 'turn.ended' ? [event.usage] : []))
    expect(used).toEqual([
      { inputTokens: 80, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 0 },
      { inputTokens: 40, outputTokens: 42, cacheReadTokens: 60, cacheWriteTokens: 0 },
    ])
  })

  it('a question ends with the next item or turn event', () => {
    const said = lines(
      read(NAME, [...begin, { type: 'request_user_input', call_id: 'q' }, item('agent_message', 'completed')]),
    )
    expect(said.slice(1)).toEqual(['c wait.started id=q reason=input', 'c wait.ended id=q', 'c token stream=text'])
  })

  it('an error before the turn began is a failed turn', () => {
    expect(lines(read(NAME, [begin[0], { type: 'error', message: 'no auth' }]))).toEqual([
      'c turn.started provider=codex',
      'c error message=no auth',
      'c turn.ended outcome=error',
    ])
  })
})

describe('codex app-server', () => {
  const NAME = 'codex-app-server'
  const of = (method: string, params: object, more: object = {}) => ({ method, params, ...more })
  const turnStarted = (threadId: string, id: string) => of('turn/started', { threadId, turn: { id } })
  const delta = (threadId: string, turnId: string) =>
    of('item/agentMessage/delta', { threadId, turnId, itemId: 'm', delta: 'x' })

  it('reads a recorded run, model and usage too', () => {
    const said = read(NAME, trace('codex-appserver.jsonl'))
    const [thread, turn] = ['01a22b9e-d4ec-7e13-9284-f91f7c0af711', '01a22b9e-d503-7440-bb9c-bd3ea500c56a']
    expect(folded(lines(said))).toEqual([
      `${thread} turn.requested`,
      `${thread} wait.ended id=thread-status`,
      `${thread} turn.started provider=codex model=gpt-5.2-codex turn=${turn}`,
      `${thread} token stream=reasoning turn=${turn} x3`,
      `${thread} token stream=text turn=${turn} x4`,
      `${thread} tool.started id=call_fake0 name=commandExecution turn=${turn}`,
      `${thread} tool.ended id=call_fake0 turn=${turn}`,
      `${thread} token stream=text turn=${turn} x3`,
      `${thread} turn.ended outcome=completed turn=${turn}`,
    ])
    expect(said.at(-1)?.event).toMatchObject({
      usage: { inputTokens: 60, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 20 },
    })
  })

  it('usage is that of the model calls, each once although a failed attempt repeats that of the call before', () => {
    const used = (calls: number) =>
      of('thread/tokenUsage/updated', {
        threadId: 'a',
        turnId: 't',
        tokenUsage: {
          total: { totalTokens: calls * 142 },
          last: { inputTokens: 100, cachedInputTokens: 60, outputTokens: 42 },
        },
      })
    const retry = of('error', { threadId: 'a', turnId: 't', willRetry: true, error: { message: 'lost' } })
    const end = of('turn/completed', { threadId: 'a', turn: { id: 't', status: 'completed' } })
    const said = read(NAME, [turnStarted('a', 't'), used(1), used(1), retry, used(2), end])
    expect(said.at(-1)?.event).toMatchObject({ usage: { inputTokens: 80, outputTokens: 84, cacheReadTokens: 120 } })
  })

  it('keeps the threads of one connection apart, with their parents', () => {
    const known = of('thread/started', { thread: { id: 'b', parentThreadId: 'a', model: 'm2' } })
    expect(
      lines(
        read(NAME, [
          turnStarted('a', 't1'),
          known,
          turnStarted('b', 't2'),
          delta('a', 't1'),
          delta('b', 't2'),
          delta('a', 't1'),
        ]),
      ),
    ).toEqual([
      'a turn.started provider=codex turn=t1',
      'b turn.started provider=codex model=m2 parent=a turn=t2',
      'a token stream=text turn=t1',
      'b token stream=text turn=t2',
      'a token stream=text turn=t1',
    ])
  })

  it('an approval waits until our reply, or until the server says it is resolved', () => {
    const ask = of('item/commandExecution/requestApproval', { threadId: 'a', turnId: 't', itemId: 'i' }, { id: 7 })
    const said = [
      turnStarted('a', 't'),
      of('thread/status/changed', { threadId: 'a', status: { type: 'active', activeFlags: ['waitingOnApproval'] } }),
      ask,
      [{ id: 7, result: { decision: 'accept' } }, 'out'],
      of('serverRequest/resolved', { threadId: 'a', requestId: 7 }),
      of('thread/status/changed', { threadId: 'a', status: { type: 'active', activeFlags: [] } }),
    ]
    expect(lines(read(NAME, said)).slice(1)).toEqual([
      'a wait.started id=thread-status reason=approval',
      'a wait.started id=7 reason=approval turn=t',
      'a wait.ended id=7',
      'a wait.ended id=7',
      'a wait.ended id=thread-status',
    ])
  })

  it('a retry is a new attempt; failure, interruption and a closed thread are ends of their own kind', () => {
    const error = (willRetry: boolean) =>
      of('error', { threadId: 'a', turnId: 't', willRetry, error: { message: 'lost' } })
    const done = (status: string) =>
      of('turn/completed', { threadId: 'a', turn: { id: 't', status, error: { message: 'bad' } } })
    const next = (raw: unknown) => lines(read(NAME, [turnStarted('a', 't'), raw])).slice(1)
    expect(next(error(true))).toEqual(['a attempt.started turn=t'])
    expect(next(error(false))).toEqual(['a error message=lost turn=t', 'a turn.ended outcome=error turn=t'])
    expect(next(done('failed'))).toEqual(['a error message=bad turn=t', 'a turn.ended outcome=error turn=t'])
    expect(next(done('interrupted'))).toEqual(['a turn.ended outcome=aborted turn=t'])
    expect(next(of('thread/closed', { threadId: 'a' }))).toEqual(['a exit'])
    expect(next([of('turn/interrupt', { threadId: 'a', turnId: 't' }, { id: 9 }), 'out'])).toEqual([
      'a interrupt.requested turn=t',
    ])
  })

  it('a prompt that the server refuses is no request any more, and a hook of the session is no turn', () => {
    const prompt = [of('turn/start', { threadId: 'a' }, { id: 4 }), 'out']
    const hook = of('hook/started', { threadId: 'a', turnId: null, run: { id: 'h' } })
    expect(lines(read(NAME, [prompt, { id: 4, error: { message: 'busy' } }, hook]))).toEqual([
      'a turn.requested',
      'a error message=busy',
    ])
  })

  it('broadcasts speak for no turn, and content without a turn id is none', () => {
    const raws = [
      turnStarted('a', 't'),
      of('account/rateLimits/updated', {}),
      of('account/never-heard', {}),
      of('thread/never-heard', { threadId: 'a' }),
      of('item/never-heard', { threadId: 'a', turnId: 't' }),
      of('thread/realtime/outputAudio/delta', { threadId: 'a' }),
    ]
    expect(read(NAME, raws).slice(1)).toEqual([
      { thread: 'a', event: { kind: 'side', what: 'unknown' } },
      { thread: 'a', event: { kind: 'progress', what: 'unknown', turn: 't' } },
      { thread: 'a', event: { kind: 'side', what: 'thread/realtime/outputAudio/delta' } },
    ])
  })
})

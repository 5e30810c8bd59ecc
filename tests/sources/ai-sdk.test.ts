import { describe, expect, it } from 'vitest'
import { faultsOfMangled } from './mangled.ts'
import { folded, lines, read } from './read.ts'

const call = (type: string, more: object = {}) => ({
  type,
  toolCallId: 'call_1',
  toolName: 'search',
  input: {},
  ...more,
})

describe.each(['ai-sdk-fullstream', 'ai-sdk-fullstream-v6'] as const)('%s', (NAME) => {
  const start = { type: 'start' }
  const text = { type: 'text-delta', id: '0', text: 'hi' }
  const totalUsage = {
    inputTokens: 200,
    inputTokenDetails: { noCacheTokens: 48, cacheReadTokens: 120, cacheWriteTokens: 30 },
    outputTokens: 84,
  }
  const stepDone = (modelId: unknown = 'gpt-x') => ({
    type: 'finish-step',
    response: { id: 'r', modelId, timestamp: new Date(0) },
    usage: {},
    finishReason: 'stop',
  })
  const finish = (finishReason = 'stop', more: object = {}) => ({ type: 'finish', finishReason, totalUsage, ...more })
  const started = 'ai-sdk turn.started provider=ai-sdk'
  const run = [
    start,
    { type: 'start-step', request: {}, warnings: [] },
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', text: 'hm' },
    { type: 'tool-input-start', id: 'call_1', toolName: 'search' },
    { type: 'tool-input-delta', id: 'call_1', delta: '{}' },
    call('tool-call'),
    call('tool-result', { output: 1, preliminary: true }),
    call('tool-result', { output: 2 }),
    stepDone(),
    { type: 'start-step', request: {}, warnings: [] },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', text: '' },
    text,
    stepDone(),
    finish(),
  ]

  it('is one turn over all its steps; the model is known when the first is over', () => {
    const said = read(NAME, run)
    expect(folded(lines(said))).toEqual([
      started,
      'ai-sdk token stream=reasoning',
      'ai-sdk token stream=tool-args',
      'ai-sdk tool.started id=call_1 name=search',
      'ai-sdk tool.ended id=call_1',
      `${started} model=gpt-x`,
      'ai-sdk token stream=text',
      'ai-sdk turn.ended outcome=completed',
    ])
    expect(said.at(-1)?.event).toMatchObject({
      usage: { inputTokens: 48, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 30 },
    })
    const older = { inputTokens: 200, cachedInputTokens: 120, outputTokens: 84 }
    expect(read(NAME, [start, finish('stop', { totalUsage: older })]).at(-1)?.event).toMatchObject({
      usage: { inputTokens: 80, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 0 },
    })
  })

  it('belongs to the thread, provider and model that the options name, until the wire knows better', () => {
    const options = { thread: 'boss', provider: 'openai', model: 'm', parent: 'root' }
    expect(lines(read(NAME, [start, stepDone(null), stepDone()], options))).toEqual([
      'boss turn.started provider=openai model=m parent=root',
      'boss turn.started provider=openai model=gpt-x parent=root',
    ])
  })

  it('ends as the wire says', () => {
    const ends = (raw: unknown) => lines(read(NAME, [start, raw])).slice(1)
    expect(ends(finish('length'))).toEqual(['ai-sdk turn.ended outcome=incomplete'])
    expect(ends(finish('content-filter'))).toEqual(['ai-sdk turn.ended outcome=incomplete'])
    expect(ends({ type: 'abort', reason: 'user' })).toEqual(['ai-sdk turn.ended outcome=aborted'])
    const failed = (message: string) => [`ai-sdk error message=${message}`, 'ai-sdk turn.ended outcome=error']
    expect(ends(finish('error'))).toEqual(failed('the run reported an error'))
  })

  it('goes on after an error, or is over when it says so', () => {
    const next = (...raws: unknown[]) => lines(read(NAME, [start, ...raws])).slice(1)
    const error = (of: unknown = 'boom') => ({ type: 'error', error: of })
    const failed = 'ai-sdk error message=boom'
    expect(next(error(new Error('boom')))).toEqual([failed])
    expect(next(error({ name: 'AI_APICallError' }))).toEqual(['ai-sdk error message=AI_APICallError'])
    expect(next(error(), text, finish())).toEqual([
      failed,
      'ai-sdk token stream=text',
      'ai-sdk turn.ended outcome=completed',
    ])
    expect(next(error(), call('tool-result'), finish()).at(-1)).toBe('ai-sdk turn.ended outcome=completed')
    expect(next(error(), finish())).toEqual([failed, 'ai-sdk turn.ended outcome=error'])
    expect(next(error(), finish('error'))).toEqual([failed, 'ai-sdk turn.ended outcome=error'])
    expect(next(error(), { type: 'abort' })).toEqual([failed, 'ai-sdk turn.ended outcome=aborted'])
    expect(next(error(), finish(), start, finish()).at(-1)).toBe('ai-sdk turn.ended outcome=completed')
  })

  it('that fails before it began is a failed turn all the same; an error after its end says nothing', () => {
    const error = { type: 'error', error: 'boom' }
    expect(lines(read(NAME, [error, finish(), error]))).toEqual([
      started,
      'ai-sdk error message=boom',
      'ai-sdk turn.ended outcome=error',
    ])
  })

  it('has a thread of its own where none is named', () => {
    const threads = [start, start].map((raw) => read(NAME, [raw])[0]?.thread)
    for (const thread of threads) expect(thread).toMatch(/^ai-sdk-lfls-\d+$/)
    expect(new Set(threads).size).toBe(2)
  })

  it('has one end, and what comes after it opens no other turn', () => {
    const late = [finish('error'), stepDone(), text, call('tool-call'), call('tool-result'), { type: 'abort' }]
    expect(lines(read(NAME, [start, { type: 'error', error: 'boom' }, ...late])).slice(1)).toEqual([
      'ai-sdk error message=boom',
      'ai-sdk turn.ended outcome=error',
      'ai-sdk tool.ended id=call_1',
    ])
    expect(lines(read(NAME, [start, finish(), start, text, finish()])).slice(2)).toEqual([
      started,
      'ai-sdk token stream=text',
      'ai-sdk turn.ended outcome=completed',
    ])
  })

  it('waits for approvals, and closes the tools that fail or are denied', () => {
    const raws = [
      start,
      call('tool-call'),
      { type: 'tool-approval-request', approvalId: 'a', toolCall: {} },
      call('tool-output-denied'),
      call('tool-call', { toolCallId: 'call_2', toolName: null }),
      call('tool-error', { toolCallId: 'call_2', error: 'x' }),
      call('tool-call', { toolCallId: undefined }),
    ]
    expect(lines(read(NAME, raws)).slice(1)).toEqual([
      'ai-sdk tool.started id=call_1 name=search',
      'ai-sdk wait.started id=a reason=approval',
      'ai-sdk tool.ended id=call_1',
      'ai-sdk tool.started id=call_2',
      'ai-sdk tool.ended id=call_2',
      'ai-sdk progress what=tool-call',
    ])
  })

  it('is begun by no step that is over', () => {
    expect(lines(read(NAME, [stepDone()]))).toEqual([])
  })

  it('read from its middle on has turns up to their ends', () => {
    expect(lines(read(NAME, [{ type: 'text-start', id: '0' }, text, finish(), text, start]))).toEqual([
      started,
      'ai-sdk token stream=text',
      'ai-sdk turn.ended outcome=completed',
      started,
      'ai-sdk token stream=text',
      'ai-sdk turn.ended outcome=aborted',
      started,
    ])
  })

  it('a file that the model made is its output', () => {
    expect(lines(read(NAME, [start, { type: 'file', file: {} }])).slice(1)).toEqual(['ai-sdk token stream=text'])
  })

  it('any value may be missing or of the wrong type', () => {
    const more = [start, { type: 'tool-approval-request', approvalId: 'a' }, { type: 'error', error: { message: 'x' } }]
    expect(faultsOfMangled(NAME, [...run, ...more])).toEqual([])
  })

  it('what our side sends says nothing', () => {
    expect(read(NAME, [[start, 'out']])).toEqual([])
  })
})

it('what only version 7 has is unknown to version 6', () => {
  const raws = [{ type: 'start' }, { type: 'ping' }, { type: 'reasoning-file', file: {} }]
  const of = (name: 'ai-sdk-fullstream' | 'ai-sdk-fullstream-v6') => {
    const unclassified: string[] = []
    const said = read(name, raws, { onUnclassified: (_, type) => unclassified.push(type) })
    return [said.slice(1).map(({ event }) => event), unclassified]
  }
  expect(of('ai-sdk-fullstream')).toEqual([
    [
      { kind: 'side', what: 'ping' },
      { kind: 'token', stream: 'reasoning' },
    ],
    [],
  ])
  expect(of('ai-sdk-fullstream-v6')).toEqual([
    [
      { kind: 'side', what: 'unknown' },
      { kind: 'progress', what: 'unknown' },
    ],
    ['ping', 'reasoning-file'],
  ])
})

describe('the UI stream', () => {
  const NAME = 'ai-sdk-ui-stream'
  const start = (messageId?: string) => ({ type: 'start', ...(messageId === undefined ? {} : { messageId }) })
  const text = { type: 'text-delta', id: '0', delta: 'hi' }
  const run = [
    start('m1'),
    { type: 'start-step' },
    { type: 'reasoning-delta', id: '0', delta: 'hm' },
    { type: 'data-weather', data: { temperature: 5 } },
    { type: 'tool-input-start', toolCallId: 'call_1', toolName: 'search' },
    { type: 'tool-input-delta', toolCallId: 'call_1', inputTextDelta: '{}' },
    call('tool-input-available'),
    call('tool-output-available', { output: 1, preliminary: true }),
    call('tool-output-available', { output: 2 }),
    { type: 'reset-step' },
    text,
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'stop' },
  ]

  it("is one turn over all its steps, in its message's thread; data of the host is no progress", () => {
    const unclassified: string[] = []
    expect(lines(read(NAME, run, { onUnclassified: (_, type) => unclassified.push(type) }))).toEqual([
      'm1 turn.started provider=ai-sdk',
      'm1 token stream=reasoning',
      'm1 token stream=tool-args',
      'm1 tool.started id=call_1 name=search',
      'm1 tool.ended id=call_1',
      'm1 attempt.started',
      'm1 token stream=text',
      'm1 turn.ended outcome=completed',
    ])
    expect(unclassified).toEqual([])
  })

  it('goes on in the same message with a turn of its own', () => {
    expect(lines(read(NAME, [start('m1'), { type: 'finish' }, text, start('m1'), text])).slice(1)).toEqual([
      'm1 turn.ended outcome=completed',
      'm1 turn.started provider=ai-sdk',
      'm1 token stream=text',
    ])
  })

  it('gives up the message that another cuts off', () => {
    expect(lines(read(NAME, [start('m1'), start('m1'), start('m2')]))).toEqual([
      'm1 turn.started provider=ai-sdk',
      'm1 turn.ended outcome=aborted',
      'm2 turn.started provider=ai-sdk',
    ])
  })

  it('ends as the wire says, and waits for approvals', () => {
    const next = (...raws: unknown[]) => lines(read(NAME, [start(), ...raws], { thread: 't' })).slice(1)
    expect(next({ type: 'error', errorText: 'boom' }, { type: 'finish' })).toEqual([
      't error message=boom',
      't turn.ended outcome=error',
    ])
    expect(next({ type: 'abort' })).toEqual(['t turn.ended outcome=aborted'])
    expect(next({ type: 'finish', finishReason: 'error' })).toEqual([
      't error message=the run reported an error',
      't turn.ended outcome=error',
    ])
    expect(
      next(
        { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
        { type: 'tool-approval-response', approvalId: 'a', approved: true },
        { type: 'tool-input-error', toolCallId: 'c', errorText: 'x' },
      ),
    ).toEqual(['t wait.started id=a reason=approval', 't wait.ended id=a', 't tool.ended id=c'])
  })

  it('ends with the stream where nothing else ends it', () => {
    const text = { type: 'text-delta', id: '0', delta: 'hi' }
    expect(lines(read(NAME, ['[DONE]', start('m1'), text, '[DONE]', '[DONE]'])).slice(1)).toEqual([
      'm1 token stream=text',
      'm1 turn.ended outcome=completed',
    ])
    expect(lines(read(NAME, [start('m1'), { type: 'abort' }, '[DONE]'])).slice(1)).toEqual([
      'm1 turn.ended outcome=aborted',
    ])
    expect(
      read(NAME, [
        [start(), 'out'],
        ['[DONE]', 'out'],
      ]),
    ).toEqual([])
  })

  it('tells events without a type', () => {
    const unclassified: string[] = []
    read(NAME, [{ id: '0', delta: 'hi' }, ': comment'], { onUnclassified: (_, type) => unclassified.push(type) })
    expect(unclassified).toEqual(['no type', 'string'])
  })

  it('any value may be missing or of the wrong type', () => {
    expect(faultsOfMangled(NAME, [...run, { type: 'error', errorText: 'x' }])).toEqual([])
  })
})

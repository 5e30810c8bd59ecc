import { describe, expect, it } from 'vitest'
import { faultsOfMangled } from './mangled.ts'
import { folded, lines, read } from './read.ts'

const NAME = 'anthropic-messages'
const usage = { input_tokens: 30, cache_read_input_tokens: 400, cache_creation_input_tokens: 50, output_tokens: 1 }
const start = (id = 'msg_1', more: object = {}) => ({
  type: 'message_start',
  message: { id, type: 'message', role: 'assistant', model: 'claude-opus', content: [], usage, ...more },
})
const block = (content_block: object, index = 0) => ({ type: 'content_block_start', index, content_block })
const delta = (more: object, index = 0) => ({ type: 'content_block_delta', index, delta: more })
const blockStop = (index = 0) => ({ type: 'content_block_stop', index })
const textDelta = (text = 'hi') => delta({ type: 'text_delta', text })
const stopFor = (stop_reason: string) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage: { input_tokens: null, output_tokens: 84 },
})
const stop = { type: 'message_stop' }
const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
const started = 'msg_1 turn.started provider=anthropic model=claude-opus turn=msg_1-lfls'

const answer = [
  start(),
  { type: 'ping' },
  block({ type: 'thinking', thinking: '' }),
  delta({ type: 'thinking_delta', thinking: 'let me see' }),
  delta({ type: 'thinking_delta', thinking: '', estimated_tokens: 20 }),
  delta({ type: 'signature_delta', signature: 'c2ln' }),
  { type: 'content_block_stop', index: 0 },
  block({ type: 'text', text: '' }, 1),
  delta({ type: 'text_delta', text: '' }, 1),
  delta({ type: 'text_delta', text: 'looking' }, 1),
  block({ type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }, 2),
  delta({ type: 'input_json_delta', partial_json: '{"query"' }, 2),
  blockStop(2),
  block({ type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }, 3),
  block({ type: 'tool_use', id: 'toolu_1', name: 'edit', input: {} }, 4),
  delta({ type: 'input_json_delta', partial_json: '' }, 4),
  delta({ type: 'input_json_delta', partial_json: '{}' }, 4),
  stopFor('tool_use'),
  stop,
]

describe('a response', () => {
  it('is a turn with its tokens and its hosted tools; a tool of the client is not open yet', () => {
    expect(folded(lines(read(NAME, answer)))).toEqual([
      started,
      'msg_1 token stream=reasoning turn=msg_1-lfls x3',
      'msg_1 token stream=text turn=msg_1-lfls',
      'msg_1 progress what=content_block_start/server_tool_use turn=msg_1-lfls',
      'msg_1 token stream=tool-args turn=msg_1-lfls',
      'msg_1 tool.started id=srv_1 name=web_search turn=msg_1-lfls',
      'msg_1 tool.ended id=srv_1 turn=msg_1-lfls',
      'msg_1 token stream=tool-args turn=msg_1-lfls',
      'msg_1 turn.ended outcome=completed turn=msg_1-lfls',
    ])
  })

  it('tells its usage at the end, the last count of each', () => {
    expect(read(NAME, answer).at(-1)?.event).toEqual({
      kind: 'turn.ended',
      outcome: 'completed',
      turn: 'msg_1-lfls',
      usage: { inputTokens: 30, outputTokens: 84, cacheReadTokens: 400, cacheWriteTokens: 50 },
    })
  })

  it('belongs to the thread and the provider that the options name', () => {
    const options = { thread: 'boss', parent: 'root', provider: 'bedrock', model: 'of-the-wire-wins' }
    expect(lines(read(NAME, [start(), textDelta(), stop], options))).toEqual([
      'boss turn.started provider=bedrock model=claude-opus parent=root turn=msg_1-lfls',
      'boss token stream=text turn=msg_1-lfls',
      'boss turn.ended outcome=completed turn=msg_1-lfls',
    ])
    expect(lines(read(NAME, [start('msg_1', { model: null })], options))).toEqual([
      'boss turn.started provider=bedrock model=of-the-wire-wins parent=root turn=msg_1-lfls',
    ])
  })

  it('follows another on the same connection', () => {
    expect(lines(read(NAME, [start(), stopFor('refusal'), stop, start('msg_2'), stop]))).toEqual([
      started,
      'msg_1 turn.ended outcome=incomplete turn=msg_1-lfls',
      'msg_2 turn.started provider=anthropic model=claude-opus turn=msg_2-lfls',
      'msg_2 turn.ended outcome=completed turn=msg_2-lfls',
    ])
  })

  it('that is cut off by another was given up', () => {
    expect(lines(read(NAME, [start(), textDelta(), start('msg_2'), textDelta()]))).toEqual([
      started,
      'msg_1 token stream=text turn=msg_1-lfls',
      'msg_1 turn.ended outcome=aborted turn=msg_1-lfls',
      'msg_2 turn.started provider=anthropic model=claude-opus turn=msg_2-lfls',
      'msg_2 token stream=text turn=msg_2-lfls',
    ])
  })

  it('shares its tokens, so that they allocate nothing', () => {
    const tokens = read(NAME, [start(), textDelta(), textDelta()]).flatMap(({ event }) =>
      event.kind === 'token' ? [event] : [],
    )
    expect(tokens[0]).toBe(tokens[1])
    expect(Object.isFrozen(tokens[0])).toBe(true)
  })
})

describe('ends', () => {
  it.each([
    ['end_turn', 'completed'],
    ['tool_use', 'completed'],
    ['stop_sequence', 'completed'],
    ['pause_turn', 'completed'],
    ['max_tokens', 'incomplete'],
    ['model_context_window_exceeded', 'incomplete'],
    ['refusal', 'incomplete'],
  ])('for %s: %s', (reason, outcome) => {
    expect(lines(read(NAME, [start(), stopFor(reason), stop])).at(-1)).toBe(
      `msg_1 turn.ended outcome=${outcome} turn=msg_1-lfls`,
    )
  })

  it('by an error of the provider', () => {
    expect(lines(read(NAME, [start(), textDelta(), error]))).toEqual([
      started,
      'msg_1 token stream=text turn=msg_1-lfls',
      'msg_1 error message=Overloaded turn=msg_1-lfls',
      'msg_1 turn.ended outcome=error turn=msg_1-lfls',
    ])
  })

  it('an error before the start is a failed turn of its own, whatever comes behind it', () => {
    expect(lines(read(NAME, [error, error, stop], { model: 'm' }))).toEqual([
      'anthropic turn.started provider=anthropic model=m',
      'anthropic error message=Overloaded',
      'anthropic turn.ended outcome=error',
    ])
  })

  it('what comes after the end opens no other turn', () => {
    const late = read(NAME, [start(), stop, textDelta(), { type: 'ping' }, stop, error]).slice(2)
    expect(late).toEqual([
      { thread: 'msg_1', event: { kind: 'token', stream: 'text', turn: 'msg_1-lfls' } },
      { thread: 'msg_1', event: { kind: 'side', what: 'ping', turn: 'msg_1-lfls' } },
      { thread: 'msg_1', event: { kind: 'side', what: 'after-end', turn: 'msg_1-lfls' } },
      { thread: 'msg_1', event: { kind: 'side', what: 'after-end', turn: 'msg_1-lfls' } },
    ])
    const unnamed = lines(
      read(NAME, [start('', { id: null }), stop, textDelta(), block({ type: 'server_tool_use', id: 's' })]),
    )
    expect(unnamed.slice(1)).toEqual(['anthropic turn.ended outcome=completed'])
  })
})

describe('a stream read from its middle on', () => {
  it('has turns without an id, each up to its end', () => {
    expect(lines(read(NAME, [{ type: 'ping' }, textDelta(), stop, stop, textDelta(), error], { model: 'm' }))).toEqual([
      'anthropic turn.started provider=anthropic model=m',
      'anthropic token stream=text',
      'anthropic turn.ended outcome=completed',
      'anthropic turn.started provider=anthropic model=m',
      'anthropic token stream=text',
      'anthropic error message=Overloaded',
      'anthropic turn.ended outcome=error',
    ])
  })

  it('has a turn from the start of a hosted tool on, and nothing of the turn before', () => {
    const tool = block({ type: 'server_tool_use', id: 's', name: 'fetch' })
    const said = read(NAME, [textDelta(), stopFor('max_tokens'), stop, tool, blockStop(), stop])
    expect(lines(said).slice(2)).toEqual([
      'anthropic turn.ended outcome=incomplete',
      'anthropic turn.started provider=anthropic',
      'anthropic progress what=content_block_start/server_tool_use',
      'anthropic tool.started id=s name=fetch',
      'anthropic turn.ended outcome=completed',
    ])
    expect(said.at(-1)?.event).not.toHaveProperty('usage')
  })

  it('gives them up for a response whose start it shows', () => {
    expect(lines(read(NAME, [textDelta(), start()], { thread: 'boss' }))).toEqual([
      'boss turn.started provider=anthropic',
      'boss token stream=text',
      'boss turn.ended outcome=aborted',
      'boss turn.started provider=anthropic model=claude-opus turn=msg_1-lfls',
    ])
  })
})

describe('an id that comes again', () => {
  const again = (turn: string) => [
    `msg_1 turn.started provider=anthropic model=claude-opus turn=${turn}`,
    `msg_1 token stream=text turn=${turn}`,
  ]

  it('begins another turn when its response is over, and none while that runs', () => {
    expect(lines(read(NAME, [start(), start(), textDelta(), stop, start(), textDelta()]))).toEqual([
      ...again('msg_1-lfls'),
      'msg_1 turn.ended outcome=completed turn=msg_1-lfls',
      ...again('msg_1-lfls.2'),
    ])
  })

  it('on another connection is of another turn', () => {
    const wallMs = () => 2_000_000
    expect(lines(read(NAME, [start(), textDelta()], { wallMs }))).toEqual(again('msg_1-16v7k'))
  })
})

it('connections that name no thread have each one of their own', () => {
  const thread = () => read(NAME, [textDelta()])[0]?.thread
  const [one, other] = [thread(), thread()]
  expect(one).toMatch(/^anthropic-lfls-\d+$/)
  expect(other).toMatch(/^anthropic-lfls-\d+$/)
  expect(one).not.toBe(other)
})

describe('a compaction', () => {
  const compacting = block({ type: 'compaction', content: null })
  const wait = [
    'msg_1 wait.started id=compaction reason=compaction turn=msg_1-lfls',
    'msg_1 wait.ended id=compaction turn=msg_1-lfls',
  ]
  const next = (...raws: unknown[]) => lines(read(NAME, [start(), ...raws])).slice(1)

  it.each([
    ['its summary', delta({ type: 'compaction_delta', content: 'so far' }), ['token stream=text']],
    ['an encrypted one', delta({ type: 'compaction_delta', encrypted_content: 'x' }), ['token stream=text']],
    ['none', delta({ type: 'compaction_delta', content: null, encrypted_content: null }), []],
    ['its end', blockStop(), []],
    ['other content', textDelta(), ['token stream=text']],
    ['the start of another block', block({ type: 'text', text: '' }, 1), []],
  ])('is a wait, which ends with %s', (_, raw, then) => {
    expect(next(compacting, { type: 'ping' }, raw, blockStop())).toEqual([
      ...wait,
      ...then.map((event) => `msg_1 ${event} turn=msg_1-lfls`),
    ])
  })

  it('ends with its response', () => {
    expect(next(compacting, stop, start('msg_2'), textDelta()).slice(-2)).toEqual([
      'msg_2 turn.started provider=anthropic model=claude-opus turn=msg_2-lfls',
      'msg_2 token stream=text turn=msg_2-lfls',
    ])
  })

  it('read from its middle on belongs to a turn', () => {
    expect(lines(read(NAME, [compacting, stop]))).toEqual([
      'anthropic turn.started provider=anthropic',
      'anthropic wait.started id=compaction reason=compaction',
      'anthropic turn.ended outcome=completed',
    ])
  })
})

describe('blocks', () => {
  const said = (...raws: unknown[]) =>
    read(NAME, [start(), ...raws])
      .slice(1)
      .map(({ event }) => event)

  it('of new types: a result ends its tool, a delta is a token, another says nothing', () => {
    expect(
      said(
        block({ type: 'brand_new_tool_result', tool_use_id: 'm' }),
        block({ type: 'brand_new' }),
        delta({ type: 'brand_new_delta' }),
        block({ type: 'container_upload', file_id: 'f' }),
        block({ type: 'redacted_thinking', data: 'x' }),
      ),
    ).toEqual([
      { kind: 'tool.ended', id: 'm', turn: 'msg_1-lfls' },
      { kind: 'side', what: 'content_block_start', turn: 'msg_1-lfls' },
      { kind: 'token', stream: 'text', turn: 'msg_1-lfls' },
      { kind: 'progress', what: 'content_block_start/container_upload', turn: 'msg_1-lfls' },
      { kind: 'token', stream: 'reasoning', turn: 'msg_1-lfls' },
    ])
  })

  it('of hosted tools run when what they are called with is whole; a response that is over has none left', () => {
    const call = (id: string, index: number) => block({ type: 'mcp_tool_use', id, name: 'ask' }, index)
    const raws = [start(), call('a', 1), call('b', 2), blockStop(2), blockStop(2), blockStop(1), call('c', 3), stop]
    expect(lines(read(NAME, [...raws, start('msg_2'), blockStop(3)])).slice(1)).toEqual([
      'msg_1 progress what=content_block_start/mcp_tool_use turn=msg_1-lfls',
      'msg_1 progress what=content_block_start/mcp_tool_use turn=msg_1-lfls',
      'msg_1 tool.started id=b name=ask turn=msg_1-lfls',
      'msg_1 tool.started id=a name=ask turn=msg_1-lfls',
      'msg_1 progress what=content_block_start/mcp_tool_use turn=msg_1-lfls',
      'msg_1 turn.ended outcome=completed turn=msg_1-lfls',
      'msg_2 turn.started provider=anthropic model=claude-opus turn=msg_2-lfls',
    ])
  })

  it('with an empty signature say nothing', () => {
    expect(said(delta({ type: 'signature_delta', signature: '' }))).toEqual([
      { kind: 'side', what: 'content_block_delta/signature_delta', turn: 'msg_1-lfls' },
    ])
  })

  it('a tool without an id is progress: nothing could end it', () => {
    expect(said(block({ type: 'server_tool_use' }), blockStop(), block({ type: 'web_fetch_tool_result' }))).toEqual([
      { kind: 'progress', what: 'content_block_start/server_tool_use', turn: 'msg_1-lfls' },
      { kind: 'progress', what: 'content_block_start/server_tool_use', turn: 'msg_1-lfls' },
      { kind: 'progress', what: 'content_block_start/web_fetch_tool_result', turn: 'msg_1-lfls' },
    ])
  })

  it('events of unknown types are progress of the turn, but for keep-alives, and are told', () => {
    const unclassified: string[] = []
    const raws = [start(), { type: 'brand_new' }, { type: 'keep_alive' }, {}]
    const told = read(NAME, raws, { onUnclassified: (_, type) => unclassified.push(type) })
    expect(told.slice(1).map(({ event }) => event)).toEqual([
      { kind: 'progress', what: 'unknown', turn: 'msg_1-lfls' },
      { kind: 'side', what: 'unknown', turn: 'msg_1-lfls' },
    ])
    expect(unclassified).toEqual(['brand_new', 'keep_alive', 'no type'])
  })
})

it('any value may be missing or of the wrong type', () => {
  const compaction = [block({ type: 'compaction' }), delta({ type: 'compaction_delta', content: 'x' })]
  expect(faultsOfMangled(NAME, [...compaction, ...answer, error])).toEqual([])
})

it('what our side sends says nothing', () => {
  expect(
    read(NAME, [
      [start(), 'out'],
      [textDelta(), 'out'],
    ]),
  ).toEqual([])
})

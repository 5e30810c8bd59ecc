import { describe, expect, it } from 'vitest'
import type { SourceName } from '../../instrumentation/sources/index.ts'
import { faultsOfMangled } from './mangled.ts'
import { folded, lines, read } from './read.ts'

const NAME = 'openai-responses'
const of = (type: string, more: object = {}) => ({ type: `response.${type}`, sequence_number: 0, ...more })
const whole = (type: string, more: object = {}, id = 'resp_1') =>
  of(type, { response: { id, object: 'response', model: 'gpt-x', ...more } })
const item = (type: string, id = 'i_1') => of('output_item.done', { output_index: 0, item: { id, type } })
const text = of('output_text.delta', { item_id: 'm', delta: 'hi' })
const usage = {
  input_tokens: 200,
  input_tokens_details: { cached_tokens: 120, cache_write_tokens: 30 },
  output_tokens: 84,
}
const started = 'resp_1 turn.started provider=openai model=gpt-x turn=resp_1-lfls'
/** What comes of events in a response that runs. */
const next = (...raws: unknown[]) => lines(read(NAME, [whole('created'), ...raws])).slice(1)

const answer = [
  whole('created'),
  whole('in_progress'),
  of('output_item.added', { item: { id: 'r', type: 'reasoning' } }),
  of('reasoning_summary_text.delta', { item_id: 'r', delta: 'thinking' }),
  of('reasoning_summary_text.done', { item_id: 'r', text: 'thinking' }),
  item('reasoning', 'r'),
  of('web_search_call.in_progress', { item_id: 'ws', output_index: 1 }),
  of('web_search_call.searching', { item_id: 'ws', output_index: 1 }),
  of('web_search_call.completed', { item_id: 'ws', output_index: 1 }),
  item('web_search_call', 'ws'),
  of('content_part.added', { item_id: 'm', part: { type: 'output_text', text: '' } }),
  text,
  text,
  of('output_text.done', { item_id: 'm', text: 'hihi' }),
  of('content_part.done', { item_id: 'm', part: { type: 'output_text', text: 'hihi' } }),
  item('message', 'm'),
  of('function_call_arguments.delta', { item_id: 'f', delta: '{}' }),
  item('function_call', 'f'),
  whole('completed', { usage }),
]

describe('a response', () => {
  it('is a turn with its tokens and its hosted tools', () => {
    expect(folded(lines(read(NAME, answer)))).toEqual([
      started,
      'resp_1 token stream=reasoning turn=resp_1-lfls x3',
      'resp_1 tool.started id=ws name=web_search_call turn=resp_1-lfls',
      'resp_1 tool.ended id=ws turn=resp_1-lfls',
      'resp_1 progress what=response.output_item.done turn=resp_1-lfls',
      'resp_1 token stream=text turn=resp_1-lfls x5',
      'resp_1 token stream=tool-args turn=resp_1-lfls x2',
      'resp_1 turn.ended outcome=completed turn=resp_1-lfls',
    ])
  })

  it('tells its usage at the end, cached input apart', () => {
    expect(read(NAME, answer).at(-1)?.event).toMatchObject({
      usage: { inputTokens: 50, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 30 },
    })
  })

  it('belongs to the thread and the provider that the options name', () => {
    expect(lines(read(NAME, [whole('created'), text], { thread: 'boss', provider: 'azure' }))).toEqual([
      'boss turn.started provider=azure model=gpt-x turn=resp_1-lfls',
      'boss token stream=text turn=resp_1-lfls',
    ])
  })

  it('ends as the wire says', () => {
    expect(next(whole('completed'))).toEqual(['resp_1 turn.ended outcome=completed turn=resp_1-lfls'])
    expect(next(whole('incomplete'))).toEqual(['resp_1 turn.ended outcome=incomplete turn=resp_1-lfls'])
    expect(next(whole('failed', { error: { code: 'server_error', message: 'boom' } }))).toEqual([
      'resp_1 error message=boom turn=resp_1-lfls',
      'resp_1 turn.ended outcome=error turn=resp_1-lfls',
    ])
    expect(next({ type: 'error', code: 'rate_limit_exceeded', message: 'slow down' })).toEqual([
      'resp_1 error message=slow down turn=resp_1-lfls',
      'resp_1 turn.ended outcome=error turn=resp_1-lfls',
    ])
    expect(next({ type: 'error', error: { message: 'nested' } })[0]).toBe(
      'resp_1 error message=nested turn=resp_1-lfls',
    )
    expect(next(whole('failed', { error: null }))[0]).toBe(
      'resp_1 error message=the API reported an error turn=resp_1-lfls',
    )
  })

  it('has one end, and what comes after it opens no other turn', () => {
    const failed = [{ type: 'error', message: 'boom' }, whole('failed'), whole('completed'), text]
    expect(next(...failed)).toEqual([
      'resp_1 error message=boom turn=resp_1-lfls',
      'resp_1 turn.ended outcome=error turn=resp_1-lfls',
      'resp_1 token stream=text turn=resp_1-lfls',
    ])
  })

  it('that fails before it began is a failed turn of its own', () => {
    expect(lines(read(NAME, [{ type: 'error', message: 'boom' }, whole('failed')]))).toEqual([
      'openai turn.started provider=openai',
      'openai error message=boom',
      'openai turn.ended outcome=error',
    ])
    expect(lines(read(NAME, [whole('failed', { error: { message: 'boom' } })]))).toEqual([
      started,
      'resp_1 error message=boom turn=resp_1-lfls',
      'resp_1 turn.ended outcome=error turn=resp_1-lfls',
    ])
  })

  it('is not begun by an event of a new type that names it', () => {
    const unknown = of('never_heard', { response: { id: 'resp_2' } })
    expect(next(whole('completed'), unknown)).toEqual([
      'resp_1 turn.ended outcome=completed turn=resp_1-lfls',
      'resp_2 progress what=unknown turn=resp_2-lfls',
    ])
  })

  it('is not ended by late news of the one before', () => {
    const late = [whole('completed', {}, 'resp_2'), of('output_text.delta', { response_id: 'resp_2', delta: 'x' })]
    expect(next(...late, text)).toEqual([
      'resp_2 turn.ended outcome=completed turn=resp_2-lfls',
      'resp_1 token stream=text turn=resp_1-lfls',
    ])
  })

  it('gives up the one that another cuts off', () => {
    expect(next(whole('created', {}, 'resp_2'))).toEqual([
      'resp_1 turn.ended outcome=aborted turn=resp_1-lfls',
      'resp_2 turn.started provider=openai model=gpt-x turn=resp_2-lfls',
    ])
  })
})

describe('a stream read from its middle on', () => {
  it('has a turn without an id, up to an end that names one', () => {
    expect(lines(read(NAME, [of('never_heard'), text, whole('completed'), text], { model: 'm' }))).toEqual([
      'openai progress what=unknown',
      'openai turn.started provider=openai model=m',
      'openai token stream=text',
      'openai turn.ended outcome=completed',
      'openai turn.started provider=openai model=m',
      'openai token stream=text',
    ])
  })

  it('knows the id where an early event of the response has it', () => {
    expect(lines(read(NAME, [whole('in_progress'), text]))).toEqual([
      started,
      'resp_1 token stream=text turn=resp_1-lfls',
    ])
  })
})

describe('whole items', () => {
  it.each([
    ['message', 'token stream=text'],
    ['reasoning', 'token stream=reasoning'],
    ['function_call', 'token stream=tool-args'],
    ['custom_tool_call', 'token stream=tool-args'],
    ['shell_call', 'token stream=tool-args'],
    ['local_shell_call', 'token stream=tool-args'],
    ['apply_patch_call', 'token stream=tool-args'],
    ['computer_call', 'token stream=tool-args'],
    ['mcp_approval_request', 'token stream=tool-args'],
    ['mcp_call', 'progress what=response.output_item.done'],
    ['code_interpreter_call', 'progress what=response.output_item.done'],
    ['image_generation_call', 'progress what=response.output_item.done'],
    ['constructor', 'progress what=response.output_item.done'],
  ])('%s: %s', (type, event) => {
    expect(next(item(type))).toEqual([`resp_1 ${event} turn=resp_1-lfls`])
  })

  it.each([
    ['content_part.done', { part: { type: 'reasoning_text', text: 'x' } }, 'token stream=reasoning'],
    ['content_part.done', { part: { type: 'refusal', refusal: 'x' } }, 'token stream=text'],
    ['content_part.done', {}, 'progress what=response.content_part.done'],
    ['refusal.done', {}, 'token stream=text'],
    ['reasoning_text.done', {}, 'token stream=reasoning'],
    ['shell_call_command.done', {}, 'token stream=tool-args'],
    ['shell_call_output_content.delta', {}, 'progress what=response.shell_call_output_content.delta'],
    ['audio.delta', {}, 'token stream=text'],
    ['audio.done', {}, 'progress what=response.audio.done'],
    ['image_generation_call.partial_image', {}, 'progress what=response.image_generation_call.partial_image'],
  ])('%s %j: %s', (type, more, event) => {
    expect(next(of(type, more))).toEqual([`resp_1 ${event} turn=resp_1-lfls`])
  })

  it('end a hosted tool that had no end of its own', () => {
    expect(next(of('file_search_call.in_progress', { item_id: 'c' }), item('file_search_call', 'c'))).toEqual([
      'resp_1 tool.started id=c name=file_search_call turn=resp_1-lfls',
      'resp_1 tool.ended id=c turn=resp_1-lfls',
    ])
  })

  it('a tool without an id is progress: nothing could end it', () => {
    expect(next(of('mcp_call.in_progress'), of('mcp_call.failed', { item_id: 5 }))).toEqual([
      'resp_1 progress what=response.mcp_call.in_progress turn=resp_1-lfls',
      'resp_1 progress what=response.mcp_call.failed turn=resp_1-lfls',
    ])
  })
})

describe('an id that comes again', () => {
  it('begins another turn when its response is over; what is told late belongs to the last', () => {
    const late = whole('completed', {}, 'resp_1')
    const raws = [whole('created'), text, late, whole('created'), late, whole('created', {}, 'resp_2'), late]
    expect(lines(read(NAME, raws))).toEqual([
      started,
      'resp_1 token stream=text turn=resp_1-lfls',
      'resp_1 turn.ended outcome=completed turn=resp_1-lfls',
      `${started}.2`,
      'resp_1 turn.ended outcome=completed turn=resp_1-lfls.2',
      'resp_2 turn.started provider=openai model=gpt-x turn=resp_2-lfls',
      'resp_1 turn.ended outcome=completed turn=resp_1-lfls.2',
    ])
  })
})

describe('hosted tools', () => {
  const told = (...raws: unknown[]) => next(...raws).map((line) => line.replace(/^resp_1 | turn=resp_1-lfls$/g, ''))

  it('that are called with arguments run when the model has written these', () => {
    const mcp = (type: string) => of(type, { item_id: 'm', delta: '{' })
    expect(
      told(
        mcp('mcp_call.in_progress'),
        mcp('mcp_call_arguments.delta'),
        mcp('mcp_call_arguments.done'),
        mcp('mcp_call.completed'),
      ),
    ).toEqual([
      'progress what=response.mcp_call.in_progress',
      'token stream=tool-args',
      'token stream=tool-args',
      'tool.started id=m name=mcp_call',
      'tool.ended id=m',
    ])
  })

  it('that run code do when it is whole, or is interpreted', () => {
    const code = (type: string) => of(`code_interpreter_call${type}`, { item_id: 'c', delta: 'x' })
    const rest = ['tool.started id=c name=code_interpreter_call', 'tool.ended id=c']
    const announced = 'progress what=response.code_interpreter_call.in_progress'
    expect(
      told(code('.in_progress'), code('_code.done'), code('.interpreting'), item('code_interpreter_call', 'c')),
    ).toEqual([announced, 'token stream=tool-args', ...rest])
    expect(told(code('.in_progress'), code('.interpreting'), code('.completed'))).toEqual([announced, ...rest])
    expect(lines(read(NAME, [code('.interpreting')]))).toEqual([
      'openai turn.started provider=openai',
      'openai tool.started id=c name=code_interpreter_call',
    ])
  })

  it('that are lists of tools, searches and images run at once', () => {
    for (const name of ['mcp_list_tools', 'web_search_call', 'file_search_call', 'image_generation_call']) {
      expect(told(of(`${name}.in_progress`, { item_id: 'i' }))).toEqual([`tool.started id=i name=${name}`])
    }
  })

  describe('a shell', () => {
    const added = (more: object = {}, output_index = 0) =>
      of('output_item.added', { output_index, item: { type: 'shell_call', id: 'sh', call_id: 'c', ...more } })
    const command = (type: string, output_index = 0) =>
      of(`shell_call_command.${type}`, { output_index, delta: 'make', command: 'make' })
    const output = of('shell_call_output_content.delta', { item_id: 'so', delta: { stdout: 'ok' } })
    const result = (call_id: string) =>
      of('output_item.done', { output_index: 1, item: { type: 'shell_call_output', id: 'so', call_id } })
    const runs = ['token stream=tool-args', 'tool.started id=sh name=shell_call']
    const call = [added(), command('done'), item('shell_call', 'sh')]

    it('runs from its command to its whole output, whatever it puts out', () => {
      expect(told(...call, output, result('another'), output, result('c'), output)).toEqual([
        ...runs,
        'token stream=tool-args',
        'progress what=response.shell_call_output_content.delta',
        'progress what=response.output_item.done',
        'progress what=response.shell_call_output_content.delta',
        'tool.ended id=sh',
        'progress what=response.output_item.done',
        'progress what=response.shell_call_output_content.delta',
      ])
    })

    it('is over when the response goes on: with text, or with another command', () => {
      expect(told(...call, text).slice(3)).toEqual(['tool.ended id=sh', 'token stream=text'])
      expect(told(...call, command('delta'), command('done')).slice(3)).toEqual([
        'tool.ended id=sh',
        'token stream=tool-args',
        ...runs,
      ])
    })

    it('of the client, or that nothing names, does not run here', () => {
      expect(told(added({ environment: { type: 'local' } }), command('done'))).toEqual(runs.slice(0, 1))
      expect(told(added(), command('done', 7))).toEqual(runs.slice(0, 1))
      expect(told(of('shell_call_command.done', { item_id: 'sh' }))).toEqual(runs)
    })

    it('of a response that is over belongs to no other', () => {
      expect(told(...call, whole('completed'), whole('created', {}, 'resp_2'), text).slice(-2)).toEqual([
        'resp_2 turn.started provider=openai model=gpt-x turn=resp_2-lfls',
        'resp_2 token stream=text turn=resp_2-lfls',
      ])
    })

    it('any value of it may be missing or of the wrong type', () => {
      expect(faultsOfMangled(NAME, [...call, output, result('c')])).toEqual([])
    })
  })
})

it('deltas with nothing in them are no tokens', () => {
  const deltas = ['output_text', 'function_call_arguments', 'reasoning_text', 'refusal', 'audio', 'shell_call_command']
  const raws = [
    ...deltas.map((name) => of(`${name}.delta`, { delta: '' })),
    of('shell_call_output_content.delta', { delta: { stdout: '', stderr: '' } }),
  ]
  expect(next(...raws)).toEqual([])
  expect(lines(read(NAME, raws))).toEqual([])
})

it('events without a type are told', () => {
  const unclassified: string[] = []
  read(NAME, [{ delta: 'x' }, { type: 5 }], { onUnclassified: (_, type) => unclassified.push(type) })
  expect(unclassified).toEqual(['no type', 'no type'])
})

describe('waits', () => {
  const queued = 'resp_1 wait.started id=queue reason=queue turn=resp_1-lfls'

  it.each([
    ['in_progress', whole('in_progress'), []],
    ['a token', text, ['resp_1 token stream=text turn=resp_1-lfls']],
    ['an event of a new type', of('never_heard'), ['resp_1 progress what=unknown turn=resp_1-lfls']],
    ['the end', whole('completed'), ['resp_1 turn.ended outcome=completed turn=resp_1-lfls']],
  ])('in the queue ends with %s', (_, raw, then) => {
    expect(next(whole('queued'), { type: 'keepalive', sequence_number: 3 }, raw)).toEqual([
      queued,
      'resp_1 wait.ended id=queue turn=resp_1-lfls',
      ...then,
    ])
  })

  it('in the queue does not end with a sign of the connection', () => {
    expect(next(whole('queued'), { type: 'keepalive', sequence_number: 3 })).toEqual([queued])
  })

  it('in the queue begins a turn where the start was not seen', () => {
    expect(lines(read(NAME, [whole('queued'), whole('queued')]))).toEqual([started, queued, queued])
    expect(lines(read(NAME, [of('queued')]))).toEqual([
      'openai turn.started provider=openai',
      'openai wait.started id=queue reason=queue',
    ])
  })

  const compacting = of('compaction.compacting', { item_id: 'cmp', output_index: 0 })

  it('for a compaction ends with its item, or when the response goes on', () => {
    const wait = [
      'resp_1 wait.started id=cmp reason=compaction turn=resp_1-lfls',
      'resp_1 wait.ended id=cmp turn=resp_1-lfls',
    ]
    expect(next(compacting, of('output_item.added'), item('compaction', 'cmp'))).toEqual([
      ...wait,
      'resp_1 progress what=response.output_item.done turn=resp_1-lfls',
    ])
    expect(next(compacting, text)).toEqual([...wait, 'resp_1 token stream=text turn=resp_1-lfls'])
    expect(next(compacting, of('mcp_call.in_progress', { item_id: 'c' }))).toEqual([
      ...wait,
      'resp_1 progress what=response.mcp_call.in_progress turn=resp_1-lfls',
    ])
    expect(next(of('compaction.compacting'), text)[0]).toBe(
      'resp_1 wait.started id=compaction reason=compaction turn=resp_1-lfls',
    )
  })

  it('of a response that is over belong to no other', () => {
    const raws = [whole('queued'), compacting, whole('completed'), compacting, whole('created', {}, 'resp_2'), text]
    expect(lines(read(NAME, raws)).slice(-2)).toEqual([
      'resp_2 turn.started provider=openai model=gpt-x turn=resp_2-lfls',
      'resp_2 token stream=text turn=resp_2-lfls',
    ])
  })
})

describe('OpenRouter', () => {
  const OPENROUTER: SourceName = 'openrouter-responses'
  const sdk = (type: string, more: object = {}) => ({ type: `response.${type}`, sequenceNumber: 0, ...more })

  it("is read in its SDK's spelling too", () => {
    const raws = [
      sdk('created', { response: { id: 'gen-1', model: 'x/y' } }),
      sdk('image_generation_call.in_progress', { itemId: 'img', outputIndex: 0 }),
      sdk('image_generation_call.completed', { itemId: 'img', outputIndex: 0 }),
      sdk('output_text.delta', { itemId: 'm', delta: 'hi' }),
      sdk('completed', {
        response: {
          id: 'gen-1',
          usage: { inputTokens: 200, inputTokensDetails: { cachedTokens: 120 }, outputTokens: 84 },
        },
      }),
    ]
    const said = read(OPENROUTER, raws)
    expect(lines(said)).toEqual([
      'gen-1 turn.started provider=openrouter model=x/y turn=gen-1-lfls',
      'gen-1 tool.started id=img name=image_generation_call turn=gen-1-lfls',
      'gen-1 tool.ended id=img turn=gen-1-lfls',
      'gen-1 token stream=text turn=gen-1-lfls',
      'gen-1 turn.ended outcome=completed turn=gen-1-lfls',
    ])
    expect(said.at(-1)?.event).toMatchObject({
      usage: { inputTokens: 80, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 0 },
    })
  })

  it('shows what the models of a fusion say', () => {
    const raws = [
      sdk('created', { response: { id: 'gen-1' } }),
      sdk('fusion_call.in_progress'),
      sdk('fusion_call.panel.reasoning.delta', { delta: 'hm' }),
      sdk('fusion_call.panel.delta', { delta: 'hi' }),
      sdk('fusion_call.panel.failed', { error: 'x' }),
      sdk('fusion_call.panel.completed', { content: 'hi' }),
      sdk('fusion_call.analysis.completed', { analysis: {} }),
      sdk('fusion_call.completed'),
      sdk('apply_patch_call_operation_diff.delta', { delta: '+' }),
      sdk('debug', {}),
    ]
    expect(lines(read(OPENROUTER, raws)).slice(1)).toEqual([
      'gen-1 token stream=reasoning turn=gen-1-lfls',
      'gen-1 token stream=text turn=gen-1-lfls',
      'gen-1 progress what=response.fusion_call.panel.failed turn=gen-1-lfls',
      'gen-1 token stream=text turn=gen-1-lfls',
      'gen-1 token stream=text turn=gen-1-lfls',
      'gen-1 progress what=response.fusion_call.completed turn=gen-1-lfls',
      'gen-1 token stream=tool-args turn=gen-1-lfls',
    ])
  })
})

it('any value may be missing or of the wrong type', () => {
  const waits = [whole('queued'), of('compaction.compacting', { item_id: 'cmp' })]
  const raws = [...answer.slice(0, 1), ...waits, ...answer.slice(1), { type: 'error', message: 'boom' }]
  expect(faultsOfMangled(NAME, raws)).toEqual([])
})

it('what our side sends says nothing', () => {
  expect(read(NAME, [[{ type: 'response.created', response: { id: 'r' } }, 'out']])).toEqual([])
})

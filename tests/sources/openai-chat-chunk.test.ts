import { describe, expect, it } from 'vitest'
import { faultsOfMangled } from './mangled.ts'
import { folded, lines, read } from './read.ts'

const NAME = 'openai-chat-chunk'
const chunk = (choices: unknown, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-x',
  choices,
  ...more,
})
const choice = (delta: unknown, finish_reason: string | null = null, index = 0) => ({ index, delta, finish_reason })
const role = chunk([choice({ role: 'assistant', content: '' })])
const content = (text = 'hi', more: object = {}) => chunk([choice({ content: text })], more)
const finish = (reason = 'stop', more: object = {}) => chunk([choice({}, reason)], more)
const usage = {
  prompt_tokens: 200,
  completion_tokens: 84,
  prompt_tokens_details: { cached_tokens: 120, cache_write_tokens: 30 },
}
const started = 'c1 turn.started provider=openai model=gpt-x turn=c1-lfls'
const token = (stream: string, id = 'c1') => `${id} token stream=${stream} turn=${id}-lfls`
const ended = (outcome: string, id = 'c1') => `${id} turn.ended outcome=${outcome} turn=${id}-lfls`

describe('a completion', () => {
  it('is a turn from its first chunk to the end of its choice', () => {
    const raws = [
      ': PROCESSING',
      role,
      chunk([choice({ reasoning_content: 'hm' })]),
      chunk([choice({ reasoning: 'hm', reasoning_details: [{}] })]),
      content(),
      content(''),
      chunk([choice({ tool_calls: [{ index: 0, id: 't', function: { name: 'edit', arguments: '' } }] })]),
      finish('tool_calls'),
      chunk([], { usage }),
      '[DONE]',
    ]
    expect(folded(lines(read(NAME, raws)))).toEqual([
      started,
      `${token('reasoning')} x2`,
      token('text'),
      token('tool-args'),
      ended('completed'),
    ])
  })

  it('may begin with content, and end in the chunk that has the last of it', () => {
    expect(lines(read(NAME, [content(), chunk([choice({ content: '.' }, 'stop')])]))).toEqual([
      started,
      token('text'),
      token('text'),
      ended('completed'),
    ])
  })

  it('begins with the first chunk of its id, whatever that holds', () => {
    expect(read(NAME, [role])).toHaveLength(1)
    for (const choices of [null, undefined, [], [null], [{}], [{ delta: null }], [choice({ content: null })]]) {
      expect(lines(read(NAME, [chunk(choices), chunk(choices), content()]))).toEqual([started, token('text')])
    }
  })

  it('learns its model from a later chunk', () => {
    expect(lines(read(NAME, [chunk([], { model: '' }), content(), content()]))).toEqual([
      'c1 turn.started provider=openai turn=c1-lfls',
      started,
      token('text'),
      token('text'),
    ])
  })

  it('belongs to the thread and the provider that the options name', () => {
    const options = { thread: 'boss', provider: 'deepseek', parent: 'root', model: 'm' }
    expect(lines(read(NAME, [chunk([], { model: null }), finish('stop', { model: undefined })], options))).toEqual([
      'boss turn.started provider=deepseek model=m parent=root turn=c1-lfls',
      'boss turn.ended outcome=completed turn=c1-lfls',
    ])
  })

  it.each([
    ['stop', 'completed'],
    ['tool_calls', 'completed'],
    ['function_call', 'completed'],
    ['length', 'incomplete'],
    ['content_filter', 'incomplete'],
  ])('ends for %s: %s', (reason, outcome) => {
    expect(lines(read(NAME, [role, finish(reason)]))).toEqual([started, ended(outcome)])
  })

  it('tells its usage where that comes with or before the end', () => {
    const used = { inputTokens: 50, outputTokens: 84, cacheReadTokens: 120, cacheWriteTokens: 30 }
    const end = (...raws: unknown[]) => read(NAME, raws).find(({ event }) => event.kind === 'turn.ended')?.event
    expect(end(finish('stop', { usage }))).toMatchObject({ usage: used })
    expect(end(content('hi', { usage }), finish('stop', { usage: null }))).toMatchObject({ usage: used })
    expect(end(finish(), chunk([], { usage }))).not.toHaveProperty('usage')
    const sdk = { promptTokens: 200, completionTokens: 84, promptTokensDetails: { cachedTokens: 120 } }
    expect(end(finish('stop', { usage: sdk }))).toMatchObject({
      usage: { ...used, inputTokens: 80, cacheWriteTokens: 0 },
    })
  })

  it('names itself in what comes after its end', () => {
    const late = [
      chunk([], { usage }),
      { ...content(), id: null },
      { ...chunk([]), id: null, usage },
      '[DONE]',
      ': bye',
    ]
    expect(read(NAME, [finish(), ...late]).slice(2)).toEqual([
      { thread: 'c1', event: { kind: 'side', what: 'usage', turn: 'c1-lfls' } },
      { thread: 'c1', event: { kind: 'token', stream: 'text', turn: 'c1-lfls' } },
      { thread: 'c1', event: { kind: 'side', what: 'usage', turn: 'c1-lfls' } },
      { thread: 'c1', event: { kind: 'side', what: 'after-end', turn: 'c1-lfls' } },
      { thread: 'c1', event: { kind: 'side', what: 'comment', turn: 'c1-lfls' } },
    ])
  })

  it('stays apart from another on the same connection', () => {
    const other = { id: 'c2' }
    expect(lines(read(NAME, [content(), content('hi', other), content(), finish('stop', other), finish()]))).toEqual([
      started,
      token('text'),
      'c2 turn.started provider=openai model=gpt-x turn=c2-lfls',
      token('text', 'c2'),
      token('text'),
      ended('completed', 'c2'),
      ended('completed'),
    ])
  })

  it('shares its tokens, so that they allocate nothing', () => {
    const tokens = read(NAME, [content(), content()]).flatMap(({ event }) => (event.kind === 'token' ? [event] : []))
    expect(tokens[0]).toBe(tokens[1])
    expect(Object.isFrozen(tokens[0])).toBe(true)
  })
})

describe('an id that comes again', () => {
  const again = started.concat('.2')

  it('begins another completion with its role or content, when the one before is over', () => {
    expect(lines(read(NAME, [role, content(), finish(), role, content(), finish(), content()]))).toEqual([
      started,
      token('text'),
      ended('completed'),
      again,
      `${token('text')}.2`,
      `${ended('completed')}.2`,
      started.concat('.3'),
      `${token('text')}.3`,
    ])
  })

  it('is of the completion that is over where it says nothing new', () => {
    const late = [chunk([], { usage }), { ...role, usage }, finish(), chunk([]), content('')]
    expect(lines(read(NAME, [content(), finish(), ...late]))).toEqual([started, token('text'), ended('completed')])
  })

  it('on another connection is of another turn of the thread', () => {
    const wallMs = () => 2_000_000
    expect(lines(read(NAME, [content()], { wallMs, thread: 't' }))).toEqual([
      't turn.started provider=openai model=gpt-x turn=c1-16v7k',
      't token stream=text turn=c1-16v7k',
    ])
  })
})

describe('deltas with nothing in them', () => {
  const told = (...deltas: object[]) =>
    lines(read(NAME, [content(), ...deltas.map((delta) => chunk([choice(delta)]))])).slice(2)
  const calls = (more: object, of: object = {}) => ({
    tool_calls: [{ index: 0, ...of, function: { arguments: '', ...more } }],
  })

  it('are no tokens', () => {
    expect(
      told(
        calls({}),
        { tool_calls: [{}] },
        { function_call: { arguments: '' } },
        { audio: {} },
        { audio: { id: 'a', data: '' } },
        { reasoning_details: [{ type: 'reasoning.text', id: 'r', index: 0, format: 'f', text: '' }] },
      ),
    ).toEqual([])
    expect(lines(read(NAME, [chunk([choice(calls({}))]), chunk([choice(calls({}))])]))).toEqual([started])
  })

  it('but with a new id or name of a tool, or with anything said, are', () => {
    expect(
      told(
        calls({ name: 'edit' }, { id: 't' }),
        calls({ arguments: '{' }),
        calls({ name: 'edit' }, { id: 't2' }),
        { function_call: { name: 'edit', arguments: '' } },
        { tool_calls: [{ index: 0, custom: { input: 'x' } }] },
      ),
    ).toEqual(Array(5).fill(token('tool-args')))
    expect(told(calls({ name: 'edit' }, { id: 't' }), calls({ name: 'edit' }, { id: 't' }))).toHaveLength(1)
    expect(told({ audio: { data: 'x' } }, { audio: { transcript: 'x' } })).toEqual([token('text'), token('text')])
    expect(told({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] })).toEqual([token('reasoning')])
  })
})

describe('several choices', () => {
  const both = chunk([choice({ content: 'a' }), choice({ content: 'b' }, null, 1)])
  const over = (index: number, reason = 'stop') => chunk([choice({}, reason, index)])
  const goesOn = 'c1 progress what=finish_reason turn=c1-lfls'

  it('are over when each is', () => {
    const more = chunk([choice({ content: 'b' }, null, 1)])
    expect(lines(read(NAME, [both, over(0), more, over(1)]))).toEqual([
      started,
      token('text'),
      goesOn,
      token('text'),
      ended('completed'),
    ])
  })

  it('go on in a turn of their own when one was over before another was seen', () => {
    const other = chunk([choice({ content: 'b' }, null, 1)])
    expect(lines(read(NAME, [content(), over(0), other, over(1)]))).toEqual([
      started,
      token('text'),
      ended('completed'),
      `${started}.2`,
      `${token('text')}.2`,
      `${ended('completed')}.2`,
    ])
  })

  it('stay over when their last word is repeated', () => {
    expect(lines(read(NAME, [both, over(0), chunk([choice({})]), over(1)])).at(-1)).toBe(ended('completed'))
  })

  it('make the turn what the worst of them is', () => {
    expect(lines(read(NAME, [both, over(0, 'length'), over(1)])).at(-1)).toBe(ended('incomplete'))
    expect(lines(read(NAME, [both, over(0, 'error'), over(1, 'length')])).slice(-2)).toEqual([
      'c1 error message=the API reported an error turn=c1-lfls',
      ended('error'),
    ])
  })

  it('are all over with [DONE], or with an error of the whole', () => {
    expect(lines(read(NAME, [both, over(0, 'length'), '[DONE]'])).slice(2)).toEqual([goesOn, ended('incomplete')])
    expect(lines(read(NAME, [both, over(0, 'error'), '[DONE]'])).slice(2)).toEqual([
      goesOn,
      'c1 error message=the API reported an error turn=c1-lfls',
      ended('error'),
    ])
    expect(lines(read(NAME, [both, over(0), { error: { message: 'boom', code: 502 } }])).slice(2)).toEqual([
      goesOn,
      'c1 error message=boom turn=c1-lfls',
      ended('error'),
    ])
  })
})

describe('errors', () => {
  it('inside the stream end the turn, with what the provider says', () => {
    const failed = (more: object, of: object = {}) =>
      lines(read(NAME, [content(), { ...chunk([{ ...choice({}, 'error'), ...of }]), ...more }])).slice(2)
    const is = (message: string) => [`c1 error message=${message} turn=c1-lfls`, ended('error')]
    expect(failed({ error: { message: 'boom' } })).toEqual(is('boom'))
    expect(failed({ error: 'boom' })).toEqual(is('boom'))
    expect(failed({ error: { code: 'overloaded' } })).toEqual(is('overloaded'))
    expect(failed({}, { error: { message: 'of the choice' } })).toEqual(is('of the choice'))
    expect(failed({})).toEqual(is('the API reported an error'))
  })

  it('before anything else are a failed turn of their own', () => {
    expect(lines(read(NAME, [{ error: { message: 'boom' } }, { error: { message: 'again' } }, '[DONE]']))).toEqual([
      'openai turn.started provider=openai',
      'openai error message=boom',
      'openai turn.ended outcome=error',
    ])
  })
})

describe('chunks without ids', () => {
  const bare = (choices: unknown, more: object = {}) => ({ ...chunk(choices), id: undefined, ...more })

  it('end the turn of the thread once, also where none of them began it', () => {
    const end = ['openai turn.ended outcome=completed']
    expect(lines(read(NAME, [bare([]), bare([choice({}, 'stop')]), '[DONE]', ': bye']))).toEqual(end)
    expect(lines(read(NAME, [bare([]), '[DONE]', '[DONE]']))).toEqual(end)
  })

  it('make turns without ids, each from its role or content to its end', () => {
    const raws = [
      bare([]),
      bare([choice({ role: 'assistant', content: '' })]),
      bare([choice({ content: 'a' })]),
      bare([choice({}, 'stop')]),
      bare([choice({ role: 'assistant', content: '' })], { usage }),
      '[DONE]',
      bare([choice({ content: 'b' })]),
      '[DONE]',
    ]
    expect(lines(read(NAME, raws))).toEqual([
      'openai turn.started provider=openai model=gpt-x',
      'openai token stream=text',
      'openai turn.ended outcome=completed',
      'openai turn.started provider=openai model=gpt-x',
      'openai token stream=text',
      'openai turn.ended outcome=completed',
    ])
  })

  it('belong to the completion before them', () => {
    expect(
      lines(read(NAME, [content(), bare([choice({ content: 'a' })]), bare([choice({}, 'stop')])])).slice(1),
    ).toEqual([token('text'), token('text'), ended('completed')])
  })
})

it('any value may be missing or of the wrong type', () => {
  const full = { role: 'assistant', content: 'a', refusal: 'b', reasoning_details: [{}], tool_calls: [{}], audio: {} }
  const raws = [
    role,
    chunk([choice(full)], { usage }),
    finish(),
    chunk([], { error: { message: 'x' }, usage }),
    '[DONE]',
  ]
  expect(faultsOfMangled(NAME, raws)).toEqual([])
})

it('what our side sends says nothing', () => {
  expect(read(NAME, [[content(), 'out']])).toEqual([])
})

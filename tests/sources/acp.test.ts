import { describe, expect, it } from 'vitest'
import { classify } from '../../instrumentation/sources/index.ts'
import { faultsOfMangled } from './mangled.ts'
import { lines, read } from './read.ts'

const NAME = 'acp'
const ask = (id: number | string, method: string, params: object = {}, session = 's') => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { sessionId: session, ...params },
})
const out = (raw: object) => [raw, 'out']
const prompt = (id: number | string, session = 's') => out(ask(id, 'session/prompt', { prompt: [] }, session))
const answer = (id: number | string, result: object | null) => ({ jsonrpc: '2.0', id, result })
const failure = (id: number | string, error: object) => ({ jsonrpc: '2.0', id, error })
const ended = (id: number | string, stopReason = 'end_turn') => answer(id, { stopReason })
const update = (sessionUpdate: string, more: object = {}, session = 's') => ({
  jsonrpc: '2.0',
  method: 'session/update',
  params: { sessionId: session, update: { sessionUpdate, ...more } },
})
const says = (text: string, session = 's') =>
  update('agent_message_chunk', { content: { type: 'text', text } }, session)
const thinks = update('agent_thought_chunk', { content: { type: 'text', text: 'hm' } })
const state = (name: string, more: object = {}) => update('state_update', { state: name, ...more })
const version2 = [out({ id: 0, method: 'initialize', params: {} }), answer(0, { protocolVersion: 2 })]

describe('answers', () => {
  it.each([
    [ended(1), 'response:session/prompt:end_turn', 'terminal-ok'],
    [ended(1, 'cancelled'), 'response:session/prompt:cancelled', 'terminal-ok'],
    [failure(1, { code: -32603, message: 'x' }), 'response:session/prompt:error', 'terminal-error'],
    [answer(1, { outcome: { outcome: 'selected', optionId: 'a' } }), 'response:client-request', 'wait-end'],
    [answer(1, { action: 'decline' }), 'response:client-request', 'wait-end'],
  ])('without a method are classified by what they answer: %j', (raw, key, of) => {
    expect(classify(NAME, raw)).toMatchObject({ key, class: of })
  })

  it('that say nothing of a turn are neutral', () => {
    for (const raw of [
      ended(1, 'new_reason'),
      answer(1, {}),
      answer(1, null),
      { result: { stopReason: 'end_turn' } },
    ]) {
      expect(classify(NAME, raw)).toEqual({ key: null, class: 'neutral' })
    }
  })
})

describe('version 1', () => {
  it('a prompt starts the turn, the answer to it ends it', () => {
    const call = { toolCallId: 'c', kind: 'execute', title: 'ls' }
    expect(
      lines(
        read(NAME, [
          prompt(3),
          update('user_message_chunk', { content: { type: 'text', text: 'hi' } }),
          thinks,
          says('I look'),
          says(''),
          update('plan', { entries: [] }),
          update('tool_call', { ...call, status: 'pending' }),
          update('tool_call_update', { toolCallId: 'c', status: 'in_progress' }),
          update('tool_call_update', { toolCallId: 'c', content: [] }),
          update('tool_call_update', { toolCallId: 'c', status: 'completed' }),
          says('done'),
          update('usage_update', { used: 1, size: 2 }),
          ended(3),
        ]),
      ),
    ).toEqual([
      's turn.started provider=acp turn=prompt-3-lfls',
      's token stream=reasoning turn=prompt-3-lfls',
      's token stream=text turn=prompt-3-lfls',
      's token stream=text turn=prompt-3-lfls',
      's tool.started id=c name=execute turn=prompt-3-lfls',
      's tool.started id=c turn=prompt-3-lfls',
      's tool.ended id=c turn=prompt-3-lfls',
      's token stream=text turn=prompt-3-lfls',
      's turn.ended outcome=completed turn=prompt-3-lfls',
    ])
  })

  it.each([
    ['max_tokens', 'incomplete'],
    ['max_turn_requests', 'incomplete'],
    ['refusal', 'incomplete'],
    ['cancelled', 'aborted'],
    ['a_new_reason', 'completed'],
  ])('the stop reason %s is the outcome %s', (reason, outcome) => {
    expect(lines(read(NAME, [prompt(1), ended(1, reason)])).at(-1)).toBe(
      `s turn.ended outcome=${outcome} turn=prompt-1-lfls`,
    )
  })

  it('an error that answers the prompt fails the turn, one that answers anything else changes nothing', () => {
    const raws = [
      prompt(1),
      out(ask(2, 'session/set_mode', { modeId: 'x' })),
      failure(2, { code: -32602, message: 'no such mode' }),
      failure(9, { code: -32603, message: 'never asked' }),
      failure(1, { code: -32603, message: 'overloaded' }),
    ]
    expect(lines(read(NAME, raws)).slice(1)).toEqual([
      's error message=overloaded turn=prompt-1-lfls',
      's turn.ended outcome=error turn=prompt-1-lfls',
    ])
  })

  it('a prompt that fails because it was cancelled is no error', () => {
    const cancel = out({ method: 'session/cancel', params: { sessionId: 's' } })
    expect(lines(read(NAME, [prompt(1), cancel, failure(1, { code: -32603, message: 'aborted' })])).slice(1)).toEqual([
      's interrupt.requested turn=prompt-1-lfls',
      's turn.ended outcome=aborted turn=prompt-1-lfls',
    ])
    const request = out({ method: '$/cancel_request', params: { requestId: 1 } })
    expect(lines(read(NAME, [prompt(1), request, failure(1, { code: -32800, message: 'gone' })])).slice(1)).toEqual([
      's interrupt.requested turn=prompt-1-lfls',
      's turn.ended outcome=aborted turn=prompt-1-lfls',
    ])
  })

  it('what an agent still says after the end carries the turn that ended', () => {
    expect(lines(read(NAME, [prompt(1), ended(1), says('late')])).at(-1)).toBe('s token stream=text turn=prompt-1-lfls')
  })

  it('a prompt into a running turn goes on as a turn of its own', () => {
    expect(lines(read(NAME, [prompt(1), prompt(2), ended(1, 'cancelled'), says('x'), ended(2)]))).toEqual([
      's turn.started provider=acp turn=prompt-1-lfls',
      's turn.started provider=acp turn=prompt-2-lfls',
      's turn.ended outcome=aborted turn=prompt-1-lfls',
      's token stream=text turn=prompt-2-lfls',
      's turn.ended outcome=completed turn=prompt-2-lfls',
    ])
  })

  it('a process that counts its requests again gives no turn an id that another had', () => {
    expect(lines(read(NAME, [prompt(1), ended(1), prompt(1), ended(1)])).map((line) => line.split('turn=')[1])).toEqual(
      ['prompt-1-lfls', 'prompt-1-lfls', 'prompt-1-lfls.2', 'prompt-1-lfls.2'],
    )
  })

  it('sessions of one connection are threads of their own, the first with the name that is given', () => {
    const raws = [prompt(1), prompt(2, 'other'), says('a'), says('b', 'other'), ended(2), ended(1)]
    expect(lines(read(NAME, raws, { thread: 'mine', provider: 'cursor', model: 'm', parent: 'p' }))).toEqual([
      'mine turn.started provider=cursor model=m parent=p turn=prompt-1-lfls',
      'other turn.started provider=cursor model=m parent=p turn=prompt-2-lfls',
      'mine token stream=text turn=prompt-1-lfls',
      'other token stream=text turn=prompt-2-lfls',
      'other turn.ended outcome=completed turn=prompt-2-lfls',
      'mine turn.ended outcome=completed turn=prompt-1-lfls',
    ])
  })
})

describe('requests of the agent', () => {
  const permission = (id: number | string) => ask(id, 'session/request_permission', { toolCall: { toolCallId: 'c' } })

  it('wait until our side answers the same id, whatever requests of ours have that id', () => {
    expect(
      lines(
        read(NAME, [
          prompt(1),
          permission(1),
          answer(7, {}),
          out(answer(1, { outcome: { outcome: 'selected', optionId: 'allow' } })),
          ask(2, 'elicitation/create', { mode: 'form', message: '?' }),
          out(failure(2, { code: -32603, message: 'no user' })),
          ask(3, 'terminal/wait_for_exit', { terminalId: 't' }),
          out(answer(3, { exitCode: 0 })),
          ask(4, 'fs/read_text_file', { path: '/a' }),
          out(answer(4, { content: '' })),
          permission('5'),
          ended(1),
        ]),
      ).slice(1),
    ).toEqual([
      's wait.started id=1 reason=approval turn=prompt-1-lfls',
      's wait.ended id=1 turn=prompt-1-lfls',
      's wait.started id=2 reason=input turn=prompt-1-lfls',
      's wait.ended id=2 turn=prompt-1-lfls',
      's tool.started id=3 turn=prompt-1-lfls',
      's tool.ended id=3 turn=prompt-1-lfls',
      's wait.started id=5 reason=approval turn=prompt-1-lfls',
      's turn.ended outcome=completed turn=prompt-1-lfls',
    ])
  })

  it('wait for our answer whatever the agent says meanwhile, where our side is visible', () => {
    const raws = [
      prompt(1),
      permission(8),
      says('x'),
      update('tool_call_update', { toolCallId: 'c', status: 'failed' }),
    ]
    expect(lines(read(NAME, raws)).slice(1)).toEqual([
      's wait.started id=8 reason=approval turn=prompt-1-lfls',
      's token stream=text turn=prompt-1-lfls',
      's tool.ended id=c turn=prompt-1-lfls',
    ])
  })

  it('an answer that comes after the next prompt ends the wait of its own turn', () => {
    const raws = [prompt(1), permission(8), ended(1), prompt(2), out(answer(8, { outcome: { outcome: 'cancelled' } }))]
    expect(lines(read(NAME, raws)).at(-1)).toBe('s wait.ended id=8 turn=prompt-1-lfls')
  })

  it('an elicitation of a request belongs to the session of that request', () => {
    const elicitation = { id: 4, method: 'elicitation/create', params: { requestId: 1, mode: 'url' } }
    expect(lines(read(NAME, [prompt(1), elicitation])).at(-1)).toBe(
      's wait.started id=4 reason=input turn=prompt-1-lfls',
    )
  })
})

describe('history', () => {
  it('that is told again while a session is loaded is no turn', () => {
    const load = out(ask(1, 'session/load', { cwd: '/', mcpServers: [] }))
    const told = [says('old'), update('tool_call', { toolCallId: 'c', status: 'completed' })]
    expect(lines(read(NAME, [load, ...told, answer(1, {}), prompt(2), says('new')]))).toEqual([
      's turn.started provider=acp turn=prompt-2-lfls',
      's token stream=text turn=prompt-2-lfls',
    ])
    expect(read(NAME, [load, ...told]).map(({ event }) => event)).toEqual([
      { kind: 'side', what: 'session/update:agent_message_chunk' },
      { kind: 'side', what: 'session/update:tool_call' },
    ])
  })

  it('of a load that fails, or is never answered, ends with the next prompt', () => {
    const load = out(ask(1, 'session/load'))
    for (const raws of [
      [load, failure(1, { code: -32002 }), prompt(2)],
      [load, prompt(2)],
    ]) {
      expect(lines(read(NAME, [...raws, says('new')])).at(-1)).toBe('s token stream=text turn=prompt-2-lfls')
    }
  })
})

describe('the model', () => {
  const options = (value: string) => ({
    configOptions: [
      { id: 'mode', category: 'mode', type: 'select', currentValue: 'ask' },
      { id: 'm', category: 'model', type: 'select', currentValue: value },
    ],
  })
  const started = (raws: unknown[]) => lines(read(NAME, [...raws, prompt(9)], { model: 'given' })).at(-1)

  it('is what the settings of the session name, else what is given', () => {
    expect(started([])).toBe('s turn.started provider=acp model=given turn=prompt-9-lfls')
    const opened = [
      out({ id: 1, method: 'session/new', params: {} }),
      answer(1, { sessionId: 's', ...options('opus') }),
    ]
    expect(started(opened)).toBe('s turn.started provider=acp model=opus turn=prompt-9-lfls')
    const set = [out(ask(2, 'session/set_config_option', { configId: 'm' })), answer(2, options('haiku'))]
    expect(started([...opened, ...set])).toBe('s turn.started provider=acp model=haiku turn=prompt-9-lfls')
    expect(started([...opened, update('config_option_update', options('sonnet'))])).toBe(
      's turn.started provider=acp model=sonnet turn=prompt-9-lfls',
    )
  })

  it('of agents older than those settings has a field and a request of its own', () => {
    const opened = [
      out({ id: 1, method: 'session/new', params: {} }),
      answer(1, { sessionId: 's', models: { currentModelId: 'auto', availableModels: [] } }),
    ]
    expect(started(opened)).toBe('s turn.started provider=acp model=auto turn=prompt-9-lfls')
    const set = out(ask(2, 'session/set_model', { modelId: 'gpt' }))
    expect(started([...opened, set, answer(2, {})])).toBe('s turn.started provider=acp model=gpt turn=prompt-9-lfls')
    expect(started([...opened, set, failure(2, {})])).toBe('s turn.started provider=acp model=auto turn=prompt-9-lfls')
  })
})

describe('version 2', () => {
  it('a state of the session starts and ends the turn; the answer to a prompt only takes it', () => {
    expect(
      lines(
        read(NAME, [
          ...version2,
          prompt(1),
          answer(1, { messageId: 'u' }),
          state('running'),
          update('agent_message', { messageId: 'a', content: [{ type: 'text', text: 'x' }] }),
          update('agent_message', { messageId: 'a' }),
          update('agent_thought', { messageId: 'b', content: [{ type: 'text', text: 'x' }] }),
          state('requires_action'),
          state('running'),
          state('idle', { stopReason: 'max_tokens' }),
          state('idle', { stopReason: 'max_tokens' }),
        ]),
      ),
    ).toEqual([
      's turn.requested',
      's turn.started provider=acp turn=prompt-1-lfls',
      's token stream=text turn=prompt-1-lfls',
      's token stream=reasoning turn=prompt-1-lfls',
      's wait.started id=session reason=approval turn=prompt-1-lfls',
      's wait.ended id=session turn=prompt-1-lfls',
      's turn.started provider=acp turn=prompt-1-lfls',
      's turn.ended outcome=incomplete turn=prompt-1-lfls',
    ])
  })

  it('is recognised by its states, where its greeting was not seen', () => {
    const raws = [prompt(1), answer(1, { messageId: 'u' }), state('running'), state('idle', { stopReason: 'end_turn' })]
    expect(lines(read(NAME, raws))).toEqual([
      's turn.started provider=acp turn=prompt-1-lfls',
      's turn.started provider=acp turn=prompt-1-lfls',
      's turn.ended outcome=completed turn=prompt-1-lfls',
    ])
  })

  it.each([
    [{ stopReason: 'error', error: { code: 1, message: 'lost' } }, ['error message=lost', 'turn.ended outcome=error']],
    [{ stopReason: 'cancelled' }, ['turn.ended outcome=aborted']],
    [{}, ['turn.ended outcome=completed']],
  ])('idle with %j ends the turn as it says', (more, end) => {
    expect(lines(read(NAME, [state('running'), state('idle', more)])).slice(1)).toEqual(end.map((line) => `s ${line}`))
  })

  it('work that the agent begins by itself is a turn of its own', () => {
    const raws = [
      ...version2,
      prompt(1),
      state('running'),
      state('idle'),
      says('background'),
      state('running'),
      says('x'),
    ]
    expect(lines(read(NAME, raws)).slice(-3)).toEqual([
      's token stream=text turn=prompt-1-lfls',
      's turn.started provider=acp turn=run-1-lfls',
      's token stream=text turn=run-1-lfls',
    ])
  })

  it('a prompt that is refused fails no turn that runs', () => {
    const refused = failure(2, { code: -32602, message: 'bad prompt' })
    expect(lines(read(NAME, [...version2, prompt(1), state('running'), prompt(2), refused])).at(-1)).toBe(
      's turn.started provider=acp turn=prompt-1-lfls',
    )
    expect(lines(read(NAME, [...version2, prompt(2), refused]))).toEqual([
      's turn.requested',
      's error message=bad prompt',
    ])
  })

  it('a tool call that is paused waits until it goes on or ends', () => {
    const call = (status: string) => update('tool_call_update', { toolCallId: 'c', status })
    expect(
      lines(
        read(NAME, [
          state('running'),
          call('in_progress'),
          call('paused'),
          call('in_progress'),
          call('paused'),
          call('failed'),
        ]),
      ).slice(1),
    ).toEqual([
      's tool.started id=c',
      's wait.started id=c reason=approval',
      's wait.ended id=c',
      's tool.started id=c',
      's wait.started id=c reason=approval',
      's wait.ended id=c',
      's tool.ended id=c',
    ])
  })

  it('a session may wait for its user before it has run', () => {
    expect(lines(read(NAME, [state('requires_action'), state('running')]))).toEqual([
      's turn.started provider=acp',
      's wait.started id=session reason=approval',
      's wait.ended id=session',
      's turn.started provider=acp',
    ])
  })

  it('compaction is a wait', () => {
    const compaction = (status: string) => update('compaction_update', { compactionId: 'k', status })
    expect(lines(read(NAME, [state('running'), compaction('in_progress'), compaction('completed')])).slice(1)).toEqual([
      's wait.started id=compaction reason=compaction',
      's wait.ended id=compaction',
    ])
  })
})

describe('sub-agents', () => {
  it('are sessions of their own, whose states come with their parent', () => {
    const child = (more: object) => update('subagent_update', { sessionId: 'kid', ...more })
    const raws = [
      prompt(1),
      child({ state: { state: 'running' } }),
      says('hello', 'kid'),
      child({ state: { state: 'idle', stopReason: 'end_turn' } }),
      says('x'),
    ]
    expect(lines(read(NAME, raws))).toEqual([
      's turn.started provider=acp turn=prompt-1-lfls',
      'kid turn.started provider=acp parent=s',
      'kid token stream=text',
      'kid turn.ended outcome=completed',
      's token stream=text turn=prompt-1-lfls',
    ])
  })
})

describe('one side alone', () => {
  it('the agent shows turns by what it does, and their ends by its answers', () => {
    expect(lines(read(NAME, [says('x'), says('y'), ended(4), says('z'), failure(5, { message: 'lost' })]))).toEqual([
      's turn.started provider=acp',
      's token stream=text',
      's token stream=text',
      's turn.ended outcome=completed',
      's turn.started provider=acp',
      's token stream=text',
      's error message=lost',
      's turn.ended outcome=error',
    ])
  })

  it('an answer that might be that of two sessions is nobody’s', () => {
    expect(
      lines(read(NAME, [says('x'), says('y', 'other'), ended(4)])).filter((line) => line.includes('ended')),
    ).toEqual([])
  })

  it('of two sessions the one that goes on was not answered, so that the other one was', () => {
    const raws = [says('x'), says('y', 'other'), ended(4, 'max_tokens'), says('z'), ended(5)]
    expect(lines(read(NAME, raws)).slice(4)).toEqual([
      'other turn.ended outcome=incomplete',
      's token stream=text',
      's turn.ended outcome=completed',
    ])
  })

  it('as many answers as sessions end them all, and what they say next begins anew', () => {
    const raws = [says('x'), says('y', 'other'), ended(4), ended(5), says('z', 'other'), ended(6)]
    expect(lines(read(NAME, raws)).slice(4)).toEqual([
      's turn.ended outcome=completed',
      'other turn.ended outcome=completed',
      'other turn.started provider=acp',
      'other token stream=text',
      'other turn.ended outcome=completed',
    ])
  })

  it('of three sessions two answers are known once the third goes on', () => {
    const raws = [says('x'), says('y', 'b'), says('z', 'c'), ended(4), ended(5), says('y', 'b')]
    expect(lines(read(NAME, raws)).slice(6)).toEqual([
      's turn.ended outcome=completed',
      'c turn.ended outcome=completed',
      'b token stream=text',
    ])
  })

  it('an answer that is known leaves fewer sessions to the next one', () => {
    const raws = [says('x'), says('y', 'b'), ended(4), says('z', 'c'), ended(5, 'refusal'), says('x')]
    expect(lines(read(NAME, raws)).slice(6)).toEqual([
      'b turn.ended outcome=completed',
      'c turn.ended outcome=incomplete',
      's token stream=text',
    ])
  })

  it('an error that answers one of several sessions’ requests ends none of them', () => {
    const raws = [says('x'), says('y', 'other'), failure(4, { message: 'no such mode' }), says('z')]
    expect(lines(read(NAME, raws)).slice(4)).toEqual(['s token stream=text'])
  })

  it('a question of the agent is answered when its tool runs or the agent speaks, not when another tool ends', () => {
    const permission = (id: number, call: string) =>
      ask(id, 'session/request_permission', { toolCall: { toolCallId: call } })
    const call = (toolCallId: string, status: string) => update('tool_call_update', { toolCallId, status })
    const raws = [
      permission(1, 'a'),
      permission(2, 'b'),
      says('x', 'other'),
      call('a', 'pending'),
      call('b', 'completed'),
      says('x'),
      ask(3, 'elicitation/create', { mode: 'form' }),
      call('a', 'completed'),
    ]
    expect(lines(read(NAME, raws)).filter((line) => !line.startsWith('other'))).toEqual([
      's wait.started id=1 reason=approval',
      's wait.started id=2 reason=approval',
      's turn.started provider=acp',
      's tool.started id=a',
      's wait.ended id=2',
      's tool.ended id=b',
      's wait.ended id=1',
      's token stream=text',
      's wait.started id=3 reason=input',
      's wait.ended id=3',
      's tool.ended id=a',
    ])
  })

  it('a question that is open when the turn ends is over with it', () => {
    const raws = [says('x'), ask(1, 'session/request_permission'), ended(4, 'cancelled'), says('y')]
    expect(lines(read(NAME, raws)).slice(2)).toEqual([
      's wait.started id=1 reason=approval',
      's wait.ended id=1',
      's turn.ended outcome=aborted',
      's turn.started provider=acp',
      's token stream=text',
    ])
  })

  it('a question of a session that is known to have ended is over too', () => {
    const raws = [says('x'), ask(1, 'session/request_permission'), says('y', 'other'), ended(4), says('z', 'other')]
    expect(lines(read(NAME, raws)).slice(5)).toEqual([
      's wait.ended id=1',
      's turn.ended outcome=completed',
      'other token stream=text',
    ])
  })

  it('without directions the methods tell who speaks', () => {
    const raws = [
      ask(1, 'session/prompt'),
      ask(5, 'session/request_permission'),
      answer(5, { outcome: { outcome: 'selected' } }),
      ended(1),
    ]
    expect(lines(read(NAME, raws))).toEqual([
      's turn.started provider=acp turn=prompt-1-lfls',
      's wait.started id=5 reason=approval turn=prompt-1-lfls',
      's wait.ended id=5 turn=prompt-1-lfls',
      's turn.ended outcome=completed turn=prompt-1-lfls',
    ])
  })
})

describe('what it does not know', () => {
  it('is a side event of its session, and is counted', () => {
    const unknown: string[] = []
    const said = read(
      NAME,
      [prompt(1), update('new_update'), ask(2, 'cursor/ask_question'), { method: 'auth/status_update' }],
      {
        onUnclassified: (source, type) => unknown.push(`${source} ${type}`),
      },
    )
    expect(said.slice(1)).toEqual([
      { thread: 's', event: { kind: 'side', what: 'unknown', turn: 'prompt-1-lfls' } },
      { thread: 's', event: { kind: 'side', what: 'unknown', turn: 'prompt-1-lfls' } },
    ])
    expect(unknown).toEqual(['acp session/update:new_update', 'acp cursor/ask_question'])
  })

  it('is passed over when it is no message at all', () => {
    const garbage = [
      {},
      { id: null, error: {} },
      { id: 1 },
      { method: 5 },
      { method: 'session/prompt' },
      { method: 'session/update', params: 7 },
    ]
    expect(read(NAME, garbage)).toEqual([])
  })

  it('may have any one value missing or of the wrong type', () => {
    const version1 = [
      ask(1, 'session/new'),
      answer(1, { sessionId: 's', configOptions: [{ id: 'm', category: 'model', currentValue: 'opus' }] }),
      ask(2, 'session/load'),
      answer(2, { models: { currentModelId: 'auto' } }),
      ask(3, 'session/prompt'),
      says('x'),
      update('tool_call', { toolCallId: 'c', kind: 'read', title: 'a', status: 'pending' }),
      ask(4, 'session/request_permission'),
      answer(4, { outcome: { outcome: 'cancelled' } }),
      ask(5, 'session/cancel'),
      failure(3, { code: -32603, message: 'lost' }),
    ]
    const states = [
      { id: 0, method: 'initialize', params: {} },
      answer(0, { protocolVersion: 2 }),
      ask(1, 'session/prompt'),
      state('running'),
      update('agent_message', { content: [{ type: 'text', text: 'x' }] }),
      update('tool_call_update', { toolCallId: 'c', status: 'paused' }),
      update('subagent_update', { sessionId: 'kid', state: { state: 'running' } }),
      update('subagent_update', { sessionId: 'kid', state: { state: 'idle', error: { message: 'x' } } }),
      state('idle', { stopReason: 'error', error: { message: 'lost' } }),
    ]
    expect(faultsOfMangled(NAME, version1)).toEqual([])
    expect(faultsOfMangled(NAME, states)).toEqual([])
  })

  it('tokens are one shared object a turn', () => {
    const [, first, second] = read(NAME, [prompt(1), says('a'), says('b')])
    expect(first?.event).toBe(second?.event)
    expect(Object.isFrozen(first?.event)).toBe(true)
  })
})

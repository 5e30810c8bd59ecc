import { describe, expect, it } from 'vitest'
import { folded, lines, read, trace } from './read.ts'

const NAME = 'claude-code-stream-json'
const init = { type: 'system', subtype: 'init', session_id: 's', model: 'opus' }
const started = 's turn.started provider=claudeAgent model=opus'
const result = (more: object = {}) => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  session_id: 's',
  ...more,
})
const delta = (more: object) => ({
  type: 'stream_event',
  session_id: 's',
  parent_tool_use_id: null,
  event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'hi' } },
  ...more,
})
const assistant = (content: object[], more: object = {}) => ({
  type: 'assistant',
  session_id: 's',
  parent_tool_use_id: null,
  message: { model: 'opus', content },
  ...more,
})
const toolUse = (id: string, name = 'Bash') => ({ type: 'tool_use', id, name, input: {} })
const toolResult = (id: string, more: object = {}, outer: object = {}) => ({
  type: 'user',
  session_id: 's',
  parent_tool_use_id: null,
  message: { content: [{ type: 'tool_result', tool_use_id: id, ...more }] },
  ...outer,
})

describe('a recorded run', () => {
  it('becomes one turn with its tool and its tokens', () => {
    const id = '11111111-1111-4111-8111-111111111111'
    expect(folded(lines(read(NAME, trace('claude.jsonl'))))).toEqual([
      `${id} turn.started provider=claudeAgent model=claude-opus-4-6`,
      `${id} token stream=reasoning x10`,
      `${id} token stream=text x4`,
      `${id} token stream=tool-args x2`,
      `${id} tool.started id=toolu_fake0 name=Bash`,
      `${id} tool.ended id=toolu_fake0`,
      `${id} token stream=text x3`,
      `${id} turn.ended outcome=completed`,
    ])
  })

  it('tells its usage at the end', () => {
    const end = read(NAME, trace('claude.jsonl')).at(-1)?.event
    expect(end).toMatchObject({
      usage: { inputTokens: 24, outputTokens: 84, cacheReadTokens: 0, cacheWriteTokens: 40000 },
    })
  })

  it('keeps a tool of 70 s open over its heartbeats', () => {
    const said = lines(read(NAME, trace('claude-longtool.jsonl')))
    const open = said.findIndex((line) => line.includes('tool.started'))
    expect(said.slice(open, open + 2).map((line) => line.split(' ').slice(1).join(' '))).toEqual([
      'tool.started id=toolu_fake0 name=Bash',
      'tool.ended id=toolu_fake0',
    ])
  })

  it('holds announced back-offs', () => {
    const waits = lines(read(NAME, trace('claude-retry.jsonl'))).filter((line) => line.includes('wait'))
    expect(waits.map((line) => line.split(' ').slice(1).join(' '))).toEqual([
      'wait.started id=retry reason=retry until=1000553',
      'wait.started id=retry reason=retry until=1001195',
    ])
  })
})

describe('ends', () => {
  const ends = (more: object) => lines(read(NAME, [init, result(more)])).slice(1)

  it('as the result says', () => {
    expect(ends({})).toEqual(['s turn.ended outcome=completed'])
    expect(ends({ terminal_reason: 'aborted_tools' })).toEqual(['s turn.ended outcome=aborted'])
    expect(ends({ subtype: 'error_during_execution', terminal_reason: 'aborted_streaming' })).toEqual([
      's turn.ended outcome=aborted',
    ])
  })

  it('a failed provider is an error, a limit of the caller or a refusal is none', () => {
    expect(ends({ is_error: true, result: 'API Error: 400' })).toEqual([
      's error message=API Error: 400',
      's turn.ended outcome=error',
    ])
    expect(ends({ subtype: 'error_during_execution', errors: ['boom'] })).toEqual([
      's error message=boom',
      's turn.ended outcome=error',
    ])
    for (const subtype of ['error_max_turns', 'error_max_budget_usd', 'error_max_structured_output_retries']) {
      expect(ends({ subtype, is_error: true })).toEqual(['s turn.ended outcome=error'])
    }
    expect(ends({ is_error: true, stop_reason: 'refusal' })).toEqual(['s turn.ended outcome=error'])
  })

  it('what an interrupted model had said is said once more, and is no progress', () => {
    const partial = assistant([{ type: 'text', text: 'Hello' }], { aborted: true })
    expect(lines(read(NAME, [init, delta({}), partial, result({ terminal_reason: 'aborted_streaming' })]))).toEqual([
      started,
      's token stream=text',
      's turn.ended outcome=aborted',
    ])
  })

  it('a failure before the first turn is a turn of its own, a second terminal is not', () => {
    const failed = result({ is_error: true, result: 'no login' })
    expect(lines(read(NAME, [failed, failed])).filter((line) => line.includes('turn.started'))).toHaveLength(1)
  })
})

describe('sub-agents', () => {
  const inside = { parent_tool_use_id: 'task1' }
  const said = lines(
    read(NAME, [
      init,
      assistant([toolUse('task1', 'Task')]),
      assistant([{ type: 'text', text: 'looking' }], {
        ...inside,
        message: { model: 'haiku', content: [{ type: 'text' }] },
      }),
      assistant([toolUse('inner')], inside),
      toolResult('inner', {}, inside),
      delta(inside),
      {
        type: 'tool_progress',
        session_id: 's',
        parent_tool_use_id: 'task1',
        tool_use_id: 'task1-heartbeat-0',
        heartbeat: true,
      },
      toolResult('task1'),
      delta({}),
      result(),
    ]),
  )

  it('have turns of their own, ended by the result of the tool that ran them', () => {
    expect(said).toEqual([
      started,
      's tool.started id=task1 name=Task',
      'sub.s.task1 turn.started provider=claudeAgent model=haiku parent=s turn=task1',
      'sub.s.task1 token stream=text turn=task1',
      'sub.s.task1 tool.started id=inner name=Bash turn=task1',
      'sub.s.task1 tool.ended id=inner turn=task1',
      'sub.s.task1 token stream=text turn=task1',
      's tool.ended id=task1',
      'sub.s.task1 turn.ended outcome=completed turn=task1',
      's token stream=text',
      's turn.ended outcome=completed',
    ])
  })

  it('may run sub-agents of their own, which end by a result inside them', () => {
    const nested = { parent_tool_use_id: 'task2' }
    const ends = lines(
      read(NAME, [
        init,
        assistant([toolUse('task1', 'Task')]),
        assistant([toolUse('task2', 'Task')], inside),
        delta(nested),
        toolResult('task2', {}, inside),
        toolResult('task1'),
        result(),
      ]),
    ).filter((line) => line.includes('turn.ended'))
    expect(ends).toEqual([
      'sub.s.task2 turn.ended outcome=completed turn=task2',
      'sub.s.task1 turn.ended outcome=completed turn=task1',
      's turn.ended outcome=completed',
    ])
  })

  it('in the background name their turn, so that what comes after its end opens no other', () => {
    const late = lines(
      read(NAME, [init, assistant([toolUse('task1', 'Task')]), delta(inside), toolResult('task1'), delta(inside)]),
    )
    expect(late.slice(-2)).toEqual([
      'sub.s.task1 turn.started provider=claudeAgent parent=s turn=task1',
      'sub.s.task1 token stream=text turn=task1',
    ])
    expect(lines(read(NAME, [init, delta(inside), result(), delta(inside)])).at(-1)).toBe(
      's turn.ended outcome=completed',
    )
  })

  it('end with their parent when no result comes', () => {
    expect(lines(read(NAME, [init, delta(inside), result()])).at(-2)).toBe(
      'sub.s.task1 turn.ended outcome=aborted turn=task1',
    )
  })
})

describe('waits', () => {
  it('for approval end by our reply, by their cancellation, and for compaction by its end', () => {
    const ask = (id: string, subtype: string) => ({ type: 'control_request', request_id: id, request: { subtype } })
    expect(
      lines(
        read(NAME, [
          init,
          ask('r1', 'can_use_tool'),
          [{ type: 'control_response', response: { subtype: 'success', request_id: 'r1' } }, 'out'],
          ask('r2', 'elicitation'),
          { type: 'control_cancel_request', request_id: 'r2' },
          ask('r3', 'hook_callback'),
          { type: 'system', subtype: 'status', status: 'compacting', session_id: 's' },
          { type: 'system', subtype: 'compact_boundary', session_id: 's' },
          { type: 'auth_status', isAuthenticating: true },
          { type: 'auth_status', isAuthenticating: false },
        ]),
      ),
    ).toEqual([
      started,
      's wait.started id=r1 reason=approval',
      's wait.ended id=r1',
      's wait.started id=r2 reason=input',
      's wait.ended id=r2',
      's wait.started id=r3 reason=hook',
      's wait.started id=compaction reason=compaction',
      's wait.ended id=compaction',
      's wait.started id=auth reason=auth',
      's wait.ended id=auth',
    ])
  })

  it('a tool call that comes with its result leaves nothing open', () => {
    const whole = assistant([
      { type: 'server_tool_use', id: 'w', name: 'web_search' },
      { type: 'web_search_tool_result', tool_use_id: 'w' },
      { type: 'text', text: 'found' },
    ])
    expect(lines(read(NAME, [init, whole])).slice(1)).toEqual(['s token stream=tool-args'])
  })

  it('hooks between turns open none', () => {
    const hook = (subtype: string) => ({ type: 'system', subtype, hook_id: 'h', session_id: 's' })
    const turn = [init, hook('hook_started'), hook('hook_response'), result()]
    expect(lines(read(NAME, [hook('hook_started'), hook('hook_response'), ...turn, hook('hook_started')]))).toEqual([
      started,
      's tool.started id=h',
      's tool.ended id=h',
      's turn.ended outcome=completed',
    ])
  })

  it('the progress of a request of ours is no new attempt', () => {
    const progress = { type: 'system', subtype: 'control_request_progress', session_id: 's' }
    expect(lines(read(NAME, [init, assistant([toolUse('t')]), progress])).at(-1)).toBe('s tool.started id=t name=Bash')
  })

  it('an interrupted turn that fails was aborted', () => {
    const interrupt = [{ type: 'control_request', request_id: 'x', request: { subtype: 'interrupt' } }, 'out']
    const failed = result({ subtype: 'error_during_execution', is_error: true })
    expect(lines(read(NAME, [init, interrupt, failed])).at(-1)).toBe('s turn.ended outcome=aborted')
    expect(lines(read(NAME, [init, interrupt, failed, init, failed])).slice(-2)).toEqual([
      's error message=the agent reported an error',
      's turn.ended outcome=error',
    ])
  })

  it('a prompt of ours is a request in the session of the agent, whatever session it names', () => {
    const prompt = [{ type: 'user', session_id: 'default', message: { content: 'hi' } }, 'out']
    expect(lines(read(NAME, [prompt, init, prompt, result(), prompt], { thread: 'T' }))).toEqual([
      'T turn.requested',
      'T turn.started provider=claudeAgent model=opus',
      'T turn.ended outcome=completed',
      'T turn.requested',
    ])
  })

  it('an interrupt that our side sends is one', () => {
    const sent = { type: 'control_request', request_id: 'x', request: { subtype: 'interrupt' } }
    expect(lines(read(NAME, [init, [sent, 'out']])).at(-1)).toBe('s interrupt.requested')
  })
})

describe('what the wire does not say', () => {
  it('an unknown type is progress and counted, one that says keep-alive is not', () => {
    const unclassified: string[] = []
    const said = read(NAME, [init, { type: 'brand_new', session_id: 's' }, { type: 'serverPing', session_id: 's' }], {
      onUnclassified: (_, type) => unclassified.push(type),
    })
    expect(said.slice(1).map(({ event }) => event)).toEqual([
      { kind: 'progress', what: 'unknown' },
      { kind: 'side', what: 'unknown' },
    ])
    expect(unclassified).toEqual(['brand_new', 'serverPing'])
  })

  it('nothing that is no event throws or speaks', () => {
    const odd = [
      null,
      1,
      'x',
      [],
      {},
      { type: null },
      { type: 'assistant' },
      { type: 'user', session_id: 5, message: 3 },
    ]
    expect(
      read(
        NAME,
        odd.map((raw) => [raw, 'in']),
      ),
    ).toEqual([])
    expect(() => read(NAME, [init, assistant(null as never), { type: 'result', session_id: 's' }])).not.toThrow()
  })

  it('options name the thread, the parent and the model', () => {
    const said = read(NAME, [{ ...init, model: undefined }, delta({})], { thread: 'T', parent: 'P', model: 'M' })
    expect(lines(said)).toEqual(['T turn.started provider=claudeAgent model=M parent=P', 'T token stream=text'])
  })

  it('a second session of the process keeps its own name', () => {
    const said = read(NAME, [init, result(), { ...init, session_id: 's2' }], { thread: 'T' })
    expect(said.at(-1)?.thread).toBe('s2')
  })
})

import { describe, expect, it } from 'vitest'
import { faultsOfMangled } from './mangled.ts'
import { lines, read } from './read.ts'

const NAME = 'mcp'
const ask = (id: number | string, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })
const tell = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params })
const answer = (id: number | string, result: object = { content: [] }) => ({ jsonrpc: '2.0', id, result })
const failure = (id: number | string) => ({ jsonrpc: '2.0', id, error: { code: -32603, message: 'broken' } })
const out = (raw: object) => [raw, 'out']
const call = (id: number | string, name = 'search', more: object = {}) => ask(id, 'tools/call', { name, ...more })
const status = (taskId: string, status: string) => tell('notifications/tasks/status', { taskId, status })

describe('calls of tools', () => {
  it('begin a turn when none runs, and the last to end ends it', () => {
    expect(
      lines(read(NAME, [out(call(1)), out(call(2, 'fetch')), answer(1), answer(2), out(call(3)), answer(3)])),
    ).toEqual([
      'mcp turn.started provider=mcp',
      'mcp tool.started id=1 name=search',
      'mcp tool.started id=2 name=fetch',
      'mcp tool.ended id=1',
      'mcp tool.ended id=2',
      'mcp turn.ended outcome=completed',
      'mcp turn.started provider=mcp',
      'mcp tool.started id=3 name=search',
      'mcp tool.ended id=3',
      'mcp turn.ended outcome=completed',
    ])
  })

  it('are read on the side of the server too, and where no directions are given', () => {
    const turn = [
      't turn.started provider=p model=m parent=boss',
      't tool.started id=a name=search',
      't tool.ended id=a',
      't turn.ended outcome=completed',
    ]
    const options = { thread: 't', provider: 'p', model: 'm', parent: 'boss' }
    expect(lines(read(NAME, [call('a'), out(answer('a'))], options))).toEqual(turn)
    expect(lines(read(NAME, [call('a'), answer('a')], options))).toEqual(turn)
  })

  it('that fail are no failure of the turn, one that the server could not make is, without a verdict', () => {
    const end = (raw: object) => lines(read(NAME, [out(call(1)), raw])).slice(-2)
    expect(end(answer(1, { isError: true, content: [] }))).toEqual([
      'mcp tool.ended id=1',
      'mcp turn.ended outcome=completed',
    ])
    expect(end(failure(1))).toEqual(['mcp tool.ended id=1', 'mcp turn.ended outcome=error'])
  })

  it('that are cancelled end, and abort the turn if they were the last', () => {
    const cancel = (id: number) => out(tell('notifications/cancelled', { requestId: id }))
    expect(
      lines(read(NAME, [out(call(1)), out(call(2)), cancel(1), cancel(2), answer(2), cancel(2)])).slice(-3),
    ).toEqual(['mcp tool.ended id=1', 'mcp tool.ended id=2', 'mcp turn.ended outcome=aborted'])
  })

  it('end by answers that go the other way only', () => {
    const raws = [out(call(1)), ask(1, 'ping'), out(answer(1, {}))]
    expect(lines(read(NAME, raws))).toEqual(['mcp turn.started provider=mcp', 'mcp tool.started id=1 name=search'])
    expect(lines(read(NAME, [...raws, answer(1)])).at(-1)).toBe('mcp turn.ended outcome=completed')
  })

  it('that are told twice are one', () => {
    expect(lines(read(NAME, [out(call(1)), out(call(1)), answer(1), answer(1)]))).toHaveLength(4)
  })
})

it('connections that name no thread have each one of their own', () => {
  const threads = [call(1), call(1)].map((raw) => read(NAME, [raw])[0]?.thread)
  for (const thread of threads) expect(thread).toMatch(/^mcp-lfls-\d+$/)
  expect(new Set(threads).size).toBe(2)
})

describe('requests of the server within a call', () => {
  it('for a model are tools, for a person they are waits, until they are answered', () => {
    expect(
      lines(
        read(NAME, [
          out(call(7)),
          ask(1, 'sampling/createMessage', { messages: [] }),
          out(answer(1, { role: 'assistant' })),
          ask(2, 'elicitation/create', { message: '?' }),
          out(answer(2, { action: 'accept' })),
          ask(7, 'sampling/createMessage'),
          out(failure(7)),
          ask(8, 'elicitation/create'),
          tell('notifications/cancelled', { requestId: 8 }),
          ask(9, 'elicitation/create'),
          answer(7),
          out(answer(9, { action: 'cancel' })),
        ]),
      ).slice(2),
    ).toEqual([
      'mcp tool.started id=1',
      'mcp tool.ended id=1',
      'mcp wait.started id=2 reason=input',
      'mcp wait.ended id=2',
      'mcp tool.started id=7.2',
      'mcp tool.ended id=7.2',
      'mcp wait.started id=8 reason=input',
      'mcp wait.ended id=8',
      'mcp wait.started id=9 reason=input',
      'mcp tool.ended id=7',
      'mcp turn.ended outcome=completed',
    ])
  })

  it('outside of one begin no turn', () => {
    expect(lines(read(NAME, [ask(1, 'sampling/createMessage'), ask(2, 'elicitation/create'), out(answer(1))]))).toEqual(
      [],
    )
  })
})

describe('tasks', () => {
  const taken = answer(1, { task: { taskId: 't', status: 'working' } })

  it('go on as the tool of the call that was only taken', () => {
    expect(
      lines(
        read(NAME, [
          out(call(1, 'build', { task: {} })),
          taken,
          status('t', 'input_required'),
          status('t', 'working'),
          status('t', 'failed'),
          status('t', 'completed'),
        ]),
      ).slice(1),
    ).toEqual([
      'mcp tool.started id=1 name=build',
      'mcp tool.started id=t name=build',
      'mcp tool.ended id=1',
      'mcp wait.started id=t reason=input',
      'mcp wait.ended id=t',
      'mcp tool.ended id=t',
      'mcp turn.ended outcome=completed',
    ])
  })

  it.each([
    [
      'a status that was asked for',
      [out(ask(2, 'tasks/get', { taskId: 't' })), answer(2, { taskId: 't', status: 'completed' })],
      'completed',
    ],
    ['its result', [out(ask(2, 'tasks/result', { taskId: 't' })), answer(2)], 'completed'],
    ['a result that there is none of', [out(ask(2, 'tasks/result', { taskId: 't' })), failure(2)], 'error'],
    [
      'a cancellation',
      [out(ask(2, 'tasks/cancel', { taskId: 't' })), answer(2, { taskId: 't', status: 'cancelled' })],
      'aborted',
    ],
  ])('end with %s', (_, raws, outcome) => {
    expect(lines(read(NAME, [out(call(1)), taken, ...raws])).slice(-2)).toEqual([
      'mcp tool.ended id=t',
      `mcp turn.ended outcome=${outcome}`,
    ])
  })

  it('that no call here began end as tools, and begin no turn', () => {
    expect(lines(read(NAME, [status('x', 'input_required'), status('x', 'completed')]))).toEqual([])
    expect(lines(read(NAME, [out(call(1)), status('x', 'completed')])).at(-1)).toBe('mcp tool.ended id=x')
  })
})

describe('everything else', () => {
  it('starts nothing; progress is a heartbeat', () => {
    const raws = [
      out(ask(0, 'initialize')),
      answer(0, { protocolVersion: '2025-11-25' }),
      out(tell('notifications/initialized')),
      out(ask(1, 'tools/list')),
      answer(1, { tools: [] }),
      ask(2, 'ping'),
      out(call(3)),
      tell('notifications/progress', { progressToken: 3, progress: 1 }),
      tell('notifications/message', { level: 'info' }),
    ]
    expect(read(NAME, raws).map(({ event }) => ('what' in event ? `${event.kind} ${event.what}` : event.kind))).toEqual(
      [
        'side initialize',
        'side notifications/initialized',
        'side tools/list',
        'side ping',
        'turn.started',
        'tool.started',
        'side notifications/progress',
        'side notifications/message',
      ],
    )
  })

  it('that is unknown is progress on a connection that is one turn’s, and is counted', () => {
    const unknown: string[] = []
    const options = { onUnclassified: (source: string, type: string) => void unknown.push(`${source} ${type}`) }
    const said = read(
      NAME,
      [tell('notifications/new'), tell('notifications/heartbeat'), { method: 7 }, { id: 3 }, {}],
      options,
    )
    expect(said.map(({ event }) => event)).toEqual([
      { kind: 'progress', what: 'unknown' },
      { kind: 'side', what: 'unknown' },
    ])
    expect(unknown).toEqual(['mcp notifications/new', 'mcp notifications/heartbeat', 'mcp no type', 'mcp no type'])
  })

  it('may have any one value missing or of the wrong type', () => {
    const raws = [
      call(1, 'build', { task: {} }),
      ask(2, 'sampling/createMessage'),
      ask(3, 'elicitation/create'),
      answer(3, { action: 'accept' }),
      answer(1, { task: { taskId: 't', status: 'working' } }),
      status('t', 'input_required'),
      ask(4, 'tasks/result', { taskId: 't' }),
      tell('notifications/cancelled', { requestId: 2 }),
      failure(4),
    ]
    expect(faultsOfMangled(NAME, raws)).toEqual([])
  })
})

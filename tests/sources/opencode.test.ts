import { describe, expect, it } from 'vitest'
import { recognise } from '../../instrumentation/sources/index.ts'
import { folded, lines, read, trace } from './read.ts'

describe('opencode serve', () => {
  const NAME = 'opencode-sse'
  const of = (type: string, properties: object = {}) => ({ type, properties: { sessionID: 'o', ...properties } })
  const status = (type: string, more: object = {}) => of('session.status', { status: { type, ...more } })
  const part = (more: object) =>
    of('message.part.updated', { part: { id: 'p', messageID: 'm', sessionID: 'o', ...more } })

  it('reads a recorded run with its permission, and takes no word of the user for the model', () => {
    const id = 'ses_dd45af9feffe2jEnkqawGemawe'
    expect(folded(lines(read(NAME, trace('opencode-sse-perm.jsonl'))))).toEqual([
      `${id} turn.started provider=opencode model=fake-model x2`,
      `${id} token stream=reasoning x3`,
      `${id} token stream=text x3`,
      `${id} token stream=tool-args`,
      `${id} tool.started id=call_fake1 name=bash`,
      `${id} wait.started id=per_22ba50e58001YSSGbhhgxRrDcw reason=approval`,
      `${id} token stream=text`,
      `${id} wait.ended id=per_22ba50e58001YSSGbhhgxRrDcw`,
      `${id} tool.started id=call_fake1 name=bash x2`,
      `${id} tool.ended id=call_fake1`,
      `${id} turn.started provider=opencode model=fake-model x2`,
      `${id} token stream=text x3`,
      `${id} turn.started provider=opencode model=fake-model`,
      `${id} turn.ended outcome=completed x2`,
    ])
  })

  it('adds up the usage of its steps', () => {
    const end = read(NAME, trace('opencode-sse-perm.jsonl')).find(({ event }) => event.kind === 'turn.ended')?.event
    expect(end).toMatchObject({ usage: { inputTokens: 80, outputTokens: 84 } })
  })

  it('keeps sessions apart, and knows their parents', () => {
    const child = { type: 'session.created', properties: { info: { id: 'k', parentID: 'o', model: { id: 'small' } } } }
    const busy = { type: 'session.status', properties: { sessionID: 'k', status: { type: 'busy' } } }
    expect(lines(read(NAME, [status('busy'), child, busy, part({ type: 'text', text: 'x' })]))).toEqual([
      'o turn.started provider=opencode',
      'k turn.started provider=opencode model=small parent=o',
      'o token stream=text',
    ])
  })

  it('holds an announced retry, and takes one without a time for a new attempt', () => {
    expect(
      lines(read(NAME, [status('busy'), status('retry', { next: 1_030_000 }), part({ type: 'retry' })])).slice(1),
    ).toEqual(['o wait.started id=retry reason=retry until=1030000', 'o attempt.started'])
  })

  it('an abort is an end, an error without a session is that of the one that runs', () => {
    const error = (name: string, data: object = {}) => ({
      type: 'session.error',
      properties: { error: { name, data } },
    })
    const next = (raw: unknown) => lines(read(NAME, [status('busy'), raw])).slice(1)
    expect(next(error('MessageAbortedError'))).toEqual(['o turn.ended outcome=aborted'])
    expect(next(error('APIError', { message: 'overloaded' }))).toEqual([
      'o error message=overloaded',
      'o turn.ended outcome=error',
    ])
    expect(next(error('MessageOutputLengthError'))).toEqual(['o turn.ended outcome=error'])
    expect(lines(read(NAME, [status('busy'), status('idle'), error('APIError')])).length).toBe(2)
    expect(next(of('session.deleted'))).toEqual(['o exit'])
  })

  it('a type that it does not know says nothing of a turn: all sessions share the stream', () => {
    expect(read(NAME, [status('busy'), of('session.viewers.updated')]).at(-1)?.event).toEqual({
      kind: 'side',
      what: 'unknown',
    })
  })

  it('heartbeats and broadcasts speak for nobody', () => {
    const raws = [status('busy'), { type: 'server.heartbeat', properties: {} }, { type: 'new.thing', properties: {} }]
    expect(read(NAME, raws)).toHaveLength(1)
  })

  it('unwraps the stream of all directories', () => {
    expect(lines(read(NAME, [{ directory: '/d', payload: status('busy') }]))).toEqual([
      'o turn.started provider=opencode',
    ])
  })
})

describe('opencode run', () => {
  const NAME = 'opencode-run-json'

  it('reads a recorded run, and says that it cannot show open tools', () => {
    const id = 'ses_dd46088d2ffen2AZyJOO7O57X6'
    expect(lines(read(NAME, trace('opencode.jsonl')))).toEqual([
      `${id} turn.started provider=opencode blindTools=true`,
      `${id} token stream=reasoning`,
      `${id} token stream=text`,
      `${id} token stream=tool-args`,
      `${id} turn.started provider=opencode blindTools=true`,
      `${id} token stream=text`,
      `${id} turn.ended outcome=completed`,
    ])
  })

  it('an error before the first step is a failed turn', () => {
    expect(lines(read(NAME, trace('opencode-err.jsonl'))).map((line) => line.split(' ').slice(1).join(' '))).toEqual([
      'turn.started provider=opencode blindTools=true',
      'error message=fake bad request',
      'turn.ended outcome=error',
    ])
  })
})

describe('recognition', () => {
  it.each([
    ['claude-retry.jsonl', 'claude-code-stream-json'],
    ['codex-resume.jsonl', 'codex-exec-json'],
    ['codex-appserver.jsonl', 'codex-app-server'],
    ['opencode-sse.jsonl', 'opencode-sse'],
    ['opencode.jsonl', 'opencode-run-json'],
    ['opencode-err.jsonl', 'opencode-run-json'],
  ])('the first line that is known tells %s', (file, name) => {
    const found = trace(file)
      .map((raw) => recognise(Array.isArray(raw) ? raw[0] : raw))
      .filter((one) => one !== null)
    expect(new Set(found)).toEqual(new Set([name]))
  })

  it('knows nothing of other JSON', () => {
    for (const raw of [{ type: 'error' }, { level: 'info', msg: 'x' }, { type: 'module' }, 5, null])
      expect(recognise(raw)).toBe(null)
  })
})

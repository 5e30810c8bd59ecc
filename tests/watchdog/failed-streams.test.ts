/** Streams whose server says that they failed, whatever its wire: what is thrown at their end, and what is not. */

import { describe, expect, it } from 'vitest'
import { type SourceName, StreamFailedError, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

describe('a stream', () => {
  async function read(source: SourceName, script: readonly Line[], options: object = {}) {
    const clock = new VirtualClock()
    const watched = watchStream(pushed(clock, script).stream, { source, livenessMs: 1000, ...options, clock })
    const result = reading(clock, watched)
    await clock.advance(500)
    return result
  }
  const failed = {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'Boom' } },
  }
  const error = { type: 'error', code: 'server_error', message: 'Boom' }
  const completed = { type: 'response.completed', response: { status: 'completed' } }
  const incomplete = { type: 'response.incomplete', response: { status: 'incomplete' } }
  const invalid = { type: 'response.failed', response: { status: 'failed', error: { code: 'invalid_prompt' } } }

  it('that fails throws at its end, after everything that came', async () => {
    const { events, outcome, endedAt } = await read('openai-responses', [
      [10, failed],
      [100, 'end'],
    ])
    expect(events).toEqual([failed])
    expect(outcome).toBeInstanceOf(StreamFailedError)
    expect(outcome).toMatchObject({
      code: 'server_error',
      message: 'stream failed: server_error: Boom',
      retryable: true,
    })
    expect((outcome as StreamFailedError).response).toBe(failed.response)
    expect(endedAt).toBe(110)
  })

  it('that fails for good says so', async () => {
    const { outcome } = await read('openrouter-responses', [
      [0, invalid],
      [0, 'end'],
    ])
    expect(outcome).toMatchObject({ name: 'StreamFailedError', code: 'invalid_prompt', retryable: false })
  })

  it('with an error event and no completion throws', async () => {
    const { events, outcome } = await read('openrouter-responses', [
      [0, error],
      [0, 'end'],
    ])
    expect(events).toEqual([error])
    expect(outcome).toMatchObject({ name: 'StreamFailedError', code: 'server_error', response: null })
  })

  it.each([completed, incomplete])('with an error event, then $type, is whole', async (last) => {
    const { events, outcome } = await read('openai-responses', [
      [0, error],
      [10, last],
      [0, 'end'],
    ])
    expect(events).toEqual([error, last])
    expect(outcome).toBe('done')
  })

  it('with an error that the caller then aborts is no whole one', async () => {
    const broken = { type: 'error', error: new Error('Boom') }
    const { outcome } = await read('ai-sdk-fullstream', [
      [0, broken],
      [0, { type: 'abort' }],
      [0, 'end'],
    ])
    expect(outcome).toMatchObject({ name: 'StreamFailedError', message: 'stream failed: Boom' })
  })

  it('that is told of twice throws the last, which says more', async () => {
    const { outcome } = await read('openai-responses', [
      [0, error],
      [10, failed],
      [0, 'end'],
    ])
    expect((outcome as StreamFailedError).response).toBe(failed.response)
  })

  it.each([
    [failed, 'end'],
    [error, 'end'],
    [error, 'hang'],
  ])('throws nothing where it is told not to', async (last, how) => {
    const options = { throwFailures: false, drainMs: 100 }
    const { events, outcome } = await read(
      'openai-responses',
      [
        [0, last],
        [0, how],
      ],
      options,
    )
    expect([events, outcome]).toEqual([[last], 'done'])
  })

  it('that breaks without a word of the server throws its own error', async () => {
    const broken = new Error('socket hang up')
    expect(
      (
        await read('openai-responses', [
          [0, { type: 'response.created' }],
          [0, broken],
        ])
      ).outcome,
    ).toBe(broken)
  })

  it.each<[string, SourceName, object, Partial<StreamFailedError>]>([
    [
      'Anthropic',
      'anthropic-messages',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      {
        code: null,
        errorType: 'overloaded_error',
        retryable: true,
        message: 'stream failed: overloaded_error: Overloaded',
      },
    ],
    [
      'OpenAI, within an error',
      'openai-responses',
      { type: 'error', error: { type: 'server_error', code: null, message: 'Boom' } },
      { errorType: 'server_error', retryable: true },
    ],
    [
      'a gateway, by a number of HTTP',
      'openai-chat-chunk',
      { choices: [], error: { code: 503, message: 'Busy' } },
      { code: '503', errorType: null, retryable: true, message: 'stream failed: 503: Busy' },
    ],
    [
      'the AI SDK, by an Error',
      'ai-sdk-fullstream',
      { type: 'error', error: new Error('Boom') },
      { code: null, errorType: null, message: 'stream failed: Boom' },
    ],
    [
      'the AI SDK, by a text',
      'ai-sdk-ui-stream',
      { type: 'error', errorText: 'Boom' },
      { code: null, errorType: null, message: 'stream failed: Boom' },
    ],
    [
      'the AI SDK, without a word',
      'ai-sdk-fullstream',
      { type: 'finish', finishReason: 'error' },
      { code: null, errorType: null, message: 'stream failed' },
    ],
    ['ACP', 'acp', { id: 1, error: { code: -32603, message: 'Internal' } }, { code: '-32603', errorType: null }],
    [
      'Codex',
      'codex-exec-json',
      { type: 'turn.failed', error: { message: 'Boom' } },
      { errorType: null, message: 'stream failed: Boom' },
    ],
    [
      "Codex's server",
      'codex-app-server',
      { method: 'error', params: { error: { message: 'Boom' }, willRetry: false } },
      { errorType: null, message: 'stream failed: Boom' },
    ],
    [
      'OpenCode',
      'opencode-sse',
      { type: 'session.error', properties: { error: { name: 'APIError', data: { message: 'Boom' } } } },
      { message: expect.stringContaining('Boom') },
    ],
    [
      'T3',
      't3-canonical',
      { type: 'runtime.error', payload: { message: 'Boom' } },
      { errorType: null, message: 'stream failed: Boom' },
    ],
  ])('that fails as %s says it has what was said', async (_, source, event, facts) => {
    const { outcome } = await read(source, [
      [0, event],
      [0, 'end'],
    ])
    expect(outcome).toBeInstanceOf(StreamFailedError)
    expect(outcome).toMatchObject(facts)
  })
})

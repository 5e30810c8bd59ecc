/** The error of a stream that its server called failed: of which failures it is made, and which of them pass. */

import { describe, expect, it } from 'vitest'
import { StreamFailedError } from '../../detector/watchdog/index.ts'

const failure = (facts: Partial<StreamFailedError>) =>
  new StreamFailedError({ message: 'm', code: null, errorType: null, response: null, ...facts })

describe('a StreamFailedError', () => {
  it('is an Error with a name and what the server said', () => {
    const response = { id: 'r', status: 'failed' }
    const error = failure({ message: 'stream failed: x', code: 'x', errorType: 'server', response })
    expect(error).toBeInstanceOf(Error)
    expect(error).toBeInstanceOf(StreamFailedError)
    expect(error).toMatchObject({ name: 'StreamFailedError', message: 'stream failed: x', code: 'x' })
    expect(error.response).toBe(response)
  })

  it.each([
    'server_error',
    'server',
    'timeout',
    'rate_limit_exceeded',
    'provider_overloaded',
    'provider_unavailable',
    'overloaded_error',
    'api_error',
    'rate_limit_error',
    'timeout_error',
    '408',
    '429',
    '500',
    '502',
    '503',
    '504',
    '529',
  ])('may be retried where its code or its type is %s', (name) => {
    expect(failure({ code: name }).retryable).toBe(true)
    expect(failure({ errorType: name }).retryable).toBe(true)
    expect(failure({ code: 'never_heard', errorType: name }).retryable).toBe(true)
    expect(failure({ code: name, errorType: 'never_heard' }).retryable).toBe(true)
  })

  it.each([
    'invalid_prompt',
    'image_too_large',
    'bio_policy',
    'invalid_request_error',
    'authentication_error',
    '400',
    '401',
    '404',
    'Server_Error',
    'constructor',
    null,
  ])('may not where it is %s', (name) => {
    expect(failure({ code: name }).retryable).toBe(false)
    expect(failure({ errorType: name }).retryable).toBe(false)
  })

  it('can be logged as JSON', () => {
    const error = failure({ code: 'server_error', errorType: 'server', response: { id: 'r' } })
    expect(JSON.parse(JSON.stringify([error]))).toEqual([
      {
        name: 'StreamFailedError',
        message: 'm',
        code: 'server_error',
        errorType: 'server',
        response: { id: 'r' },
        retryable: true,
      },
    ])
  })
})

describe('of a failed response', () => {
  it.each([
    ['the wire', { error_type: 'provider_unavailable' }],
    ['an SDK', { errorType: 'provider_unavailable' }],
  ])('has the code, the type, the message and the response, as %s spells them', (_, type) => {
    const response = { status: 'failed', error: { code: 'upstream_gone', message: 'No instances' }, ...type }
    const error = StreamFailedError.fromFailedResponse(response)
    expect(error).toMatchObject({ code: 'upstream_gone', errorType: 'provider_unavailable', retryable: true })
    expect(error.message).toBe('stream failed: upstream_gone: No instances')
    expect(error.response).toBe(response)
  })

  it.each([null, undefined, {}, { error: null }, { error: 'gone' }, { error: { code: null } }, 'failed', 7])(
    'that is %j has nothing of that',
    (response) => {
      const error = StreamFailedError.fromFailedResponse(response)
      expect(error).toMatchObject({ code: null, errorType: null, retryable: false })
      expect(error.message).toMatch(/^stream failed/)
    },
  )
})

describe('of an error event', () => {
  it('has its code and message, and no response', () => {
    const event = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null }
    const error = StreamFailedError.fromErrorEvent(event)
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', errorType: null, response: null, retryable: true })
    expect(error.message).toBe('stream failed: rate_limit_exceeded: Slow down')
  })

  it.each([null, undefined, {}, { type: 'error' }, { code: null, message: null }, 7, []])(
    'that is %j has neither',
    (event) => {
      const error = StreamFailedError.fromErrorEvent(event)
      expect(error).toMatchObject({ code: null, errorType: null, response: null, message: 'stream failed' })
    },
  )
})

/** The error of a stream whose server said that it failed. */

import { isRaw, type Raw, text } from '../../instrumentation/sources/classifier.ts'
import { either } from '../../instrumentation/sources/openai-fields.ts'
import { brand } from './brand.ts'

/** Codes and error types of failures that pass (OpenRouter's `ApiErrorType` and OpenAI's codes). */
const TRANSIENT: ReadonlySet<unknown> = new Set([
  'server_error',
  'server',
  'timeout',
  'rate_limit_exceeded',
  'provider_overloaded',
  'provider_unavailable',
  // Anthropic's.
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
  // Those of HTTP, as gateways send them.
  '408',
  '429',
  '500',
  '502',
  '503',
  '504',
  '529',
])

export interface FailureFacts {
  readonly message: string
  readonly code: string | null
  readonly errorType: string | null
  /** The failed response, of `response.failed`. */
  readonly response: unknown
}

/** The server ended the stream with a failure, and no completion followed. */
export class StreamFailedError extends Error implements FailureFacts {
  override readonly name = 'StreamFailedError'
  readonly code: string | null
  readonly errorType: string | null
  readonly response: unknown

  constructor({ message, code, errorType, response }: FailureFacts) {
    super(message)
    this.code = code
    this.errorType = errorType
    this.response = response
  }

  /** Whether the failure is one that passes. It says nothing of what had been delivered before. */
  get retryable(): boolean {
    return TRANSIENT.has(this.code) || TRANSIENT.has(this.errorType)
  }

  toJSON(): FailureFacts & { name: string; retryable: boolean } {
    const { name, message, code, errorType, response, retryable } = this
    return { name, message, code, errorType, response, retryable }
  }

  /** Of the response that `response.failed` carries, in either spelling. */
  static fromFailedResponse(response: unknown): StreamFailedError {
    const of = isRaw(response) ? response : {}
    const error = isRaw(of.error) ? of.error : {}
    const errorType = text(either(of, 'error_type', 'errorType')) ?? text(error.type) ?? null
    return failed(codeOf(error), errorType, text(error.message), response ?? null)
  }

  /** Of an `error` event, or of what it carries. */
  static fromErrorEvent(event: unknown): StreamFailedError {
    if (typeof event === 'string') return failed(null, null, event, null)
    if (!isRaw(event)) return failed(null, null, undefined, null)
    return failed(codeOf(event), errorTypeOf(event), text(event.message), null)
  }
}

brand(StreamFailedError, 'StreamFailedError')

/** Of a raw event that its wire calls a failure, whatever the wire. */
export function failureOf(event: unknown): StreamFailedError {
  if (!isRaw(event)) return StreamFailedError.fromErrorEvent(event)
  if (isRaw(event.response)) return StreamFailedError.fromFailedResponse(event.response)
  return StreamFailedError.fromErrorEvent(event.error ?? choiceError(event) ?? event.errorText ?? event)
}

/** The error of a choice of a chat completion that failed. */
function choiceError(event: Raw): unknown {
  if (!Array.isArray(event.choices)) return undefined
  return event.choices.find((choice) => isRaw(choice) && choice.error != null)?.error
}

/** Codes are texts, or the numbers of HTTP. */
function codeOf({ code }: Raw): string | null {
  return typeof code === 'number' ? String(code) : (text(code) ?? null)
}

function errorTypeOf(event: Raw): string | null {
  const named = either(event, 'error_type', 'errorType')
  // The type of an event is not that of its error.
  return text(named) ?? (event.type === 'error' ? null : (text(event.type) ?? null))
}

function failed(code: string | null, errorType: string | null, detail: string | undefined, response: unknown) {
  const what = code ?? errorType
  const message = ['stream failed', ...(what === null ? [] : [what]), ...(detail === undefined ? [] : [detail])]
  return new StreamFailedError({ message: message.join(': '), code, errorType, response })
}

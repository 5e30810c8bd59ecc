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

  /** Of an `error` event, or of the error that one carries. */
  static fromErrorEvent(event: unknown): StreamFailedError {
    if (typeof event === 'string') return failed(null, null, event, null)
    if (!isRaw(event)) return failed(null, null, undefined, null)
    return failed(codeOf(event), errorTypeOf(event), messageOf(event), null)
  }
}

brand(StreamFailedError, 'StreamFailedError')

/** Where wires wrap what they say. */
const WRAPS = ['params', 'properties', 'payload'] as const

/** Of a raw event that its wire calls a failure, whatever the wire. */
export function failureOf(event: unknown): StreamFailedError {
  if (!isRaw(event)) return StreamFailedError.fromErrorEvent(event)
  if (isRaw(event.response)) return StreamFailedError.fromFailedResponse(event.response)
  const wraps = WRAPS.map((name) => event[name]).filter(isRaw)
  const said = [event, ...wraps].map(({ error }) => error).find((error) => error != null)
  const error = said ?? choiceError(event) ?? event.errorText ?? wraps.find((wrap) => messageOf(wrap) !== undefined)
  if (error !== undefined || event.type === 'error') return StreamFailedError.fromErrorEvent(error ?? event)
  // An end that is a failure, and not the type of one.
  return failed(codeOf(event), null, messageOf(event) ?? text(event.result) ?? text(event.subtype), null)
}

/** The error of a choice of a chat completion that failed. */
function choiceError(event: Raw): unknown {
  if (!Array.isArray(event.choices)) return undefined
  return event.choices.find((choice) => isRaw(choice) && choice.error != null)?.error
}

function messageOf(error: Raw): string | undefined {
  return text(error.message) ?? (isRaw(error.data) ? text(error.data.message) : undefined)
}

/** Codes are texts, or the numbers of HTTP. */
function codeOf({ code }: Raw): string | null {
  return typeof code === 'number' ? String(code) : (text(code) ?? null)
}

function errorTypeOf(error: Raw): string | null {
  const named = text(either(error, 'error_type', 'errorType'))
  if (named !== undefined) return named
  // The type of an event is not that of its error, and the name of an Error is only its class.
  if (error.type !== 'error' && text(error.type) !== undefined) return error.type as string
  return error instanceof Error ? null : (text(error.name) ?? null)
}

function failed(code: string | null, errorType: string | null, detail: string | undefined, response: unknown) {
  const what = code ?? errorType
  const message = ['stream failed', ...(what === null ? [] : [what]), ...(detail === undefined ? [] : [detail])]
  return new StreamFailedError({ message: message.join(': '), code, errorType, response })
}

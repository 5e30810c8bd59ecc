/** Gives a stream up that nobody will read any more: its source is cancelled, and the request behind it ended. */

import { isReadableStream } from '../../instrumentation/taps/readable-stream-kind.ts'

/** May throw, or return a promise that rejects. */
export function giveUp(stream: object, reason: unknown): unknown {
  const { body = stream } = stream as { body?: unknown }
  if (isReadableStream(body)) return body.cancel(reason)
  type Methods = 'controller' | 'destroy' | 'close' | 'next' | 'return'
  const { controller, destroy, close, next, return: leave } = stream as Record<Methods, unknown>
  // Of the SDKs of OpenAI and Anthropic. A generator that waits for the request would hear of `return()` only afterwards.
  if (isAbortController(controller)) return controller.abort(reason)
  // Of Node's streams, which emit the error that they are given; of the Claude Agent SDK.
  const end = destroy ?? close ?? (typeof next === 'function' ? leave : undefined)
  return typeof end === 'function' ? Reflect.apply(end, stream, []) : undefined
}

/** Of any realm: test environments have one of their own. */
function isAbortController(value: unknown): value is AbortController {
  if (typeof value !== 'object' || value === null) return false
  const { abort, signal } = value as Partial<AbortController>
  return typeof abort === 'function' && typeof signal === 'object'
}

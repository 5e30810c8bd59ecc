/** Whether the end or failure of a stream is its consumer's own doing. */

import { isRaw } from '../sources/classifier.ts'

/** What abort errors are called; SDKs have some that carry the name only in their class. */
const ABORTS: ReadonlySet<unknown> = new Set(['AbortError', 'APIUserAbortError'])

function isAbortError(error: unknown): boolean {
  if (!isRaw(error)) return false
  return ABORTS.has(error.name) || (typeof error.constructor === 'function' && ABORTS.has(error.constructor.name))
}

/** Signals that stop a stream. */
export interface StopSignals {
  /** Only the consumer aborts it. */
  readonly consumers?: AbortSignal | undefined
  /** The stream itself aborts it too, after a failure. */
  readonly streams?: AbortSignal | undefined
}

/** The signals of an SDK's stream: `abortController` is what the caller gave it, `controller` its own. */
export function signalsOf(stream: unknown): StopSignals {
  if (!isRaw(stream)) return {}
  return { consumers: signalOf(stream.abortController), streams: signalOf(stream.controller) }
}

function signalOf(controller: unknown): AbortSignal | undefined {
  return controller instanceof AbortController ? controller.signal : undefined
}

export function isOwnEnd({ consumers, streams }: StopSignals): boolean {
  return consumers?.aborted === true || streams?.aborted === true
}

export function isOwnFailure(error: unknown, { consumers, streams }: StopSignals): boolean {
  if (consumers?.aborted || isAbortError(error)) return true
  return streams?.aborted === true && streams.reason === error
}

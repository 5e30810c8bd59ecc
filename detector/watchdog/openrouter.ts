/**
 * The functions of OpenRouter's stream watchdog (DEV-723), with its signatures: who uses that can change the import. What
 * the server says of failures passes as events; they throw only stalls.
 */

import type { SourceName } from '../../instrumentation/sources/source.ts'
import type { StreamStalledError } from './stall-error.ts'
import { watchStream } from './watch-stream.ts'

/** In ms; each is off where it is unset, 0, negative, NaN or infinite. */
export interface StreamTimeoutOptions {
  /** From the first read to the first content. */
  firstContentMs?: number
  /** Between two pieces of content, once there was one. */
  contentIntervalMs?: number
  /** Not of these functions: see `withStallRetries`. */
  maxStallRetries?: number
}

export interface StreamWatchdogHooks<T> {
  /** Whether an event advances the answer. */
  isContentEvent: (event: T) => boolean
  /** Whether an event ends the stream: no deadline follows. It is asked first. */
  isTerminalEvent?: (event: T) => boolean
  /** Hears of the stall once, before the consumer does. */
  onStall?: (error: StreamStalledError) => void
}

type StallHook = Pick<StreamWatchdogHooks<never>, 'onStall'>

/** Puts a stream under deadlines, with classes of the caller's own. Where no deadline is active, it is the same stream. */
export function applyStreamWatchdog<T>(
  source: ReadableStream<T>,
  timeouts: StreamTimeoutOptions,
  hooks: StreamWatchdogHooks<T>,
): ReadableStream<T> {
  const { isContentEvent, isTerminalEvent } = hooks
  const classify = (event: T) => {
    if (isTerminalEvent?.(event)) return 'terminal'
    return isContentEvent(event) ? 'content' : 'neutral'
  }
  return watchStream(source, {
    ...numbers(timeouts),
    classify: classify as never,
    onStall: hooks.onStall,
    throwFailures: false,
  })
}

/** Puts a stream of Responses events, of OpenRouter or OpenAI, under deadlines. */
export function applyResponsesStreamWatchdog<T>(
  source: ReadableStream<T>,
  timeouts: StreamTimeoutOptions,
  hooks: StallHook = {},
): ReadableStream<T> {
  return applied(source, timeouts, hooks, 'openrouter-responses')
}

/** Puts a stream of chat completion chunks, on the wire or out of an SDK, under deadlines. */
export function applyChatStreamWatchdog<T>(
  source: ReadableStream<T>,
  timeouts: StreamTimeoutOptions,
  hooks: StallHook = {},
): ReadableStream<T> {
  return applied(source, timeouts, hooks, 'openai-chat-chunk')
}

function applied<T>(
  stream: ReadableStream<T>,
  timeouts: StreamTimeoutOptions,
  { onStall }: StallHook,
  source: SourceName,
): ReadableStream<T> {
  return watchStream(stream, { ...numbers(timeouts), source, onStall, throwFailures: false })
}

/** As there, what is no number is no deadline. */
function numbers({ firstContentMs, contentIntervalMs }: StreamTimeoutOptions) {
  return { firstContentMs: numberOr0(firstContentMs), contentIntervalMs: numberOr0(contentIntervalMs) }
}

const numberOr0 = (value: unknown) => (typeof value === 'number' ? value : 0)

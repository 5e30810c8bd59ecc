/** What a stream is watched with. */

import { shown } from '../../instrumentation/shown.ts'
import type { SourceName } from '../../instrumentation/sources/source.ts'
import { wireOf } from '../../instrumentation/sources/wires.ts'
import { DEADLINES, type DeadlineName, type ReadyDeadlines, readyDeadlines, type StreamDeadlines } from './deadlines.ts'
import type { StreamClock } from './observed-time.ts'
import type { SettingSource, StallFacts, StreamStalledError } from './stall-error.ts'
import type { StreamBook } from './stream-book.ts'
import type { StreamControl } from './stream-control.ts'
import { UNKNOWN_POLICIES, type UnknownPolicy } from './stream-events.ts'
import type { StreamEventClass } from './stream-state.ts'

export interface WatchHooks {
  /** Hears of the stall, before the consumer does. What it throws is passed over. */
  readonly onStall?: ((error: StreamStalledError) => void) | undefined
  /** Hears once of each silence that has used up a share of its deadline. What it throws is passed over. */
  readonly onWarn?: ((warning: StallFacts) => void) | undefined
  /** That share, above 0 and below 1. @default 0.5 */
  readonly warnAt?: number | undefined
}

/** As the type of a method, whose parameter a caller may know better than we do: the events of a Response are unknown. */
export type Classify<T> = { of(event: T): StreamEventClass | null | undefined }['of']

export interface WatchOptions<T = unknown> extends StreamDeadlines, WatchHooks {
  /**
   * The wire format of the stream, as raw events or as the text or bytes of them. Without it, and without `classify`, every
   * event is content, and none is terminal.
   */
  readonly source?: SourceName | undefined
  /** The class of an event of your own; what it leaves undefined is the source's to say. */
  readonly classify?: Classify<T> | undefined
  /** What an event of an unknown type counts as. @default 'neutral' */
  readonly unknown?: UnknownPolicy | undefined
  /**
   * Whether silences stand still while the stream shows a tool that runs on this side, or a wait for a person. Tools that
   * run at the provider (Responses, OpenRouter, Anthropic Messages) stop nothing. @default true
   */
  readonly pauseDuringTools?: boolean | undefined
  /**
   * Whether a failure that the server reports (`response.failed`, `error`) is thrown as `StreamFailedError` where the
   * stream would end, unless a completion followed. @default true
   */
  readonly throwFailures?: boolean | undefined
  /** The caller's own: once it is aborted, reads end at once with its reason, and the source is cancelled. */
  readonly signal?: AbortSignal | null | undefined
  /**
   * What ends the request behind the stream: told the error of a stall, the reason of the caller's abort, or an AbortError
   * where the stream does not close after its end or is left in a read. Streams of the OpenAI and Anthropic SDKs, and
   * Responses, need none once they are there; of a promise only this ends the request, or a signal that follows the stall.
   */
  readonly abort?: AbortController | ((reason: unknown) => void) | undefined
  /** Pauses and resumes the deadlines. */
  readonly control?: StreamControl | undefined
  /** Which try this is, from 1; for the error. @default 1 */
  readonly attempt?: number | undefined
  /** Where the values of deadlines came from, for the error, as `deadlinesFor` of a turnwatch gives them. @default 'option' */
  readonly sources?: Partial<Record<DeadlineName, SettingSource>> | undefined
  /** Whether a deadline that runs keeps the process alive. @default false */
  readonly keepAlive?: boolean | undefined
  /** The turnwatch in which the stream is counted. */
  readonly watch?: StreamBook | undefined
  /** @default the clock and timers of this process */
  readonly clock?: StreamClock | undefined
}

/** Options with their defaults. */
export interface ReadyOptions extends WatchOptions<never> {
  readonly deadlines: ReadyDeadlines
  readonly signal: AbortSignal | undefined
  readonly unknown: UnknownPolicy
  readonly pauseDuringTools: boolean
  readonly throwFailures: boolean
  readonly warnAt: number
  readonly attempt: number
  readonly keepAlive: boolean
}

/** Throws TypeError or RangeError, with the option's name and value. */
export function readyOptions<T>(options: WatchOptions<T>): ReadyOptions {
  if (typeof options !== 'object' || options === null) throw new TypeError(`options: ${shown(options)} is no object`)
  const { source, unknown = 'neutral', warnAt = 0.5, attempt = 1, signal, abort, control, watch } = options
  if (source !== undefined) wireOf(source)
  if (!UNKNOWN_POLICIES.includes(unknown)) {
    throw new TypeError(`unknown: ${shown(unknown)} is none of ${UNKNOWN_POLICIES.join(', ')}`)
  }
  if (!(typeof warnAt === 'number' && warnAt > 0 && warnAt < 1)) {
    throw new RangeError(`warnAt: ${shown(warnAt)} is no share above 0 and below 1`)
  }
  if (!(Number.isInteger(attempt) && attempt > 0)) {
    throw new RangeError(`attempt: ${shown(attempt)} is no whole number from 1`)
  }
  for (const name of ['classify', 'onStall', 'onWarn'] as const) refuse(name, options[name], isFunction, 'a function')
  for (const name of ['pauseDuringTools', 'throwFailures', 'keepAlive'] as const) {
    refuse(name, options[name], (value) => typeof value === 'boolean', 'true or false')
  }
  refuse('sources', options.sources, (value) => typeof value === 'object' && value !== null, 'an object')
  refuse('signal', signal, (value) => value === null || has('addEventListener')(value), 'an AbortSignal')
  refuse('abort', abort, (value) => isFunction(value) || has('abort')(value), 'an AbortController or a function')
  refuse('control', control, has('whilePaused'), 'a StreamControl')
  refuse('watch', watch, has('streamStarted'), 'a Turnwatch')
  refuse('clock', options.clock, has('later'), 'a clock with monoMs, later and nextTurn')
  return {
    ...(options as WatchOptions<never>),
    deadlines: readyDeadlines(options),
    signal: signal ?? undefined,
    unknown,
    warnAt,
    attempt,
    pauseDuringTools: options.pauseDuringTools ?? true,
    throwFailures: options.throwFailures ?? true,
    keepAlive: options.keepAlive ?? false,
  }
}

function refuse(name: string, value: unknown, isFit: (value: unknown) => boolean, what: string): void {
  if (value !== undefined && !isFit(value)) throw new TypeError(`${name}: ${shown(value)} is not ${what}`)
}

const isFunction = (value: unknown) => typeof value === 'function'

function has(method: string): (value: unknown) => boolean {
  return (value) =>
    typeof value === 'object' && value !== null && isFunction((value as Record<string, unknown>)[method])
}

/** The names of deadlines that a stream can have which is there already. */
export const STREAM_DEADLINES: readonly DeadlineName[] = DEADLINES.filter((name) => name !== 'headersMs')

/** A model in virtual time whose every try follows a script of its own, and events of OpenAI's Responses. */

import { type Attempt, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, type Scripted } from './scripted.ts'
import type { VirtualClock } from './virtual-clock.ts'

export const created = { type: 'response.created', response: { id: 'r', status: 'in_progress' } }
export const progress = { type: 'response.in_progress', response: { id: 'r', status: 'in_progress' } }
export const completed = { type: 'response.completed', response: { id: 'r', status: 'completed' } }
export const failed = {
  type: 'response.failed',
  response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'out of luck' } },
}

export const delta = (text: string) => ({ type: 'response.output_text.delta', item_id: 'm', delta: text })

/** A try that says nothing of an answer. */
export const stalls: readonly Line[] = [
  [0, created],
  [10, progress],
  [0, 'hang'],
]

/** A try that answers with a word. */
export const answers = (text: string): readonly Line[] => [
  [0, created],
  [20, delta(text)],
  [5, completed],
  [0, 'end'],
]

interface Try extends Attempt, Scripted {
  /** Virtual ms of its request. */
  readonly at: number
}

/** What `withStallRetries` calls, and the tries that came of it; those beyond the last script follow that one. */
export function model(
  clock: VirtualClock,
  scripts: readonly (readonly Line[])[],
  options: WatchOptions = { firstContentMs: 100 },
) {
  const tries: Try[] = []
  const fn = ({ attempt, signal }: Attempt) => {
    const scripted = pushed(clock, scripts[Math.min(attempt, scripts.length) - 1] ?? [])
    tries.push({ attempt, signal, at: clock.monoMs(), ...scripted })
    return watchStream(scripted.stream, { source: 'openai-responses', clock, signal, attempt, ...options })
  }
  return { fn, tries }
}

export interface Settled<T> {
  value?: T
  /** Null while it is open. */
  outcome: 'resolved' | 'rejected' | null
  error?: unknown
}

/** A promise, to be looked at while time passes. */
export function settling<T>(promise: Promise<T>): Settled<T> {
  const settled: Settled<T> = { outcome: null }
  promise.then(
    (value) => Object.assign(settled, { value, outcome: 'resolved' }),
    (error: unknown) => Object.assign(settled, { error, outcome: 'rejected' }),
  )
  return settled
}

/** Listeners for `abort` that a signal has now. */
export function counted(signal: AbortSignal): () => number {
  let listeners = 0
  const held = new Set<unknown>()
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (type: string, listener: never, options?: never) => {
    if (type === 'abort' && !held.has(listener)) listeners++
    held.add(listener)
    addEventListener.call(signal, type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: never, options?: never) => {
    if (type === 'abort' && held.delete(listener)) listeners--
    removeEventListener.call(signal, type, listener, options)
  }
  return () => listeners
}

/** All events of a stream. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Every way to put a stream under content deadlines, all on one clock, which is that of the process meanwhile. */

import type { Streamed, StreamStalledError } from '../../detector/watchdog/index.ts'
import { KINDS, type Kind, objects } from './kinds.ts'
import { VirtualClock } from './virtual-clock.ts'

export const clock = new VirtualClock()
// OpenRouter's functions take no clock: they have that of the process, from its first reading on.
export const restore = clock.install()
const { applyResponsesStreamWatchdog, applyStreamWatchdog, watchStream } = await import(
  '../../detector/watchdog/index.ts'
)

export interface Deadlines {
  firstContentMs?: number
  contentIntervalMs?: number
}

export interface Way {
  readonly name: string
  readonly kind: Kind
  watch(stream: Streamed, deadlines: Deadlines, onStall?: (error: StreamStalledError) => void): Streamed
}

interface Typed {
  readonly type: string
}

export const WAYS: readonly Way[] = [
  ...KINDS.map((kind) => ({
    name: `watchStream with ${kind.name}`,
    kind,
    watch: (stream: Streamed, deadlines: Deadlines, onStall?: (error: StreamStalledError) => void) =>
      watchStream(stream, { ...deadlines, source: 'openrouter-responses', onStall, clock }),
  })),
  {
    name: 'applyResponsesStreamWatchdog',
    kind: objects,
    watch: (stream, deadlines, onStall) =>
      applyResponsesStreamWatchdog(
        stream as ReadableStream,
        deadlines,
        ...(onStall === undefined ? [] : [{ onStall }]),
      ),
  },
  {
    name: 'applyStreamWatchdog',
    kind: objects,
    watch: (stream, deadlines, onStall) =>
      applyStreamWatchdog(stream as ReadableStream<Typed>, deadlines, {
        isContentEvent: ({ type }) => type.endsWith('.delta'),
        isTerminalEvent: ({ type }) => type === 'response.completed',
        ...(onStall === undefined ? {} : { onStall }),
      }),
  },
]

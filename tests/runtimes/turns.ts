/** What stands around a stream: retries, pauses, turns, several consumers, counts, OpenRouter's functions. */

import {
  applyChatStreamWatchdog,
  SharedStream,
  StreamControl,
  type StreamStalledError,
  turnDeadlines,
  watchStream,
  withStallRetries,
} from '../../detector/watchdog/index.ts'
import { atOnce, created, delta, iterateAll, readAll, rejection, served, told, wait } from './small-streams.ts'

/** The third try speaks. */
export async function retries() {
  const tries: { attempt: number; signal: AbortSignal }[] = []
  const heard: unknown[] = []
  const stream = await withStallRetries(
    ({ attempt, signal }) => {
      tries.push({ attempt, signal })
      const { stream } = served(
        attempt < 3 ? atOnce(created) : atOnce(created, delta('a')),
        attempt < 3 ? 'hangs' : 'closes',
      )
      return watchStream(stream, { source: 'openai-responses', firstContentMs: 60, attempt, signal })
    },
    {
      maxStallRetries: 2,
      backoff: 20,
      onRetry: ({ attempt, error, delayMs }) => heard.push([attempt, error.phase, delayMs]),
    },
  )
  const { events, end } = await readAll(stream)
  const reasons = tries.map(({ attempt, signal }) => [
    attempt,
    signal.aborted,
    (signal.reason as Error | undefined)?.name,
  ])
  return { events, end, reasons, heard }
}

export async function retriesUsedUp() {
  const error = await rejection(
    withStallRetries(({ attempt }) => watchStream(served([], 'hangs').stream, { firstContentMs: 60, attempt }), {
      maxStallRetries: 1,
      backoff: 0,
    }),
  )
  return { end: told(error) }
}

export async function aPause() {
  const control = new StreamControl()
  const order: string[] = []
  const { stream } = served([], 'hangs')
  const read = readAll(
    watchStream(stream, { firstContentMs: 100, totalMs: 300, control, onStall: () => order.push('stalled') }),
  )
  await control.whilePaused(() => wait(400))
  order.push('resumed')
  const { end } = await read
  return { order, end: told(end) }
}

/** A context of one call of a model, which is left by its end. */
export async function aTurn() {
  const caller = new AbortController()
  const turns = turnDeadlines({ source: 'openai-responses', contentIntervalMs: 60, signal: caller.signal })
  const turn = turns.next()
  const stream = await turn.call(() => served(atOnce(delta('a')), 'hangs').stream)
  const { end } = await readAll(stream)
  const isAborted = turn.signal.aborted && turn.signal.reason === end
  turn.end()
  const isNextFresh = !turns.next().signal.aborted
  return { phase: (end as StreamStalledError).phase, isAborted, isNextFresh }
}

export async function severalConsumers() {
  async function* source() {
    yield delta('a')
    await new Promise(() => {})
  }
  const shared = new SharedStream(watchStream(source(), { contentIntervalMs: 60 }))
  const [one, two] = await Promise.all([iterateAll(shared), iterateAll(shared)])
  const late = await iterateAll(shared)
  const isSameError = one.end === two.end && one.end === late.end
  return { events: [one.events, two.events, late.events], isSameError }
}

/** Counted where somebody counts, and no worse where that breaks. */
export async function counts() {
  const counted: unknown[] = []
  const count = (what: unknown[]) => {
    counted.push(what)
    throw new Error('the meter is broken')
  }
  const { stream } = served([], 'hangs')
  const watched = watchStream(stream, {
    source: 'openai-responses',
    firstContentMs: 60,
    watch: {
      streamStarted: (source) => count(['started', source]),
      streamStalled: (source, phase) => count(['stalled', source, phase]),
      streamRetried: (source, result) => count(['retried', source, result]),
    },
  })
  const { end } = await readAll(watched)
  return { counted, phase: (end as StreamStalledError).phase }
}

export async function openRoutersFunctions() {
  const { stream } = served(atOnce({ choices: [{ index: 0, delta: { content: 'a' } }] }), 'hangs')
  const { events, end } = await readAll(
    applyChatStreamWatchdog(stream, { firstContentMs: 20_000, contentIntervalMs: 60 }),
  )
  return { events, end: told(end) }
}

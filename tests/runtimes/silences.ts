/** Silences, each with the deadline that it runs into, and those that are none. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { atOnce, completed, created, delta, readAll, rejection, served, told, wait } from './small-streams.ts'

export async function noContent() {
  const heard: string[] = []
  const { stream, cancelled } = served(atOnce(created), 'hangs')
  const watched = watchStream(stream, {
    source: 'openai-responses',
    firstContentMs: 60,
    onStall: () => heard.push('onStall'),
  })
  const { events, end } = await readAll(watched)
  heard.push('read')
  return { events, end: told(end), isCancelledWithIt: cancelled.length === 1 && cancelled[0] === end, heard }
}

/** All of it lies there before the consumer begins, which is longer than the deadline. */
export async function noMoreContent() {
  const { stream } = served(atOnce(delta('a'), delta('b'), delta('c')), 'hangs')
  const watched = watchStream(stream, { source: 'openai-responses', firstContentMs: 60, contentIntervalMs: 60 })
  await wait(150)
  const { events, end } = await readAll(watched)
  return { events, end: told(end) }
}

export async function noSignOfLife() {
  const comment = () => new TextEncoder().encode(': still here\n\n')
  const { stream } = served(
    [0, 50, 50, 50, 50, 50, 50].map((ms) => [ms, comment()]),
    'hangs',
    'bytes',
  )
  const { events, end } = await readAll(watchStream(stream, { source: 'openai-responses', livenessMs: 250 }))
  return { chunks: events.length, end: told(end) }
}

export async function noEnd() {
  const { stream, cancelled } = served(
    Array.from({ length: 1000 }, () => [30, delta('a')]),
    'closes',
  )
  const { events, end } = await readAll(watchStream(stream, { contentIntervalMs: 20_000, totalMs: 300 }))
  const { phase, setting, receivedAnyContent, retryable } = told(end) as Record<string, unknown>
  const isCancelled = cancelled[0] === end
  return { hasEvents: events.length > 0, phase, setting, receivedAnyContent, retryable, isCancelled }
}

export async function noResponse() {
  return { end: told(await rejection(watchStream(new Promise<Response>(() => {}), { headersMs: 60 }))) }
}

/** The answer is whole, but the connection stays open. */
export async function noCloseAfterTheEnd() {
  const { stream, cancelled } = served(atOnce(delta('a'), completed), 'hangs')
  const watched = watchStream(stream, { source: 'openai-responses', contentIntervalMs: 20_000, drainMs: 60 })
  const { events, end } = await readAll(watched)
  return { events, end: told(end), cancelledWith: cancelled.map((reason) => (reason as Error).name) }
}

export async function aSlowConsumer() {
  const { stream } = served(atOnce(delta('a'), delta('b')), 'closes')
  const reader = watchStream(stream, { firstContentMs: 60, contentIntervalMs: 60, livenessMs: 60 }).getReader()
  const steps: unknown[] = []
  for (let read = 0; read < 3; read++) {
    await wait(150)
    steps.push(await reader.read())
  }
  return { steps }
}

/** Deadlines that no timer of a runtime can take at once. */
export async function deadlinesOfYears() {
  const { stream } = served(
    [
      [50, delta('a')],
      [50, delta('b')],
    ],
    'closes',
  )
  const watched = watchStream(stream, { firstContentMs: 1e12, contentIntervalMs: 2 ** 31, totalMs: Number.MAX_VALUE })
  const { events, end } = await readAll(watched)
  return { events, end }
}

export async function noDeadline() {
  const { stream } = served(atOnce(delta('a')), 'closes')
  const off = { firstContentMs: 0, contentIntervalMs: Number.NaN, livenessMs: -1, totalMs: Number.POSITIVE_INFINITY }
  return { isTheSame: watchStream(stream, off) === stream && watchStream(stream) === stream }
}

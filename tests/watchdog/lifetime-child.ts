/**
 * A process of its own that watches streams with its own clock. `armed <what> <keepAlive>`: reads with a deadline of an
 * hour, says so, and has nothing else to do. `endings`: streams that are over in every way, and the timers before and after.
 */

import { createHook } from 'node:async_hooks'
import { StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'

const HOUR = 3_600_000
const [task, what = 'all', keepAlive = 'false'] = process.argv.slice(2)

const live = new Set<number>()
createHook({
  init: (id, type) => type === 'Timeout' && live.add(id),
  destroy: (id) => live.delete(id),
}).enable()

const unhandled: string[] = []
process.on('unhandledRejection', (error) => unhandled.push(String(error)))

if (task === 'armed') armed()
else await endings()

function armed(): void {
  const options: WatchOptions = {
    firstContentMs: HOUR,
    livenessMs: HOUR,
    totalMs: HOUR,
    headersMs: HOUR,
    keepAlive: keepAlive === 'true',
  }
  const starts: Record<string, () => Promise<unknown>> = {
    iterable: () => watchStream(silentIterable(), options)[Symbol.asyncIterator]().next(),
    readable: () => watchStream(new ReadableStream(), options).getReader().read(),
    response: () => (watchStream(eventStream(), options).body as ReadableStream).getReader().read(),
    headers: () => watchStream(new Promise(() => {}), options),
  }
  for (const [name, start] of Object.entries(starts)) if (what === 'all' || what === name) void start()
  console.log('armed')
}

function silentIterable(): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }
}

function eventStream(): Response {
  return new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } })
}

async function endings(): Promise<void> {
  const long: WatchOptions = {
    firstContentMs: HOUR,
    contentIntervalMs: HOUR,
    livenessMs: HOUR,
    totalMs: HOUR,
    headersMs: HOUR,
    drainMs: HOUR,
    keepAlive: true,
  }
  const of = (...events: unknown[]) =>
    new ReadableStream({
      start(controller) {
        for (const event of events) {
          if (event instanceof Error) controller.error(event)
          else if (event === 'end') controller.close()
          else controller.enqueue(event)
        }
      },
    })
  const controller = new AbortController()
  const mine = new Error('mine')
  const classify = (event: unknown) => (event === 'over' ? 'terminal' : event === 'beat' ? 'neutral' : 'content')
  const watch = (events: unknown[], more: WatchOptions = {}) =>
    watchStream(of(...events), { ...long, classify, ...more })
  const runs: Record<string, Promise<unknown>> = {
    end: drained(watch(['word', 'over', 'end'])),
    error: drained(watch([new Error('broken')])),
    stall: drained(watch(['beat'], { firstContentMs: 20 })),
    interval: drained(watch(['word'], { contentIntervalMs: 20 })),
    liveness: drained(watch(['beat'], { livenessMs: 20 })),
    total: drained(watch(['word'], { totalMs: 20 })),
    drain: drained(watch(['word', 'over'], { drainMs: 20 })),
    abort: drained(watch(['word'], { signal: controller.signal })),
    left: left(watch(['word', 'word'])),
    thrown: thrown(watch(['word', 'word'])),
    cancelled: watch(['word'])
      .cancel()
      .then(() => 'cancelled'),
    headers: settled(watchStream(new Promise(() => {}), { ...long, headersMs: 20 })),
    late: settled(watchStream(later(of('word'), 60), { ...long, headersMs: 20 })),
    refused: settled(watchStream(Promise.reject(new Error('refused')), long)),
    'aborted before': drained(watch(['word'], { signal: AbortSignal.abort(mine) })),
  }
  const during = process.getActiveResourcesInfo()
  await later(null, 30)
  controller.abort(mine)
  const outcomes = Object.fromEntries(
    await Promise.all(Object.entries(runs).map(async ([name, run]) => [name, await run] as const)),
  )
  // What comes too late is still to come, and destroyed timers are told of some turns afterwards.
  await later(null, 100)
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  const after = process.getActiveResourcesInfo()
  process.stdout.write(JSON.stringify({ outcomes, during, after, live: live.size, unhandled }))
}

async function drained(stream: ReadableStream): Promise<unknown> {
  return settled(
    (async () => {
      for await (const _ of stream);
      return 'done'
    })(),
  )
}

async function settled(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work
  } catch (error) {
    return error instanceof StreamStalledError ? error.phase : (error as Error).message
  }
}

async function left(stream: ReadableStream): Promise<unknown> {
  for await (const _ of stream) break
  return 'left'
}

async function thrown(stream: ReadableStream): Promise<unknown> {
  return settled(
    (async () => {
      for await (const _ of stream) throw new Error('thrown')
    })(),
  )
}

function later<T>(value: T, ms: number): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value))
}

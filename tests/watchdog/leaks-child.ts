/**
 * Watches many thousand streams in every way against one signal, one control and one `turnDeadlines`, and prints what is
 * left of them: `node --expose-gc leaks-child.ts <streams>`. A first part warms up; two more of the same size are compared.
 */

import { getEventListeners } from 'node:events'
import {
  type StreamClock,
  StreamControl,
  StreamStalledError,
  type TurnDeadlinesOptions,
  turnDeadlines,
  type WatchOptions,
  watchStream,
} from '../../detector/watchdog/index.ts'

const streams = Number(process.argv[2])
const AT_ONCE = 500
const DEADLINES = { firstContentMs: 1000, contentIntervalMs: 1000, livenessMs: 1000, totalMs: 100_000, drainMs: 1000 }

/** Time that moves when all streams of a batch wait. */
class BatchClock implements StreamClock {
  readonly timers = new Set<{ at: number; work: () => void }>()
  #now = 0

  monoMs(): number {
    return this.#now
  }

  later(work: () => void, ms: number): () => void {
    const timer = { at: this.#now + ms, work }
    this.timers.add(timer)
    return () => this.timers.delete(timer)
  }

  nextTurn(work: () => void): void {
    setImmediate(work)
  }

  pass(ms: number): void {
    this.#now += ms
    for (const timer of [...this.timers].toSorted((a, b) => a.at - b.at)) {
      if (timer.at <= this.#now && this.timers.delete(timer)) timer.work()
    }
  }
}

const clock = new BatchClock()
const { signal } = new AbortController()
const control = new StreamControl()
const hooks = { onStall: () => {}, onWarn: () => {} }
const options: WatchOptions = { source: 'openai-responses', clock, signal, control, ...hooks, ...DEADLINES }
const { control: _, ...ofTurns } = options
const turns = turnDeadlines({ ...(ofTurns as TurnDeadlinesOptions), headersMs: 1000, maxStallRetries: 1, backoff: 0 })

const word = { type: 'response.output_text.delta', item_id: 'm', delta: 'hello' }
const whole = { type: 'response.completed', response: { id: 'r' } }
const bytes = new TextEncoder().encode(`data: ${JSON.stringify(word)}\n\n`)

const readable = (events: readonly unknown[], ends: boolean) =>
  new ReadableStream({
    start(controller) {
      for (const event of events) controller.enqueue(event)
      if (ends) controller.close()
    },
  })

const response = (ends: boolean) =>
  new Response(readable([bytes], ends), { headers: { 'content-type': 'text/event-stream' } })

async function* generated(ends: boolean) {
  yield word
  yield word
  if (!ends) await new Promise(() => {})
}

/** One stream each, read to its end, which is told in a word; the first few are three of four. */
const COMMON = 6
const ways: Record<string, () => Promise<string>> = {
  'a readable ends': () => drained(watchStream(readable([word, whole], true), options)),
  'a readable stalls': () => drained(watchStream(readable([word], false), options)),
  'a generator ends': () => drained(watchStream(generated(true), options)),
  'a generator stalls': () => drained(watchStream(generated(false), options)),
  'a generator is left': async () => {
    for await (const _ of watchStream(generated(false), options)) break
    return 'left'
  },
  'a readable is cancelled': async () => {
    await watchStream(readable([word], false), options).cancel('enough')
    return 'cancelled'
  },
  'a readable drains': () => drained(watchStream(readable([word, whole], false), options)),
  'a response ends': () => drained(watchStream(response(true), options).body as ReadableStream),
  'a response stalls': () => drained(watchStream(response(false), options).body as ReadableStream),
  'a source fails': () =>
    drained(
      watchStream(
        new ReadableStream({
          pull() {
            throw new Error('broken')
          },
        }),
        options,
      ),
    ),
  'a caller aborts': async () => {
    const own = new AbortController()
    const read = drained(watchStream(readable([word], false), { ...options, signal: own.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    own.abort(new Error('mine'))
    return read
  },
  'a response is refused': () => drained(watchStream(Promise.reject(new Error('refused')), options) as never),
  'headers never come': () => drained(watchStream(new Promise<never>(() => {}), { ...options, headersMs: 1000 })),
  'a turn ends': async () => {
    using turn = turns.next()
    return drained(turn.call(() => readable([word, whole], true)))
  },
  'a turn is tried again': async () => {
    using turn = turns.next()
    return drained(turn.call(({ attempt }) => readable(attempt === 1 ? [] : [word, whole], attempt > 1)))
  },
  'a turn is aborted': async () => {
    const own = new AbortController()
    using turn = turns.next({ signal: own.signal })
    const read = drained(turn.watch(readable([word], false)))
    await new Promise((resolve) => setImmediate(resolve))
    own.abort(new Error('mine'))
    return read
  },
}

async function drained(stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>): Promise<string> {
  try {
    for await (const _ of await stream);
    return 'done'
  } catch (error) {
    return error instanceof StreamStalledError ? error.phase : (error as Error).message
  }
}

function nth(stream: number, all: number): number {
  return stream % 4 === 0 ? COMMON + ((stream / 4) % (all - COMMON)) : stream % COMMON
}

async function run(count: number): Promise<Record<string, Record<string, number>>> {
  const told: Record<string, Record<string, number>> = {}
  const all = Object.entries(ways)
  for (let from = 0; from < count; from += AT_ONCE) {
    let open = AT_ONCE
    for (let at = 0; at < AT_ONCE; at++) {
      const [name, way] = all[nth(from + at, all.length)] as (typeof all)[number]
      void way().then((how) => {
        open--
        told[name] = { ...told[name], [how]: (told[name]?.[how] ?? 0) + 1 }
      })
    }
    for (let turn = 0; open > 0; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (turn % 10 === 9) clock.pass(500)
    }
  }
  return told
}

/** Bytes in use when everything is collected that can be. */
async function heap(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 6; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    globalThis.gc?.()
    least = Math.min(least, process.memoryUsage().heapUsed)
  }
  return least
}

const left = async () => ({
  heap: await heap(),
  listeners: getEventListeners(signal, 'abort').length,
  timers: clock.timers.size,
})

const unhandled: string[] = []
process.on('unhandledRejection', (error) => unhandled.push(String(error)))
await run(streams / 5)
const states = [await left()]
const told = await run(streams / 2)
states.push(await left())
await run(streams / 2)
states.push(await left())
control.pause()
control.resume()
process.stdout.write(JSON.stringify({ states, told, unhandled }))

/** What deadlines cost a stream per event, beside the bare stream and beside what one would do by hand; and per open stream. */

import { watchStream } from '../detector/watchdog/index.ts'
import { bytesKept } from './measure.ts'
import { type Figure, heading, printFigures, printTable, times } from './report.ts'
import { type AiLoop, aiLoop, readsRaced, signalRearmed } from './watchdog-peers.ts'

const EVENTS = 20_000
const ROUNDS = 9
const WARM_UP = 3
const OPEN_STREAMS = 10_000
const DEADLINES = { firstContentMs: 120_000, contentIntervalMs: 90_000, livenessMs: 60_000, drainMs: 5000 }
const WATCHED = { source: 'openai-responses', ...DEADLINES } as const
const EVENT = {
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: ' token',
  sequence_number: 1,
}
const LINE = new TextEncoder().encode(`event: ${EVENT.type}\ndata: ${JSON.stringify(EVENT)}\n\n`)

export async function benchWatchdog(): Promise<Figure[]> {
  heading(`A watched stream of ${EVENTS.toLocaleString('en')} events, time of the processor`)
  const ai = await aiLoop()
  const ns: Record<string, number> = {}
  for (const loops of [...kinds(), ...(ai === null ? [] : [callsOf(ai)])]) Object.assign(ns, await nsPerEvent(loops))
  const cost = (name: string, bare: string) => (ns[name] ?? Number.NaN) - (ns[bare] ?? Number.NaN)
  const rows = [
    ['async generator', 'generator', 'generator, watched'],
    ['ReadableStream of objects', 'readable', 'readable, watched'],
    ['Response of server-sent events', 'response', 'response, watched'],
    ['AbortSignal.timeout for each event', 'generator', 'generator, signal re-armed'],
    ['Promise.race with a timer for each read', 'generator', 'generator, reads raced'],
    ...(ai === null
      ? []
      : [
          ['streamText, its own timeouts', 'ai', 'ai, its timeouts'],
          ['streamText, fullStream watched', 'ai', 'ai, watched'],
        ]),
  ] as [string, string, string][]
  printTable(
    ['ns per event', 'bare', 'with deadlines', 'more'],
    rows.map(([what, bare, watched]) => [
      what,
      (ns[bare] as number).toFixed(0),
      (ns[watched] as number).toFixed(0),
      cost(watched, bare).toFixed(0),
    ]),
  )
  const ours = cost('generator, watched', 'generator')
  const raced = cost('generator, reads raced', 'generator')
  const rearmed = cost('generator, signal re-armed', 'generator')
  return [
    {
      what: 'deadlines of a stream, per event',
      measured: `${ours.toFixed(0)} ns over a generator, ${cost('readable, watched', 'readable').toFixed(0)} ns over a ReadableStream, ${cost('response, watched', 'response').toFixed(0)} ns over SSE`,
      peer: `a race with a timer for each read ${times(raced, ours)} of it, AbortSignal.timeout ${times(rearmed, ours)}`,
      ok: null,
    },
    ...(ai === null ? [] : [besideAi(cost('ai, watched', 'ai'), cost('ai, its timeouts', 'ai'), ns.ai as number)]),
    memory(),
  ]
}

function besideAi(ours: number, theirs: number, call: number): Figure {
  return {
    what: 'deadlines of a call of the AI SDK, per part',
    measured: `${ours.toFixed(0)} ns`,
    peer: `its own timeouts ${theirs.toFixed(0)} ns, the call itself ${call.toFixed(0)} ns`,
    ok: null,
  }
}

function memory(): Figure {
  const bare = bytesOf((stream) => stream)
  const watched = bytesOf((stream) => watchStream(stream, WATCHED)) - bare
  const raced = bytesOf(readsRaced) - bare
  return {
    what: 'memory per open watched stream',
    measured: `${watched.toFixed(0)} bytes`,
    peer: `a race with a timer ${raced.toFixed(0)}, the stream itself ${bare.toFixed(0)}`,
    ok: null,
  }
}

/** Of an open stream of which a read waits, as in a host that waits for its models. */
function bytesOf(around: (stream: AsyncGenerator<unknown>) => AsyncIterable<unknown>): number {
  const open: AsyncIterator<unknown>[] = []
  const bytes = bytesKept(() =>
    Array.from({ length: OPEN_STREAMS }, () => {
      const iterator = around(silent())[Symbol.asyncIterator]()
      open.push(iterator)
      return iterator.next().catch(() => {})
    }),
  )
  // No deadline is left to run out while others are measured.
  for (const iterator of open) void iterator.return?.()
  return bytes / OPEN_STREAMS
}

async function* silent(): AsyncGenerator<unknown> {
  await new Promise(() => {})
  yield EVENT
}

type Loops = Record<string, (events: number) => Promise<number>>

/** Loops that are compared run in turns. */
function kinds(): Loops[] {
  return [
    {
      generator: (events) => countOf(generator(events)),
      'generator, watched': (events) => countOf(watchStream(generator(events), WATCHED)),
      'generator, reads raced': (events) => countOf(readsRaced(generator(events))),
    },
    {
      readable: (events) => countOf(readable(events, EVENT)),
      'readable, watched': (events) => countOf(watchStream(readable(events, EVENT), WATCHED)),
    },
    {
      response: (events) => countOf(response(events).body as ReadableStream),
      'response, watched': (events) => countOf(watchStream(response(events), WATCHED).body as ReadableStream),
    },
    // Alone: the signals that it leaves behind would slow the others down.
    { 'generator, signal re-armed': (events) => countOf(signalRearmed(generator(events))) },
  ]
}

function callsOf(ai: AiLoop): Loops {
  const options = { source: 'ai-sdk-fullstream', ...DEADLINES } as const
  return {
    ai: (events) => ai.read(events),
    'ai, its timeouts': (events) => ai.read(events, 'timeouts'),
    'ai, watched': (events) => ai.read(events, (stream) => watchStream(stream, options)),
  }
}

/** Ns of the processor, the median of several rounds: other programs of the machine count little. */
async function nsPerEvent(loops: Loops): Promise<Record<string, number>> {
  const rounds: Record<string, number[]> = {}
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [name, loop] of Object.entries(loops)) {
      const before = process.threadCpuUsage()
      const read = await loop(EVENTS)
      const { user, system } = process.threadCpuUsage(before)
      if (read < EVENTS) throw new Error(`${name}: ${read} of ${EVENTS} events were read`)
      if (round < 0) continue
      rounds[name] ??= []
      rounds[name].push(((user + system) * 1000) / EVENTS)
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] as number
  return Object.fromEntries(Object.entries(rounds).map(([name, values]) => [name, median(values)]))
}

async function countOf(stream: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of stream) count++
  return count
}

async function* generator(events: number): AsyncGenerator<unknown> {
  for (let i = 0; i < events; i++) yield EVENT
}

function readable<T>(events: number, event: T): ReadableStream<T> {
  let left = events
  return new ReadableStream<T>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(event)
      else controller.close()
    },
  })
}

function response(events: number): Response {
  return new Response(readable(events, LINE), { headers: { 'content-type': 'text/event-stream' } })
}

if (import.meta.main) printFigures(await benchWatchdog())

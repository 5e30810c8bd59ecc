/**
 * A client of its own process, whose event loop is blocked again and again while it reads a stream in every way at once.
 * Arguments: the address, the deadline in ms, and the ms of each block, as JSON. Prints a line when all are under way, and
 * what became of each when all are over.
 */

import { get, type IncomingMessage } from 'node:http'
import { setTimeout as passes } from 'node:timers/promises'
import { StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'

const [url = '', deadline, blocks = '[]'] = process.argv.slice(2)
const deadlineMs = Number(deadline)
const options: WatchOptions = {
  source: 'openai-responses',
  headersMs: deadlineMs,
  firstContentMs: deadlineMs,
  contentIntervalMs: deadlineMs,
  livenessMs: deadlineMs,
}

const bodyOf = (response: Response) => response.body as ReadableStream
/** Each gives what its consumer reads. */
const ways: Record<string, () => Promise<AsyncIterable<Uint8Array>>> = {
  'a Response of fetch': async () => bodyOf(await watchStream(fetch(url), options)),
  'the body of one': async () => watchStream(bodyOf(await fetch(url)), options),
  'a message of node:http': async () => {
    const message = new Promise<IncomingMessage>((resolve, reject) => get(url, resolve).on('error', reject))
    return watchStream(await message, options)
  },
}

const started = Promise.withResolvers<void>()
let waiting = Object.keys(ways).length

async function read(open: () => Promise<AsyncIterable<Uint8Array>>) {
  const decoder = new TextDecoder()
  let told = ''
  const seen = () => {
    const words = [...told.matchAll(/"delta":"(\d+)"/g)].map((match) => Number(match[1]))
    return { words: words.length, inOrder: words.every((word, at) => word === at) }
  }
  try {
    for await (const chunk of await open()) {
      if (told === '' && --waiting === 0) started.resolve()
      told += decoder.decode(chunk, { stream: true })
    }
    return { outcome: told.includes('response.completed') ? 'completed' : 'cut', ...seen() }
  } catch (error) {
    const { phase, elapsedMs = 0 } = error as StreamStalledError
    const outcome = error instanceof StreamStalledError ? phase : String(error)
    return { outcome, isLongEnough: elapsedMs >= deadlineMs, ...seen() }
  }
}

const all = Object.entries(ways).map(async ([way, open]) => [way, await read(open)] as const)
await started.promise
console.log('reading')
for (const ms of JSON.parse(blocks) as number[]) {
  await passes(300)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
console.log(JSON.stringify(Object.fromEntries(await Promise.all(all))))

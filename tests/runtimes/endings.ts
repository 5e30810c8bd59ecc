/** Streams that end by other means than a silence. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { atOnce, delta, iterateAll, readAll, served, told, wait } from './small-streams.ts'

const failed = {
  type: 'response.failed',
  response: { status: 'failed', error: { code: 'server_error', message: 'it broke' } },
}

export async function aFailure() {
  const { stream } = served(atOnce(delta('a'), failed), 'closes')
  const { events, end } = await readAll(watchStream(stream, { source: 'openai-responses', firstContentMs: 20_000 }))
  return { events: events.length, end: told(end) }
}

export async function anErrorOfTheSource() {
  const broken = new Error('connection reset')
  async function* source() {
    yield delta('a')
    throw broken
  }
  const { events, end } = await iterateAll(watchStream(source(), { firstContentMs: 20_000 }))
  return { events, isTheSame: end === broken }
}

export async function anAbort() {
  const caller = new AbortController()
  const { stream, cancelled } = served(atOnce(delta('a')), 'hangs')
  const read = readAll(watchStream(stream, { contentIntervalMs: 20_000, signal: caller.signal }))
  await wait(50)
  const reason = { why: 'the user left' }
  caller.abort(reason)
  const { events, end } = await read
  return { events, isItsReason: end === reason, isCancelledWithIt: cancelled[0] === reason }
}

/** As the streams of SDKs are: an iterable with a controller and more. */
export async function anIterableThatStalls() {
  const controller = new AbortController()
  const sdk = {
    controller,
    requestId: 'req_1',
    async *[Symbol.asyncIterator]() {
      yield delta('a')
      await new Promise(() => {})
    },
  }
  const watched = watchStream(sdk, { contentIntervalMs: 60 })
  const { events, end } = await iterateAll(watched)
  const isAborted = controller.signal.aborted && controller.signal.reason === end
  return { events, end: told(end), requestId: watched.requestId, isAborted }
}

export async function anIterableThatIsLeft() {
  let isLeft = false
  async function* source() {
    try {
      for (;;) yield delta('a')
    } finally {
      isLeft = true
    }
  }
  let events = 0
  for await (const _ of watchStream(source(), { contentIntervalMs: 20_000 })) if (++events === 3) break
  return { events, isLeft }
}

/** What a host would do in place of `watchStream`: a deadline for each read, by hand, and the timeouts of the AI SDK. */

import { finish, loadAi, type Model, type Part, piece, START } from '../docs/watchdog/ai-sdk.ts'
import { installPackages } from '../tests/setup/npm-packages.ts'

const DEADLINE_MS = 90_000

/** A fresh signal for each event, of a timeout and of the caller. */
export async function* signalRearmed<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const caller = new AbortController()
  const rearmed = () => AbortSignal.any([caller.signal, AbortSignal.timeout(DEADLINE_MS)])
  let signal = rearmed()
  for await (const event of stream) {
    signal.throwIfAborted()
    signal = rearmed()
    yield event
  }
}

/** A race of each read with a timer, which is cleared. */
export async function* readsRaced<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]()
  for (;;) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('timed out')), DEADLINE_MS).unref()
    })
    try {
      const step = await Promise.race([iterator.next(), late])
      if (step.done) return
      yield step.value
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A loop around a call of the AI SDK: without deadlines, with its own, or with what is put around it. */
export interface AiLoop {
  /** Reads a call of so many parts, and returns how many came. */
  read(parts: number, around?: 'timeouts' | ((stream: ReadableStream<Part>) => AsyncIterable<Part>)): Promise<number>
}

/** Null where the SDK cannot be had. */
export async function aiLoop(): Promise<AiLoop | null> {
  if (!(await installPackages('tests/wires'))) return null
  const ai = await loadAi()
  return {
    async read(parts, around) {
      const timeout = around === 'timeouts' ? { firstChunkMs: DEADLINE_MS, chunkMs: DEADLINE_MS } : {}
      const { fullStream } = ai.stream({ model: modelOf(parts), timeout })
      let read = 0
      for await (const _ of typeof around === 'function' ? around(fullStream) : fullStream) read++
      return read
    },
  }
}

function modelOf(parts: number): Model {
  let left = parts
  const text = piece('token')
  const stream = () =>
    new ReadableStream<object>({
      start(controller) {
        for (const part of START) controller.enqueue(part)
      },
      pull(controller) {
        if (left-- > 0) return controller.enqueue(text)
        for (const part of finish()) controller.enqueue(part)
        controller.close()
      },
    })
  const identity = { specificationVersion: 'v4', provider: 'bench', modelId: 'bench', supportedUrls: {} } as const
  return { ...identity, calls: () => 1, doStream: async () => ({ stream: stream() }) }
}

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { watchReadable } from '../../instrumentation/sources/index.ts'
import { answer, answerLines, api, claude, HandTimers, ndjson, Recorder, sse, turn, turnLines } from './recorder.ts'

let watch: Recorder
const agent = { source: claude.source, thread: 't' } as const
const model = { source: api.source, thread: 't' } as const

beforeEach(() => {
  watch = new Recorder()
})

/** Gives chunks only when pulled, and counts that. */
function pulled(chunks: readonly unknown[], underlying: UnderlyingDefaultSource = {}) {
  const counted = { pulls: 0, stream: null as unknown as ReadableStream }
  const left = [...chunks]
  counted.stream = new ReadableStream(
    {
      ...underlying,
      pull(controller) {
        counted.pulls++
        if (left.length === 0) controller.close()
        else controller.enqueue(left.shift())
      },
    },
    { highWaterMark: 0 },
  )
  return counted
}

type UnderlyingDefaultSource = NonNullable<ConstructorParameters<typeof ReadableStream>[0]>

async function read(stream: ReadableStream): Promise<unknown[]> {
  const chunks: unknown[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

/** Microtasks enough for any number of streams to settle. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

function bytesOf(...parts: readonly Uint8Array[]) {
  const left = [...parts]
  return new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const part = left.shift()
      if (part !== undefined) return controller.enqueue(part.slice())
      controller.close()
      controller.byobRequest?.respond(0)
    },
  })
}

describe('a watched stream of objects', () => {
  it('gives the same chunks in the same order, and tells of each', async () => {
    const chunks = await read(watchReadable(pulled(turn).stream, watch, agent))
    expect(chunks.map((chunk, at) => chunk === turn[at])).toEqual([true, true, true])
    expect(watch.lines).toEqual(turnLines)
  })

  it('reads only what its reader reads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3)), async (bursts) => {
        const inner = pulled(Array(100).fill(claude.text))
        const reader = watchReadable(inner.stream, new Recorder(), agent).getReader()
        await settled()
        let reads = 0
        for (const size of bursts) {
          await Promise.all(Array.from({ length: size }, () => reader.read()))
          reads += size
          await settled()
          expect(inner.pulls).toBe(Math.min(reads, 101))
        }
      }),
      { numRuns: 30 },
    )
  })

  it('works with tee() and pipeTo(), each chunk told once', async () => {
    const [left, right] = watchReadable(pulled(turn).stream, watch, agent).tee()
    const written: unknown[] = []
    await Promise.all([left.pipeTo(new WritableStream({ write: (chunk) => void written.push(chunk) })), read(right)])
    expect(written).toEqual(turn)
    expect(watch.lines).toEqual(turnLines)
  })

  it('closes when the inner closes, without a read', async () => {
    let inner: ReadableStreamDefaultController | undefined
    const stream = watchReadable(
      new ReadableStream({
        start: (controller) => {
          inner = controller
        },
      }),
      watch,
      agent,
    )
    const reader = stream.getReader()
    inner?.enqueue(claude.init)
    await reader.read()
    inner?.close()
    await reader.closed
    expect(watch.lines).toEqual([claude.started, claude.exit])
  })

  it('gives its last chunk before it closes', async () => {
    const stream = new ReadableStream({
      start(controller) {
        for (const message of turn) controller.enqueue(message)
        controller.close()
      },
    })
    const reader = watchReadable(stream, watch, agent).getReader()
    const chunks = [await reader.read(), await reader.read(), await reader.read()]
    await reader.closed
    expect(chunks.map(({ value }) => value)).toEqual(turn)
    expect(watch.lines).toEqual(turnLines)
  })
})

describe('the end of a watched stream', () => {
  it('without the end of its turn is an exit', async () => {
    await read(watchReadable(pulled([api.start, api.delta]).stream, watch, model))
    expect(watch.lines).toEqual([api.requested, api.started, api.token, api.exit])
  })

  it('by cancel() is the consumer’s: reason and result are passed on', async () => {
    const heard: unknown[] = []
    const cancelled = Promise.withResolvers<void>()
    const inner = pulled(answer, {
      cancel: (reason) => {
        heard.push(reason)
        return cancelled.promise
      },
    })
    const reader = watchReadable(inner.stream, watch, model).getReader()
    await reader.read()
    const result = reader.cancel('enough').then(() => heard.push('cancelled'))
    await settled()
    expect(heard).toEqual(['enough'])
    cancelled.resolve()
    await result
    expect(heard).toEqual(['enough', 'cancelled'])
    expect(watch.lines).toEqual([api.requested, api.started, api.aborted])
  })

  it('by cancel() fails as that of the inner does', async () => {
    const error = new Error('cannot')
    const inner = pulled(answer, {
      cancel: () => {
        throw error
      },
    })
    await expect(watchReadable(inner.stream, watch, model).cancel()).rejects.toBe(error)
  })

  it('by cancel() while a read waits gives that its end', async () => {
    const stream = watchReadable(new ReadableStream({ pull: () => new Promise(() => {}) }), watch, model)
    const reader = stream.getReader()
    const waiting = reader.read()
    await settled()
    await reader.cancel()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(watch.lines).toEqual([api.requested, 't turn.ended outcome=aborted'])
  })

  it.each([
    ['while a read waits', true],
    ['without a read', false],
  ])('by an error is the provider’s, %s, and the reader gets the same error', async (_, waits) => {
    const error = new Error('connection lost')
    let inner: ReadableStreamDefaultController | undefined
    const stream = watchReadable(
      new ReadableStream({
        start: (controller) => {
          inner = controller
          controller.enqueue(api.start)
        },
      }),
      watch,
      model,
    )
    const reader = stream.getReader()
    await reader.read()
    const waiting = waits ? reader.read() : reader.closed
    inner?.error(error)
    await expect(waiting).rejects.toBe(error)
    await expect(reader.read()).rejects.toBe(error)
    await expect(reader.closed).rejects.toBe(error)
    expect(watch.lines.slice(2)).toEqual([
      't error message=connection lost turn=msg',
      't turn.ended outcome=error turn=msg',
    ])
  })

  it('by an abort error is the consumer’s', async () => {
    const stream = watchReadable(
      pulled([], {
        start: (controller) => controller.error(new DOMException('stopped', 'AbortError')),
      }).stream,
      watch,
      model,
    )
    await expect(read(stream)).rejects.toThrow('stopped')
    expect(watch.lines).toEqual([])
  })

  it('by an error before the first event is a failed turn, where the thread is known', async () => {
    const failed = () => pulled([], { start: (controller) => controller.error(new Error('refused')) }).stream
    await expect(read(watchReadable(failed(), watch, { source: api.source }))).rejects.toThrow('refused')
    expect(watch.lines).toEqual([])
    await expect(read(watchReadable(failed(), watch, model))).rejects.toThrow('refused')
    expect(watch.lines).toEqual([api.requested, 't error message=refused', 't turn.ended outcome=error'])
  })
})

describe('a watched byte stream', () => {
  const text = sse(answer)
  const bytes = new TextEncoder().encode(text)

  it('stays one: the same bytes in any chunks, for readers of both kinds', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 })
    // Of each read: the size of the reader's own memory, or 0 for none.
    const reads = fc.array(fc.nat(50), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(sizes, reads, async (chunkSizes, readSizes) => {
        const parts: Uint8Array[] = []
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = chunkSizes[i % chunkSizes.length] as number
          parts.push(bytes.subarray(at, at + size))
          at += size
        }
        const said = new Recorder()
        const stream = watchReadable(bytesOf(...parts), said, model)
        const got: number[] = []
        for (let i = 0; ; i++) {
          const size = readSizes[i % readSizes.length] as number
          const { done, value } = await readOnce(stream, size)
          if (value !== undefined) got.push(...value)
          if (done) break
        }
        expect(new TextDecoder().decode(new Uint8Array(got))).toBe(text)
        expect(said.lines).toEqual(answerLines)
      }),
    )
  })

  async function readOnce(stream: ReadableStream<Uint8Array>, size: number) {
    if (size === 0) {
      const reader = stream.getReader()
      const result = await reader.read()
      reader.releaseLock()
      return result
    }
    const reader = stream.getReader({ mode: 'byob' })
    const result = await reader.read(new Uint8Array(size))
    reader.releaseLock()
    return result
  }

  it('fills the reader’s own memory, and no more than asked for', async () => {
    const reader = watchReadable(bytesOf(bytes), watch, model).getReader({ mode: 'byob' })
    const { value } = await reader.read(new Uint8Array(new ArrayBuffer(64), 8, 16), { min: 16 })
    expect([value?.byteOffset, value?.byteLength, value?.buffer.byteLength]).toEqual([8, 16, 64])
    expect(value).toEqual(bytes.subarray(0, 16))
  })

  it('that closes within an element fails the reader as the inner would, with or without its last answer', async () => {
    for (const responds of [true, false]) {
      const closing = () => {
        const parts = [new Uint8Array([1, 2, 3])]
        return new ReadableStream({
          type: 'bytes',
          pull(controller) {
            const part = parts.shift()
            if (part !== undefined) return controller.enqueue(part)
            controller.close()
            if (responds) controller.byobRequest?.respond(0)
          },
        })
      }
      for (const stream of [closing(), watchReadable(closing(), watch, model)]) {
        const reader = stream.getReader({ mode: 'byob' })
        expect(await reader.read(new Uint16Array(2))).toEqual({ done: false, value: new Uint16Array([513]) })
        await expect(reader.read(new Uint16Array(2))).rejects.toThrow(TypeError)
        await expect(reader.read(new Uint16Array(2))).rejects.toThrow(TypeError)
      }
    }
    expect(watch.lines).toEqual([
      api.requested,
      't turn.ended outcome=completed',
      api.requested,
      't turn.ended outcome=completed',
    ])
  })

  it('passes on errors and cancellation to and from both kinds of reader', async () => {
    const error = new Error('reset')
    for (const mode of ['byob', undefined] as const) {
      const failing = new ReadableStream({
        type: 'bytes',
        pull: (controller) => controller.error(error),
      })
      const stream = watchReadable(failing, watch, model)
      const reading = mode === 'byob' ? stream.getReader({ mode }).read(new Uint8Array(8)) : stream.getReader().read()
      await expect(reading).rejects.toBe(error)
      const heard: unknown[] = []
      const endless = new ReadableStream({ type: 'bytes', cancel: (reason) => void heard.push(reason) })
      const cancelled = watchReadable(endless, watch, model)
      const reader = mode === 'byob' ? cancelled.getReader({ mode }) : cancelled.getReader()
      const waiting = 'readAtLeast' in reader ? null : reader.read(new Uint8Array(8) as never)
      await reader.cancel('enough')
      expect((await waiting)?.done).toBe(true)
      expect(heard).toEqual(['enough'])
    }
  })
})

describe('text', () => {
  it.each([
    ['server-sent events', sse(answer)],
    ['lines', ndjson(answer)],
    ['lines after blank ones', `\n\r\n ${ndjson(answer)}`],
    ['server-sent events after a comment', `: hello\n\n${sse(answer)}`],
  ])('is decoded: %s', async (_, text) => {
    const middle = text.indexOf('🙂') + 1
    const chunks = [text.slice(0, middle), text.slice(middle)]
    expect(await read(watchReadable(ReadableStream.from(chunks), watch, model))).toEqual(chunks)
    expect(watch.lines).toEqual(answerLines)
  })
})

describe('a slow consumer', () => {
  it('is a wait of the turn, from a second or two on until it reads again', async () => {
    const timers = new HandTimers()
    const reader = watchReadable(pulled(turn).stream, watch, { ...agent, later: timers.later }).getReader()
    await reader.read()
    await settled()
    timers.pass(600_000)
    await reader.read()
    expect(watch.lines).toEqual([
      claude.started,
      't wait.started id=consumer reason=queue',
      't wait.ended id=consumer',
      claude.token,
    ])
  })
})

describe('is refused at once', () => {
  it.each([
    ['an unknown source', () => pulled([]).stream, { source: 'x' }, 'source: "x" is none of '],
    ['what is no stream', () => 'text', agent, 'stream: "text" is no ReadableStream'],
    [
      'a stream that is locked',
      () => {
        const { stream } = pulled([])
        stream.getReader()
        return stream
      },
      agent,
      'stream: is locked to a reader; watch it before it is read',
    ],
    [
      'a stream that was cancelled',
      () => {
        const { stream } = pulled([])
        void stream.cancel()
        return stream
      },
      agent,
      'stream: was read from or cancelled; watch it before it is read',
    ],
  ])('%s', (_, stream, options, text) => {
    const call = () => watchReadable(stream() as never, watch, options as never)
    expect(call).toThrow(TypeError)
    expect(call).toThrow(text)
  })

  it('and stays readable when its options are refused', async () => {
    const { stream } = pulled(turn)
    expect(() => watchReadable(stream, watch, { source: 'x' } as never)).toThrow(TypeError)
    expect(await read(stream)).toEqual(turn)
  })
})

/** Watches a ReadableStream of objects, text or bytes: what is read from the outer is read from the inner, and not before. */

import { Readable } from 'node:stream'
import { shown } from '../shown.ts'
import type { Watcher } from '../sources/source.ts'
import { later } from './later.ts'
import { isByteStream, isReadableStream } from './readable-stream-kind.ts'
import { Tap, type TapOptions } from './tap.ts'

/**
 * Watches a ReadableStream of raw events, or of text or bytes of server-sent events or NDJSON, which are decoded on the
 * side. Use what it returns in place of what it was given, which is locked: the same chunks in the same order, nothing
 * read ahead, and ends, errors and cancellation passed on. A byte stream stays one, for BYOB readers too; its chunks
 * have the same bytes in a new view.
 *
 * With `thread`, a bare API's turn begins at the first read, and ends one of an older stream in that thread. An end without
 * the turn's own is an exit, but for objects of a wire whose failures are events, and for a stream that told nothing;
 * `cancel()` and abort errors end the turn `aborted`; any other error is the provider's. While the consumer reads nothing
 * for a second or two, the turn waits (`queue`).
 *
 * Throws TypeError for a source that is none, and for a stream that is locked or was read from.
 */
export function watchReadable<T>(stream: ReadableStream<T>, watch: Watcher, options: TapOptions): ReadableStream<T> {
  if (!isReadableStream(stream)) throw new TypeError(`stream: ${shown(stream)} is no ReadableStream`)
  refuseUsed('stream', stream)
  return tapReadable(stream, new Tap(watch, options)) as ReadableStream<T>
}

/** Throws TypeError for a stream that has a reader already, or had one that read. */
export function refuseUsed(name: string, stream: ReadableStream): void {
  if (stream.locked) throw new TypeError(`${name}: is locked to a reader; watch it before it is read`)
  if (Readable.isDisturbed(stream as unknown as NodeJS.ReadableStream)) {
    throw new TypeError(`${name}: was read from or cancelled; watch it before it is read`)
  }
}

export function tapReadable(stream: ReadableStream, tap: Tap): ReadableStream {
  const passage = isByteStream(stream) ? new BytePassage(stream, tap) : new Passage(stream, tap)
  return new ReadableStream(passage as Passage, { highWaterMark: 0 })
}

type AnyController = ReadableStreamDefaultController | ReadableByteStreamController

/** What ends a stream, told once. */
class Ending {
  readonly #tap: Tap
  over = false
  /** Whether a read of the inner is under way. */
  #reading = false
  #innerClosed = false
  /** Whether the read that is under way may wait for an answer that the inner, closed, does not give. */
  #mayWait = false

  constructor(tap: Tap) {
    this.#tap = tap
  }

  /** Ends and errors are passed on when they come, and not only to who reads. */
  follow(closed: Promise<unknown>, controller: AnyController, isCurrent: () => boolean): void {
    closed.then(
      () => {
        this.#innerClosed = true
        // The last chunk comes after the news that the inner is closed.
        if (!this.#reading) this.close(controller)
        else later(0, () => this.#mayWait && this.close(controller))
      },
      (error: unknown) => {
        if (isCurrent()) this.#fail(controller, error)
      },
    )
  }

  /** Reads once and passes on what comes. */
  async read(controller: AnyController, pass: () => Promise<void>): Promise<void> {
    this.#tap.asks()
    this.#reading = true
    await pass()
    this.#reading = false
    if (this.#innerClosed) this.close(controller)
    if (!this.over) this.#tap.holds()
  }

  /** Reads of the inner that it answers, once closed, only when its source responds; the outer is not to wait for that. */
  async waiting<T>(answer: Promise<T>): Promise<T> {
    this.#mayWait = true
    try {
      return await answer
    } finally {
      this.#mayWait = false
    }
  }

  close(controller: AnyController): void {
    if (this.over) return
    this.over = true
    this.#tap.ended()
    try {
      controller.close()
    } catch {
      // A reader waits for more of an element than came, and has got that error.
    }
  }

  cancel(): void {
    this.over = true
    this.#tap.cancelled()
  }

  #fail(controller: AnyController, error: unknown): void {
    if (this.over) return
    this.over = true
    this.#tap.failed(error)
    controller.error(error)
  }
}

class Passage {
  readonly #tap: Tap
  readonly #ending: Ending
  readonly #reader: ReadableStreamDefaultReader

  constructor(stream: ReadableStream, tap: Tap) {
    this.#tap = tap
    this.#ending = new Ending(tap)
    this.#reader = stream.getReader()
  }

  start(controller: ReadableStreamDefaultController): void {
    this.#ending.follow(this.#reader.closed, controller, () => true)
  }

  pull(controller: ReadableStreamDefaultController): Promise<void> {
    return this.#ending.read(controller, async () => {
      const { done, value } = await this.#reader.read()
      if (done) return this.#ending.close(controller)
      if (this.#ending.over) return
      this.#tap.took(value)
      controller.enqueue(value)
    })
  }

  cancel(reason: unknown): Promise<void> {
    this.#ending.cancel()
    return this.#reader.cancel(reason)
  }
}

/** Reads the inner as the outer is read: into the reader's own memory, or not. */
class BytePassage {
  readonly type = 'bytes'
  readonly #stream: ReadableStream
  readonly #tap: Tap
  readonly #ending: Ending
  #reader:
    | { mode: 'byob'; of: ReadableStreamBYOBReader }
    | { mode: 'default'; of: ReadableStreamDefaultReader<Uint8Array> }

  constructor(stream: ReadableStream, tap: Tap) {
    this.#stream = stream
    this.#tap = tap
    this.#ending = new Ending(tap)
    this.#reader = { mode: 'default', of: stream.getReader() }
  }

  start(controller: ReadableByteStreamController): void {
    this.#follow(controller)
  }

  pull(controller: ReadableByteStreamController): Promise<void> {
    return this.#ending.read(controller, () => {
      const view = controller.byobRequest?.view
      return view ? this.#fill(controller, view as Uint8Array) : this.#pass(controller)
    })
  }

  cancel(reason: unknown): Promise<void> {
    this.#ending.cancel()
    return this.#reader.of.cancel(reason)
  }

  async #pass(controller: ReadableByteStreamController): Promise<void> {
    const { done, value } = await this.#default(controller).read()
    if (done) return this.#ending.close(controller)
    if (this.#ending.over) return
    // Before it is passed on: then its bytes are the reader's alone.
    this.#tap.took(value)
    controller.enqueue(value)
  }

  async #fill(controller: ReadableByteStreamController, view: Uint8Array): Promise<void> {
    const { done, value } = await this.#ending.waiting(this.#byob(controller).read(view))
    if (done) this.#ending.close(controller)
    else this.#tap.took(value)
    // Of a stream that is cancelled there is nobody to answer.
    if (value !== undefined) controller.byobRequest?.respondWithNewView(value)
  }

  #default(controller: ReadableByteStreamController): ReadableStreamDefaultReader<Uint8Array> {
    if (this.#reader.mode === 'default') return this.#reader.of
    this.#reader.of.releaseLock()
    const of: ReadableStreamDefaultReader<Uint8Array> = this.#stream.getReader()
    this.#reader = { mode: 'default', of }
    this.#follow(controller)
    return of
  }

  #byob(controller: ReadableByteStreamController): ReadableStreamBYOBReader {
    if (this.#reader.mode === 'byob') return this.#reader.of
    this.#reader.of.releaseLock()
    const of = this.#stream.getReader({ mode: 'byob' })
    this.#reader = { mode: 'byob', of }
    this.#follow(controller)
    return of
  }

  /** A reader that gave way to one of the other kind fails in that way; that is no news of the stream. */
  #follow(controller: ReadableByteStreamController): void {
    const { of } = this.#reader
    this.#ending.follow(of.closed, controller, () => this.#reader.of === of)
  }
}

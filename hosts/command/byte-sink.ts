/**
 * Writing to our own stdout and stderr without holding up the event loop, and without changing the descriptor: making it
 * non-blocking, as Node's streams do, would also change it for the command and others that share it, whose writes then fail.
 */

import { write } from 'node:fs'
import { isatty } from 'node:tty'

type WriteError = NodeJS.ErrnoException | null

export interface ByteSink {
  /** Writes all of the chunk, then calls back. One write at a time. */
  write(chunk: Uint8Array, done: (error: WriteError) => void): void
}

/** The sink of descriptor 1 or 2. Consoles and Windows go through Node's stream, which knows their encodings. */
export function openSink(fd: 1 | 2): ByteSink {
  if (process.platform === 'win32' || isatty(fd)) return new StreamSink(fd)
  return new DescriptorSink(fd)
}

class DescriptorSink implements ByteSink {
  readonly #fd: 1 | 2
  #stream: StreamSink | null = null

  constructor(fd: 1 | 2) {
    this.#fd = fd
  }

  write(chunk: Uint8Array, done: (error: WriteError) => void): void {
    if (this.#stream) return this.#stream.write(chunk, done)
    write(this.#fd, chunk, 0, chunk.length, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        // It came to us non-blocking, so Node's stream, which can wait for room, changes nothing.
        this.#stream = new StreamSink(this.#fd)
        return this.#stream.write(chunk, done)
      }
      if (error || written === chunk.length) return done(error)
      this.write(chunk.subarray(written), done)
    })
  }
}

class StreamSink implements ByteSink {
  readonly #stream: NodeJS.WriteStream

  constructor(fd: 1 | 2) {
    this.#stream = fd === 1 ? process.stdout : process.stderr
    // The callback of the write has the error too.
    this.#stream.on('error', () => {})
  }

  write(chunk: Uint8Array, done: (error: WriteError) => void): void {
    this.#stream.write(chunk, (error) => done(error ?? null))
  }
}

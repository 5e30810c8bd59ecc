/**
 * The command's stdout on its way to ours: byte for byte, a chunk at a time, with back-pressure, and every chunk shown to
 * who watches before it is asked for the next.
 */

import type { Readable } from 'node:stream'
import { setImmediate as nextPoll, setTimeout as sleep } from 'node:timers/promises'
import type { ByteSink } from './byte-sink.ts'

/** A write that takes longer than this is a slow reader; shorter ones are no news. */
const SLOW_MS = 250
/** After the command's exit its pipe may be held open by a process it left behind. Without news for this long, it is over. */
const QUIET_MS = 500
/** However much that process has to say. */
const CHATTY_MS = 5000
const CHECK_MS = 50

export interface StdoutWatcher {
  onChunk(chunk: Buffer): void
  /** Our reader does not keep up, so nothing is read; or it does again. */
  onBlocked(isBlocked: boolean): void
  /** Nobody reads our stdout any more. The command's is closed, so that its next write fails as it would without us. */
  onReaderGone(error: NodeJS.ErrnoException): void
}

export class CommandStdout {
  readonly #from: Readable
  readonly #sink: ByteSink
  readonly #watcher: StdoutWatcher
  /** Rises when a chunk comes and when it is written. */
  #moves = 0
  #writing = false
  #over = false
  #whenIdle: (() => void) | null = null
  /** Resolves when the command has closed its stdout and all of it was taken, and when nobody reads ours. */
  readonly ended: Promise<void>

  constructor(from: Readable, sink: ByteSink, watcher: StdoutWatcher) {
    this.#from = from
    this.#sink = sink
    this.#watcher = watcher
    this.ended = new Promise((resolve) => {
      const over = () => {
        this.#over = true
        resolve()
      }
      from.once('end', over)
      from.once('close', over)
    })
    from.on('error', () => {})
    from.on('data', (chunk: Buffer) => this.#pass(chunk))
  }

  /**
   * Resolves when everything that the command can have written was taken, after its exit: its stdout has ended, or is
   * quiet though somebody holds it open. It is never over while our own reader holds it up.
   */
  async drained(): Promise<void> {
    let idle = false
    let seen = this.#moves
    let quietSince = performance.now()
    const exitedAt = quietSince
    while (!this.#over) {
      await Promise.race([sleep(CHECK_MS), this.ended])
      // Timers run before what is ready is read, after a pause of this process too: it gets its turn first.
      await nextPoll()
      await nextPoll()
      const now = performance.now()
      if (this.#moves !== seen || this.#writing) quietSince = now
      else idle = true
      seen = this.#moves
      if (idle && (now - quietSince >= QUIET_MS || now - exitedAt >= CHATTY_MS)) return
    }
  }

  /** Reads no more, and resolves when all that was taken is written. */
  async close(): Promise<void> {
    this.#from.destroy()
    if (!this.#writing) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  #pass(chunk: Buffer): void {
    this.#moves++
    this.#from.pause()
    this.#writing = true
    let blocked = false
    const slow = setTimeout(() => {
      blocked = true
      this.#watcher.onBlocked(true)
    }, SLOW_MS)
    this.#sink.write(chunk, (error) => {
      clearTimeout(slow)
      this.#moves++
      this.#writing = false
      if (blocked) this.#watcher.onBlocked(false)
      if (error) {
        this.#watcher.onReaderGone(error)
        this.#from.destroy()
      } else this.#from.resume()
      this.#whenIdle?.()
    })
    this.#watcher.onChunk(chunk)
  }
}

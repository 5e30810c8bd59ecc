/** Watches a child process: its stdout is seen as it comes in, whoever reads it and however, and its exit is judged. */

import { type EventEmitter, errorMonitor } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { shown } from '../shown.ts'
import type { Direction, Watcher } from '../sources/source.ts'
import { isText } from './json-events.ts'
import { later } from './later.ts'
import { see } from './patch.ts'
import { type Exit, ProcessExit } from './process-exit.ts'
import { Tap, type TapOptions } from './tap.ts'

/** A `ChildProcess`, or what is one in all but name. */
export interface WatchableProcess extends EventEmitter {
  readonly stdout: Readable | null
  readonly stdin: Writable | null
  readonly pid?: number | undefined
  readonly exitCode: number | null
  readonly signalCode: NodeJS.Signals | null
  kill(signal?: NodeJS.Signals | number): boolean
}

export interface ProcessTapOptions extends TapOptions {
  /** Whether what is written to stdin is read too, as our side's: replies end waits, prompts request turns. @default true */
  readonly stdin?: boolean | undefined
}

/** Signals that stop a process; without a name, `kill()` sends the first. */
const STOPS: ReadonlySet<unknown> = new Set(['SIGTERM', 'SIGKILL', 'SIGHUP', 'SIGQUIT', 15, 9, 1, 3])
/** The one that stops a process, or only what it does. */
const INTERRUPTS: ReadonlySet<unknown> = new Set(['SIGINT', 2])

/**
 * Watches the NDJSON on a child's stdout. Nothing is taken from the host and no mode changes: it may read before and
 * after, by events, `pipe`, `read()` or `for await`, in any encoding, and pause. Call it right after the spawn: what was
 * read before is not seen. Returns its undo, which ends turns still open `aborted`.
 *
 * The exit is told after everything that the process wrote: at `close`, or when its pipe has been quiet for half a second
 * after the `exit`. An exit by the host's own `kill()`, abort signal or timeout ends turns `aborted`, however long the
 * process cleans up first (after a SIGINT, which may be a mere interrupt, only its death by that), as does a host that
 * destroys stdout. With `thread`, a spawn that fails, and an exit with a failure before any turn, are failed turns.
 *
 * While the host leaves a full buffer unread for a second or two, turns wait (`queue`).
 *
 * Throws TypeError for a source that is none, and for a process without a stdout to read.
 */
export function watchProcess(child: WatchableProcess, watch: Watcher, options: ProcessTapOptions): () => void {
  if (typeof child !== 'object' || child === null || typeof child.kill !== 'function') {
    throw new TypeError(`child: ${shown(child)} is no child process`)
  }
  const { stdout } = child
  if (stdout === null || stdout === undefined) {
    throw new TypeError(`child: its stdout is ${shown(stdout)}; spawn it with stdout 'pipe'`)
  }
  if (stdout.readableEnded || stdout.destroyed) throw new TypeError('child: its stdout has ended; watch it before that')
  const watched = new WatchedProcess(child, stdout, new Tap(watch, options, { format: 'ndjson' }), options)
  return () => watched.stop()
}

class WatchedProcess {
  readonly #child: WatchableProcess
  readonly #tap: Tap
  readonly #exit: ProcessExit
  readonly #undo: (() => void)[] = []
  /** What the host has sent. */
  #isStopped = false
  #isInterrupted = false

  constructor(child: WatchableProcess, stdout: Readable, tap: Tap, options: ProcessTapOptions) {
    this.#child = child
    this.#tap = tap
    this.#exit = new ProcessExit(options.later ?? later, (exit) => this.#judged(exit))
    this.#seeStdout(stdout)
    if (options.stdin !== false && child.stdin) this.#seeStdin(child.stdin)
    this.#undo.push(
      see(child, 'kill', { after: (sent, [signal = 'SIGTERM']) => this.#killed(sent === true, signal) }),
      on(child, 'exit', (code, signal) => this.#exit.exited({ code, signal } as Exit)),
      on(child, 'close', (code, signal) => this.#exit.closed({ code, signal } as Exit)),
      // One that listens to `error` itself would keep it from being thrown.
      on(child, errorMonitor, (error) => this.#failed(error)),
      on(stdout, 'close', () => this.#stdoutClosed(stdout)),
    )
    const { exitCode, signalCode } = child
    if (exitCode !== null || signalCode !== null) this.#exit.exited({ code: exitCode, signal: signalCode })
  }

  stop(): void {
    this.#exit.stop()
    this.#tap.cancelled()
    for (const undo of this.#undo) undo()
    this.#undo.length = 0
  }

  #seeStdout(stdout: Readable): void {
    this.#undo.push(
      // What comes in is pushed, whoever reads it then.
      see(stdout, 'push', {
        before: ([chunk, encoding]) => this.#took(chunk, encoding, 'in'),
        after: (hasRoom, [chunk]) => {
          if (chunk === null) return this.#exit.outputEnded()
          this.#exit.moved(hasRoom !== true)
          if (hasRoom !== true) this.#tap.holds()
        },
      }),
      see(stdout, '_read', {
        before: () => {
          this.#tap.asks()
          this.#exit.unblocked()
        },
      }),
    )
  }

  #seeStdin(stdin: Writable): void {
    const before = ([chunk, encoding]: unknown[]) => this.#took(chunk, encoding, 'out')
    this.#undo.push(see(stdin, 'write', { before }), see(stdin, 'end', { before }))
  }

  #took(chunk: unknown, encoding: unknown, direction: Direction): void {
    if (!isText(chunk)) return
    const isEncoded = typeof chunk === 'string' && typeof encoding === 'string' && Buffer.isEncoding(encoding)
    this.#tap.took(isEncoded ? Buffer.from(chunk, encoding) : chunk, direction)
  }

  #killed(sent: boolean, signal: unknown): void {
    if (!sent) return
    if (STOPS.has(signal)) this.#isStopped = true
    else if (INTERRUPTS.has(signal)) this.#isInterrupted = true
    else return
    this.#tap.interrupted()
  }

  #failed(error: unknown): void {
    // Of a process that runs it only says that a signal could not be sent, or was.
    if (this.#child.pid === undefined) this.#tap.failed(error)
  }

  /** Closed before its end, by the host: nobody reads the agent any more. */
  #stdoutClosed(stdout: Readable): void {
    const { pid, exitCode, signalCode } = this.#child
    if (!stdout.readableEnded && pid !== undefined && exitCode === null && signalCode === null) this.#tap.cancelled()
  }

  #judged({ code, signal }: Exit): void {
    // However long it took to die of it: one that is stopped may clean up first.
    if (this.#isStopped || (this.#isInterrupted && signal === 'SIGINT')) this.#tap.interrupted()
    const failed = signal !== null || (code !== null && code !== 0)
    if (failed && !this.#tap.sawTurn && !this.#isStopped && !this.#isInterrupted) {
      this.#tap.failed(new Error(`the process exited with ${signal ?? `code ${code}`}`))
    }
    this.#tap.ended({ kind: 'exit', code, signal })
    this.stop()
  }
}

function on(emitter: EventEmitter, event: string | symbol, listener: (...args: unknown[]) => void): () => void {
  emitter.on(event, listener)
  return () => void emitter.off(event, listener)
}

/**
 * When the exit of a process is judged: at its `close`, or once its pipe has been quiet for half a second after the exit,
 * because a process it left behind may hold that open. What is still in the pipe must be read first.
 */

import type { Later } from './later.ts'

export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

const QUIET_MS = 500
/** Timers run before what is ready is read; after a pause of this process too. This long after them, it has been. */
const SETTLE_MS = 50
/** However much a process that was left behind has to say: this many times the quiet. */
const MAX_ROUNDS = 10

const UNKNOWN_EXIT: Exit = { code: null, signal: null }

export class ProcessExit {
  readonly #later: Later
  readonly #onJudged: (exit: Exit) => void
  #exit: Exit | null = null
  /** Rises with each chunk. */
  #moves = 0
  #ended = false
  /** Whether nothing is read, because the consumer does not keep up. */
  #blocked = false
  #rounds = 0
  #waiting = false
  #over = false

  constructor(later: Later, onJudged: (exit: Exit) => void) {
    this.#later = later
    this.#onJudged = onJudged
  }

  /** The process is gone. */
  exited(exit: Exit): void {
    this.#exit = exit
    if (this.#ended) return this.#judge(exit)
    this.#wait()
  }

  /** It has said all that it can. How it exits is worth a moment. */
  outputEnded(): void {
    this.#ended = true
    if (this.#exit !== null) return this.#judge(this.#exit)
    this.#later(QUIET_MS, () => this.#judge(this.#exit ?? UNKNOWN_EXIT))
  }

  /** It is gone, and all its pipes are closed. */
  closed(exit: Exit): void {
    this.#judge(this.#exit ?? exit)
  }

  /** A chunk came; `blocked` when no more will, until the consumer has room. */
  moved(blocked: boolean): void {
    this.#moves++
    this.#blocked = blocked
  }

  /** The consumer has room again. */
  unblocked(): void {
    this.#blocked = false
    if (this.#exit !== null) this.#wait()
  }

  /** Nobody wants to know any more. */
  stop(): void {
    this.#over = true
  }

  #wait(): void {
    if (this.#over || this.#waiting || this.#blocked) return
    this.#waiting = true
    const seen = this.#moves
    this.#later(QUIET_MS, () => {
      this.#later(SETTLE_MS, () => {
        this.#waiting = false
        if (this.#moves === seen || ++this.#rounds >= MAX_ROUNDS) {
          if (!this.#blocked) this.#judge(this.#exit ?? UNKNOWN_EXIT)
        } else this.#wait()
      })
    })
  }

  #judge(exit: Exit): void {
    if (this.#over) return
    this.#over = true
    this.#onJudged(exit)
  }
}

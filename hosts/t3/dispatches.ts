/** Commands that nobody waits for, a few at a time: each is tried some times, with pauses that grow, and then given up. */

import { isRejection } from './commands.ts'

const CONCURRENCY = 4
const TRIES = 5
const TRY_MS = 30_000
const FIRST_PAUSE_MS = 1000
/** Commands that wait; the oldest gives way. */
const MAX_WAITING = 1000
/** How long `stop` waits. */
const STOP_MS = 5000

export class Dispatches {
  readonly #fault: (error: unknown) => void
  readonly #waiting: (() => Promise<unknown>)[] = []
  readonly #active = new Set<Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(fault: (error: unknown) => void) {
    this.#fault = fault
  }

  add(dispatch: () => Promise<unknown>): void {
    this.#waiting.push(dispatch)
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift()
      this.#fault(new Error(`more than ${MAX_WAITING} commands wait for the engine; the oldest is dropped`))
    }
    this.#next()
  }

  /** Gives what waits a last chance. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const done = async () => {
      while (this.#active.size > 0) await Promise.all(this.#active)
    }
    await Promise.race([done(), pause(STOP_MS, new AbortController().signal)])
  }

  #next(): void {
    while (this.#active.size < CONCURRENCY) {
      const dispatch = this.#waiting.shift()
      if (dispatch === undefined) return
      const work = this.#run(dispatch).finally(() => {
        this.#active.delete(work)
        this.#next()
      })
      this.#active.add(work)
    }
  }

  async #run(dispatch: () => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await inTime(dispatch())
        return
      } catch (error) {
        // A rejected command stays rejected under its id.
        const mayWork = tries < TRIES && !this.#stopping.signal.aborted && !isRejection(error)
        if (!mayWork) return this.#fault(error)
        await pause(FIRST_PAUSE_MS * 2 ** tries, this.#stopping.signal)
      }
    }
  }
}

/** A try without an answer is given up; the engine knows the command that comes again by its id. */
async function inTime(work: Promise<unknown>): Promise<void> {
  const settled = new AbortController()
  const late = pause(TRY_MS, settled.signal).then(() => {
    if (!settled.signal.aborted) throw new Error('the engine has not answered a command')
  })
  try {
    await Promise.race([work, late])
  } finally {
    settled.abort()
  }
}

/** Ends early when the signal does. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, signal.aborted ? 0 : ms)
    timer.unref()
    signal.addEventListener('abort', done)
  })
}

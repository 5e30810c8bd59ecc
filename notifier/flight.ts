/** One try that is under way. */

export class Flight {
  /** Monotonic ms. */
  readonly startedAt: number
  /** Whether the channel is told that the episode has ended. */
  readonly saysEnd: boolean
  /** Whether it took too long: its place is free again, and its time-out is counted. */
  overdue = false
  /** Made when a channel asks for it: most callbacks are done before anybody could. */
  #controller: AbortController | null = null
  #abortedBy: Error | null = null

  constructor(startedAt: number, saysEnd: boolean) {
    this.startedAt = startedAt
    this.saysEnd = saysEnd
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#abortedBy) this.#controller.abort(this.#abortedBy)
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#abortedBy ??= reason
    this.#controller?.abort(reason)
  }
}

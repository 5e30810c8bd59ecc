/**
 * When the deadlines of a stream are looked at, and judged: one timer, which is not set anew for each event, and a few
 * turns of the event loop, in which what has come is read before anything is judged.
 */

import type { ObservedTime } from './observed-time.ts'
import type { StallWarnings } from './stall-warnings.ts'
import type { Due, StreamState } from './stream-state.ts'

/** A timer that fires later than this was held up, and what came meanwhile may be unread. */
const LATE_MS = 50
/** Turns of the event loop in which what has come is read. */
export const CHECKED_TURNS = 4
/** So long after its deadline a stream is judged though it still sends what is no content. */
const OVERDUE_MS = 1000

export class DeadlineTimer {
  /** Whether nothing is to be judged for now. */
  suspended = false
  readonly #time: ObservedTime
  readonly #state: StreamState
  readonly #warnings: StallWarnings
  readonly #keepAlive: boolean
  readonly #expired: (due: Due) => void
  #stopTimer: (() => void) | null = null
  #stopped = false
  /** Whether the timer stands for what comes next; for nothing, too. */
  #planned = false
  /** Observed ms of the last wake of the machine that this stream knows of. */
  #wokeAt = 0
  #overdueSince: number | null = null
  /** Answers that came. */
  #answers = 0
  #checking = false

  /** `expired` hears of a deadline that has run out. */
  constructor(
    time: ObservedTime,
    state: StreamState,
    warnings: StallWarnings,
    keepAlive: boolean,
    expired: (due: Due) => void,
  ) {
    this.#time = time
    this.#state = state
    this.#warnings = warnings
    this.#keepAlive = keepAlive
    this.#expired = expired
  }

  /** The source has answered; `isNews`: what comes next is another deadline. */
  answered(isNews: boolean): void {
    this.#answers++
    if (!isNews) return
    this.#planned = false
    this.#overdueSince = null
  }

  /** Sets the timer for what comes next, whatever it stands for. */
  replan(): void {
    this.#planned = false
    this.plan()
  }

  /** Sets the timer, unless it stands for what comes next: a token sets none. */
  plan(): void {
    if (this.#planned || this.#stopped || this.#checking || this.suspended) return
    // What was planned while nothing was waited for does not stand for what is, later.
    this.#planned = this.#state.waiting
    this.#stopTimer?.()
    this.#stopTimer = null
    const now = this.#time.now()
    const remaining = this.#state.remainingMs(now)
    if (remaining > 0) this.#overdueSince = null
    const wait = Math.min(remaining, this.#warnings.nextMs(now))
    if (wait === Number.POSITIVE_INFINITY) return
    this.#stopTimer = this.#time.later(wait, this.#keepAlive, (lateMs) => this.#fired(lateMs))
    this.#wokeAt = this.#time.wokeAt
  }

  /** Nothing is judged any more. */
  stop(): void {
    this.#stopped = true
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  #fired(lateMs: number): void {
    this.#planned = false
    this.#stopTimer = null
    const now = this.#time.now()
    if (this.#time.wokeAt > this.#wokeAt) this.#state.slept(this.#time.wokeAt, now)
    this.#warnings.tell(now, () => this.#stopped)
    const due = this.#stopped ? null : this.#state.expired(now)
    if (due === null) return this.plan()
    if (lateMs >= LATE_MS) {
      this.#state.grace(Math.min(lateMs, due.timeoutMs), now)
      if (this.#state.expired(now) === null) return this.plan()
    }
    this.#overdueSince ??= now
    if (now - this.#overdueSince > OVERDUE_MS) this.#expired(due)
    else this.#check(CHECKED_TURNS)
  }

  /** Lets the event loop turn, so that what has come is read; then judges, unless anything was. */
  #check(turns: number): void {
    this.#checking = true
    const answers = this.#answers
    this.#time.nextTurn(() => {
      if (this.#stopped) return
      if (turns > 1 && this.#answers === answers) return this.#check(turns - 1)
      this.#checking = false
      const due = this.#answers === answers ? this.#state.expired(this.#time.now()) : null
      if (due === null) this.replan()
      else this.#expired(due)
    })
  }
}

/**
 * What one stream is at, and which of its deadlines comes next: state alone, with times passed in, in observed ms.
 *
 * Silences are measured on the stream's own waiting time, which runs only while a read is pending, the stream is not
 * paused and no tool is open: a consumer that does not read, and a tool that works, are no silence of the model's.
 */

import type { DeadlineName, ReadyDeadlines } from './deadlines.ts'
import type { StallPhase } from './stream-book.ts'

/** What an event says of the stream: `content` advances the answer, `neutral` shows life, `terminal` ends it. */
export type StreamEventClass = 'content' | 'neutral' | 'terminal'

/** A deadline that runs. */
export interface Due {
  readonly phase: StallPhase | 'drain'
  readonly setting: DeadlineName
  readonly timeoutMs: number
  /** Ms since it was set off. */
  readonly elapsedMs: number
  /** When that was: a silence of its own for each. */
  readonly since: number
}

/** Restarts of a silence in a row, without content, because the host slept. */
const MAX_RESTARTS = 3
/** Graces in a row, without content. */
const MAX_GRACES = 3
/** Open tools, and waits, that are known by id; more of them are as if they were none. */
const MAX_TOOLS = 1000

export class StreamState {
  receivedAnyContent = false
  /** Whether there was content, or a tool was called: then another try would say or do it twice. */
  acted = false
  deliveredEvents = 0
  lastEventType: string | null = null
  terminal = false
  /** Whether only signs of life and the whole time count. */
  plain = false
  readonly #deadlines: ReadyDeadlines
  /** Whether the response is there. */
  #responded: boolean
  #reads = 0
  #pausedAt: number | null = null
  readonly #tools = new Set<string>()
  readonly #waits = new Set<string>()
  /** Waiting time up to `#since`, from where it runs on unless that is null. */
  #waited = 0
  #since: number | null = null
  /** Waiting time at the last content, or where the wait for it began; at the last sign of life; and at the terminal. */
  #contentAt = 0
  #partAt = 0
  #aliveAt = 0
  #endedAt = 0
  /** Waiting time before which nothing is judged, after the process could not read. */
  #graceUntil = 0
  #restarts = 0
  #graces = 0
  readonly #bornAt: number
  #pausedMs = 0

  /** `responded`: whether there is a stream already, or only the promise of one. */
  constructor(deadlines: ReadyDeadlines, responded: boolean, now: number) {
    this.#deadlines = deadlines
    this.#responded = responded
    this.#bornAt = now
  }

  /** Whether waiting time runs. */
  get waiting(): boolean {
    return this.#since !== null
  }

  asks(now: number): void {
    this.#reads++
    if (this.#since === null) this.#run(now)
  }

  /** A read was answered. */
  answered(now: number): void {
    if (--this.#reads === 0) this.#run(now)
  }

  /** The terminal event was that of a part only: the stream goes on. */
  reopen(): void {
    this.terminal = false
  }

  /** The response is there: what is waited for from now on is content. */
  responds(now: number): void {
    this.#responded = true
    this.#restart(now)
    this.#calm()
  }

  pause(now: number): void {
    if (this.#pausedAt !== null) return
    this.#pausedAt = now
    this.#run(now)
  }

  resume(now: number): void {
    if (this.#pausedAt === null) return
    this.#pausedMs += now - this.#pausedAt
    this.#pausedAt = null
    this.#restart(now)
    this.#run(now)
  }

  /** A tool on this side begins: until it ends the model is not expected to speak. */
  toolOpened(id: string, now: number): void {
    this.#open(this.#tools, id, now)
  }

  /** A wait for a person begins. The answer may be given beside the stream: content says that it was. */
  waitOpened(id: string, now: number): void {
    this.#open(this.#waits, id, now)
  }

  /** What was open before a turn is over. */
  turnStarted(now: number): void {
    if (this.#tools.size + this.#waits.size === 0) return
    this.#tools.clear()
    this.#closeWaits(now)
    this.#restart(now)
  }

  toolClosed(id: string, now: number): void {
    this.#close(this.#tools, id, now)
  }

  waitClosed(id: string, now: number): void {
    this.#close(this.#waits, id, now)
  }

  /** Bytes, or an event of any class. */
  alive(now: number): void {
    this.#aliveAt = this.#waitedAt(now)
  }

  /** Bytes of an event that is not whole yet: until it is, and shows what it was, they count as content. */
  partly(now: number): void {
    this.#partAt = this.#waitedAt(now)
  }

  took(is: StreamEventClass, type: string | null, now: number): void {
    this.deliveredEvents++
    this.lastEventType = type
    this.#partAt = 0
    this.alive(now)
    if (this.terminal) return
    if (is === 'terminal') {
      this.terminal = true
      this.#endedAt = this.#aliveAt
      this.#calm()
      this.#tools.clear()
      this.#closeWaits(now)
    } else if (is === 'content') {
      this.receivedAnyContent = this.acted = true
      this.#contentAt = this.#aliveAt
      this.#calm()
      if (this.#waits.size > 0) this.#closeWaits(now)
    }
  }

  /** The machine woke at that time: silences begin anew there, a few times in a row. */
  slept(wokeAt: number, now: number): void {
    const since = this.#waitedAt(now) - (now - wokeAt)
    if (since <= Math.min(this.#contentAt, this.#aliveAt) || this.#restarts >= MAX_RESTARTS) return
    this.#restarts++
    this.#contentAt = Math.max(this.#contentAt, since)
    this.#aliveAt = Math.max(this.#aliveAt, since)
    this.#endedAt = Math.max(this.#endedAt, since)
  }

  /** Nothing is judged for so long, a few times in a row: what came while the process could not read is still to be read. */
  grace(ms: number, now: number): void {
    if (this.#graces >= MAX_GRACES) return
    this.#graces++
    this.#graceUntil = this.#waitedAt(now) + ms
  }

  /** Ms until the deadline that comes next, not above 0 where one has run out; infinite where none runs. */
  remainingMs(now: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const { timeoutMs, elapsedMs } of this.running(now)) least = Math.min(least, timeoutMs - elapsedMs)
    return this.#since === null ? least : Math.max(least, this.#graceUntil - this.#waitedAt(now))
  }

  /** The deadline that has run out; of several the first, or else the one that says most. */
  expired(now: number): Due | null {
    if (this.remainingMs(now) > 0) return null
    let first: Due | null = null
    for (const due of this.running(now)) {
      if (first === null || due.timeoutMs - due.elapsedMs < first.timeoutMs - first.elapsedMs) first = due
    }
    return first
  }

  /** Every deadline that runs now. */
  *running(now: number): Generator<Due> {
    const set = this.#deadlines
    const waited = this.#waitedAt(now)
    if (this.#since !== null) {
      if (!this.#responded) yield* due('headers', 'headersMs', set.headersMs, this.#contentAt, waited)
      else if (this.plain) yield* due('liveness', 'livenessMs', set.livenessMs, this.#aliveAt, waited)
      else if (this.terminal) yield* due('drain', 'drainMs', set.drainMs, this.#endedAt, waited)
      else {
        const since = Math.max(this.#contentAt, this.#partAt)
        if (!this.receivedAnyContent) yield* due('first_content', 'firstContentMs', set.firstContentMs, since, waited)
        else yield* due('between_content', 'contentIntervalMs', set.contentIntervalMs, since, waited)
        yield* due('liveness', 'livenessMs', set.livenessMs, this.#aliveAt, waited)
      }
    }
    // After its end a stream that outlives its time just ends.
    if (this.#pausedAt !== null) return
    const phase = this.terminal ? 'drain' : 'total'
    yield* due(phase, 'totalMs', set.totalMs, this.#bornAt, now - this.#pausedMs)
  }

  /** Both silences begin anew. */
  #restart(now: number): void {
    this.#contentAt = this.#aliveAt = this.#waitedAt(now)
    if (this.terminal) this.#endedAt = this.#aliveAt
  }

  #open(which: Set<string>, id: string, now: number): void {
    if (this.terminal || which.size >= MAX_TOOLS) return
    which.add(id)
    this.#run(now)
  }

  #close(which: Set<string>, id: string, now: number): void {
    if (!which.delete(id)) return
    if (this.#tools.size + this.#waits.size === 0) this.#restart(now)
    this.#run(now)
  }

  #closeWaits(now: number): void {
    this.#waits.clear()
    this.#run(now)
  }

  #calm(): void {
    this.#restarts = 0
    this.#graces = 0
  }

  #waitedAt(now: number): number {
    return this.#since === null ? this.#waited : this.#waited + now - this.#since
  }

  /** Lets the waiting time run, or stand. */
  #run(now: number): void {
    this.#waited = this.#waitedAt(now)
    this.#since = this.#reads > 0 && this.#pausedAt === null && this.#tools.size + this.#waits.size === 0 ? now : null
  }
}

function* due(
  phase: Due['phase'],
  setting: DeadlineName,
  timeoutMs: number,
  since: number,
  now: number,
): Generator<Due> {
  if (timeoutMs < Number.POSITIVE_INFINITY) yield { phase, setting, timeoutMs, since, elapsedMs: now - since }
}

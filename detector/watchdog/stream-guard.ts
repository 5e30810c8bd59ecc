/**
 * Keeps the deadlines of one stream: every read of it goes through here, and has the answer of the source, or the error
 * of the deadline that ran out first. Nothing is read ahead, but what had come when a stream ended by its time.
 */

import type { TextFormat } from '../../instrumentation/taps/json-events.ts'
import { isThenable } from '../../instrumentation/thenable.ts'
import { CHECKED_TURNS, DeadlineTimer } from './deadline-timer.ts'
import { harmless } from './harmless.ts'
import { type ObservedTime, observedTime } from './observed-time.ts'
import { type StallFacts, StreamStalledError } from './stall-error.ts'
import { StallWarnings } from './stall-warnings.ts'
import { StreamEvents } from './stream-events.ts'
import { type Due, StreamState } from './stream-state.ts'
import type { ReadyOptions } from './watch-options.ts'
import { rememberStall } from './watched-streams.ts'

/** Promises that a source may put before an answer that it has. */
const READY_PROMISES = 16
/** Events that are held until a stream shows how it goes. */
const MAX_HELD = 1024

type Step = IteratorResult<unknown>
type Call = () => unknown

interface Read {
  readonly resolve: (step: Step) => void
  readonly reject: (error: unknown) => void
}

/** What a consumer has still to get. */
type Held = { readonly step: Step } | { readonly error: unknown }

const DONE: Step = Object.freeze({ done: true, value: undefined })

export class StreamGuard {
  /** Whether the stream is at its end. */
  over = false
  /** Which try this is, from 1. */
  attempt: number
  readonly #options: ReadyOptions
  readonly #time: ObservedTime
  readonly #state: StreamState
  readonly #events: StreamEvents
  readonly #timer: DeadlineTimer
  readonly #reads = new Set<Read>()
  readonly #held: Held[] = []
  /** What reads get after the end; null: whatever the source gives. */
  #last: Held | null = null
  /** Asks the source for its next; null while it is not known how. */
  ask: Call | null = null
  /** Events that are read ahead when the time of the stream runs out under a consumer that does not read. */
  maxAhead = MAX_HELD
  readonly #releases: ((reason: unknown) => unknown)[] = []
  readonly #leave: (() => void)[] = []
  /** The reading of what had come when the stream's time ran out under a consumer that did not read. */
  #drain: Promise<void> | null = null

  /** `responded`: whether there is a stream already. */
  constructor(options: ReadyOptions, responded: boolean) {
    this.#options = options
    this.attempt = options.attempt
    this.#time = observedTime(options.clock)
    this.#state = new StreamState(options.deadlines, responded, this.#time.now())
    this.#events = new StreamEvents(options, this.#state)
    const { watch, signal, control, onWarn, source = 'custom' } = options
    const warn = onWarn === undefined ? null : (due: Due) => onWarn(this.#facts(due))
    const warnings = new StallWarnings(this.#state, options.warnAt, warn)
    const expired = (due: Due) => this.#expire(due)
    this.#timer = new DeadlineTimer(this.#time, this.#state, warnings, options.keepAlive, expired)
    harmless(() => watch?.streamStarted(source))
    if (control !== undefined) this.#leave.push(control.add(this))
    if (signal !== undefined) {
      const aborted = () => this.aborted(signal.reason)
      if (signal.aborted) aborted()
      else {
        signal.addEventListener('abort', aborted, { once: true })
        this.#leave.push(() => signal.removeEventListener('abort', aborted))
      }
    }
    this.#timer.plan()
  }

  get options(): ReadyOptions {
    return this.#options
  }

  /** What streams is text of events; without a format, its first character tells that. */
  text(format: TextFormat | null): void {
    this.#events.isText = true
    this.#events.format = format
  }

  /** What streams is no events, such as a JSON reply: only signs of life and the whole time count. */
  plain(): void {
    this.#events.plain = this.#state.plain = true
  }

  /** Whether anything of an answer has come, or all of it. */
  get hasContent(): boolean {
    return this.#state.acted || this.#state.terminal
  }

  /** Whether the source was given up: it is not to be asked for anything any more. */
  get givenUp(): boolean {
    return this.#last !== null
  }

  get reading(): boolean {
    return this.#reads.size > 0
  }

  /** Calls back when the deadlines have ended; at once, where they have. */
  onEnd(work: () => void): void {
    if (this.over) work()
    else this.#leave.push(work)
  }

  /** What ends the source when the stream is given up; at once, where that has been. */
  releases(release: (reason: unknown) => unknown): void {
    const last = this.over ? this.#last : null
    if (last !== null && 'error' in last) harmless(() => release(last.error))
    else this.#releases.push(release)
  }

  /** The promise of a response, with its deadline. */
  async response<T>(promise: PromiseLike<T>, discard: (late: T, reason: unknown) => void): Promise<T> {
    // Some are asked only when they are awaited: once, then.
    const once = Promise.resolve(promise)
    const asked = async (): Promise<Step> => ({ done: false, value: await once })
    try {
      return (await this.#read(asked, (step) => this.#responded(step))).value as T
    } catch (error) {
      once.then(
        (late) => harmless(() => discard(late, error)),
        () => {},
      )
      throw error
    }
  }

  /** One read of the consumer's; `ask` asks the source. */
  step(ask: Call): Promise<Step> {
    this.ask = ask
    const held = this.#held.shift() ?? this.#last
    if (held !== null && held !== undefined) return settled(held)
    if (this.#drain !== null) return this.#drain.then(() => this.step(ask))
    return this.over ? Promise.resolve(ask() as Step) : this.#read(ask)
  }

  /** The consumer wants no more; reads that are under way have whatever the source still answers. */
  cancelled(): void {
    this.#end(null)
  }

  /** The consumer wants no more, and not to wait for a read that is under way. */
  abandoned(): void {
    const wasOver = this.over
    this.#end({ step: DONE })
    this.#settle(this.#last ?? { step: DONE })
    if (!wasOver) this.#release(new DOMException('the stream was left', 'AbortError'))
  }

  pause(): void {
    this.#state.pause(this.#time.now())
    this.#timer.replan()
  }

  resume(): void {
    this.#state.resume(this.#time.now())
    this.#timer.replan()
  }

  /**
   * Reads ahead until the stream has content, or an end of whatever kind, which is held for the consumer, or until too
   * much is held. Returns the stall where one came before content, or else how it went.
   */
  async hold(ask: Call): Promise<StreamStalledError | 'content' | 'failed'> {
    this.ask = ask
    while (!this.over && !this.hasContent && this.#held.length < MAX_HELD) {
      try {
        const step = await this.#read(ask)
        this.#held.push({ step })
      } catch (error) {
        if (error instanceof StreamStalledError) return error
        if (this.#last === null) this.#held.push({ error })
        return 'failed'
      }
    }
    return this.#events.failure !== null && !this.#state.acted ? 'failed' : 'content'
  }

  #read(ask: Call, took: (step: Step) => Step = (step) => this.#took(step)): Promise<Step> {
    if (this.#last !== null) return settled(this.#last)
    this.#state.asks(this.#time.now())
    this.#timer.plan()
    return new Promise((resolve, reject) => {
      const read = { resolve, reject }
      this.#reads.add(read)
      const answered = (step: Step) => {
        // A deadline has come first.
        if (!this.#reads.delete(read)) return
        if (this.over) return resolve(step)
        try {
          resolve(took(step))
        } catch (error) {
          reject(error)
        }
      }
      const failed = (error: unknown) => {
        if (!this.#reads.delete(read)) return
        this.#end(null)
        reject(error)
      }
      try {
        const answer = ask()
        if (isThenable(answer)) answer.then(answered as (step: unknown) => void, failed)
        else answered(answer as Step)
      } catch (error) {
        failed(error)
      }
    })
  }

  #responded(step: Step): Step {
    const now = this.#time.now()
    this.#timer.answered(true)
    this.#state.answered(now)
    this.#state.responds(now)
    this.#timer.replan()
    return step
  }

  /** The source has answered. Deadlines are disarmed before the consumer has it. */
  #took(step: Step): Step {
    const now = this.#time.now()
    const { receivedAnyContent, terminal } = this.#state
    if (step.done === true) return this.#sourceEnded(step, now)
    this.#events.took(step.value, now)
    this.#state.answered(now)
    this.#timer.answered(this.#state.receivedAnyContent !== receivedAnyContent || this.#state.terminal !== terminal)
    // Nobody else would, where no read follows.
    if (this.reading) this.#timer.plan()
    return step
  }

  #sourceEnded(step: Step, now: number): Step {
    this.#events.ended(now)
    const { failure } = this.#events
    if (failure !== null && this.#options.throwFailures) {
      this.#end({ error: failure })
      throw failure
    }
    this.#end(null)
    return step
  }

  /** What had come before is delivered first; where nobody reads, it is kept. */
  #expire(due: Due): void {
    const ask = this.ask
    if (this.reading || ask === null) return this.#conclude(due)
    this.#timer.suspended = true
    this.#drain = this.#readWhatCame(ask).then(() => {
      this.#drain = null
      // The end of the answer may have been among it.
      if (!this.over) this.#conclude(this.#state.terminal ? { ...due, phase: 'drain' } : due)
    })
  }

  #conclude(due: Due): void {
    if (due.phase === 'drain') this.#endQuietly()
    else this.#stall(due)
  }

  /** The consumer does not read, and the time of the stream is over: what has come is kept for it. */
  async #readWhatCame(ask: Call): Promise<void> {
    for (let read = 0; read < this.maxAhead && !this.over; read++) {
      let held: Held | null = null
      const answer = this.#read(ask).then(
        (step) => {
          held = { step }
          this.#held.push(held)
        },
        (error: unknown) => {
          held = { error }
          // A stall is what all reads get from now on.
          if (this.#last === null) this.#held.push(held)
        },
      )
      // What is there answers in a few promises.
      for (let promise = 0; promise < READY_PROMISES && held === null; promise++) await undefined
      for (let turn = 0; turn < CHECKED_TURNS && held === null; turn++) await this.#nextTurn()
      if (held === null) return
      await answer
    }
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#time.nextTurn(resolve))
  }

  /** The answer is whole, but the source does not close. */
  #endQuietly(): void {
    const { failure } = this.#events
    const last: Held = failure !== null && this.#options.throwFailures ? { error: failure } : { step: DONE }
    this.#end(last)
    this.#settle(last)
    this.#release(new DOMException('the stream did not close after its end', 'AbortError'))
  }

  #stall(due: Due): void {
    const error = new StreamStalledError(this.#facts(due))
    const { onStall, watch, source = 'custom' } = this.#options
    rememberStall(error, this)
    this.#end({ error })
    harmless(() => watch?.streamStalled(source, error.phase))
    harmless(() => onStall?.(error))
    this.#settle({ error })
    this.#release(error)
  }

  /** The caller has aborted, for this reason. */
  aborted(error: unknown): void {
    if (this.over) return
    this.#held.length = 0
    this.#end({ error })
    this.#settle({ error })
    this.#release(error)
  }

  /** Nothing of the deadlines is left. */
  #end(last: Held | null): void {
    if (this.over) return
    this.over = true
    this.#last = last
    this.#timer.stop()
    for (const leave of this.#leave.splice(0)) leave()
  }

  /** Reads that are under way get what is the last. */
  #settle(last: Held): void {
    const reads = [...this.#reads]
    this.#reads.clear()
    for (const { resolve, reject } of reads) {
      if ('error' in last) reject(last.error)
      else resolve(last.step)
    }
  }

  /** Gives the source up, without waiting for what it says to that. */
  #release(reason: unknown): void {
    const { abort } = this.#options
    for (const release of this.#releases.splice(0)) harmless(() => release(reason))
    harmless(() => (typeof abort === 'function' ? abort(reason) : abort?.abort(reason)))
  }

  #facts({ phase, setting, timeoutMs, elapsedMs }: Due): StallFacts {
    const { acted, deliveredEvents, lastEventType } = this.#state
    const settingSource = this.#options.sources?.[setting] ?? 'option'
    return {
      phase: phase as StallFacts['phase'],
      timeoutMs,
      elapsedMs,
      receivedAnyContent: acted,
      deliveredEvents,
      lastEventType,
      setting,
      settingSource,
      attempt: this.attempt,
    }
  }
}

function settled(held: Held): Promise<Step> {
  return 'error' in held ? Promise.reject(held.error) : Promise.resolve(held.step)
}

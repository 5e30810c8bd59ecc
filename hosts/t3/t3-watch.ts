/**
 * What both generations of T3 share: one watch, which exists before the services of the server do and is connected to
 * them later, its switch, its answer to the liveness route, and the way of a message into the parent thread.
 */

import { systemClock } from '../../detector/system-clock.ts'
import type { Verdict } from '../../detector/verdict.ts'
import { type LivenessResponse, livenessResponse } from '../../liveness/response.ts'
import type { Channel, Delivered, Try } from '../../notifier/channel.ts'
import { isRouterTitle } from '../../notifier/managed.ts'
import type { Message } from '../../notifier/message.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'
import { isRejection } from './commands.ts'

export interface T3Options extends Omit<TurnwatchOptions, 'notify' | 'verify' | 'runningThreads'> {
  /** Whether anything is watched at all. @default the environment variable T3CODE_TURNWATCH is not `0` */
  readonly enabled?: boolean
  /** How parents are told, and channels besides their threads. @default their threads only */
  readonly notify?: Partial<NotifierOptions>
  /** A turn that was found running at the start is not judged by its session for so many ms. @default 60000 */
  readonly restoreGraceMs?: number
  /** Whether the watch ticks by a timer of its own; otherwise call `tick` once a second. @default true */
  readonly timer?: boolean
}

/** What the host knows of a turn that is silent: it runs, it waits for somebody, it is over, or nobody can tell. */
export type TurnCheck = 'runs' | 'waits' | 'over' | 'unknown'

/** What a generation of T3 answers and does, once its services are there. */
export interface T3Ports {
  /** What the projection says of a turn. */
  check(threadId: string, turnId: string): Promise<TurnCheck>
  title(threadId: string): Promise<string | null | undefined>
  /** Sends a message into the parent; an error that is a definite rejection is taken for an unknown parent. */
  tell(message: Message, parent: string, attempt: Try): Promise<Delivered>
  runningThreads(): Iterable<string>
}

const TICK_MS = 1000
/** A projection that has not answered by then has nothing to say against a message. */
const LOOK_UP_MS = 1000
/** Rows that are learned from in one go. */
const SLICE = 1000
const RESTORE_GRACE_MS = 60_000

export class T3Watch {
  /** Null when it is switched off. */
  readonly watch: Turnwatch | null
  readonly monoMs: () => number
  readonly restoreGraceMs: number
  readonly #timed: boolean
  #ports: T3Ports | null = null
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(options: T3Options) {
    const {
      enabled = process.env.T3CODE_TURNWATCH !== '0',
      notify,
      restoreGraceMs = RESTORE_GRACE_MS,
      timer = true,
    } = options
    if (!(restoreGraceMs >= 0 && restoreGraceMs < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`restoreGraceMs: ${restoreGraceMs} is not a number of ms from 0`)
    }
    const clock = options.clock ?? systemClock()
    this.monoMs = () => clock.monoMs()
    this.restoreGraceMs = restoreGraceMs
    this.#timed = timer
    this.watch = enabled ? createTurnwatch({ ...watchOptions(options), clock, ...this.#asked(notify) }) : null
  }

  /** The answer of `GET /api/prism/liveness`; `scopes` are those of the caller's session, null without one. */
  livenessResponse(threadId: string | null | undefined, scopes: readonly string[] | null): LivenessResponse {
    const { watch } = this
    return livenessResponse(watch && ((id) => watch.liveness(id)), threadId, scopes)
  }

  /** Once it is, nothing begins any more. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** The services are there: from now on parents are told, and the watch ticks. */
  connected(ports: T3Ports, onTick: () => void): void {
    if (this.#stopped) return
    this.#ports = ports
    if (!this.#timed || this.#timer !== null) return
    this.#timer = setInterval(onTick, TICK_MS)
    this.#timer.unref()
  }

  /** Learns from stored rows, some at a time, so that the event loop goes on. Never rejects. */
  async learn(read: () => Promise<Iterable<unknown> | undefined>): Promise<void> {
    const { watch } = this
    if (watch === null) return
    try {
      let slice: unknown[] = []
      for (const row of (await read()) ?? []) {
        if (slice.push(row) < SLICE) continue
        watch.learn(slice, { legacy: true })
        slice = []
        await new Promise((resolve) => setImmediate(resolve))
        if (this.#stopped) return
      }
      watch.learn(slice, { legacy: true })
    } catch (error) {
      watch.hostFault(error)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    await this.watch?.stop()
  }

  #asked(notify: T3Options['notify'] = {}): Pick<TurnwatchOptions, 'notify' | 'verify' | 'runningThreads'> {
    const { channels = [], isManagedElsewhere: decides } = notify
    return {
      notify: {
        ...notify,
        channels: [this.#parentThread(), ...channels],
        isManagedElsewhere: async (threadId, title) =>
          (await this.#decided(() => decides?.(threadId, title))) ?? (await this.#isRouters(threadId)),
      },
      verify: (suspicion) => this.#verify(suspicion),
      runningThreads: () => this.#ports?.runningThreads() ?? [],
    }
  }

  async #verify({ threadId, turnId: turn, lastProgressAt }: Verdict): Promise<'still' | 'no'> {
    const found = await this.#ports?.check(threadId, turn)
    const now = this.watch?.liveness(threadId)
    const isAsItWas = now?.state === 'suspect' && now.lastProgressAt === lastProgressAt
    // Its end has escaped us. How it went is not known, so it is no healthy sample.
    if (found === 'over' && isAsItWas) this.watch?.observe(threadId, { kind: 'turn.ended', outcome: 'aborted', turn })
    return found === 'over' || found === 'waits' ? 'no' : 'still'
  }

  /** The host's own answer; none where it fails. */
  async #decided(ask: () => boolean | undefined | Promise<boolean | undefined>): Promise<boolean | undefined> {
    try {
      return await ask()
    } catch (error) {
      this.watch?.hostFault(error)
      return undefined
    }
  }

  async #isRouters(threadId: string): Promise<boolean | undefined> {
    const title = await this.#ports?.title(threadId)
    return typeof title === 'string' ? isRouterTitle(title) : undefined
  }

  /** What the projection says of a turn; nothing where it fails or takes too long. */
  async #lookedUp(ports: T3Ports, threadId: string, turnId: string): Promise<TurnCheck> {
    const timedOut = new AbortController()
    const timer = setTimeout(() => timedOut.abort(), LOOK_UP_MS)
    timer.unref()
    try {
      return await unlessAborted(ports.check(threadId, turnId), timedOut.signal)
    } catch {
      return 'unknown'
    } finally {
      clearTimeout(timer)
    }
  }

  #parentThread(): Channel {
    return {
      name: 't3',
      needsParent: true,
      deliver: (message: Message, attempt: Try) => unlessAborted(this.#tell(message, attempt), attempt.signal),
    }
  }

  async #tell(message: Message, attempt: Try): Promise<Delivered> {
    const ports = this.#ports
    if (ports === null || message.parent === null) return 'busy'
    // Silence that has an explanation by now is nothing to tell; a failed provider is.
    const all = message.group ?? [message]
    if (attempt.endedAt === null && all.every(isOfSilence)) {
      const found = await Promise.all(all.map(({ thread, turn }) => this.#lookedUp(ports, thread, turn)))
      if (found.every((one) => one === 'over')) return 'over'
      if (found.every((one) => one === 'over' || one === 'waits')) return 'busy'
    }
    attempt.signal.throwIfAborted()
    try {
      return await ports.tell(message, message.parent, attempt)
    } catch (error) {
      if (isRejection(error)) return 'unknown'
      throw error
    }
  }
}

function isOfSilence({ verdict, reason }: Message): boolean {
  return verdict === 'stale' && reason === 'silence'
}

/** A service that never answers would hold its message for ever; the engine knows a command that comes again by its id. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function watchOptions(options: T3Options): TurnwatchOptions {
  const { enabled: _e, notify: _n, restoreGraceMs: _r, timer: _t, ...rest } = options
  return rest
}

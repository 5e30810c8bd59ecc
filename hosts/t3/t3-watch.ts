/**
 * What both generations of T3 share: one watch, which exists before the services of the server do and is connected to
 * them later, its switch, its answer to the liveness route, and the way of a message into the parent thread.
 */

import type { Verdict } from '../../detector/verdict.ts'
import { type LivenessResponse, livenessResponse } from '../../liveness/response.ts'
import type { Channel, Delivered, Try } from '../../notifier/channel.ts'
import { isRouterTitle } from '../../notifier/managed.ts'
import type { Message } from '../../notifier/message.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { systemClock } from '../../system-clock.ts'
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
  tell(message: Message, parent: string, rejections: number): Promise<Delivered>
  runningThreads(): Iterable<string>
}

const TICK_MS = 1000
const RESTORE_GRACE_MS = 60_000

export class T3Watch {
  /** Null when it is switched off. */
  readonly watch: Turnwatch | null
  readonly monoMs: () => number
  readonly restoreGraceMs: number
  readonly #timed: boolean
  #ports: T3Ports | null = null
  #timer: NodeJS.Timeout | null = null

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

  /** The services are there: from now on parents are told, and the watch ticks. */
  connected(ports: T3Ports, onTick: () => void): void {
    this.#ports = ports
    if (!this.#timed || this.#timer !== null) return
    this.#timer = setInterval(onTick, TICK_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
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
          (await decides?.(threadId, title)) ?? (await this.#isRouters(threadId)),
      },
      verify: (suspicion) => this.#verify(suspicion),
      runningThreads: () => this.#ports?.runningThreads() ?? [],
    }
  }

  async #verify({ threadId, turnId: turn }: Verdict): Promise<'still' | 'no'> {
    const found = await this.#ports?.check(threadId, turn)
    // Its end has escaped us. How it went is not known, so it is no healthy sample.
    if (found === 'over') this.watch?.observe(threadId, { kind: 'turn.ended', outcome: 'aborted', turn })
    return found === 'over' || found === 'waits' ? 'no' : 'still'
  }

  async #isRouters(threadId: string): Promise<boolean | undefined> {
    const title = await this.#ports?.title(threadId)
    return typeof title === 'string' ? isRouterTitle(title) : undefined
  }

  #parentThread(): Channel {
    return {
      name: 't3',
      needsParent: true,
      deliver: (message: Message, attempt: Try) => unlessAborted(this.#tell(message, attempt), attempt.signal),
    }
  }

  async #tell(message: Message, { rejections, endedAt }: Try): Promise<Delivered> {
    const ports = this.#ports
    if (ports === null || message.parent === null) return 'busy'
    // Silence that has an explanation by now is nothing to tell; a failed provider is.
    const isSilence = message.verdict === 'stale' && message.reason === 'silence' && endedAt === null
    if (isSilence && ['over', 'waits'].includes(await ports.check(message.thread, message.turn))) return 'over'
    try {
      return await ports.tell(message, message.parent, rejections)
    } catch (error) {
      if (isRejection(error)) return 'unknown'
      throw error
    }
  }
}

/** A service that never answers would hold its message for ever; the engine knows a command that comes again by its id. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

function watchOptions(options: T3Options): TurnwatchOptions {
  const { enabled: _e, notify: _n, restoreGraceMs: _r, timer: _t, ...rest } = options
  return rest
}

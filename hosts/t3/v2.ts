/**
 * T3 on orchestration-v2. What its ingestor has accepted says what turns do; attempts begin and end by hooks of the run
 * execution, or, without those, by the provider turns themselves.
 */

import { isRaw } from '../../instrumentation/sources/classifier.ts'
import type { Delivered, Try } from '../../notifier/channel.ts'
import type { Message } from '../../notifier/message.ts'
import { Attempts, type T3Attempt } from './attempts.ts'
import { messageCommand, type T3MessageDispatch } from './commands.ts'
import { type CheckedTurn, SessionCheck, type T3Session } from './session-check.ts'
import { type T3Options, T3Watch, type TurnCheck } from './t3-watch.ts'

/** A run as the projection has it. */
export interface T3Run {
  /** `queued preparing starting running waiting completed interrupted failed cancelled rolled_back` */
  readonly status: string
  readonly activeAttemptId: string | null
  /** Whether any of its runtime requests is pending. */
  readonly hasPendingRequests: boolean
}

/** A thread as the projection has it. */
export interface T3V2Thread {
  readonly title?: string | null | undefined
  readonly archivedAt?: unknown
  readonly deletedAt?: unknown
}

/** The services of the server, as promises: `Effect.runPromiseWith(context)` makes them. */
export interface T3V2Services {
  /** Dispatches a command to the orchestrator. */
  dispatch(command: T3MessageDispatch): Promise<unknown>
  /** The run, null where there is none. */
  getRun(threadId: string, runId: string): Promise<T3Run | null>
  /** The thread, null where there is none. */
  getThread(threadId: string): Promise<T3V2Thread | null>
  /** Attempts that run already, with epoch ms of their start. @default none is looked for */
  runningAttempts?(): Promise<Iterable<T3Attempt & { readonly startedAt?: number | undefined }>>
  /** Sessions of the threads that run. @default no session is checked */
  listSessions?(): Promise<readonly T3Session[]>
  /** The rows of `fork_prism_stream_stats`. @default nothing is learned from before */
  readStats?(): Promise<Iterable<unknown>>
}

/** T3's `ProviderEventIngestorV2`: `Input`, `Stored` and `Done` are its own types. */
interface T3Ingestor<Input, Normalized, Ingested> {
  readonly normalize: Normalized
  readonly ingestNormalized: (input: Input) => Ingested
}

const ENDED_RUNS: ReadonlySet<string> = new Set(['completed', 'interrupted', 'failed', 'cancelled', 'rolled_back'])

export interface T3V2Options extends T3Options {
  /** Whether parents are told of a final error of a provider, which the server may report to them by itself. @default true */
  readonly tellErrors?: boolean
}

export class T3V2 {
  readonly #common: T3Watch
  readonly #tellErrors: boolean
  readonly #attempts: Attempts
  readonly #sessions: SessionCheck
  readonly #checked = new Map<string, CheckedTurn>()
  #services: T3V2Services | null = null

  constructor({ tellErrors = true, ...options }: T3V2Options = {}) {
    this.#tellErrors = tellErrors
    this.#common = new T3Watch(options)
    const { watch } = this.#common
    this.#attempts = new Attempts((threadId, event) => {
      if (event.kind === 'turn.started') this.#check(threadId, 0)
      if (event.kind === 'turn.restored') this.#check(threadId, this.#common.restoreGraceMs)
      watch?.observe(threadId, event)
    })
    this.#sessions = new SessionCheck({
      list: () => this.#services?.listSessions?.() ?? Promise.resolve([]),
      monoMs: this.#common.monoMs,
      turns: () => this.#checked.values(),
      gone: ({ threadId }) => watch?.observe(threadId, { kind: 'exit' }),
      failed: ({ threadId }, { lastError }) =>
        watch?.observe(threadId, { kind: 'error', message: lastError ?? 'the session failed' }),
      alive: () => {},
      fault: (error) => watch?.hostFault(error),
    })
    watch?.on('turn-ended', ({ stats }) => this.#checked.delete(stats.threadId))
  }

  /** The watch itself, for its metrics and listeners; null when it is switched off. */
  get watch() {
    return this.#common.watch
  }

  /**
   * T3's ingestor with a tap behind it. `tap` is `(ingested, look) => Effect.tap(ingested, look)`, `noop` is
   * `Effect.void`; the attempt that an event is delivered for is known only to a layer of the host's own, which calls
   * `ingested` itself.
   */
  tapIngestor<Input, Normalized, Ingested, Done>(
    ingestor: T3Ingestor<Input, Normalized, Ingested>,
    effect: { tap: (ingested: Ingested, look: (stored: unknown) => Done) => Ingested; noop: Done },
  ): T3Ingestor<Input, Normalized, Ingested> {
    if (this.watch === null) return ingestor
    return {
      normalize: ingestor.normalize,
      ingestNormalized: (input) =>
        effect.tap(ingestor.ingestNormalized(input), (stored: unknown) => {
          this.ingested(input, stored)
          return effect.noop
        }),
    }
  }

  /**
   * Takes what the ingestor was given and what it stored of it: nothing stored is not accepted, unless it is the turn's
   * end. `attemptId` is the attempt it was delivered for, where it is known. Never throws.
   */
  ingested(input: unknown, stored: unknown, attemptId?: string): void {
    const { watch } = this
    if (watch === null) return
    try {
      if (!isRaw(input) || !isRaw(input.event)) return watch.unclassified('t3-v2', typeof input)
      const isAccepted = (Array.isArray(stored) && stored.length > 0) || input.event.type === 'turn.terminal'
      if (isAccepted) this.#attempts.observe(input, attemptId)
    } catch (error) {
      watch.unreadable('t3-v2', error)
    }
  }

  /** An attempt of a run begins; one that is older than the thread's last changes nothing. */
  beginAttempt(attempt: T3Attempt): void {
    this.#safely(() => this.#attempts.begin(attempt))
  }

  /** An attempt of a run is over, whatever its provider has said. */
  endAttempt(threadId: string, runId: string, attemptId: string): void {
    this.#safely(() => this.#attempts.end(threadId, runId, attemptId))
  }

  /** The user or the server wants the running turn to stop. */
  interruptRequested(threadId: string): void {
    this.watch?.observe(threadId, { kind: 'interrupt.requested' })
  }

  /** A message was accepted whose run has not begun. */
  turnRequested(threadId: string): void {
    this.watch?.observe(threadId, { kind: 'turn.requested' })
  }

  /** The answer of `GET /api/prism/liveness`; `scopes` are those of the caller's session, null without one. */
  livenessResponse(threadId: string | null | undefined, scopes: readonly string[] | null) {
    return this.#common.livenessResponse(threadId, scopes)
  }

  /**
   * Joins the services: learns from stored statistics, finds attempts that run, and begins to tick and to tell parents.
   * What fails of it is reported and left out. Never rejects.
   */
  async connect(services: T3V2Services): Promise<void> {
    const { watch } = this
    if (watch === null || this.#common.stopped) return
    this.#services = services
    this.#common.connected(
      {
        check: (threadId) => this.#ask(threadId),
        title: async (threadId) => (await services.getThread(threadId))?.title,
        tell: (message, parent, attempt) => this.#tell(message, parent, attempt),
        runningThreads: () => this.#sessions.running,
      },
      () => this.tick(),
    )
    await this.#common.learn(async () => services.readStats?.())
    try {
      for (const attempt of (await services.runningAttempts?.()) ?? []) {
        this.#safely(() => {
          if (this.#attempts.current(attempt.threadId) === undefined) this.#attempts.begin(attempt, attempt)
        })
      }
    } catch (error) {
      watch.hostFault(error)
    }
  }

  /** One look at every turn and, when it is time to, at the sessions. */
  tick(): void {
    if (this.#common.stopped) return
    this.watch?.tick()
    if (this.#services?.listSessions !== undefined) this.#sessions.tick()
  }

  async stop(): Promise<void> {
    await this.#common.stop()
  }

  #safely(work: () => void): void {
    const { watch } = this
    if (watch === null) return
    try {
      work()
    } catch (error) {
      watch.unreadable('t3-v2', error)
    }
  }

  #check(threadId: string, graceMs: number): void {
    const judgedFrom = this.#common.monoMs() + graceMs
    this.#checked.set(threadId, { threadId, judgedFrom, session: 'there' })
  }

  async #ask(threadId: string): Promise<TurnCheck> {
    const services = this.#services
    const attempt = this.#attempts.current(threadId)
    if (services === null || attempt === undefined) return 'unknown'
    const [run, thread] = await Promise.all([services.getRun(threadId, attempt.runId), services.getThread(threadId)])
    if (run === null || thread === null) return 'unknown'
    if (thread.archivedAt || thread.deletedAt) return 'over'
    if (run.hasPendingRequests) return 'waits'
    const isCurrent = run.activeAttemptId === null || run.activeAttemptId === attempt.attemptId
    if (!isCurrent || ENDED_RUNS.has(run.status)) return 'over'
    return run.status === 'waiting' || run.status === 'queued' ? 'waits' : 'runs'
  }

  async #tell(message: Message, parent: string, { rejections, signal }: Try): Promise<Delivered> {
    if (message.reason === 'provider-error' && !this.#tellErrors) return 'over'
    const services = this.#services
    const thread = await services?.getThread(parent)
    if (services === null || thread == null) return 'absent'
    if (thread.deletedAt) return 'gone'
    if (thread.archivedAt) return 'archived'
    signal.throwIfAborted()
    await services.dispatch(messageCommand(message, parent, rejections))
    return 'delivered'
  }
}

/**
 * T3 on its first engine. Its canonical events say what turns do; its native ones, where the loggers are tapped, when the
 * provider last spoke. Neither is stored.
 */

import { startsNamedTurn, type TurnEvent, withTurn } from '../../instrumentation/events.ts'
import { isRaw, text } from '../../instrumentation/sources/classifier.ts'
import { T3CanonicalSource } from '../../instrumentation/sources/t3-canonical.ts'
import { nativeTurnId, t3NativeEvent } from '../../instrumentation/sources/t3-native.ts'
import { isoTime } from '../../instrumentation/turn-stats.ts'
import type { Delivered, Try } from '../../notifier/channel.ts'
import type { Message } from '../../notifier/message.ts'
import type { TurnEnded } from '../../turnwatch.ts'
import { statsCommand, type T3Modes, type T3StatsAppend, type T3TurnStart, turnStartCommand } from './commands.ts'
import { Dispatches } from './dispatches.ts'
import { type T3Logger, type T3Loggers, tappedLoggers } from './loggers.ts'
import { type CheckedTurn, SessionCheck, type T3Session } from './session-check.ts'
import { type T3Options, T3Watch, type TurnCheck } from './t3-watch.ts'

/** T3's thread shell, as far as it is read. */
export interface T3ThreadShell extends T3Modes {
  readonly id: string
  readonly title?: string | null | undefined
  readonly archivedAt?: unknown
  readonly deletedAt?: unknown
  readonly modelSelection?: { readonly model?: string | null | undefined } | null | undefined
  readonly session?:
    | {
        readonly providerName?: string | null | undefined
        readonly status?: string | undefined
        readonly activeTurnId?: string | null | undefined
      }
    | null
    | undefined
  readonly latestTurn?:
    | { readonly turnId: string; readonly state: string; readonly startedAt?: string | null | undefined }
    | null
    | undefined
  readonly hasPendingApprovals?: boolean | undefined
  readonly hasPendingUserInput?: boolean | undefined
}

/** The services of the server, as promises: `Effect.runPromiseWith(context)` makes them. */
export interface T3V1Services {
  /** `ProviderService.listSessions()`. */
  listSessions(): Promise<readonly T3Session[]>
  /** `ProjectionSnapshotQuery.getThreadShellById(id)`, null where there is none. */
  getThreadShell(threadId: string): Promise<T3ThreadShell | null>
  /** `OrchestrationEngineService.dispatch(command)`. */
  dispatch(command: T3TurnStart | T3StatsAppend): Promise<unknown>
  /** `ProjectionSnapshotQuery.getShellSnapshot()`, for turns that run already. @default none is looked for */
  getShellSnapshot?(): Promise<{ readonly threads: readonly T3ThreadShell[] }>
  /** The rows of `prism.stream-stats` activities: `{id, payload}`. @default nothing is learned from before */
  readStats?(): Promise<Iterable<unknown>>
}

export interface T3V1Options extends T3Options {
  /** Whether a parent whose own turn runs is told at once, or when it is idle. @default 'now' */
  readonly whenParentBusy?: 'now' | 'idle'
  /** Whether the statistics of ended turns become activities of their threads. @default true */
  readonly recordStats?: boolean
}

/** A thread whose turn runs. */
interface RunningThread extends CheckedTurn {
  readonly turnId: string | undefined
  model: string | null
  /** Requests that the projection still showed when the turn began: they are those of a turn that is over. */
  leftOver: { readonly approvals: boolean; readonly input: boolean }
}

const NOTHING_LEFT = { approvals: false, input: false }

export class T3V1 {
  readonly #common: T3Watch
  readonly #options: T3V1Options
  readonly #source: T3CanonicalSource
  readonly #sessions: SessionCheck
  readonly #dispatches: Dispatches
  readonly #running = new Map<string, RunningThread>()
  /** Whether the loggers are tapped: the native events are those that count then. */
  #tapped = false
  /** The provider's own word for how a turn ended, by thread, until its statistics are made. */
  readonly #endStates = new Map<string, string>()
  #services: T3V1Services | null = null

  constructor(options: T3V1Options = {}) {
    if (options.whenParentBusy !== undefined && !['now', 'idle'].includes(options.whenParentBusy)) {
      throw new TypeError(`whenParentBusy: ${JSON.stringify(options.whenParentBusy)} is neither now nor idle`)
    }
    const { whenParentBusy: _w, recordStats: _r, ...common } = options
    this.#options = options
    this.#common = new T3Watch(common)
    const { watch } = this.#common
    const fault = (error: unknown) => watch?.hostFault(error)
    this.#source = new T3CanonicalSource(watch ? { onUnclassified: watch.unclassified } : {})
    this.#dispatches = new Dispatches(fault)
    this.#sessions = new SessionCheck({
      list: () => this.#services?.listSessions() ?? Promise.resolve([]),
      monoMs: this.#common.monoMs,
      turns: () => this.#running.values(),
      gone: (turn) =>
        this.#observe(turn.threadId, withTurn({ kind: 'exit' }, this.#running.get(turn.threadId)?.turnId)),
      failed: (turn, { lastError }) => {
        const message = lastError ?? 'the session failed'
        this.#observe(turn.threadId, withTurn({ kind: 'error', message }, this.#running.get(turn.threadId)?.turnId))
      },
      alive: (turn, session) => this.#learnModel(turn.threadId, session),
      fault,
    })
    watch?.on('turn-ended', (ended) => this.#ended(ended))
  }

  /** The watch itself, for its metrics and listeners; null when it is switched off. */
  get watch() {
    return this.#common.watch
  }

  /**
   * T3's pair of event loggers with a tap in both. `noop` is `Effect.void`. Switched off, it is the pair that was given.
   */
  tapLoggers<Logger extends T3Logger>(
    loggers: T3Loggers<Logger>,
    { noop }: { noop: ReturnType<Logger['write']> },
  ): T3Loggers<Logger> {
    if (this.watch === null) return loggers
    this.#tapped = true
    return tappedLoggers(loggers, this, noop)
  }

  /** Takes one native write. Never throws. */
  native(event: unknown, threadId: string | null): void {
    const { watch } = this
    if (watch === null || threadId === null) return
    try {
      const seen = t3NativeEvent(event)
      if (seen === null) return
      const running = this.#running.get(threadId)
      const turn = nativeTurnId(event)
      const isOfTurn = running !== undefined && isSameTurn(running.turnId, turn)
      // What belongs to no turn that runs moves the thread's clock alone.
      if (!isOfTurn) return watch.observe(threadId, withTurn(seen.kind === 'side' ? seen : SIDE, turn))
      watch.observe(threadId, seen)
    } catch (error) {
      watch.unreadable('t3-native', error)
    }
  }

  /** Takes one canonical event: from the logger, or from `ProviderService.streamEvents` where that is all. Never throws. */
  canonical(event: unknown): void {
    const { watch } = this
    if (watch === null) return
    try {
      if (!isRaw(event)) return watch.unclassified('t3-canonical', event === null ? 'null' : typeof event)
      if (event.type === 'turn.completed' || event.type === 'turn.aborted') this.#noteEnd(event)
      this.#source.read(event, this.#observe)
    } catch (error) {
      watch.unreadable('t3-canonical', error)
    }
  }

  /** A message was accepted whose turn the provider has not begun. */
  turnRequested(threadId: string): void {
    this.watch?.observe(threadId, { kind: 'turn.requested' })
  }

  /** The user or the server wants the running turn to stop. */
  interruptRequested(threadId: string, turnId?: string): void {
    this.watch?.observe(threadId, withTurn({ kind: 'interrupt.requested' }, turnId))
  }

  /** The answer of `GET /api/prism/liveness`; `scopes` are those of the caller's session, null without one. */
  livenessResponse(threadId: string | null | undefined, scopes: readonly string[] | null) {
    return this.#common.livenessResponse(threadId, scopes)
  }

  /**
   * Joins the services: learns from stored statistics, finds turns that run, and begins to tick, to check sessions and to
   * tell parents. What fails of it is reported and left out. Never rejects.
   */
  async connect(services: T3V1Services): Promise<void> {
    const { watch } = this
    if (watch === null || this.#common.stopped) return
    this.#services = services
    this.#common.connected(
      {
        check: (threadId, turnId) => this.#check(threadId, turnId),
        title: async (threadId) => (await services.getThreadShell(threadId))?.title,
        tell: (message, parent, attempt) => this.#tell(message, parent, attempt),
        runningThreads: () => this.#sessions.running,
      },
      () => this.tick(),
    )
    await Promise.all([
      this.#common.learn(async () => services.readStats?.()),
      orFault(async () => {
        const snapshot = await services.getShellSnapshot?.()
        for (const shell of snapshot?.threads ?? []) await orFault(async () => this.#restore(shell), watch)
      }, watch),
    ])
  }

  /** One look at every turn and, when it is time to, at the sessions. */
  tick(): void {
    if (this.#common.stopped) return
    this.watch?.tick()
    if (this.#services !== null) this.#sessions.tick()
  }

  async stop(): Promise<void> {
    await this.#common.stop()
    await this.#dispatches.stop()
  }

  readonly #observe = (threadId: string, event: TurnEvent): void => {
    const { watch } = this
    if (watch === null) return
    if (event.kind === 'turn.started') {
      const begun = this.#begun(threadId, event)
      if (begun !== undefined) void this.#findLeftOver(begun)
    }
    if (this.#tapped) watch.observeEcho(threadId, event)
    else watch.observe(threadId, event)
    const { turn } = event
    if (turn === undefined || this.#running.has(threadId) || !startsNamedTurn(event)) return
    // A turn whose start was not seen, unless it is one that has ended.
    if (watch.liveness(threadId).turn?.turnId === turn) this.#begun(threadId, { kind: 'turn.started', turn })
  }

  /** Undefined where that turn runs already. */
  #begun(
    threadId: string,
    { turn, model }: TurnEvent & { kind: 'turn.started' },
    graceMs = 0,
  ): RunningThread | undefined {
    const known = this.#running.get(threadId)
    if (known !== undefined && (turn === undefined || known.turnId === turn)) return undefined
    const running: RunningThread = {
      threadId,
      turnId: turn,
      judgedFrom: this.#common.monoMs() + graceMs,
      session: 'there',
      model: model ?? null,
      leftOver: NOTHING_LEFT,
    }
    this.#running.set(threadId, running)
    return running
  }

  /** A question that nobody has answered outlives its turn in T3's projection, and would excuse every later one. */
  async #findLeftOver(running: RunningThread): Promise<void> {
    const services = this.#services
    if (services === null || this.watch === null) return
    const shell = await orFault(() => services.getThreadShell(running.threadId), this.watch)
    if (shell == null) return
    const { hasPendingApprovals, hasPendingUserInput } = shell
    running.leftOver = { approvals: hasPendingApprovals === true, input: hasPendingUserInput === true }
  }

  #ended({ stats, named }: TurnEnded): void {
    const running = this.#running.get(stats.threadId)
    if (running !== undefined && isSameTurn(running.turnId, stats.turnId)) this.#running.delete(stats.threadId)
    const state = this.#endStates.get(stats.threadId) ?? (stats.state === 'error' ? 'failed' : stats.state)
    this.#endStates.delete(stats.threadId)
    const services = this.#services
    if (services === null || this.#options.recordStats === false) return
    this.#dispatches.add(() => services.dispatch(statsCommand(stats, named ? stats.turnId : null, state)))
  }

  #noteEnd(event: Readonly<Record<string, unknown>>): void {
    const threadId = text(event.threadId)
    const running = threadId === undefined ? undefined : this.#running.get(threadId)
    if (threadId === undefined || running === undefined || !isSameTurn(running.turnId, text(event.turnId))) return
    const state = isRaw(event.payload) ? text(event.payload.state) : undefined
    this.#endStates.set(threadId, event.type === 'turn.aborted' ? 'aborted' : (state ?? 'completed'))
  }

  /** Many adapters do not say the model of a turn; its session does. */
  #learnModel(threadId: string, { model }: T3Session): void {
    const running = this.#running.get(threadId)
    if (running === undefined || running.model !== null || typeof model !== 'string' || model === '') return
    running.model = model
    this.watch?.observeEcho(threadId, withTurn({ kind: 'turn.started', model }, running.turnId))
  }

  #restore(shell: T3ThreadShell): void {
    const { id, latestTurn, session, modelSelection, archivedAt, deletedAt } = shell
    const turn = runningTurnOf(shell)
    if (turn === undefined || archivedAt || deletedAt || this.#running.has(id)) return
    const startedAt = latestTurn?.turnId === turn ? latestTurn.startedAt : undefined
    const started = typeof startedAt === 'string' ? Date.parse(startedAt) : Number.NaN
    const provider = session?.providerName ?? undefined
    const model = modelSelection?.model ?? undefined
    // It may have ended while the projection was asked.
    if (!this.#source.resume(id, turn)) return
    this.#begun(
      id,
      { kind: 'turn.started', turn, ...(model === undefined ? {} : { model }) },
      this.#common.restoreGraceMs,
    )
    this.watch?.observe(id, {
      kind: 'turn.restored',
      turn,
      ...(Number.isNaN(started) ? {} : { startedAt: started }),
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
    })
  }

  async #check(threadId: string, turnId: string): Promise<TurnCheck> {
    const shell = await this.#services?.getThreadShell(threadId)
    if (shell == null) return 'unknown'
    const { latestTurn, archivedAt, deletedAt, hasPendingApprovals, hasPendingUserInput } = shell
    if (archivedAt || deletedAt) return 'over'
    const running = this.#running.get(threadId)
    const { approvals, input } = running?.leftOver ?? NOTHING_LEFT
    if ((hasPendingApprovals && !approvals) || (hasPendingUserInput && !input)) return 'waits'
    const active = runningTurnOf(shell)
    // A turn whose id we made up is whatever runs there.
    if (active !== undefined && (active === turnId || running?.turnId === undefined)) return 'runs'
    return latestTurn == null && active === undefined ? 'unknown' : 'over'
  }

  async #tell(message: Message, parent: string, { rejections, signal }: Try): Promise<Delivered> {
    const services = this.#services
    const shell = await services?.getThreadShell(parent)
    if (services === null || shell == null) return 'absent'
    if (shell.deletedAt) return 'gone'
    if (shell.archivedAt) return 'archived'
    const isBusy = shell.session?.activeTurnId != null || shell.latestTurn?.state === 'running'
    if (this.#options.whenParentBusy === 'idle' && isBusy) return 'busy'
    signal.throwIfAborted()
    const createdAt = this.watch?.now() ?? isoTime(0)
    await services.dispatch(turnStartCommand(message, parent, shell, rejections, createdAt))
    return 'delivered'
  }
}

const SIDE = Object.freeze({ kind: 'side', what: 'native' } as const)

/** An event without a turn id belongs to the turn that runs, and a turn without one takes every event. */
function isSameTurn(running: string | undefined, named: string | undefined): boolean {
  return running === undefined || named === undefined || running === named
}

/**
 * The turn that runs by the projection. The session is asked first: the turn's own state is that of an interrupt as soon
 * as one is requested, and in some versions completed with the first message.
 */
function runningTurnOf({ session, latestTurn }: T3ThreadShell): string | undefined {
  if (session?.status === 'running' && typeof session.activeTurnId === 'string') return session.activeTurnId
  return latestTurn?.state === 'running' ? latestTurn.turnId : undefined
}

/** What the work gives; undefined where it fails, which is told. */
async function orFault<T>(work: () => Promise<T>, watch: { hostFault(error: unknown): void }): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    watch.hostFault(error)
    return undefined
  }
}

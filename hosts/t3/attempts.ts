/**
 * Attempts of runs of T3's second engine: to which turn an accepted event belongs. An older run or attempt never replaces
 * a newer one, and what names another run, attempt, provider thread or provider turn speaks for another turn.
 */

import { dropOldest } from '../../instrumentation/drop-oldest.ts'
import type { Outcome } from '../../instrumentation/events.ts'
import { entry, isRaw, type Raw, text } from '../../instrumentation/sources/classifier.ts'
import type { Emit } from '../../instrumentation/sources/source.ts'
import { eventsOf, Snapshots } from './v2-events.ts'

/** What `RunExecutionService` knows of an attempt when it begins. */
export interface T3Attempt {
  readonly threadId: string
  readonly runId: string
  readonly runOrdinal: number
  readonly attemptId: string
  readonly attemptOrdinal: number
  readonly providerThreadId: string
  readonly provider: string
  readonly model: string | null
  /** The thread that started this one, where its lineage says so. */
  readonly parentThreadId?: string | null | undefined
}

interface Running {
  readonly attempt: T3Attempt
  /** Ids of the thread's attempts before it. */
  readonly past: readonly string[]
  /** Ordinal of the last provider turn; a run may have several. */
  ordinal: number
  providerTurnId: string | null
  /** Whether its turn runs. */
  open: boolean
  turnId: string
  seen: Snapshots
}

const MAX_THREADS = 10_000
const PAST_ATTEMPTS = 8

const ENDS: Readonly<Record<string, Outcome>> = {
  completed: 'completed',
  failed: 'error',
  interrupted: 'aborted',
  cancelled: 'aborted',
}

export class Attempts {
  readonly #emit: Emit
  readonly #running = new Map<string, Running>()
  /** Whether the host says when attempts begin, so that events need not show it. */
  #hooked = false
  /** Parents by the lineage of their children. */
  readonly #parents = new Map<string, string>()

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** The run and attempt of a thread, for the projection. */
  current(threadId: string): T3Attempt | undefined {
    return this.#running.get(threadId)?.attempt
  }

  /** `restored` is an attempt that ran before this process did; it may say in epoch ms since when. */
  begin(attempt: T3Attempt, restored?: { readonly startedAt?: number | undefined }): void {
    this.#hooked = true
    this.#begin(attempt, restored)
  }

  #begin(attempt: T3Attempt, restored?: { readonly startedAt?: number | undefined }): void {
    const before = this.#running.get(attempt.threadId)
    if (before !== undefined && !isNewer(attempt, before.attempt)) return
    const past = before === undefined ? [] : [...before.past, before.attempt.attemptId].slice(-PAST_ATTEMPTS)
    const running: Running = {
      past,
      attempt,
      ordinal: 0,
      providerTurnId: null,
      open: false,
      turnId: attempt.attemptId,
      seen: new Snapshots(),
    }
    this.#running.delete(attempt.threadId)
    this.#running.set(attempt.threadId, running)
    dropOldest(this.#running, MAX_THREADS, ({ open }) => open)
    // The turn of the attempt that it displaces ends with this.
    this.#open(running, restored)
  }

  /** The attempt is over, whatever its provider has said. */
  end(threadId: string, runId: string, attemptId: string): void {
    const running = this.#running.get(threadId)
    if (running?.attempt.runId !== runId || running.attempt.attemptId !== attemptId) return
    if (running.open) this.#emit(threadId, { kind: 'turn.ended', outcome: 'aborted', turn: running.turnId })
    running.open = false
  }

  /** Takes an accepted event. `attemptId` is the attempt that it was delivered for, where the host knows it. */
  observe(input: Raw, attemptId: string | undefined): void {
    const threadId = text(input.threadId)
    const event = input.event
    if (threadId === undefined || !isRaw(event)) return
    if (event.type === 'app_thread.created') this.#learnParent(event)
    let running = this.#running.get(threadId)
    if (event.type === 'provider_turn.updated') running = this.#turnUpdated(input, event, running, threadId, attemptId)
    if (running === undefined || text(input.runId) !== running.attempt.runId) return
    if (attemptId !== undefined && attemptId !== running.attempt.attemptId) return
    if (!running.open || isOfAnother(event, threadId, running)) return
    const { turnId: turn } = running
    const status = terminalStatus(event)
    if (status === undefined) {
      for (const one of eventsOf(event, running.seen)) this.#emit(threadId, { ...one, turn })
      return
    }
    const outcome = entry(ENDS, status) ?? 'error'
    if (outcome === 'error') this.#emit(threadId, { kind: 'error', message: failureOf(event), turn })
    this.#emit(threadId, { kind: 'turn.ended', outcome, turn })
    running.open = false
  }

  /** A provider turn begins, goes on or ends: it may be the next one of its attempt. */
  #turnUpdated(
    input: Raw,
    event: Raw,
    before: Running | undefined,
    threadId: string,
    attemptId: string | undefined,
  ): Running | undefined {
    const turn = isRaw(event.providerTurn) ? event.providerTurn : {}
    const ordinal = typeof turn.ordinal === 'number' ? turn.ordinal : 1
    let running = before
    const owner = text(turn.runAttemptId) ?? attemptId
    // A host that does not say when attempts begin: the first turn of one says it.
    const isNew = owner !== undefined && !this.#hooked && running?.past.includes(owner) !== true
    if (isNew && owner !== running?.attempt.attemptId && entry(ENDS, turn.status) === undefined) {
      this.#begin(attemptBy(input, event, turn, owner, running, threadId, this.#parents.get(threadId) ?? null))
      running = this.#running.get(threadId)
    }
    if (running === undefined || running.attempt.attemptId !== owner) return running
    if (turn.providerThreadId !== running.attempt.providerThreadId || ordinal < running.ordinal) return running
    if (ordinal > running.ordinal) {
      if (running.ordinal > 0) {
        running.turnId = `${owner}/${ordinal}`
        running.seen = new Snapshots()
        this.#open(running)
      }
      running.ordinal = ordinal
    }
    running.providerTurnId = text(turn.id) ?? running.providerTurnId
    return running
  }

  #open(running: Running, restored?: { readonly startedAt?: number | undefined }): void {
    const { provider, model, threadId, parentThreadId } = running.attempt
    const parent = parentThreadId ?? this.#parents.get(threadId)
    running.open = true
    const identity = {
      turn: running.turnId,
      provider,
      ...(model === null ? {} : { model }),
      ...(parent === undefined ? {} : { parent }),
    }
    if (restored === undefined) return this.#emit(threadId, { kind: 'turn.started', ...identity })
    const { startedAt } = restored
    this.#emit(threadId, { kind: 'turn.restored', ...identity, ...(startedAt === undefined ? {} : { startedAt }) })
  }

  #learnParent({ appThread }: Raw): void {
    if (!isRaw(appThread) || !isRaw(appThread.lineage)) return
    const child = text(appThread.id)
    const parent = text(appThread.lineage.parentThreadId)
    if (child === undefined || parent === undefined || appThread.lineage.relationshipToParent !== 'subagent') return
    this.#parents.set(child, parent)
    dropOldest(this.#parents, MAX_THREADS)
  }
}

function isNewer(one: T3Attempt, other: T3Attempt): boolean {
  if (one.runOrdinal !== other.runOrdinal) return one.runOrdinal > other.runOrdinal
  return one.attemptOrdinal > other.attemptOrdinal
}

function attemptBy(
  input: Raw,
  event: Raw,
  turn: Raw,
  attemptId: string,
  before: Running | undefined,
  threadId: string,
  parentThreadId: string | null,
): T3Attempt {
  const runId = text(input.runId) ?? attemptId
  const isSameRun = before?.attempt.runId === runId
  return {
    threadId,
    runId,
    runOrdinal: (before?.attempt.runOrdinal ?? 0) + (isSameRun ? 0 : 1),
    attemptId,
    attemptOrdinal: isSameRun ? before.attempt.attemptOrdinal + 1 : 1,
    providerThreadId: `${turn.providerThreadId}`,
    provider: text(event.driver) ?? before?.attempt.provider ?? 't3',
    model: before?.attempt.model ?? null,
    parentThreadId,
  }
}

/** Whether an event names another thread, provider thread or provider turn than the one that runs. */
function isOfAnother(event: Raw, threadId: string, { attempt, providerTurnId }: Running): boolean {
  switch (event.type) {
    case 'message.updated':
      return !isOfRun(event.message, threadId, attempt.runId)
    case 'plan.updated':
      return !isOfRun(event.plan, threadId, attempt.runId)
    case 'node.updated':
      return !isOfRun(event.node, threadId, attempt.runId)
    case 'subagent.updated':
      return !isOfRun(event.subagent, threadId, attempt.runId)
    case 'turn_item.updated': {
      const item = isRaw(event.turnItem) ? event.turnItem : {}
      return !isOfRun(item, threadId, attempt.runId) || isOther(item.providerTurnId, providerTurnId)
    }
    case 'runtime_request.updated':
      return isRaw(event.runtimeRequest) && isOther(event.runtimeRequest.providerTurnId, providerTurnId)
    case 'provider_thread.updated':
      return isRaw(event.providerThread) && event.providerThread.id !== attempt.providerThreadId
    case 'provider_turn.updated':
      return isRaw(event.providerTurn) && event.providerTurn.id !== providerTurnId
    case 'turn.terminal':
      return event.providerThreadId !== attempt.providerThreadId || isOther(event.providerTurnId, providerTurnId)
    default:
      return false
  }
}

function isOfRun(subject: unknown, threadId: string, runId: string): boolean {
  return isRaw(subject) && subject.threadId === threadId && subject.runId === runId
}

/** Whether an id is there and another one than is known. */
function isOther(named: unknown, known: string | null): boolean {
  return named != null && known !== null && named !== known
}

function terminalStatus(event: Raw): string | undefined {
  if (event.type === 'turn.terminal') return text(event.status) ?? 'failed'
  if (event.type !== 'provider_turn.updated' || !isRaw(event.providerTurn)) return undefined
  const status = text(event.providerTurn.status)
  return entry(ENDS, status) === undefined ? undefined : status
}

function failureOf({ failure }: Raw): string {
  if (!isRaw(failure)) return 'the provider turn failed'
  return text(failure.message) ?? text(failure.detail) ?? text(failure.type) ?? 'the provider turn failed'
}

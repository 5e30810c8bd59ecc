/**
 * Threads by id: which turn runs in each, what is still known of those that ended, and to which turn an event belongs.
 */

import { dropOldest } from '../instrumentation/drop-oldest.ts'
import { opensTurn, parentOfThread, startsNamedTurn, type TurnEvent } from '../instrumentation/events.ts'
import { Turn } from '../instrumentation/turn.ts'
import type { Detector } from './detector.ts'
import type { EndedTurn } from './ended-turn.ts'

/** Ids of ended turns that a thread remembers, so that late events do not start them again. */
const ENDED_IDS = 64

/** Events that say that no turn will come of a request. */
const ENDING: ReadonlySet<TurnEvent['kind']> = new Set(['error', 'exit', 'turn.ended'])

/** Turns that one start may displace, if listeners start new ones meanwhile. */
const MAX_DISPLACED = 10

export interface TurnStart {
  readonly threadId: string
  /** Made up when absent. */
  readonly turnId?: string | undefined
  /** @default 'unknown' */
  readonly provider?: string | undefined
  readonly model?: string | null | undefined
  /** @default what the thread id says: `sub.<parent>.<suffix>` */
  readonly parentThreadId?: string | null | undefined
  /** Epoch ms, for display, of a turn that was found running. */
  readonly startedAt?: number | undefined
  /** The thread's title: by it threads of Model Router are known, which tells the parent itself. */
  readonly title?: string | null | undefined
}

/** What is known of a thread besides the turn that runs in it. */
export interface ThreadPast {
  readonly threadId: string
  last: EndedTurn | null
  /** Epoch ms of a request that no turn has followed yet. */
  requestedAtWallMs: number | null
  readonly endedIds: string[]
  /** Real ms, of the detector's clock, of the thread's last event that no running turn took; null without one. */
  heardElapsedMs: number | null
  /** Real ms, of the detector's clock, at which this last changed. */
  touchedAt: number
}

export interface ThreadLimits {
  /** Threads without a running turn that are remembered. */
  readonly keepThreads: number
  readonly keepThreadsMs: number
}

export class Threads {
  readonly running = new Map<string, Turn>()
  /** Oldest first. */
  readonly past = new Map<string, ThreadPast>()
  /** Events that belong to no turn. */
  strays = 0
  readonly #detector: Detector
  readonly #limits: ThreadLimits
  readonly #parentOf: (threadId: string) => string | null
  #made = 0

  constructor(detector: Detector, limits: ThreadLimits, parentOf: (threadId: string) => string | null) {
    this.#detector = detector
    this.#limits = limits
    this.#parentOf = parentOf
  }

  /**
   * Starts a turn, and ends the one that still ran in its thread. A turn that the wire has begun already goes on; one
   * that has ended does not start again: what is returned then has no row.
   */
  start(from: TurnStart): Turn {
    const { turnId } = from
    const running = this.running.get(from.threadId)
    if (turnId !== undefined && running !== undefined && (running.turnId === turnId || !running.named)) {
      this.#detector.adopt(running, turnId)
      this.#detector.identify(running, from)
      return running
    }
    if (turnId !== undefined && this.past.get(from.threadId)?.endedIds.includes(turnId)) return this.#over(from, turnId)
    // A listener that hears of the end may start a turn in this thread itself.
    for (let left = MAX_DISPLACED; left > 0; left--) {
      const displaced = this.running.get(from.threadId)
      if (!displaced) break
      this.#detector.end(displaced, 'aborted')
    }
    const past = this.past.get(from.threadId)
    if (past) past.requestedAtWallMs = null
    this.#detector.time.read()
    const turn = this.#detector.begin(
      {
        threadId: from.threadId,
        turnId: from.turnId ?? this.#makeTurnId(),
        provider: from.provider ?? past?.last?.stats.provider ?? 'unknown',
        model: from.model ?? (from.provider === undefined ? past?.last?.stats.model : null) ?? null,
        parentThreadId:
          asParent(from.parentThreadId) ?? past?.last?.stats.parentThreadId ?? this.parentOf(from.threadId),
      },
      from.turnId !== undefined,
      from.startedAt,
    )
    this.running.set(from.threadId, turn)
    return turn
  }

  /**
   * Gives an event to the turn it belongs to; one that belongs to none is counted and changes nothing. `counts` is 0
   * where another tap has counted it.
   */
  observe(threadId: string, event: TurnEvent, counts: 0 | 1 = 1): void {
    const turn = this.running.get(threadId)
    if (event.kind === 'turn.requested') return this.#requested(threadId, turn, event)
    if (turn !== undefined && (event.turn === undefined || event.turn === turn.turnId)) {
      return this.#detector.observe(turn, event, counts)
    }
    const past = this.past.get(threadId)
    if (event.turn !== undefined && past?.endedIds.includes(event.turn)) return this.#afterEnd(past, counts)
    if (turn !== undefined && !turn.named && event.turn !== undefined) {
      // The turn was started before the wire had named it.
      this.#detector.adopt(turn, event.turn)
      return this.#detector.observe(turn, event, counts)
    }
    if (event.turn === undefined ? opensTurn(event) : startsNamedTurn(event)) {
      this.#detector.observe(this.#startBy(threadId, event), event, counts)
      return
    }
    if (past && turn === undefined && ENDING.has(event.kind)) past.requestedAtWallMs = null
    if (past && event.turn === undefined) return this.#afterEnd(past, counts)
    this.strays++
    this.heard(threadId)
  }

  /** An event of a thread that no running turn takes. It does not prolong what is remembered of the thread. */
  heard(threadId: string): void {
    this.#detector.time.read()
    const past = this.past.get(threadId) ?? this.#touch(threadId)
    past.heardElapsedMs = this.#detector.time.elapsedMs
    this.#evict()
  }

  #over({ threadId, provider = 'unknown', model = null, parentThreadId = null }: TurnStart, turnId: string): Turn {
    return new Turn(-1, { threadId, turnId, provider, model, parentThreadId }, true)
  }

  /** The thread's real id became known only now. Nothing happens if the new id is taken. */
  rename(from: string, to: string): void {
    const turn = this.running.get(from)
    if (turn === undefined || this.running.has(to)) return
    this.running.delete(from)
    this.running.set(to, turn)
    turn.threadId = to
    turn.parentThreadId ??= this.parentOf(to)
  }

  /** Keeps what is still to be known of a turn that ended. */
  ended(turn: Turn, last: EndedTurn): void {
    if (this.running.get(turn.threadId) === turn) this.running.delete(turn.threadId)
    const past = this.#touch(turn.threadId)
    past.last = last
    past.endedIds.push(turn.turnId)
    if (past.endedIds.length > ENDED_IDS) past.endedIds.shift()
    this.#evict()
  }

  /** Forgets threads that ended too long ago. */
  evictOld(): void {
    const before = this.#detector.time.elapsedMs - this.#limits.keepThreadsMs
    for (const past of this.past.values()) {
      if (past.touchedAt > before) return
      this.past.delete(past.threadId)
    }
  }

  #requested(threadId: string, turn: Turn | undefined, event: TurnEvent): void {
    if (event.turn !== undefined && event.turn === turn?.turnId) return this.#detector.observe(turn, event)
    if (event.turn !== undefined && this.past.get(threadId)?.endedIds.includes(event.turn)) return
    this.#detector.time.read()
    this.#touch(threadId).requestedAtWallMs = this.#detector.time.wallMs
    this.#evict()
  }

  #startBy(threadId: string, event: TurnEvent): Turn {
    const says = event.kind === 'turn.started' || event.kind === 'turn.restored' ? event : undefined
    return this.start({
      threadId,
      turnId: event.turn,
      provider: says?.provider,
      model: says?.model,
      parentThreadId: says?.parent,
      startedAt: event.kind === 'turn.restored' ? event.startedAt : undefined,
    })
  }

  #afterEnd({ threadId, last }: ThreadPast, counts: 0 | 1): void {
    this.heard(threadId)
    if (last === null || counts === 0) return
    const { provider, model } = last.stats
    this.#detector.turns.countAfterEnd(this.#detector.turns.keys.indexOf(provider, model))
  }

  #touch(threadId: string): ThreadPast {
    const past = this.past.get(threadId) ?? {
      threadId,
      last: null,
      requestedAtWallMs: null,
      endedIds: [],
      heardElapsedMs: null,
      touchedAt: 0,
    }
    past.touchedAt = this.#detector.time.elapsedMs
    this.past.delete(threadId)
    this.past.set(threadId, past)
    return past
  }

  #evict(): void {
    dropOldest(this.past, this.#limits.keepThreads)
  }

  /** The thread that started another, as the host's rule says; the default rule where that fails. */
  parentOf(threadId: string): string | null {
    try {
      return asParent(this.#parentOf(threadId))
    } catch (error) {
      this.#detector.fault('listener', error)
      return parentOfThread(threadId)
    }
  }

  /** Unique over restarts too, so that two turns never share a sample. */
  #makeTurnId(): string {
    this.#made++
    return `${Math.round(this.#detector.time.wallMs).toString(36)}-${this.#made.toString(36)}`
  }
}

/** A host may answer with anything. */
function asParent(parent: unknown): string | null {
  return typeof parent === 'string' ? parent : null
}

/**
 * The turn clock: per running turn the last event, the last progress, the phase, what is open, and the longest judged
 * silences, in typed arrays. A token costs a few writes and allocates nothing.
 */

import { PHASES, type Phase, type TurnEvent, UNKNOWN, type WaitReason } from './events.ts'
import { GapHistogram } from './gap-histogram.ts'
import { ModelKeys } from './model-keys.ts'
import { type OpenWait, Turn, type TurnIdentity } from './turn.ts'

export const FIRST_TOKEN = 0
export const AFTER_TOOL = 1
export const MID_STREAM = 2

/** What turns are stamped with. `read()` takes the time; the fields hold it until the next call. */
export interface StampClock {
  read(): void
  /** Epoch ms of the wall clock itself, for a time that the wire announces; `wallMs` may lag behind a sleep until the next tick. */
  readWallMs(): number
  /** Observed ms: stands still while this process could not have read events. */
  readonly now: number
  /** Wall clock in epoch ms, for display only. */
  readonly wallMs: number
  /** Real ms that passed, sleep included; steps of the wall clock do not move it. */
  readonly elapsedMs: number
  /** Rises with every pause; a gap that saw it rise gives no sample. */
  readonly pauseEpoch: number
}

/** Attempts in a row without progress that may restart the silence. */
const MAX_ATTEMPTS = 10
/** Unknown events in a row that count as progress. */
const MAX_UNKNOWN = 20
/** A retry wait outlives its announced end by this much. */
const RETRY_MARGIN_MS = 10_000
const MAX_HOLD_MS = 3_600_000

/** Waits that do not cover a model call which the wire shows begun and not ended. */
const SOFT_WAITS: ReadonlySet<WaitReason> = new Set(['background', 'wakeup', 'subagent'])

export const EVENT_CLASSES = ['token', 'progress', 'side', 'unknown', 'after-end'] as const
export type EventClass = (typeof EVENT_CLASSES)[number]
const TOKEN = 0
const PROGRESS = 1
const SIDE = 2
const UNKNOWN_CLASS = 3
const AFTER_END = 4

/** An epoch that the clock never reaches. */
const NO_EPOCH = 0xffff_ffff

/** What `stamp` found: nothing that speaks for the turn, or progress (or a tool or wait that started). */
export type Sign = 0 | 1
export const NO_SIGN: Sign = 0
export const ALIVE: Sign = 1

export class TurnClock {
  readonly time: StampClock
  readonly gaps = new GapHistogram()
  readonly keys: ModelKeys

  // One row a turn. Times are observed ms unless the name says wall.
  /** Whether silence is not judged, because a tool or wait is open: 0 or 1. */
  covered = new Uint8Array(0)
  phase = new Uint8Array(0)
  key = new Int32Array(0)
  silenceFrom = new Float64Array(0)
  lastEventAt = new Float64Array(0)
  /** The turn of each row; undefined where the row is free. */
  readonly turns: (Turn | undefined)[] = []

  #startedAt = new Float64Array(0)
  #startedWall = new Float64Array(0)
  #startedElapsed = new Float64Array(0)
  #lastEventWall = new Float64Array(0)
  #lastProgressWall = new Float64Array(0)
  #firstTokenAt = new Float64Array(0)
  #maxGap = new Float64Array(0)
  #longest = new Float64Array(0)
  #events = new Float64Array(0)
  #gapEpoch = new Uint32Array(0)
  #softWaits = new Uint16Array(0)
  #modelCalls = new Uint8Array(0)
  #retrying = new Uint16Array(0)
  #attempts = new Uint8Array(0)
  #unknowns = new Uint8Array(0)
  #gapObserved = new Uint8Array(0)
  readonly #lastEventKind: string[] = []
  readonly #lastProgressKind: string[] = []

  /** Events by model key and class. */
  #eventCounts = new Float64Array(0)
  readonly #free: number[] = []
  #capacity = 0
  #high = 0
  /** Turns with a retry wait that ends by itself. */
  readonly #timed = new Set<Turn>()

  /** `onKey` hears of each new (provider, model) pair before its first turn. */
  constructor(time: StampClock, onKey: (key: number) => void = () => {}) {
    this.time = time
    this.keys = new ModelKeys((index) => {
      onKey(index)
      this.gaps.grow((index + 1) * 3)
      const length = (index + 1) * EVENT_CLASSES.length
      if (this.#eventCounts.length < length) this.#eventCounts = wider(this.#eventCounts, length * 2)
    })
  }

  /** Rows in use lie below this. */
  get high(): number {
    return this.#high
  }

  get capacity(): number {
    return this.#capacity
  }

  /** Events of a class that turns of a model key have had. */
  eventCount(key: number, eventClass: EventClass): number {
    return this.#eventCounts[key * EVENT_CLASSES.length + EVENT_CLASSES.indexOf(eventClass)] ?? 0
  }

  countAfterEnd(key: number): void {
    this.#count(key, AFTER_END)
  }

  /** Opens a turn. Its silence counts from now. */
  begin(identity: TurnIdentity, named: boolean, startedWallMs?: number): Turn {
    const { time } = this
    time.read()
    const slot = this.#free.pop() ?? this.#high++
    if (slot >= this.#capacity) this.#grow(Math.max(64, this.#capacity * 2))
    const turn = new Turn(slot, identity, named)
    this.turns[slot] = turn
    this.covered[slot] = 0
    this.phase[slot] = FIRST_TOKEN
    this.key[slot] = this.#keyOf(turn)
    this.lastEventAt[slot] = time.now
    this.#startedAt[slot] = time.now
    this.#startedWall[slot] = startedWallMs ?? time.wallMs
    this.#startedElapsed[slot] = time.elapsedMs
    this.#lastEventWall[slot] = time.wallMs
    this.#lastProgressWall[slot] = Number.NaN
    this.#firstTokenAt[slot] = Number.NaN
    this.#maxGap[slot] = 0
    this.#longest.fill(-1, slot * 3, slot * 3 + 3)
    this.#events[slot] = 0
    this.#softWaits[slot] = 0
    this.#modelCalls[slot] = 0
    this.#retrying[slot] = 0
    this.#attempts[slot] = 0
    this.#unknowns[slot] = 0
    this.#lastEventKind[slot] = 'turn.started'
    this.#lastProgressKind[slot] = 'turn.started'
    this.restartSilence(slot)
    return turn
  }

  /** Takes one event of a running turn. */
  stamp(turn: Turn, event: TurnEvent): Sign {
    const { time } = this
    const { slot } = turn
    time.read()
    const { now } = time
    if (event.kind === 'token') {
      this.#touch(turn, event.stream, TOKEN)
      this.#advance(slot, event.stream)
      this.#endRetries(turn)
      if (Number.isNaN(this.#firstTokenAt[slot] as number)) this.#firstTokenAt[slot] = now
      this.phase[slot] = MID_STREAM
      return ALIVE
    }
    switch (event.kind) {
      case 'progress':
        return this.#progress(turn, event.what)
      case 'side':
        this.#touch(turn, event.what, event.what === UNKNOWN ? UNKNOWN_CLASS : SIDE)
        return NO_SIGN
      case 'tool.started':
        this.#touch(turn, 'tool.started', PROGRESS)
        this.#advance(slot, 'tool.started')
        this.#endRetries(turn)
        turn.tools ??= new Map()
        if (!turn.tools.has(event.id)) {
          turn.tools.set(event.id, {
            id: event.id,
            name: event.name ?? null,
            startedAt: now,
            startedWallMs: time.wallMs,
          })
          this.#cover(turn)
        }
        return ALIVE
      case 'tool.ended':
        this.#touch(turn, 'tool.ended', PROGRESS)
        this.#advance(slot, 'tool.ended')
        this.#endRetries(turn)
        turn.tools?.delete(event.id)
        this.#cover(turn)
        this.phase[slot] = AFTER_TOOL
        return ALIVE
      case 'wait.started':
        this.#touch(turn, 'wait.started', SIDE)
        return this.#startWait(turn, event)
      case 'wait.ended':
        this.#touch(turn, 'wait.ended', SIDE)
        this.#endWait(turn, event.id)
        return NO_SIGN
      case 'attempt.started':
        this.#touch(turn, 'attempt.started', SIDE)
        this.#attempt(turn)
        return NO_SIGN
      case 'turn.started':
        this.#touch(turn, 'turn.started', SIDE)
        this.#identify(turn, event)
        return NO_SIGN
      case 'turn.restored':
        this.#touch(turn, 'turn.restored', SIDE)
        this.#identify(turn, event)
        this.phase[slot] = FIRST_TOKEN
        this.restartSilence(slot)
        return NO_SIGN
      case 'turn.requested':
      case 'interrupt.requested':
      case 'error':
      case 'exit':
        this.#touch(turn, event.kind, SIDE)
        return NO_SIGN
      case 'turn.ended':
        turn.usage = event.usage ?? null
        // A final error and the end that it brings are one event of the wire.
        if (this.#lastEventKind[slot] !== 'error') this.#touch(turn, event.kind, SIDE)
        return NO_SIGN
      default:
        event satisfies never
        return NO_SIGN
    }
  }

  /** Frees the turn's row. Read what is needed of it first. */
  release(turn: Turn): void {
    this.#timed.delete(turn)
    this.turns[turn.slot] = undefined
    this.#free.push(turn.slot)
    turn.slot = -1
  }

  /** Silence is judged afresh from now on. */
  restartSilence(slot: number): void {
    this.silenceFrom[slot] = this.time.now
    this.#gapEpoch[slot] = this.time.pauseEpoch
    this.#gapObserved[slot] = 0
  }

  /** The same in the middle of a gap, which gives no sample then. */
  restartWithinGap(slot: number): void {
    this.restartSilence(slot)
    this.#gapEpoch[slot] = NO_EPOCH
  }

  /** Ends the retry waits whose time is over; each begins a new attempt. */
  expireWaits(): void {
    for (const turn of this.#timed) {
      let open = false
      for (const wait of turn.waits?.values() ?? []) {
        if (wait.endsAt === null) continue
        if (wait.endsAt > this.time.now) {
          open = true
          continue
        }
        this.#dropWait(turn, wait)
        turn.tools?.clear()
        this.#cover(turn)
        this.phase[turn.slot] = FIRST_TOKEN
      }
      if (!open) this.#timed.delete(turn)
    }
  }

  /** Puts the gap that is open into the histogram now, because the turn ends or is stale; its end will not do it again. */
  observeOpenGap(slot: number): void {
    this.#closeGap(slot)
    this.#gapObserved[slot] = 1
  }

  /** Observed ms of silence that count against the turn now. */
  silenceMs(slot: number): number {
    return this.covered[slot] === 1 ? 0 : Math.max(0, this.time.now - (this.silenceFrom[slot] as number))
  }

  hasToken(slot: number): boolean {
    return !Number.isNaN(this.#firstTokenAt[slot] as number)
  }

  phaseOf(slot: number): Phase {
    return PHASES[this.phase[slot] as number] as Phase
  }

  /** Everything else that is known of a running turn. */
  read(slot: number) {
    return {
      startedAt: this.#startedAt[slot] as number,
      startedWallMs: this.#startedWall[slot] as number,
      durationMs: Math.max(0, this.time.elapsedMs - (this.#startedElapsed[slot] as number)),
      eventCount: this.#events[slot] as number,
      lastEventWallMs: this.#lastEventWall[slot] as number,
      lastEventKind: this.#lastEventKind[slot] as string,
      /** Null before the first progress. */
      lastProgressWallMs: notNaN(this.#lastProgressWall[slot] as number),
      lastProgressKind: this.#lastProgressKind[slot] as string,
      /** Null before the first token. */
      firstTokenMs: notNaN((this.#firstTokenAt[slot] as number) - (this.#startedAt[slot] as number)),
      maxGapMs: this.#maxGap[slot] as number,
    }
  }

  /** The longest judged silence of each phase so far, in the order of PHASES; null where none was judged. */
  longestMs(slot: number): [number | null, number | null, number | null] {
    const at = (phase: number) => {
      const ms = this.#longest[slot * 3 + phase] as number
      return ms < 0 ? null : ms
    }
    return [at(FIRST_TOKEN), at(AFTER_TOOL), at(MID_STREAM)]
  }

  #count(key: number, eventClass: number): void {
    const at = key * EVENT_CLASSES.length + eventClass
    this.#eventCounts[at] = (this.#eventCounts[at] as number) + 1
  }

  #touch(turn: Turn, what: string, eventClass: number): void {
    const { slot } = turn
    const { now } = this.time
    if (turn.tools === null || turn.tools.size === 0) {
      const gap = now - (this.lastEventAt[slot] as number)
      if (gap > (this.#maxGap[slot] as number)) this.#maxGap[slot] = gap
    }
    this.lastEventAt[slot] = now
    this.#lastEventWall[slot] = this.time.wallMs
    this.#lastEventKind[slot] = what
    this.#events[slot] = (this.#events[slot] as number) + 1
    this.#count(this.key[slot] as number, eventClass)
  }

  /** The turn advanced: the gap ends here, and silence counts from now. */
  #advance(slot: number, what: string): void {
    this.#closeGap(slot)
    this.restartSilence(slot)
    this.#lastProgressWall[slot] = this.time.wallMs
    this.#lastProgressKind[slot] = what
    this.#attempts[slot] = 0
    this.#unknowns[slot] = 0
  }

  #closeGap(slot: number): void {
    if (this.covered[slot] === 1 || this.#gapEpoch[slot] !== this.time.pauseEpoch) return
    const gap = this.time.now - (this.silenceFrom[slot] as number)
    const phase = this.phase[slot] as number
    if (gap > (this.#longest[slot * 3 + phase] as number)) this.#longest[slot * 3 + phase] = gap
    if (this.#gapObserved[slot] === 0) this.gaps.record((this.key[slot] as number) * 3 + phase, gap)
  }

  #progress(turn: Turn, what: string): Sign {
    const { slot } = turn
    if (what === UNKNOWN) {
      this.#touch(turn, what, UNKNOWN_CLASS)
      const unknowns = (this.#unknowns[slot] as number) + 1
      if (unknowns > MAX_UNKNOWN) return NO_SIGN
      this.#advance(slot, what)
      this.#unknowns[slot] = unknowns
      this.#endRetries(turn)
      return ALIVE
    }
    this.#touch(turn, what, PROGRESS)
    this.#advance(slot, what)
    this.#endRetries(turn)
    if (what === 'model-call-start' || what === 'model-call-end') {
      this.#modelCalls[slot] = what === 'model-call-start' ? 1 : 0
      this.#cover(turn)
    }
    return ALIVE
  }

  #startWait(turn: Turn, event: { id: string; reason: WaitReason; until?: number }): Sign {
    const { slot } = turn
    const { now, wallMs } = this.time
    const known = turn.waits?.get(event.id)
    let endsAt: number | null = null
    if (event.reason === 'retry' && event.until !== undefined) {
      endsAt = now + Math.min(Math.max(0, event.until - this.time.readWallMs()), MAX_HOLD_MS) + RETRY_MARGIN_MS
      this.#timed.add(turn)
    }
    turn.waits ??= new Map()
    turn.waits.set(event.id, {
      id: event.id,
      reason: event.reason,
      since: known?.since ?? now,
      sinceWallMs: known?.sinceWallMs ?? wallMs,
      endsAt,
    })
    if (known !== undefined) this.#countWait(slot, known.reason, -1)
    this.#countWait(slot, event.reason, 1)
    this.#cover(turn)
    return known === undefined ? ALIVE : NO_SIGN
  }

  #endWait(turn: Turn, id: string): void {
    const wait = turn.waits?.get(id)
    if (wait === undefined) return
    if (this.covered[turn.slot] === 0) {
      // A wait beside a model call: its end is one of the moments that silence counts from.
      this.#closeGap(turn.slot)
      this.restartSilence(turn.slot)
    }
    this.#dropWait(turn, wait)
    const before = this.phase[turn.slot] as number
    this.#cover(turn)
    // The model has not answered yet: what it reads after a queue or a back-off is still its first prompt.
    const sameCall = wait.reason === 'queue' || wait.reason === 'retry'
    if (!sameCall || before === MID_STREAM) this.phase[turn.slot] = AFTER_TOOL
  }

  #dropWait(turn: Turn, wait: OpenWait): void {
    const { slot } = turn
    turn.waits?.delete(wait.id)
    this.#countWait(slot, wait.reason, -1)
  }

  #countWait(slot: number, reason: WaitReason, by: 1 | -1): void {
    if (reason === 'retry') this.#retrying[slot] = (this.#retrying[slot] as number) + by
    if (SOFT_WAITS.has(reason)) this.#softWaits[slot] = (this.#softWaits[slot] as number) + by
  }

  #endRetries(turn: Turn): void {
    if (this.#retrying[turn.slot] === 0) return
    for (const wait of turn.waits?.values() ?? []) if (wait.reason === 'retry') this.#endWait(turn, wait.id)
  }

  #attempt(turn: Turn): void {
    const { slot } = turn
    const attempts = Math.min((this.#attempts[slot] as number) + 1, 255)
    if (attempts <= MAX_ATTEMPTS) this.#closeGap(slot)
    turn.tools?.clear()
    for (const wait of turn.waits?.values() ?? []) if (wait.reason === 'retry') this.#dropWait(turn, wait)
    this.#modelCalls[slot] = 0
    this.#cover(turn)
    this.#attempts[slot] = attempts
    if (attempts > MAX_ATTEMPTS) return
    this.phase[slot] = FIRST_TOKEN
    this.restartSilence(slot)
  }

  /** Takes over what a later start of the same turn knows better. */
  #identify(turn: Turn, event: { provider?: string; model?: string; parent?: string }): void {
    turn.provider = event.provider ?? turn.provider
    turn.model = event.model ?? turn.model
    turn.parentThreadId = event.parent ?? turn.parentThreadId
    this.key[turn.slot] = this.#keyOf(turn)
  }

  /** The row of the turn's model. Its names become the turn's, so that all turns share one string and not one each. */
  #keyOf(turn: Turn): number {
    const key = this.keys.indexOf(turn.provider, turn.model)
    const known = this.keys.at(key)
    if (known.provider === turn.provider && known.model === turn.model) {
      turn.provider = known.provider
      turn.model = known.model
    }
    return key
  }

  /** Whether a tool or wait is open may have changed. Where it ends, silence counts from now. */
  #cover(turn: Turn): void {
    const { slot } = turn
    const tools = turn.tools?.size ?? 0
    const soft = this.#softWaits[slot] as number
    const hard = (turn.waits?.size ?? 0) - soft
    const covered = tools > 0 || hard > 0 || (soft > 0 && this.#modelCalls[slot] === 0)
    if (covered && this.covered[slot] === 0 && this.time.now > (this.silenceFrom[slot] as number)) this.#closeGap(slot)
    if (!covered && this.covered[slot] === 1) this.restartSilence(slot)
    this.covered[slot] = covered ? 1 : 0
  }

  #grow(capacity: number): void {
    this.#capacity = capacity
    this.covered = wider(this.covered, capacity)
    this.phase = wider(this.phase, capacity)
    this.key = wider(this.key, capacity)
    this.silenceFrom = wider(this.silenceFrom, capacity)
    this.lastEventAt = wider(this.lastEventAt, capacity)
    this.#startedAt = wider(this.#startedAt, capacity)
    this.#startedWall = wider(this.#startedWall, capacity)
    this.#startedElapsed = wider(this.#startedElapsed, capacity)
    this.#lastEventWall = wider(this.#lastEventWall, capacity)
    this.#lastProgressWall = wider(this.#lastProgressWall, capacity)
    this.#firstTokenAt = wider(this.#firstTokenAt, capacity)
    this.#maxGap = wider(this.#maxGap, capacity)
    this.#longest = wider(this.#longest, capacity * 3)
    this.#events = wider(this.#events, capacity)
    this.#gapEpoch = wider(this.#gapEpoch, capacity)
    this.#softWaits = wider(this.#softWaits, capacity)
    this.#modelCalls = wider(this.#modelCalls, capacity)
    this.#retrying = wider(this.#retrying, capacity)
    this.#attempts = wider(this.#attempts, capacity)
    this.#unknowns = wider(this.#unknowns, capacity)
    this.#gapObserved = wider(this.#gapObserved, capacity)
  }
}

type Column =
  | Float64Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>

/** The same column with room for more rows. */
export function wider<T extends Column>(column: T, length: number): T {
  const wide = new (column.constructor as new (length: number) => T)(length)
  wide.set(column)
  return wide
}

function notNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

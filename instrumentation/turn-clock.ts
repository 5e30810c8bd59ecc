/**
 * The turn clock: per running turn the last event, the last progress, the phase, what is open, and the longest judged
 * silences, in typed arrays. A token costs a few writes and allocates nothing.
 */

import { wider } from './columns.ts'
import { PHASES, type Phase, type TurnEvent, UNKNOWN, WAIT_REASONS, type WaitReason } from './events.ts'
import { GapHistogram } from './gap-histogram.ts'
import { ModelKeys } from './model-keys.ts'
import type { StampClock } from './stamp-clock.ts'
import { type OpenWait, Turn, type TurnIdentity } from './turn.ts'
import {
  ATTEMPTS,
  COVERED,
  EVENTS,
  FIRST_TOKEN_AT,
  GAP_EPOCH,
  LAST_EVENT,
  LAST_EVENT_REAL,
  LAST_PROGRESS_REAL,
  LONGEST,
  MAX_GAP,
  MODEL_ROW,
  NO_EPOCH,
  observed,
  PHASE,
  ROW_SIZE,
  SILENCE_FROM,
  UNKNOWNS,
} from './turn-rows.ts'

export const FIRST_TOKEN = 0
export const AFTER_TOOL = 1
export const MID_STREAM = 2

/** Attempts in a row without progress that may restart the silence. */
const MAX_ATTEMPTS = 10
/** Unknown events in a row that count as progress. */
const MAX_UNKNOWN = 20
/** A retry wait outlives its announced end by this much. */
const RETRY_MARGIN_MS = 10_000
const MAX_HOLD_MS = 3_600_000

/** What another tap has shown already comes within this time; it ends no gap of its own. */
const ECHO_MS = 100

/** Waits that do not cover a model call which the wire shows begun and not ended. */
const SOFT_WAITS: ReadonlySet<WaitReason> = new Set(['background', 'wakeup', 'subagent'])

export const EVENT_CLASSES = ['token', 'progress', 'side', 'unknown', 'after-end'] as const
export type EventClass = (typeof EVENT_CLASSES)[number]
const TOKEN = 0
const PROGRESS = 1
const SIDE = 2
const UNKNOWN_CLASS = 3
const AFTER_END = 4

/** Numbers of a turn's start, read only at its end: observed ms, epoch ms and real ms. */
const START_SIZE = 3
/** Event counts of a model key lie this many places per row of it apart. */
const COUNTS_PER_ROW = 2

/** Rows grow by this factor when they are full: room that is not used is memory of every turn. */
const GROWTH = 1.25

/** What `stamp` found: nothing that speaks for the turn, progress (or a tool or wait that started), or its first token. */
export type Sign = 0 | 1 | 2
export const NO_SIGN: Sign = 0
export const ALIVE: Sign = 1
export const FIRST_SIGN: Sign = 2

interface ToolStarted {
  readonly id: string
  readonly name?: string | null
  readonly title?: string | null
}

export class TurnClock {
  readonly time: StampClock
  readonly gaps = new GapHistogram()
  readonly keys: ModelKeys

  /** One row a turn, see `turn-rows.ts`. */
  rows = new Float64Array(0)
  /** The turn of each row; undefined where the row is free. */
  readonly turns: (Turn | undefined)[] = []
  #starts = new Float64Array(0)

  /** Events by model key and class. */
  #eventCounts = new Float64Array(0)
  readonly #free: number[] = []
  #capacity = 0
  #high = 0
  /** What the event that is being stamped adds to the counts. */
  #counts: 0 | 1 = 1
  /** Turns with a retry wait that ends by itself. */
  readonly #timed = new Set<Turn>()

  /** `onKey` hears of each new (provider, model) pair before its first turn. */
  constructor(time: StampClock, onKey: (key: number) => void = () => {}) {
    this.time = time
    this.keys = new ModelKeys((index) => {
      onKey(index)
      this.gaps.grow((index + 1) * 3)
      const length = (index + 1) * 3 * COUNTS_PER_ROW
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
    return this.#eventCounts[key * 3 * COUNTS_PER_ROW + EVENT_CLASSES.indexOf(eventClass)] ?? 0
  }

  countAfterEnd(key: number): void {
    this.#counts = 1
    this.#count(key * 3, AFTER_END)
  }

  /** Opens a turn. Its silence counts from now. */
  begin(identity: TurnIdentity, named: boolean, startedWallMs?: number): Turn {
    const { time } = this
    time.read()
    const slot = this.#free.pop() ?? this.#high++
    if (slot >= this.#capacity) this.#grow(Math.max(64, Math.ceil(this.#capacity * GROWTH)))
    const turn = new Turn(slot, identity, named)
    this.turns[slot] = turn
    const { rows } = this
    const at = slot * ROW_SIZE
    rows.fill(0, at, at + ROW_SIZE)
    rows[at + MODEL_ROW] = this.#keyOf(turn) * 3
    rows[at + PHASE] = FIRST_TOKEN
    rows[at + LAST_EVENT] = time.now
    rows[at + LAST_EVENT_REAL] = time.elapsedMs
    rows[at + LAST_PROGRESS_REAL] = Number.NaN
    rows[at + FIRST_TOKEN_AT] = Number.NaN
    rows.fill(-1, at + LONGEST, at + LONGEST + PHASES.length)
    this.#starts[slot * START_SIZE] = time.now
    this.#starts[slot * START_SIZE + 1] = startedWallMs ?? time.wallMs
    this.#starts[slot * START_SIZE + 2] = time.elapsedMs
    this.restartSilence(slot)
    return turn
  }

  /** Takes one event of a running turn. `counts` is 0 where another tap has counted it. */
  stamp(turn: Turn, event: TurnEvent, counts: 0 | 1 = 1): Sign {
    const { time } = this
    const { slot } = turn
    time.read()
    this.#counts = counts
    if (event.kind === 'token') return this.#token(turn, event.stream)
    switch (event.kind) {
      case 'progress':
        return this.#progress(turn, event.what)
      case 'side':
        this.#touch(turn, event.what, event.what === UNKNOWN ? UNKNOWN_CLASS : SIDE)
        return NO_SIGN
      case 'tool.started':
        this.#goOn(turn, 'tool.started')
        this.#openTool(turn, event)
        return ALIVE
      case 'tool.ended':
        this.#goOn(turn, 'tool.ended')
        turn.open?.tools.delete(event.id)
        this.#cover(turn)
        this.#setPhase(slot, AFTER_TOOL)
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
        this.identify(turn, { ...event, parentThreadId: event.parent })
        return NO_SIGN
      case 'turn.restored':
        this.#touch(turn, 'turn.restored', SIDE)
        this.identify(turn, { ...event, parentThreadId: event.parent })
        this.#setPhase(slot, FIRST_TOKEN)
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
        if (turn.lastEventKind === 'error') this.#counts = 0
        this.#touch(turn, event.kind, SIDE)
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
    const at = slot * ROW_SIZE
    this.rows[at + SILENCE_FROM] = this.time.now
    this.rows[at + GAP_EPOCH] = this.time.pauseEpoch
  }

  /** The same in the middle of a gap, which gives no sample then. */
  restartWithinGap(slot: number): void {
    this.restartSilence(slot)
    this.rows[slot * ROW_SIZE + GAP_EPOCH] = NO_EPOCH
  }

  /** Ends the retry waits whose time is over; each begins a new attempt. */
  expireWaits(): void {
    for (const turn of this.#timed) {
      const { tools, waits } = turn.work()
      const timed = [...waits.values()].filter((wait) => wait.endsAt !== null)
      const over = timed.filter((wait) => (wait.endsAt as number) <= this.time.now)
      for (const wait of over) {
        dropWait(turn, wait)
        tools.clear()
        this.#cover(turn)
        this.#setPhase(turn.slot, FIRST_TOKEN)
      }
      if (over.length === timed.length) this.#timed.delete(turn)
    }
  }

  /** Puts the gap that is open into the histogram now, because the turn ends or is stale; its end will not do it again. */
  observeOpenGap(slot: number): void {
    this.#counts = 1
    const at = slot * ROW_SIZE + GAP_EPOCH
    this.#closeGap(slot)
    if ((this.rows[at] as number) >= 0) this.rows[at] = observed(this.rows[at] as number)
  }

  /** Observed ms of silence that count against the turn now. */
  silenceMs(slot: number): number {
    return this.isCovered(slot) ? 0 : Math.max(0, this.time.now - this.silenceFrom(slot))
  }

  /** Whether a tool or wait is open that stops the silence. */
  isCovered(slot: number): boolean {
    return this.rows[slot * ROW_SIZE + COVERED] === 1
  }

  /** What stops the silence: an open tool before a wait; null when nothing does. */
  coveredBy(turn: Turn): 'tool' | 'waiting' | null {
    if (!this.isCovered(turn.slot)) return null
    return turn.oldestTool() === null ? 'waiting' : 'tool'
  }

  /** Observed ms since which the turn has been silent. */
  silenceFrom(slot: number): number {
    return this.rows[slot * ROW_SIZE + SILENCE_FROM] as number
  }

  /** Observed ms of the last event of any kind. */
  lastEventAt(slot: number): number {
    return this.rows[slot * ROW_SIZE + LAST_EVENT] as number
  }

  /** The model key of a turn. */
  keyAt(slot: number): number {
    return (this.rows[slot * ROW_SIZE + MODEL_ROW] as number) / 3
  }

  /** The phase of a turn, as an index of PHASES. */
  phaseAt(slot: number): number {
    return this.rows[slot * ROW_SIZE + PHASE] as number
  }

  phaseOf(slot: number): Phase {
    return PHASES[this.phaseAt(slot)] as Phase
  }

  /** Everything else that is known of a running turn. */
  read(turn: Turn) {
    const { rows } = this
    const at = turn.slot * ROW_SIZE
    const start = turn.slot * START_SIZE
    const startedAt = this.#starts[start] as number
    return {
      startedWallMs: this.#starts[start + 1] as number,
      durationMs: Math.max(0, this.time.elapsedMs - (this.#starts[start + 2] as number)),
      eventCount: rows[at + EVENTS] as number,
      lastEventElapsedMs: rows[at + LAST_EVENT_REAL] as number,
      lastEventKind: turn.lastEventKind,
      /** Null before the first progress. */
      lastProgressElapsedMs: notNaN(rows[at + LAST_PROGRESS_REAL] as number),
      lastProgressKind: turn.lastProgressKind,
      /** Null before the first token. */
      firstTokenMs: notNaN((rows[at + FIRST_TOKEN_AT] as number) - startedAt),
      maxGapMs: rows[at + MAX_GAP] as number,
    }
  }

  /** The longest judged silence of each phase so far, in the order of PHASES; null where none was judged. */
  longestMs(slot: number): [number | null, number | null, number | null] {
    const of = (phase: number) => {
      const ms = this.rows[slot * ROW_SIZE + LONGEST + phase] as number
      return ms < 0 ? null : ms
    }
    return [of(FIRST_TOKEN), of(AFTER_TOOL), of(MID_STREAM)]
  }

  #setPhase(slot: number, phase: number): void {
    this.rows[slot * ROW_SIZE + PHASE] = phase
  }

  #count(modelRow: number, eventClass: number): void {
    const at = modelRow * COUNTS_PER_ROW + eventClass
    this.#eventCounts[at] = (this.#eventCounts[at] as number) + this.#counts
  }

  #touch(turn: Turn, what: string, eventClass: number): void {
    const { rows } = this
    const { now, elapsedMs } = this.time
    const at = turn.slot * ROW_SIZE
    if (turn.open === null || turn.open.tools.size === 0) {
      const gap = now - (rows[at + LAST_EVENT] as number)
      if (gap > (rows[at + MAX_GAP] as number)) rows[at + MAX_GAP] = gap
    }
    rows[at + LAST_EVENT] = now
    rows[at + LAST_EVENT_REAL] = elapsedMs
    rows[at + EVENTS] = (rows[at + EVENTS] as number) + this.#counts
    turn.lastEventKind = what
    this.#count(rows[at + MODEL_ROW] as number, eventClass)
  }

  /** The turn advanced: the gap ends here, and silence counts from now. */
  #advance(turn: Turn, what: string): void {
    const { rows } = this
    const at = turn.slot * ROW_SIZE
    this.#closeGap(turn.slot)
    this.restartSilence(turn.slot)
    rows[at + LAST_PROGRESS_REAL] = this.time.elapsedMs
    rows[at + ATTEMPTS] = 0
    rows[at + UNKNOWNS] = 0
    turn.lastProgressKind = what
  }

  /** Progress: the turn advanced, and whatever it waited to try again has been tried. */
  #goOn(turn: Turn, what: string): void {
    this.#touch(turn, what, PROGRESS)
    this.#advance(turn, what)
    this.#endRetries(turn)
  }

  #closeGap(slot: number): void {
    const { rows } = this
    const at = slot * ROW_SIZE
    if (rows[at + COVERED] === 1) return
    const epoch = rows[at + GAP_EPOCH] as number
    const isNew = epoch === this.time.pauseEpoch
    if (!isNew && observed(epoch) !== this.time.pauseEpoch) return
    const gap = this.time.now - (rows[at + SILENCE_FROM] as number)
    const phase = rows[at + PHASE] as number
    if (gap > (rows[at + LONGEST + phase] as number)) rows[at + LONGEST + phase] = gap
    if (isNew && (gap > ECHO_MS || this.#counts === 1)) this.gaps.record((rows[at + MODEL_ROW] as number) + phase, gap)
  }

  #progress(turn: Turn, what: string): Sign {
    const { slot } = turn
    if (what === UNKNOWN) {
      this.#touch(turn, what, UNKNOWN_CLASS)
      const unknowns = (this.rows[slot * ROW_SIZE + UNKNOWNS] as number) + 1
      if (unknowns > MAX_UNKNOWN) return NO_SIGN
      this.#advance(turn, what)
      this.rows[slot * ROW_SIZE + UNKNOWNS] = unknowns
      this.#endRetries(turn)
      return ALIVE
    }
    this.#goOn(turn, what)
    if (what === 'model-call-start' || what === 'model-call-end') {
      turn.work().inModelCall = what === 'model-call-start'
      this.#cover(turn)
    }
    return ALIVE
  }

  /** What `#touch` and `#advance` do, in one piece: it runs for every token, and the pieces are too many to be inlined. */
  #token(turn: Turn, stream: string): Sign {
    const { rows, time } = this
    const { now, elapsedMs, pauseEpoch } = time
    const at = turn.slot * ROW_SIZE
    const phase = rows[at + PHASE] as number
    const modelRow = rows[at + MODEL_ROW] as number
    const sinceEvent = now - (rows[at + LAST_EVENT] as number)
    if (rows[at + COVERED] === 0) {
      const gap = now - (rows[at + SILENCE_FROM] as number)
      if (rows[at + GAP_EPOCH] !== pauseEpoch) this.#closeGap(turn.slot)
      else {
        if (gap > (rows[at + LONGEST + phase] as number)) rows[at + LONGEST + phase] = gap
        if (gap > ECHO_MS || this.#counts === 1) this.gaps.record(modelRow + phase, gap)
      }
    }
    if (turn.open !== null) this.#endRetries(turn)
    if (sinceEvent > (rows[at + MAX_GAP] as number) && (turn.open === null || turn.open.tools.size === 0)) {
      rows[at + MAX_GAP] = sinceEvent
    }
    const counted = modelRow * COUNTS_PER_ROW + TOKEN
    this.#eventCounts[counted] = (this.#eventCounts[counted] as number) + this.#counts
    rows[at + SILENCE_FROM] = now
    rows[at + GAP_EPOCH] = pauseEpoch
    rows[at + PHASE] = MID_STREAM
    rows[at + LAST_EVENT] = now
    rows[at + LAST_EVENT_REAL] = elapsedMs
    rows[at + LAST_PROGRESS_REAL] = elapsedMs
    rows[at + EVENTS] = (rows[at + EVENTS] as number) + this.#counts
    rows[at + ATTEMPTS] = 0
    rows[at + UNKNOWNS] = 0
    turn.lastEventKind = stream
    turn.lastProgressKind = stream
    if (!Number.isNaN(rows[at + FIRST_TOKEN_AT] as number)) return ALIVE
    rows[at + FIRST_TOKEN_AT] = now
    return FIRST_SIGN
  }

  #openTool(turn: Turn, { id, name = null, title = name }: ToolStarted): void {
    const { tools } = turn.work()
    if (tools.has(id)) return
    tools.set(id, { id, name, title, startedAt: this.time.now, startedWallMs: this.time.wallMs })
    this.#cover(turn)
  }

  #startWait(turn: Turn, { id, reason, until }: { id: string; reason: WaitReason; until?: number }): Sign {
    const { now, wallMs } = this.time
    const { waits } = turn.work()
    const known = waits.get(id)
    // A reason that is none would be a wait that nothing ends and no metric shows.
    if (!WAIT_REASONS.includes(reason)) return NO_SIGN
    let endsAt: number | null = null
    if (reason === 'retry') {
      const holdMs = until === undefined ? MAX_HOLD_MS : Math.min(Math.max(0, until - wallMs), MAX_HOLD_MS)
      endsAt = until === undefined && known?.endsAt != null ? known.endsAt : now + holdMs + RETRY_MARGIN_MS
      this.#timed.add(turn)
    }
    if (known !== undefined) dropWait(turn, known)
    waits.set(id, { id, reason, since: known?.since ?? now, sinceWallMs: known?.sinceWallMs ?? wallMs, endsAt })
    countWait(turn, reason, 1)
    this.#cover(turn)
    return known === undefined ? ALIVE : NO_SIGN
  }

  #endWait(turn: Turn, id: string): void {
    const wait = turn.open?.waits.get(id)
    if (wait === undefined) return
    if (!this.isCovered(turn.slot)) {
      // A wait beside a model call: its end is one of the moments that silence counts from.
      this.#closeGap(turn.slot)
      this.restartSilence(turn.slot)
    }
    dropWait(turn, wait)
    const before = this.phaseAt(turn.slot)
    this.#cover(turn)
    // The model has not answered yet: what it reads after a queue or a back-off is still its first prompt.
    const sameCall = wait.reason === 'queue' || wait.reason === 'retry'
    if (!sameCall || before === MID_STREAM) this.#setPhase(turn.slot, AFTER_TOOL)
  }

  #endRetries(turn: Turn): void {
    if (turn.open === null || turn.open.retryWaits === 0) return
    for (const wait of turn.open.waits.values()) if (wait.reason === 'retry') this.#endWait(turn, wait.id)
  }

  #attempt(turn: Turn): void {
    const { slot, open } = turn
    const attempts = (this.rows[slot * ROW_SIZE + ATTEMPTS] as number) + 1
    if (attempts <= MAX_ATTEMPTS) this.#closeGap(slot)
    if (open !== null) {
      open.tools.clear()
      for (const wait of open.waits.values()) if (wait.reason === 'retry') dropWait(turn, wait)
      open.inModelCall = false
      this.#cover(turn)
    }
    this.rows[slot * ROW_SIZE + ATTEMPTS] = attempts
    if (attempts > MAX_ATTEMPTS) return
    this.#setPhase(slot, FIRST_TOKEN)
    this.restartSilence(slot)
  }

  /** Takes over what a later start of the same turn knows better. */
  identify(turn: Turn, known: { [K in keyof TurnIdentity]?: unknown }): void {
    turn.provider = text(known.provider) ?? turn.provider
    turn.model = text(known.model) ?? turn.model
    turn.parentThreadId = text(known.parentThreadId) ?? turn.parentThreadId
    this.rows[turn.slot * ROW_SIZE + MODEL_ROW] = this.#keyOf(turn) * 3
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
    const { tools, waits, softWaits, inModelCall } = turn.work()
    const covered = tools.size > 0 || waits.size > softWaits || (softWaits > 0 && !inModelCall)
    if (covered === this.isCovered(slot)) return
    if (!covered) this.restartSilence(slot)
    else if (this.time.now > this.silenceFrom(slot)) this.#closeGap(slot)
    this.rows[slot * ROW_SIZE + COVERED] = covered ? 1 : 0
  }

  #grow(capacity: number): void {
    this.#capacity = capacity
    this.rows = wider(this.rows, capacity * ROW_SIZE)
    this.#starts = wider(this.#starts, capacity * START_SIZE)
  }
}

function dropWait(turn: Turn, { id, reason }: OpenWait): void {
  turn.work().waits.delete(id)
  countWait(turn, reason, -1)
}

function countWait(turn: Turn, reason: WaitReason, by: 1 | -1): void {
  const open = turn.work()
  if (reason === 'retry') open.retryWaits += by
  if (SOFT_WAITS.has(reason)) open.softWaits += by
}

/** A name; nothing else that a host may send in its place. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function notNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

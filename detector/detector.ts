/**
 * The detector: once a second it compares every running turn's silence with its threshold. Time comes from the injected
 * clock; what it finds goes to the sink. It never throws into its caller.
 */

import { wider } from '../instrumentation/columns.ts'
import type { Outcome, TurnEvent } from '../instrumentation/events.ts'
import { OUTCOMES, PHASES } from '../instrumentation/events.ts'
import type { Turn, TurnIdentity } from '../instrumentation/turn.ts'
import { FIRST_SIGN, NO_SIGN, TurnClock } from '../instrumentation/turn-clock.ts'
import { type Resolution, type StaleReason, TurnCounters } from '../instrumentation/turn-counters.ts'
import { COVERED, MODEL_ROW, PHASE, ROW_SIZE, SILENCE_FROM } from '../instrumentation/turn-rows.ts'
import { type Sample, samplesOf, turnStats } from '../instrumentation/turn-stats.ts'
import type { EndedTurn } from './ended-turn.ts'
import { Learning, type ThresholdRow } from './learning.ts'
import { isPlausible, rowOf } from './legacy-rows.ts'
import { learnFrom } from './lesson.ts'
import { type Clock, ObservedClock, TICK_MS } from './observed-clock.ts'
import { type FaultPlace, SelfCounters } from './self-counters.ts'
import { CONFIRM, type ThresholdOptions } from './thresholds.ts'
import { newTrouble, type Trouble } from './trouble.ts'
import { describe, type Verdict } from './verdict.ts'

/** After a wake no silence is judged for this long: surviving connections retransmit within it (Linux: 120 s). */
const WAKE_GRACE_MS = 130_000
/** Progress this long after a wake ends the grace: the connection works. */
const WAKE_SETTLED_MS = 5000
/** A pause without evidence of sleep holds verdicts for twice its length and this. */
const HOLD_EXTRA_MS = 5000
/** Restarts, and holds, in a row that a turn without progress gets. */
const MAX_PAUSES = 3
/** A turn over its limit at this many ticks in a row is judged at the next, whatever the ticks. */
const MAX_DEFERRED_TICKS = 5
const VERIFY_TIMEOUT_MS = 1000
/** A provider that exits this soon after an interrupt was asked to stop. */
const INTERRUPT_EXIT_MS = 10_000
/** A turn that has not said its model by then has none to say. */
const NAME_WITHIN_MS = 10_000
/** How often turns are looked over for those that are lost. */
const SWEEP_TICKS = 30

const FREE = 0
const RUNNING = 1
const SUSPECT = 2
const STALE = 3
export type VerdictState = 'running' | 'suspect' | 'stale'

/** What the host answers when a turn is suspect: still the same turn and nothing pending, or not. */
export type VerifyAnswer = 'still' | 'no'

export interface DetectorOptions {
  readonly clock: Clock
  readonly thresholds?: ThresholdOptions
  /**
   * Asked once when a turn becomes suspect: is it the same turn, still running, with no request pending? `no` restarts
   * its silence. A throw, or no answer within 1 s, counts as `still`.
   */
  readonly verify?: ((suspicion: Verdict) => VerifyAnswer | Promise<VerifyAnswer>) | undefined
  /** A turn without any event for this long ends `lost`. @default 86400000 (24 h) */
  readonly lostAfterMs?: number | undefined
  /** A turn whose provider is gone ends `lost` after this long without an end. @default 60000 */
  readonly lostAfterExitMs?: number | undefined
  /**
   * The last stale episode of a turn of before this process. One that is open goes on, under the same number, until
   * progress closes it.
   */
  readonly earlierEpisode?: ((threadId: string, turnId: string) => EarlierEpisode | undefined) | undefined
}

export interface LearnOptions {
  /**
   * The records are rows of a T3 database, of which those of v1b measured something else: one that claims more than
   * 1,200 s is passed over, and they lower no threshold. @default false
   */
  readonly legacy?: boolean
}

interface EarlierEpisode {
  readonly episode: number
  readonly open: boolean
}

/** A stale episode that has closed; its ids are those of its stale verdict. */
export interface ClosedEpisode {
  readonly threadId: string
  readonly turnId: string
  readonly episode: number
  readonly resolution: Resolution
  /** The verdict `recovered`; null for an end, and for an episode of before this process. */
  readonly verdict: Verdict | null
}

export interface DetectorSink {
  verdict(verdict: Verdict): void
  /** A stale turn got a stronger reason within its episode, which is no verdict of its own. */
  worsened?(verdict: Verdict): void
  closed?(episode: ClosedEpisode): void
  ended(turn: Turn, ended: EndedTurn): void
  learned(samples: readonly Sample[]): void
  fault(where: FaultPlace, error: unknown): void
}

export class Detector {
  readonly time: ObservedClock
  readonly turns: TurnClock
  readonly learning: Learning
  readonly counters = new TurnCounters()
  readonly self = new SelfCounters()

  readonly #sink: DetectorSink
  readonly #verify: DetectorOptions['verify']
  readonly #lostAfterMs: number
  readonly #lostAfterExitMs: number
  readonly #earlierEpisode: DetectorOptions['earlierEpisode']

  #state = new Uint8Array(0)
  #graceUntil = new Float64Array(0)
  #holdUntil = new Float64Array(0)
  #restarts = new Uint8Array(0)
  #holds = new Uint8Array(0)
  #overThreshold = new Uint8Array(0)
  #overLimit = new Uint8Array(0)
  /** Whether progress has anything to clear. */
  #attention = new Uint8Array(0)
  readonly #trouble: (Trouble | undefined)[] = []
  readonly #gone = new Set<Turn>()
  /** Turns on wires that show tools only when they are finished. */
  readonly #blind = new Set<Turn>()
  /** Turns whose model is not known yet, and since when: their start is not counted yet. */
  readonly #unnamed = new Map<Turn, number>()
  /** Turns over their threshold at this tick. */
  readonly #over: number[] = []
  #ticks = 0

  constructor(options: DetectorOptions, sink: DetectorSink) {
    this.#sink = sink
    this.#verify = options.verify
    this.#lostAfterMs = options.lostAfterMs ?? 86_400_000
    this.#lostAfterExitMs = options.lostAfterExitMs ?? 60_000
    this.#earlierEpisode = options.earlierEpisode
    this.time = new ObservedClock(options.clock)
    this.learning = new Learning(options.thresholds ?? {})
    this.turns = new TurnClock(this.time, (key) => {
      this.learning.addKey(key, this.turns.keys.at(key).model)
      this.counters.addKey()
    })
    this.self.lastTickWallMs = this.time.wallMs
  }

  /** Opens a turn. */
  begin(identity: TurnIdentity, named: boolean, startedWallMs?: number): Turn {
    const turn = this.turns.begin(identity, named, startedWallMs)
    const { slot } = turn
    if (this.#state.length < this.turns.capacity) this.#grow(this.turns.capacity)
    this.#state[slot] = RUNNING
    this.#holdUntil[slot] = 0
    this.#restarts[slot] = 0
    this.#holds[slot] = 0
    this.#overThreshold[slot] = 0
    this.#overLimit[slot] = 0
    const inherits = this.time.sinceWakeMs < WAKE_GRACE_MS
    this.#graceUntil[slot] = inherits ? this.time.wokeAt + WAKE_GRACE_MS : 0
    this.#attention[slot] = inherits ? 1 : 0
    this.#trouble[slot] = undefined
    if (identity.model === null) this.#unnamed.set(turn, this.time.now)
    else this.counters.at(this.turns.keyAt(slot)).started++
    if (named) this.#recall(turn)
    return turn
  }

  /** Takes the id that the wire gives a turn. */
  adopt(turn: Turn, turnId: string): void {
    turn.adopt(turnId)
    this.#recall(turn)
  }

  /** A turn that was stale before this process goes on with its episodes. */
  #recall(turn: Turn): void {
    const { slot, threadId, turnId } = turn
    if (this.#earlierEpisode === undefined || this.episodes(turn) > 0) return
    const earlier = this.#earlierEpisode(threadId, turnId)
    if (earlier === undefined) return
    const trouble = this.#troubleOf(slot)
    trouble.episode = earlier.episode
    trouble.openedAs = { threadId, turnId }
    trouble.carried = earlier.open
    trouble.everStale = true
    if (earlier.open) this.#attention[slot] = 1
  }

  /** Takes one event of a running turn. `counts` is 0 where another tap has counted it. */
  observe(turn: Turn, event: TurnEvent, counts: 0 | 1 = 1): void {
    const sign = this.turns.stamp(turn, event, counts)
    const { slot } = turn
    if (this.#unnamed.size !== 0) this.#nameIfKnown(turn, event.kind === 'turn.started')
    if (sign !== NO_SIGN) {
      if (sign === FIRST_SIGN) this.#observeFirstToken(turn)
      if (this.#attention[slot] !== 0) this.#alive(turn)
      return
    }
    switch (event.kind) {
      case 'turn.started':
        if (event.blindTools) {
          this.#blind.add(turn)
          this.learning.markBlind(this.turns.keyAt(slot))
        }
        return
      case 'interrupt.requested':
        this.#troubleOf(slot).interruptAt = this.time.now
        return
      case 'error':
        this.#troubleOf(slot).errorMessage = event.message ?? null
        this.#flag(turn, 'provider-error')
        return
      case 'exit':
        this.#exited(turn)
        return
      case 'turn.ended':
        this.end(turn, OUTCOMES.includes(event.outcome) ? event.outcome : 'error')
        return
      case 'attempt.started':
      case 'turn.restored':
      case 'wait.ended':
        if (this.#state[slot] === SUSPECT && this.turns.silenceMs(slot) === 0) this.#unsuspect(slot)
        return
    }
  }

  /** Takes over what the host or the wire knows of a running turn. */
  identify(turn: Turn, known: { [K in keyof TurnIdentity]?: unknown }): void {
    this.turns.identify(turn, known)
    this.#nameIfKnown(turn, true)
  }

  /** A start is counted under the turn's model, so not before that is known, or is known not to come. */
  #nameIfKnown(turn: Turn, mayStillCome: boolean): void {
    if (!this.#unnamed.has(turn) || (turn.model === null && mayStillCome)) return
    this.#unnamed.delete(turn)
    this.counters.at(this.turns.keyAt(turn.slot)).started++
  }

  /** Closes a turn. */
  end(turn: Turn, outcome: Outcome): void {
    const { slot } = turn
    const { turns } = this
    this.#nameIfKnown(turn, false)
    this.time.read()
    turns.observeOpenGap(slot)
    const trouble = this.#trouble[slot]
    const key = turns.keyAt(slot)
    const resolution = outcome === 'lost' ? 'lost' : 'ended'
    if (this.#state[slot] === STALE && trouble) this.#closeEpisode(trouble, resolution)
    else if (trouble?.carried) this.#tellClosed(trouble, resolution, null)
    const stats = turnStats(turns, turn, outcome, trouble?.everStale ?? false)
    const counters = this.counters.at(key)
    counters.ended[outcome]++
    counters.durations[outcome].observe(stats.durationMs / 1000)
    if (stats.usage) this.counters.used(key, stats.usage)
    const learned = learnFrom(this.learning, turns, turn, stats, trouble, this.#state[slot] === STALE)
    const facts = turns.read(turn)
    const flagged = this.#state[slot] === STALE && trouble && trouble.reason !== 'silence' ? trouble : null
    // The end that cleans up after a provider that is gone does not take that back.
    const isCleanup = outcome === 'aborted' && flagged?.reason === 'provider-dead'
    const failed = outcome === 'error' || outcome === 'lost' || isCleanup ? flagged : null
    const ended: EndedTurn = {
      stats,
      outcome,
      lastEventElapsedMs: facts.lastEventElapsedMs,
      lastEventKind: facts.lastEventKind,
      lastProgressElapsedMs: facts.lastProgressElapsedMs,
      threshold: this.thresholdOf(turn),
      episode: trouble?.episode ?? 0,
      failed: failed?.reason ?? null,
      staleSinceWallMs: failed?.staleSinceWallMs ?? null,
    }
    this.#state[slot] = FREE
    this.#trouble[slot] = undefined
    this.#gone.delete(turn)
    this.#blind.delete(turn)
    turns.release(turn)
    this.#guard('listener', () => this.#sink.ended(turn, ended))
    if (learned.length > 0) this.#guard('store', () => this.#sink.learned(learned))
  }

  /** Looks at every running turn. Call it once a second, on the loop that reads the streams. */
  tick(): void {
    const { time, turns, self } = this
    const { pause, gapMs, sincePauseMs, settled } = time.tick()
    self.ticked(gapMs, pause, TICK_MS, time)
    if (pause === 'suspend') this.#restartAll(sincePauseMs)
    else if (pause === 'late') this.#holdAll(gapMs, sincePauseMs)
    turns.expireWaits()
    for (const [turn, since] of this.#unnamed) this.#nameIfKnown(turn, time.now - since < NAME_WITHIN_MS)
    for (const turn of this.#gone) {
      const { goneAt } = this.#troubleOf(turn.slot)
      if (goneAt !== null && time.now - goneAt >= this.#lostAfterExitMs)
        this.#guard('tick', () => this.end(turn, 'lost'))
    }
    const { rows } = turns
    const { limits } = this.learning
    const state = this.#state
    const { now } = time
    for (let slot = 0, at = 0; slot < turns.high; slot++, at += ROW_SIZE) {
      const verdict = state[slot] as number
      if (verdict === FREE || verdict === STALE || rows[at + COVERED] === 1) continue
      const silence = now - (rows[at + SILENCE_FROM] as number)
      const limit = limits[(rows[at + MODEL_ROW] as number) + (rows[at + PHASE] as number)] as number
      if (silence > limit) this.#over.push(slot)
      else if (this.#attention[slot] !== 0) this.#within(slot)
    }
    // Judged after the scan: a listener may start or end turns, which moves the rows.
    for (const slot of this.#over) this.#guard('tick', () => this.#judge(slot, settled))
    this.#over.length = 0
    if (++this.#ticks % SWEEP_TICKS === 0) this.#sweepLost()
  }

  /** The host says that the machine slept; the next tick restarts every silence. */
  powerEvent(): void {
    this.time.powerEvent()
  }

  /** Takes stored records, each once; those that give no sample are passed over. Returns how many gave one. */
  learn(records: Iterable<unknown>, { legacy = false }: LearnOptions = {}): number {
    let taken = 0
    const learned: Sample[] = []
    for (const record of records) {
      const row = legacy ? rowOf(record) : null
      if (row?.isLegacy && !isPlausible(row.record)) continue
      const samples = samplesOf(row?.record ?? record)
      const [first] = samples
      // What v1b measured is of no use to a model of which we know enough ourselves.
      if (first === undefined || (row?.isLegacy && this.learning.isKnown(this.row(first)))) continue
      if (!this.learning.isNew(first.id)) continue
      for (const sample of samples) this.addSample(sample, row?.isLegacy)
      // Rows of v1b stay where they are and are read again at the next start, so that they are known for what they are.
      if (!row?.isLegacy) learned.push(...samples)
      taken++
    }
    if (learned.length > 0) this.#guard('store', () => this.#sink.learned(learned))
    return taken
  }

  /** Takes one sample that is known to be new. */
  addSample(sample: Sample, legacy = false): void {
    this.learning.add(this.row(sample), sample.silenceMs, legacy)
  }

  /** The row of a (provider, model, phase). */
  row(of: Pick<Sample, 'provider' | 'model' | 'phase'>): number {
    return this.turns.keys.indexOf(of.provider, of.model) * 3 + PHASES.indexOf(of.phase)
  }

  stateOf(turn: Turn): VerdictState {
    const state = this.#state[turn.slot]
    return state === STALE ? 'stale' : state === SUSPECT ? 'suspect' : 'running'
  }

  /** Threshold, its source and samples of a running turn's phase now. */
  thresholdOf(turn: Turn): ThresholdRow {
    const key = this.turns.keyAt(turn.slot)
    const row = this.learning.rowOf(key, this.turns.keys.at(key), this.turns.phaseAt(turn.slot))
    return { ...row, thresholdMs: this.#thresholdMs(turn) }
  }

  /** The stale episode a running turn is in, or null. */
  episodeOf(turn: Turn): { episode: number; reason: StaleReason; staleSinceWallMs: number } | null {
    const trouble = this.#trouble[turn.slot]
    return this.#state[turn.slot] === STALE && trouble ? trouble : null
  }

  /** Whether an interrupt was requested of a running turn. */
  interruptRequested(turn: Turn): boolean {
    return typeof this.#trouble[turn.slot]?.interruptAt === 'number'
  }

  /** How many stale verdicts a turn has had. */
  episodes(turn: Turn): number {
    return this.#trouble[turn.slot]?.episode ?? 0
  }

  #judge(slot: number, settled: boolean): void {
    const turn = this.turns.turns[slot]
    const silence = this.turns.silenceMs(slot)
    if (turn === undefined || this.#state[slot] === STALE) return
    const threshold = this.#thresholdMs(turn)
    if (silence <= threshold) return this.#within(slot)
    const { now } = this.time
    if (now <= (this.#graceUntil[slot] as number) || now < (this.#holdUntil[slot] as number)) return
    this.#attention[slot] = 1
    const overThreshold = this.#bump(this.#overThreshold, slot)
    const overLimit = silence > threshold * CONFIRM ? this.#bump(this.#overLimit, slot) : 0
    if (this.#state[slot] === RUNNING) {
      if (!settled && overThreshold <= MAX_DEFERRED_TICKS) {
        this.self.deferrals++
        return
      }
      this.#suspect(turn, silence)
    }
    if (overLimit === 0 || this.#state[slot] !== SUSPECT) return
    if (!settled && overLimit <= MAX_DEFERRED_TICKS) {
      this.self.deferrals++
      return
    }
    const trouble = this.#troubleOf(slot)
    if (trouble.verifyAskedAt !== null && now - trouble.verifyAskedAt < VERIFY_TIMEOUT_MS) return
    this.counters.detectionDelay.observe((silence - threshold * CONFIRM) / 1000)
    trouble.stalePhases |= 1 << this.turns.phaseAt(slot)
    this.#flag(turn, 'silence')
  }

  #suspect(turn: Turn, silence: number): void {
    const { slot } = turn
    this.#state[slot] = SUSPECT
    const phase = this.turns.phaseOf(slot)
    this.counters.at(this.turns.keyAt(slot)).suspected[phase]++
    const verdict = this.#verdict(turn, 'suspect', 'silence', silence)
    this.#guard('listener', () => this.#sink.verdict(verdict))
    if (this.#verify === undefined || this.#state[slot] !== SUSPECT) return
    const trouble = this.#troubleOf(slot)
    const suspicion = ++trouble.suspicion
    const answered = (answer: VerifyAnswer) => {
      // The turn may have ended, gone on or been flagged while the host thought about it.
      if (turn.slot !== slot || trouble.suspicion !== suspicion || this.#state[slot] !== SUSPECT) return
      this.time.read()
      const waited = this.time.now - (trouble.verifyAskedAt ?? this.time.now)
      trouble.verifyAskedAt = null
      if (answer !== 'no' || waited > VERIFY_TIMEOUT_MS) return
      this.turns.restartWithinGap(slot)
      this.#unsuspect(slot)
    }
    try {
      const answer = this.#verify(verdict)
      if (typeof answer === 'string') return answered(answer)
      trouble.verifyAskedAt = this.time.now
      Promise.resolve(answer).then(answered, (error: unknown) => {
        this.fault('verify', error)
        answered('still')
      })
    } catch (error) {
      this.fault('verify', error)
    }
  }

  /** Opens a stale episode, or gives the open one a stronger reason. */
  #flag(turn: Turn, reason: StaleReason): void {
    const { slot } = turn
    const trouble = this.#troubleOf(slot)
    if (this.#state[slot] === STALE) {
      if (trouble.reason !== 'silence') return
      trouble.reason = reason
      // Under the ids of the episode: the thread may have got another name since.
      const verdict = { ...this.#verdict(turn, 'stale', reason, this.turns.silenceMs(slot)), ...trouble.openedAs }
      this.#guard('listener', () => this.#sink.worsened?.(verdict))
      return
    }
    const silence = this.turns.silenceMs(slot)
    this.turns.observeOpenGap(slot)
    this.#state[slot] = STALE
    this.#attention[slot] = 1
    // Nothing has closed the episode of before this process, so this is the same one.
    if (!trouble.carried) trouble.episode++
    trouble.carried = false
    trouble.openedAs = { threadId: turn.threadId, turnId: turn.turnId }
    trouble.everStale = true
    trouble.reason = reason
    trouble.openedBy = reason
    trouble.openedPhase = this.turns.phaseAt(slot)
    trouble.openedRow = this.thresholdOf(turn)
    trouble.staleSince = this.time.now
    trouble.staleSinceWallMs = this.time.wallMs
    trouble.verifyAskedAt = null
    this.counters.at(this.turns.keyAt(slot)).stale[reason][this.turns.phaseOf(slot)]++
    const verdict = this.#verdict(turn, 'stale', reason, silence)
    this.#guard('listener', () => this.#sink.verdict(verdict))
  }

  #exited(turn: Turn): void {
    const trouble = this.#troubleOf(turn.slot)
    const { interruptAt } = trouble
    if (interruptAt !== null && this.time.now - interruptAt <= INTERRUPT_EXIT_MS) {
      this.end(turn, 'aborted')
      return
    }
    trouble.goneAt ??= this.time.now
    this.#gone.add(turn)
    this.#flag(turn, 'provider-dead')
  }

  /** Progress, or a tool or wait that starts, speaks for the turn. */
  #alive(turn: Turn): void {
    const { slot } = turn
    const { now } = this.time
    this.#restarts[slot] = 0
    this.#holds[slot] = 0
    if (this.#graceUntil[slot] !== 0 && this.time.sinceWakeMs > WAKE_SETTLED_MS) this.#graceUntil[slot] = 0
    const state = this.#state[slot]
    this.#unsuspect(slot)
    this.#attention[slot] = this.#graceUntil[slot] === 0 ? 0 : 1
    const trouble = this.#trouble[slot]
    if (trouble) {
      trouble.goneAt = null
      this.#gone.delete(turn)
    }
    if (!trouble) return
    if (state !== STALE) {
      if (trouble.carried) this.#tellClosed(trouble, 'recovered', null)
      return
    }
    this.#state[slot] = RUNNING
    const phase = PHASES[trouble.openedPhase] as (typeof PHASES)[number]
    this.counters.at(this.turns.keyAt(slot)).recovered[trouble.openedBy][phase]++
    const verdict = this.#verdict(turn, 'recovered', trouble.reason, now - trouble.staleSince)
    this.#closeEpisode(trouble, 'recovered', verdict)
    this.#guard('listener', () => this.#sink.verdict(verdict))
    trouble.errorMessage = null
  }

  #closeEpisode(trouble: Trouble, resolution: Resolution, verdict: Verdict | null = null): void {
    this.counters.staleSeconds[resolution].observe((this.time.now - trouble.staleSince) / 1000)
    this.#tellClosed(trouble, resolution, verdict)
  }

  #tellClosed(trouble: Trouble, resolution: Resolution, verdict: Verdict | null): void {
    const { openedAs, episode } = trouble
    trouble.carried = false
    if (openedAs === null) return
    this.#guard('listener', () => this.#sink.closed?.({ ...openedAs, episode, resolution, verdict }))
  }

  #unsuspect(slot: number): void {
    if (this.#state[slot] === SUSPECT) this.#state[slot] = RUNNING
    this.#overThreshold[slot] = 0
    this.#overLimit[slot] = 0
    const trouble = this.#trouble[slot]
    if (trouble) trouble.verifyAskedAt = null
  }

  /** A turn whose silence is within its threshold again, because it was restarted or the threshold rose. */
  #within(slot: number): void {
    if (this.#state[slot] === SUSPECT || this.#overThreshold[slot] !== 0) this.#unsuspect(slot)
  }

  #restartAll(sincePauseMs: number): void {
    const until = this.time.now + WAKE_GRACE_MS
    for (let slot = 0; slot < this.turns.high; slot++) {
      if (this.#state[slot] !== RUNNING && this.#state[slot] !== SUSPECT) continue
      if ((this.#restarts[slot] as number) >= MAX_PAUSES) continue
      this.#unsuspect(slot)
      if (!this.#wentOn(slot, sincePauseMs)) this.#bump(this.#restarts, slot)
      this.#attention[slot] = 1
      this.#graceUntil[slot] = until
      this.turns.restartWithinGap(slot)
      this.self.restarts++
    }
  }

  #holdAll(pauseMs: number, sincePauseMs: number): void {
    const until = this.time.now + 2 * pauseMs + HOLD_EXTRA_MS
    for (let slot = 0; slot < this.turns.high; slot++) {
      if (this.#state[slot] !== RUNNING && this.#state[slot] !== SUSPECT) continue
      if ((this.#holds[slot] as number) >= MAX_PAUSES) continue
      if (!this.#wentOn(slot, sincePauseMs)) this.#bump(this.#holds, slot)
      this.#attention[slot] = 1
      this.#holdUntil[slot] = Math.max(this.#holdUntil[slot] as number, until)
      this.self.holds++
    }
  }

  /** Whether progress came between a pause and the tick that noticed it: that pause is not one without progress. */
  #wentOn(slot: number, sincePauseMs: number): boolean {
    const silence = this.time.now - this.turns.silenceFrom(slot)
    return silence === 0 || silence < sincePauseMs
  }

  #sweepLost(): void {
    const before = this.time.now - this.#lostAfterMs
    for (let slot = 0; slot < this.turns.high; slot++) {
      if (this.#state[slot] === FREE || this.turns.lastEventAt(slot) > before) continue
      this.#guard('tick', () => this.end(this.turns.turns[slot] as Turn, 'lost'))
    }
  }

  #observeFirstToken(turn: Turn): void {
    const { firstTokenMs } = this.turns.read(turn)
    this.counters.at(this.turns.keyAt(turn.slot)).firstToken.observe((firstTokenMs ?? 0) / 1000)
  }

  #verdict(turn: Turn, verdict: Verdict['verdict'], reason: StaleReason, silenceMs: number): Verdict {
    const trouble = this.#trouble[turn.slot]
    const row = (verdict === 'recovered' ? trouble?.openedRow : null) ?? this.thresholdOf(turn)
    return describe(this.turns, turn, trouble, row, { verdict, reason, silenceMs, preset: this.learning.preset })
  }

  /** Counts a fault and passes it on. */
  fault(where: FaultPlace, error: unknown): void {
    this.self.fault(where)
    this.#sink.fault(where, error)
  }

  #guard(where: FaultPlace, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fault(where, error)
    }
  }

  #thresholdMs(turn: Turn): number {
    const row = this.turns.keyAt(turn.slot) * 3 + this.turns.phaseAt(turn.slot)
    return this.#blind.has(turn) ? this.learning.blindLimit(row) : (this.learning.limits[row] as number)
  }

  #bump(column: Uint8Array, slot: number): number {
    const value = Math.min(255, (column[slot] as number) + 1)
    column[slot] = value
    return value
  }

  #troubleOf(slot: number): Trouble {
    this.#trouble[slot] ??= newTrouble()
    return this.#trouble[slot]
  }

  #grow(capacity: number): void {
    this.#state = wider(this.#state, capacity)
    this.#graceUntil = wider(this.#graceUntil, capacity)
    this.#holdUntil = wider(this.#holdUntil, capacity)
    this.#restarts = wider(this.#restarts, capacity)
    this.#holds = wider(this.#holds, capacity)
    this.#overThreshold = wider(this.#overThreshold, capacity)
    this.#overLimit = wider(this.#overLimit, capacity)
    this.#attention = wider(this.#attention, capacity)
  }
}

/** The way of one channel: what waits, what is under way, and what became of it. */

import { busyDelayMs, MAX_PAUSE_MS, retryDelayMs } from './backoff.ts'
import { type Channel, type Delivered, DeliveryFailed, type FailureReason } from './channel.ts'
import type { ChannelCounters, Suppression } from './counters.ts'
import type { Delivery } from './delivery.ts'
import { FairQueue } from './fair-queue.ts'
import { Flight } from './flight.ts'
import { firstOf, messageOfParcel, type Parcel, parcelOf, tryOf } from './parcel.ts'

const CONCURRENCY = 16
const TIMEOUT_MS = 30_000
/** A parent that the host does not know may be known soon, but not for ever. */
const UNKNOWN_MS = 600_000
/** A channel that shows a state forgets it by itself when it is not told for this long. */
const RESOLVE_MS = 300_000
/** A receiver that so many tries in a row did not reach is down; the first that does finds it up again. */
const DOWN_TRIES = 3
/** How often, in ticks, messages are looked over for those that are too old. */
const EXPIRE_TICKS = 10
/** Dead messages that are shown. */
const SHOWN_DEAD = 50
const SHOW_DEAD_MS = 86_400_000
/** Messages that a channel keeps in memory; the oldest gives way. */
const MAX_PENDING = 50_000

export interface LaneEnvironment {
  monoMs(): number
  wallMs(): number
  /** Runs something soon, after what else the event loop has to do. */
  defer(work: () => void): void
  readonly random: () => number
  /** Age at which a pending message is dead, in ms. */
  readonly expireMs: number
  /** Something about a delivery changed that must survive the process. */
  changed(delivery: Delivery): void
  /** The message has arrived. */
  delivered(delivery: Delivery): void
  /** Nothing is left to do with it: delivered, withdrawn or dead. */
  settled(delivery: Delivery): void
  suppressed(reason: Suppression): void
  /** Something to say about the channel, in one line. */
  report(line: string, cause?: unknown): void
  fault(error: unknown): void
  /** The channel threw what it need not have. */
  countFault(): void
}

export class Lane {
  readonly channel: Channel
  readonly counters: ChannelCounters
  /** Why the last try failed; null when it did not. */
  failing: string | null = null
  /** Messages that never arrived, and the last of them; forgotten a day after the last. */
  dead = 0
  lastDead: Delivery[] = []
  /** What has not arrived yet. */
  readonly pending = new Set<Delivery>()
  readonly #env: LaneEnvironment
  readonly #concurrency: number
  readonly #timeoutMs: number
  /** Oldest first. */
  readonly #parcels = new Map<Delivery, Parcel>()
  readonly #ready: FairQueue<Parcel>
  readonly #waiting = new Set<Parcel>()
  readonly #flying = new Set<Parcel>()
  /** Groups that can still grow. */
  readonly #groups = new Map<string, Parcel>()
  /** Tries that are under way and not overdue. */
  #busy = 0
  #pausedUntil = 0
  #ticks = 0
  /** Whether the next `pump` is on its way. */
  #pumping = false
  /** What has been said of the failure that lasts. */
  #said: 'again' | 'dead' | null = null
  #isStopping = false
  /** Tries in a row, of whatever message, that did not reach the receiver. */
  #downTries = 0

  constructor(channel: Channel, counters: ChannelCounters, env: LaneEnvironment) {
    this.channel = channel
    this.counters = counters
    this.#env = env
    this.#concurrency = channel.concurrency ?? CONCURRENCY
    this.#timeoutMs = channel.timeoutMs ?? TIMEOUT_MS
    this.#ready = new FairQueue(Math.ceil(this.#concurrency / 4))
  }

  /** Deliveries with something left to do, oldest first. */
  deliveries(): Iterable<Delivery> {
    return this.#parcels.keys()
  }

  has(delivery: Delivery): boolean {
    return this.#parcels.has(delivery)
  }

  /** Age of the oldest that is pending, in ms; 0 when none is. */
  oldestPendingMs(): number {
    const now = this.#env.monoMs()
    let oldestMs = 0
    for (const { sinceMono } of this.pending) oldestMs = Math.max(oldestMs, now - sinceMono)
    return oldestMs
  }

  /** Takes a delivery in; it goes out at the next `pump` once it is due. */
  add(delivery: Delivery): void {
    const { group } = delivery
    const growing = group === null ? undefined : this.#groups.get(group)
    const parcel = growing ?? parcelOf(delivery)
    this.#parcels.set(delivery, parcel)
    if (delivery.state === 'pending') this.pending.add(delivery)
    if (growing) growing.deliveries.push(delivery)
    else {
      if (group !== null) this.#groups.set(group, parcel)
      this.#wait(parcel, delivery.dueAt)
    }
    if (this.pending.size > MAX_PENDING) this.#dropOldest()
  }

  /** Takes out a delivery that is not under way. */
  remove(delivery: Delivery): void {
    const parcel = this.#parcels.get(delivery)
    this.pending.delete(delivery)
    if (parcel === undefined || !this.#parcels.delete(delivery)) return
    parcel.deliveries.splice(parcel.deliveries.indexOf(delivery), 1)
    if (parcel.deliveries.length > 0) return
    this.#waiting.delete(parcel)
    this.#ready.remove(parcel.line, parcel)
    if (delivery.group !== null) this.#groups.delete(delivery.group)
  }

  /** Takes back a message. One that is under way may still arrive, but is not tried again. */
  withdraw(delivery: Delivery): void {
    if (delivery.inFlight) {
      delivery.withdrawing = true
      return
    }
    this.remove(delivery)
    delivery.state = 'withdrawn'
    this.#env.suppressed(delivery.sequel === 'recovered' ? 'recovered' : 'ended')
    this.#settle(delivery)
  }

  /** The channel shows a state that has just ended: it is told so now. */
  resolve(delivery: Delivery): void {
    const parcel = this.#parcels.get(delivery)
    if (parcel && this.#waiting.delete(parcel)) this.#wait(parcel, this.#env.monoMs())
  }

  /** Whether anything is under way, or due within `ms`. */
  hasWork(ms: number): boolean {
    if (this.#busy > 0 || this.#ready.size > 0) return true
    const before = this.#env.monoMs() + ms
    for (const parcel of this.#waiting) {
      const { firing, endedAt } = firstOf(parcel)
      if (parcel.dueAt <= before && (!firing || endedAt !== null)) return true
    }
    return false
  }

  /** Once a second: what is due gets ready, what takes too long gives up its place, what is too old is dead. */
  tick(): void {
    const now = this.#env.monoMs()
    for (const parcel of this.#flying) {
      const { flight } = parcel
      if (flight && !flight.overdue && now - flight.startedAt >= this.#timeoutMs) this.#overdue(parcel, flight)
    }
    for (const parcel of this.#waiting) {
      if (parcel.dueAt > now) continue
      this.#waiting.delete(parcel)
      this.#ready.add(parcel.line, parcel)
    }
    if (this.dead > 0 && this.#env.wallMs() - (this.lastDead.at(-1)?.settledAt ?? 0) > SHOW_DEAD_MS) {
      this.dead = 0
      this.lastDead = []
    }
    if (++this.#ticks % EXPIRE_TICKS === 0) this.#expire()
    this.pump()
  }

  /** Sends what is ready, as far as there is room. */
  pump(): void {
    while (this.#busy < this.#concurrency && this.#env.monoMs() >= this.#pausedUntil) {
      const parcel = this.#ready.take()
      if (parcel === undefined) return
      this.#send(parcel)
    }
  }

  /** The same after what else the event loop has to do. */
  pumpSoon(): void {
    if (this.#pumping) return
    this.#pumping = true
    this.#env.defer(() => {
      this.#pumping = false
      this.pump()
    })
  }

  /** What is too old is dead; what shows a state that has ended is forgotten at the other end too. */
  #expire(): void {
    for (const delivery of [...this.#parcels.keys()].filter((one) => this.#isTooOld(one))) {
      this.remove(delivery)
      if (delivery.state !== 'pending') this.#settle(delivery)
      else {
        this.#env.suppressed('expired')
        this.#bury(delivery, 'expired')
      }
    }
  }

  /** Gives up what is under way. */
  abort(): void {
    this.#isStopping = true
    for (const { flight } of this.#flying) flight?.abort(new DeliveryFailed('other', 'the watch stopped'))
  }

  #send(parcel: Parcel): void {
    const first = firstOf(parcel)
    const flight = new Flight(this.#env.monoMs(), first.endedAt !== null)
    parcel.flight = flight
    this.#flying.add(parcel)
    this.#busy++
    // The key of a try stands for what was in it, so a group is closed from here on.
    if (first.group !== null) this.#groups.delete(first.group)
    for (const delivery of parcel.deliveries) {
      delivery.inFlight = true
      delivery.attempts++
    }
    const landed = (settle: () => void) => {
      parcel.flight = null
      this.#flying.delete(parcel)
      for (const delivery of parcel.deliveries) delivery.inFlight = false
      if (!flight.overdue) this.#release(parcel)
      // All of it may have died of age meanwhile.
      if (parcel.deliveries.length > 0) settle()
      this.pumpSoon()
    }
    const answered = (answer: Delivered | void) => landed(() => this.#answered(parcel, answer, flight))
    const failed = (error: unknown) => landed(() => this.#failed(parcel, error, flight.overdue))
    let answer: ReturnType<Channel['deliver']>
    try {
      answer = this.channel.deliver(messageOfParcel(parcel), tryOf(parcel, flight))
      if (isThenable(answer)) {
        Promise.resolve(answer)
          .then(answered, failed)
          .catch((error: unknown) => this.#env.fault(error))
        return
      }
    } catch (error) {
      return failed(error)
    }
    answered(answer)
  }

  #overdue(parcel: Parcel, flight: Flight): void {
    flight.overdue = true
    this.#release(parcel)
    this.#count('timeout')
    const failure = new DeliveryFailed('timeout', 'no answer in time')
    this.#fails(failure.message, false)
    this.#downTries++
    for (const delivery of parcel.deliveries) delivery.failure = failure.message
    flight.abort(failure)
  }

  #release({ line }: Parcel): void {
    this.#busy--
    this.#ready.done(line)
  }

  #answered(parcel: Parcel, answer: Delivered | void, flight: Flight): void {
    const now = this.#env.monoMs()
    switch (answer) {
      case 'over':
        this.counters.tries++
        for (const delivery of [...parcel.deliveries]) {
          if (delivery.message.reason === 'silence') this.withdraw(delivery)
        }
        // What became a failure of the provider meanwhile is told all the same.
        if (parcel.deliveries.length > 0) this.#wait(parcel, now)
        return
      case 'busy':
        this.counters.tries++
        parcel.failures++
        return this.#again(parcel, busyDelayMs(parcel.failures, this.#env.random), 'the parent is busy')
      case 'unknown':
      case 'absent':
      case 'archived':
      case 'gone': {
        const failure = `the parent is ${answer}`
        parcel.unknownSince ??= now
        parcel.failures++
        this.#count('rejected')
        if (answer !== 'absent') firstOf(parcel).rejections++
        const mayCome = answer === 'unknown' || answer === 'absent'
        if (!mayCome || now - parcel.unknownSince >= UNKNOWN_MS) this.#die(parcel, failure)
        else this.#again(parcel, retryDelayMs(parcel.failures, this.#env.random), failure)
        return
      }
      default:
        return this.#delivered(parcel, flight)
    }
  }

  #delivered(parcel: Parcel, { saysEnd, overdue }: Flight): void {
    const { counters, channel } = this
    const now = this.#env.monoMs()
    if (!overdue) counters.tries++
    this.failing = null
    this.#said = null
    if (this.#downTries >= DOWN_TRIES) this.#up(now)
    this.#downTries = 0
    parcel.failures = 0
    parcel.unknownSince = null
    for (const delivery of parcel.deliveries) {
      delivery.failure = null
      delivery.firing = channel.repeatMs !== undefined && delivery.message.verdict === 'stale' && !saysEnd
      if (delivery.state === 'pending') {
        delivery.state = 'delivered'
        delivery.settledAt = this.#env.wallMs()
        this.pending.delete(delivery)
        counters.delaySeconds.observe(Math.max(0, now - delivery.sinceMono) / 1000)
        this.#env.delivered(delivery)
      }
      if (delivery.firing) this.#env.changed(delivery)
      else this.#settle(delivery)
    }
    const { firing, endedAt } = firstOf(parcel)
    if (firing) this.#wait(parcel, endedAt === null ? now + (channel.repeatMs ?? 0) : now)
  }

  #failed(parcel: Parcel, error: unknown, isCounted: boolean): void {
    const known = error instanceof DeliveryFailed ? error : null
    const failure = known ? known.message : failureOf(error)
    parcel.failures++
    if (!isCounted && !this.#isStopping) {
      this.#count(known?.reason ?? 'other')
      if (known === null) this.#env.countFault()
      if (known?.reason === 'connection' || known?.reason === 'timeout') this.#downTries++
    }
    if (known?.reason === 'rejected') firstOf(parcel).rejections++
    const shows = firstOf(parcel).firing
    // A state that is shown goes on being told while it lasts, whatever the receiver thinks of it now.
    if (known && !known.retry && !shows) return this.#die(parcel, failure)
    this.#fails(failure, false, error)
    let delayMs = retryDelayMs(parcel.failures, this.#env.random)
    if (shows) delayMs = Math.min(delayMs, (this.channel.repeatMs ?? 0) / 2)
    if (known?.retryAfterMs != null) {
      delayMs = Math.min(MAX_PAUSE_MS, Math.max(delayMs, known.retryAfterMs))
      this.#pausedUntil = this.#env.monoMs() + delayMs
    }
    this.#again(parcel, delayMs, failure)
  }

  #again(parcel: Parcel, delayMs: number, failure: string): void {
    const dueAt = this.#env.monoMs() + delayMs
    for (const delivery of [...parcel.deliveries]) {
      delivery.failure = failure
      delivery.dueAt = dueAt
      if (delivery.withdrawing) this.withdraw(delivery)
      else this.#env.changed(delivery)
    }
    if (parcel.deliveries.length > 0) this.#wait(parcel, dueAt)
  }

  #die(parcel: Parcel, failure: string): void {
    this.#fails(failure, true)
    for (const delivery of [...parcel.deliveries]) this.#bury(delivery, failure)
  }

  #bury(delivery: Delivery, failure: string): void {
    delivery.state = 'dead'
    delivery.failure = failure
    this.dead++
    this.lastDead.push(delivery)
    if (this.lastDead.length > SHOWN_DEAD) this.lastDead.shift()
    this.#settle(delivery)
  }

  #settle(delivery: Delivery): void {
    delivery.firing = false
    delivery.settledAt ??= this.#env.wallMs()
    this.#parcels.delete(delivery)
    this.pending.delete(delivery)
    this.#env.changed(delivery)
    this.#env.settled(delivery)
  }

  /** One line for a channel that begins to fail or to lose messages, not one for every try. */
  #fails(failure: string, isDead: boolean, error?: unknown): void {
    if (!this.#isStopping && (this.#said === null || (isDead && this.#said === 'again'))) {
      this.#said = isDead ? 'dead' : 'again'
      this.#env.report(`${this.channel.name}: ${failure}; ${isDead ? 'given up' : 'will be tried again'}`, error)
    }
    this.failing = failure
  }

  #count(reason: FailureReason): void {
    this.counters.tries++
    this.counters.failed[reason]++
  }

  /** The receiver is reached again: what has been tried meanwhile is due at the next tick. */
  #up(now: number): void {
    for (const parcel of this.#waiting) {
      if (firstOf(parcel).state === 'pending' && parcel.failures > 0) parcel.dueAt = Math.min(parcel.dueAt, now)
    }
  }

  #wait(parcel: Parcel, dueAt: number): void {
    parcel.dueAt = dueAt
    for (const delivery of parcel.deliveries) delivery.dueAt = dueAt
    if (dueAt > this.#env.monoMs()) this.#waiting.add(parcel)
    else this.#ready.add(parcel.line, parcel)
  }

  #isTooOld(delivery: Delivery): boolean {
    if (delivery.state === 'pending') return this.#env.monoMs() - delivery.sinceMono > this.#env.expireMs
    return !delivery.inFlight && delivery.endedAt !== null && this.#env.wallMs() - delivery.endedAt > RESOLVE_MS
  }

  #dropOldest(): void {
    for (const delivery of this.pending) {
      if (delivery.inFlight) continue
      this.remove(delivery)
      this.#bury(delivery, 'too many messages wait')
      return
    }
  }
}

function isThenable(answer: unknown): answer is PromiseLike<Delivered | void> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function'
}

/** An error of a host's channel may quote anything, so only its kind is shown. */
function failureOf(error: unknown): string {
  try {
    const { name, code } = Object(error) as { name?: unknown; code?: unknown }
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) return code
    return typeof name === 'string' && /^\w{1,40}$/.test(name) ? `threw ${name}` : 'failed'
  } catch {
    return 'failed'
  }
}

/** The notifier: joins what is told of episodes with the lanes of the channels and with the store. */

import type { Clock } from '../detector/observed-clock.ts'
import type { Verdict } from '../detector/verdict.ts'
import { channelId } from './channel-id.ts'
import { NotifierCounters } from './counters.ts'
import type { Moment } from './delivery.ts'
import { type Closed, Episodes, type News } from './episodes.ts'
import { Lane, type LaneEnvironment } from './lane.ts'
import { Lease } from './lease.ts'
import type { Message, ToldVerdict } from './message.ts'
import type { ReadyOptions } from './notifier-options.ts'
import { Outbox } from './outbox.ts'
import type { OutboxStore } from './outbox-store.ts'
import { Slices } from './slices.ts'
import { type EarlierEpisode, TurnEpisodes } from './turn-episodes.ts'
import { type NotifierView, viewOf } from './view.ts'

const EXPIRE_MS = 86_400_000
const KEEP_MS = 604_800_000
const LEASE_MS = 30_000
const CLOSE_MS = 5000
/** Between two looks at what is still under way when the watch stops. */
const CLOSE_PAUSE_MS = 50
/** What a store or a channel that is closed may take. */
const LAST_PAUSE_MS = 1000

/** What a store is asked to do. */
type StoreOp = 'claim' | 'outbox'

export interface NotifierEnvironment {
  readonly clock: Clock
  /** Unique among the processes that share the store. */
  readonly owner: string
  readonly random: () => number
  defer(work: () => void): void
  later(ms: number, work: () => void): void
  /** A message has arrived. */
  told(message: Message): void
  /** Something that a host gave us threw. */
  fault(error: unknown): void
  /** The same where there is nothing new to say. */
  countFault(): void
  /** A line about a channel, and what threw. */
  report(line: string, cause?: unknown): void
  storeFailed(op: StoreOp, error: unknown): void
  storeWorked(op: StoreOp): void
}

export class Notifier {
  readonly counters: NotifierCounters
  readonly #options: ReadyOptions
  readonly #env: NotifierEnvironment
  /** By the name that the store knows a channel by. */
  readonly #lanes = new Map<string, Lane>()
  readonly #outbox: Outbox
  readonly #episodes: Episodes
  /** Null without a store. */
  readonly #lease: Lease | null
  readonly #news: Slices<News>

  constructor(options: ReadyOptions, store: OutboxStore | null, env: NotifierEnvironment) {
    this.#options = options
    this.#env = env
    this.counters = new NotifierCounters(options.channels.map(({ name }) => name))
    const { leaseMs = LEASE_MS, expireMs = EXPIRE_MS, keepMs = KEEP_MS } = options
    this.#outbox = this.#makeOutbox(store, leaseMs)
    const failed = (error: unknown) => env.storeFailed('claim', error)
    const turns = new TurnEpisodes(store, env.clock.wallMs() - keepMs, failed)
    this.#episodes = new Episodes(options, this.#lanes, this.#outbox, turns, {
      now: () => this.#now(),
      told: (message) => env.told(message),
      suppressed: (reason, count) => {
        this.counters.suppressed[reason] += count
      },
      fault: (error) => env.fault(error),
    })
    const lanes = this.#laneEnvironment(expireMs)
    options.channels.forEach((channel, i) => {
      const counters = this.counters.channels[i] as NotifierCounters['channels'][number]
      this.#lanes.set(channelId(channel), new Lane(channel, counters, lanes))
    })
    this.#news = new Slices(
      (news) => this.#guard(() => this.#episodes.hear(news)),
      () => this.#guard(() => this.#outbox.flush()),
      (work) => env.defer(work),
    )
    const lease = { owner: env.owner, channels: [...this.#lanes.keys()], leaseMs, expireMs, keepMs }
    this.#lease =
      store &&
      new Lease(store, lease, {
        moment: () => this.#now(),
        claimed: (deliveries) => this.#episodes.claimed(deliveries),
        held: (keys) => this.#episodes.held(keys),
        expired: (count) => {
          this.counters.suppressed.expired += count
        },
        failed,
        worked: () => env.storeWorked('claim'),
      })
    this.#lease?.claim()
  }

  /** A turn begins in this process: what is known of its last stale episode. */
  earlier(threadId: string, turnId: string): EarlierEpisode | undefined {
    return this.#episodes.earlier(threadId, turnId)
  }

  /** The real id of a thread became known. */
  renamed(from: string, to: string): void {
    this.#episodes.renamed(from, to)
  }

  /** The host knows the title of a thread. */
  titled(threadId: string, title: string): void {
    this.#episodes.titled(threadId, title)
  }

  /** A turn is stale. */
  opened(verdict: Verdict): void {
    this.#news.push({ opened: verdict as ToldVerdict })
  }

  /** A stronger reason has come within the episode. */
  worsened(verdict: Verdict): void {
    this.#news.push({ worse: verdict as ToldVerdict })
  }

  closed(closed: Closed): void {
    this.#news.push({ closed })
  }

  /** Once a second. */
  tick(): void {
    this.#news.refill()
    this.#episodes.tick()
    this.#lease?.tick()
    this.#outbox.tick()
    for (const lane of this.#lanes.values()) lane.tick()
  }

  /** What is counted, with what waits now. */
  measure(): NotifierCounters {
    for (const lane of this.#lanes.values()) {
      lane.counters.pending = lane.pending.size
      lane.counters.oldestPendingMs = lane.oldestPendingMs()
    }
    return this.counters
  }

  /** What has not arrived. */
  view(): NotifierView {
    return viewOf([...this.#lanes.values()], this.#now())
  }

  /** Waits for what is under way or due, but not long; writes what is left; closes the channels. */
  async stop(pause: (ms: number) => Promise<void>): Promise<void> {
    const lanes = [...this.#lanes.values()]
    const isBusy = (withinMs: number) =>
      !this.#news.isEmpty ||
      this.#episodes.isDeciding ||
      this.#outbox.isBusy ||
      lanes.some((lane) => lane.hasWork(withinMs))
    for (let left = this.#options.closeMs ?? CLOSE_MS; left >= 0 && isBusy(left); left -= CLOSE_PAUSE_MS) {
      await pause(CLOSE_PAUSE_MS)
      this.#outbox.tick()
      for (const lane of lanes) lane.tick()
    }
    for (const lane of lanes) lane.abort()
    await pause(0)
    await this.#outbox.end(() => pause(2 * CLOSE_PAUSE_MS))
    const waiting = lanes.reduce((sum, lane) => sum + lane.pending.size, 0)
    if (waiting > 0) {
      const fate = this.#outbox.isWritten ? 'kept for the next start' : 'lost'
      this.#env.report(`${waiting === 1 ? '1 message' : `${waiting} messages`} not delivered in time, ${fate}`)
    }
    const closeLane = (lane: Lane) => async () => lane.channel.close?.()
    const last = [async () => this.#lease?.release(), ...lanes.map(closeLane)]
    for (const close of last) {
      try {
        await Promise.race([close(), pause(LAST_PAUSE_MS)])
      } catch (error) {
        this.#env.fault(error)
      }
    }
  }

  #makeOutbox(store: OutboxStore | null, leaseMs: number): Outbox {
    const env = this.#env
    return new Outbox(store, {
      owner: env.owner,
      moment: () => this.#now(),
      leaseUntil: () => env.clock.wallMs() + leaseMs,
      defer: (work) => env.defer(work),
      later: (ms, work) => env.later(ms, work),
      release: (opened) => this.#episodes.release(opened),
      known: (opened, known) => this.#episodes.known(opened, known),
      failed: (error) => env.storeFailed('outbox', error),
      worked: () => env.storeWorked('outbox'),
    })
  }

  #laneEnvironment(expireMs: number): LaneEnvironment {
    const env = this.#env
    return {
      monoMs: () => env.clock.monoMs(),
      wallMs: () => env.clock.wallMs(),
      defer: (work) => env.defer(work),
      random: env.random,
      expireMs,
      changed: (delivery) => this.#outbox.changed(delivery),
      delivered: (delivery) => this.#episodes.delivered(delivery),
      settled: (delivery) => this.#episodes.settled(delivery),
      suppressed: (reason) => {
        this.counters.suppressed[reason]++
      },
      report: (line, cause) => env.report(line, cause),
      fault: (error) => env.fault(error),
      countFault: () => env.countFault(),
    }
  }

  #now(): Moment {
    return { wallMs: this.#env.clock.wallMs(), monoMs: this.#env.clock.monoMs() }
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#env.fault(error)
    }
  }
}

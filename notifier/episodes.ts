/** What is told of each stale episode, on which channels, and what is taken back. */

import { episodeKey, type Verdict } from '../detector/verdict.ts'
import { dropOldest } from '../instrumentation/drop-oldest.ts'
import type { Resolution, StaleReason } from '../instrumentation/turn-counters.ts'
import type { Suppression } from './counters.ts'
import { type Delivery, isOpen, type Moment, newDelivery } from './delivery.ts'
import { Groups } from './groups.ts'
import type { Lane } from './lane.ts'
import { managedElsewhere } from './managed.ts'
import { type Message, messageOf, parentToTell, type ToldVerdict } from './message.ts'
import { textOf } from './message-text.ts'
import type { ReadyOptions } from './notifier-options.ts'
import type { Opened, Outbox } from './outbox.ts'
import type { KnownEpisode } from './outbox-store.ts'
import type { EarlierEpisode, TurnEpisodes } from './turn-episodes.ts'

/** A turn that was stale when its process died and has not been seen again by then is lost. */
const UNSEEN_MS = 300_000
/** Titles remembered. */
const MAX_TITLES = 10_000
const MAX_WORSE = 1000
const MAX_ARRIVED = 20_000

/** An episode has closed; its ids are those of the stale verdict. */
export interface Closed {
  readonly threadId: string
  readonly turnId: string
  readonly episode: number
  readonly resolution: Resolution
  /** The verdict `recovered`, where there is one. */
  readonly verdict: Verdict | null
}

type EpisodeIds = Parameters<typeof episodeKey>[0]

export type News = { readonly opened: ToldVerdict } | { readonly worse: ToldVerdict } | { readonly closed: Closed }

/** An episode that lasts, or of which messages are still to be delivered. */
interface Episode {
  key: string
  reason: StaleReason
  readonly deliveries: Delivery[]
  /** What is known of it; null for one that another process began. */
  verdict: ToldVerdict | null
  perhapsToldAlready: boolean
  /** While the host is asked whether somebody else tells. */
  deciding: boolean
  closed: Closed | null
}

export interface EpisodesEnvironment {
  now(): Moment
  /** A message has arrived. */
  told(message: Message): void
  suppressed(reason: Suppression, count: number): void
  /** Something that a host gave us threw. */
  fault(error: unknown): void
}

export class Episodes {
  readonly #options: ReadyOptions
  readonly #env: EpisodesEnvironment
  /** By the name that the store knows a channel by. */
  readonly #lanes: ReadonlyMap<string, Lane>
  readonly #outbox: Outbox
  readonly #turns: TurnEpisodes
  /** By key. */
  readonly #episodes = new Map<string, Episode>()
  /** Keys by the detector's own, where another process had used that up. */
  readonly #renamed = new Map<string, string>()
  readonly #titles = new Map<string, string>()
  readonly #groups: Groups
  /** Episodes of before this process whose turn has not been seen yet, and until when it may be: monotonic ms. */
  readonly #unseen = new Map<string, number>()
  /** Stronger reasons of episodes whose messages another process still holds. */
  readonly #worse = new Map<string, StaleReason>()
  /** What has arrived, by key and channel: a row that says otherwise is behind. */
  readonly #arrived = new Set<string>()
  /** Hosts that are asked whether another supervisor tells. */
  #deciding = 0

  constructor(
    options: ReadyOptions,
    lanes: ReadonlyMap<string, Lane>,
    outbox: Outbox,
    turns: TurnEpisodes,
    env: EpisodesEnvironment,
  ) {
    this.#options = options
    this.#lanes = lanes
    this.#outbox = outbox
    this.#turns = turns
    this.#env = env
    this.#groups = new Groups(options.groupMs ?? 0)
  }

  get isDeciding(): boolean {
    return this.#deciding > 0
  }

  /** A turn begins in this process: what is known of its last stale episode. */
  earlier(threadId: string, turnId: string): EarlierEpisode | undefined {
    const found = this.#turns.get(threadId, turnId)
    if (found === undefined) return undefined
    this.#turns.set(threadId, turnId, found.episode, { seen: true })
    this.#unseen.delete(episodeKey({ threadId, turnId, episode: found.episode }))
    return found
  }

  /** The real id of a thread became known. */
  renamed(from: string, to: string): void {
    const title = this.#titles.get(from)
    if (title !== undefined) this.titled(to, title)
  }

  /** The host knows the title of a thread. */
  titled(threadId: string, title: string): void {
    this.#titles.delete(threadId)
    this.#titles.set(threadId, title)
    dropOldest(this.#titles, MAX_TITLES)
  }

  /** Once a second. */
  tick(): void {
    const { monoMs } = this.#env.now()
    for (const [key, until] of this.#unseen) {
      if (until > monoMs) continue
      this.#unseen.delete(key)
      this.#giveUp(key)
    }
    this.#groups.forgetOld(monoMs)
  }

  hear(news: News): void {
    if ('opened' in news) this.#open(news.opened)
    else if ('worse' in news) this.#worsen(news.worse)
    else this.#close(news.closed)
  }

  #open(verdict: ToldVerdict): void {
    const { threadId, turnId } = verdict
    const earlier = this.#turns.get(threadId, turnId)
    if (earlier?.open) {
      const before = { threadId, turnId, episode: earlier.episode }
      // The process before this one has told of the same episode; only progress begins a new one.
      if (!progressedSince(verdict, earlier.openedAt)) return this.#worsen({ ...verdict, ...before })
      this.#close({ ...before, resolution: 'recovered', verdict: null })
    }
    const number = Math.max(verdict.episode, (earlier?.episode ?? 0) + 1)
    this.#turns.set(threadId, turnId, number, { openedAt: this.#env.now().wallMs, open: true, seen: true })
    const managed = managedElsewhere(
      threadId,
      this.#titles.get(threadId) ?? null,
      this.#options.isManagedElsewhere,
      (error) => this.#env.fault(error),
    )
    const key = this.#keyFor(verdict, number)
    const episode = { ...newEpisode(key, verdict.reason), verdict, deciding: managed instanceof Promise }
    this.#episodes.set(key, episode)
    if (!(managed instanceof Promise)) return this.#tell(episode, managed)
    this.#deciding++
    void managed.then((answer) => {
      this.#deciding--
      episode.deciding = false
      this.#guard(() => {
        this.#tell(episode, answer)
        if (episode.closed) this.#close(episode.closed)
        this.#outbox.flush()
      })
    })
  }

  /** Makes the messages of an episode, one for each channel. */
  #tell(episode: Episode, managed: boolean | null): void {
    const verdict = episode.verdict as ToldVerdict
    const { threadId, turnId } = verdict
    const parent = parentToTell(verdict)
    const { wallMs, monoMs } = this.#env.now()
    const isTold = this.#options.per === 'turn' && this.#turns.get(threadId, turnId)?.told
    const channels = [...this.#lanes].filter(([, { channel }]) => parent !== null || !channel.needsParent)
    if (managed) this.#env.suppressed('managed', channels.length)
    else if (!isTold) this.#env.suppressed('no-parent', this.#lanes.size - channels.length)
    if (managed || isTold || channels.length === 0) {
      this.#episodes.delete(episode.key)
      return
    }
    this.#turns.set(threadId, turnId, numberOf(episode.key), { told: true })
    episode.perhapsToldAlready = managed === null && parent !== null
    const message = this.#message(verdict, episode.key, episode.perhapsToldAlready)
    for (const [id, { channel }] of channels) {
      const group = channel.repeatMs === undefined ? this.#groups.of(message, monoMs) : null
      episode.deliveries.push(
        newDelivery({
          key: message.key,
          channel: id,
          episode: episode.key,
          group: group?.id ?? null,
          since: wallMs,
          sinceMono: monoMs,
          message,
          dueAt: group?.until ?? monoMs,
        }),
      )
    }
    const stored = { key: episode.key, thread: threadId, turn: turnId, episode: numberOf(episode.key) }
    const rest = { reason: verdict.reason, openedAt: wallMs, closedAt: null, resolution: null }
    this.#outbox.add({ ...stored, ...rest }, [...episode.deliveries])
  }

  /** What is not under way yet is told with the stronger reason. */
  #worsen(verdict: ToldVerdict): void {
    if (verdict.reason === 'silence') return
    const key = this.#keyOf(verdict)
    const episode = this.#episodes.get(key)
    this.#outbox.worsen({ key, reason: verdict.reason, message: this.#message(verdict, key, false) })
    if (episode === undefined) {
      this.#worse.set(key, verdict.reason)
      dropOldest(this.#worse, MAX_WORSE)
      return
    }
    episode.reason = verdict.reason
    if (episode.verdict) episode.verdict = verdict
    const message = this.#message(verdict, key, episode.perhapsToldAlready)
    for (const delivery of episode.deliveries) {
      if (delivery.state !== 'pending' || delivery.message.verdict !== 'stale') continue
      delivery.message = message
      this.#outbox.changed(delivery)
    }
  }

  #close(closed: Closed): void {
    const { threadId, turnId, resolution, verdict } = closed
    const key = this.#keyOf(closed)
    const { wallMs } = this.#env.now()
    const episode = this.#episodes.get(key)
    this.#turns.set(threadId, turnId, numberOf(key), { open: false })
    if (episode?.deciding) {
      episode.closed = closed
      return
    }
    this.#renamed.delete(episodeKey(closed))
    this.#outbox.close(key, wallMs, resolution)
    if (episode === undefined) return
    episode.closed = closed
    for (const delivery of [...episode.deliveries]) {
      delivery.endedAt = wallMs
      delivery.sequel = resolution
      if (delivery.firing) this.#lanes.get(delivery.channel)?.resolve(delivery)
      else this.#takeBack(delivery, episode.reason)
      if (verdict && this.#options.recovered && delivery.state === 'delivered') this.#follow(delivery, verdict)
    }
    this.#forget(episode)
  }

  /** A message of a silence that is over; a provider's failure is told in any case. */
  #takeBack(delivery: Delivery, reason: StaleReason): void {
    if (delivery.state !== 'pending' || delivery.message.verdict !== 'stale') return
    if (reason !== 'silence' || this.#options.whenOver === 'say') return
    const lane = this.#lanes.get(delivery.channel) as Lane
    lane.withdraw(delivery)
  }

  /** The shorter message, to whoever got the first. */
  #follow(first: Delivery, verdict: Verdict): void {
    if (this.#lanes.get(first.channel)?.channel.repeatMs !== undefined) return
    const { wallMs, monoMs } = this.#env.now()
    const message = this.#message(verdict as ToldVerdict, first.episode.replace(/^stale/, 'recovered'), false)
    const { channel, episode } = first
    const rest = { channel, episode, group: null, since: wallMs, sinceMono: monoMs, dueAt: monoMs }
    this.#outbox.add(null, [newDelivery({ ...rest, key: message.key, message })])
    this.#outbox.flush()
  }

  /** The turn was stale when its process died, and nobody has seen it since: what shows it as stale must not for ever. */
  #giveUp(key: string): void {
    const { wallMs } = this.#env.now()
    this.#outbox.close(key, wallMs, 'lost')
    for (const delivery of this.#episodes.get(key)?.deliveries ?? []) {
      const { thread, turn } = delivery.message
      this.#turns.set(thread, turn, numberOf(key), { open: false })
      delivery.endedAt = wallMs
      if (delivery.firing) this.#lanes.get(delivery.channel)?.resolve(delivery)
    }
  }

  /** The messages are written, or cannot be: they go out. */
  release({ deliveries, saved }: Opened): void {
    const lanes = new Set<Lane>()
    for (const delivery of deliveries) {
      const lane = this.#lanes.get(delivery.channel)
      if (lane === undefined || !isOpen(delivery) || lane.has(delivery)) continue
      if (!saved) lane.counters.failed.store++
      lane.add(delivery)
      lanes.add(lane)
    }
    for (const lane of lanes) lane.pump()
  }

  /**
   * Another process had opened an episode of this number. It is the same one unless that was closed, or the turn has gone
   * on since, here: then ours gets the next number.
   */
  known({ deliveries, released }: Opened, { key, openedAt, open }: KnownEpisode): void {
    const episode = this.#episodes.get(key)
    if (episode === undefined || episode.verdict === null) return
    const { verdict } = episode
    const isSame = open && !progressedSince(verdict, openedAt)
    if (open && !isSame) this.#outbox.close(key, this.#env.now().wallMs, 'recovered')
    const hasArrived = deliveries.some(({ state }) => state === 'delivered')
    for (const delivery of deliveries) if (!delivery.inFlight) this.#lanes.get(delivery.channel)?.remove(delivery)
    episode.deliveries.splice(0)
    // It went out from memory before the store could say so: once is enough.
    if (isSame || (released && hasArrived)) return
    this.#episodes.delete(key)
    episode.key = this.#keyFor(verdict, numberOf(key) + 1)
    this.#episodes.set(episode.key, episode)
    this.#turns.set(verdict.threadId, verdict.turnId, numberOf(episode.key), { open: true, told: false, seen: true })
    this.#tell(episode, episode.perhapsToldAlready ? null : false)
    if (episode.closed) this.#close({ ...episode.closed, episode: verdict.episode })
    this.#outbox.flush()
  }

  /** What a dead process left. */
  claimed(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      const { message, episode: key } = delivery
      const { thread, turn } = message
      const lane = this.#lanes.get(delivery.channel)
      const episode = this.#episodes.get(key) ?? newEpisode(key, message.reason)
      const isKnown = episode.deliveries.some((one) => one.key === delivery.key && one.channel === delivery.channel)
      if (lane === undefined || isKnown) continue
      if (delivery.state === 'pending' && this.#arrived.has(arrivalOf(delivery))) {
        delivery.state = 'delivered'
        this.#outbox.changed(delivery)
        continue
      }
      this.#episodes.set(key, episode)
      episode.deliveries.push(delivery)
      lane.add(delivery)
      const isOver = delivery.endedAt !== null
      this.#turns.set(thread, turn, numberOf(key), { openedAt: delivery.since, open: !isOver, told: true })
      episode.reason = this.#worse.get(key) ?? message.reason
      if (delivery.firing && !isOver && !this.#turns.get(thread, turn)?.seen) {
        this.#unseen.set(key, this.#env.now().monoMs + UNSEEN_MS)
      }
      if (isOver && delivery.sequel !== 'lost') this.#takeBack(delivery, episode.reason)
    }
    for (const lane of this.#lanes.values()) lane.pumpSoon()
  }

  /** What others took over while our lease was over is theirs; but what shows the state of our own turns stays ours. */
  held(keys: ReadonlySet<string>): void {
    for (const lane of this.#lanes.values()) {
      for (const delivery of [...lane.deliveries()]) {
        if (!delivery.stored || delivery.inFlight || keys.has(arrivalOf(delivery))) continue
        const isOurs = this.#episodes.get(delivery.episode)?.verdict != null
        if (delivery.firing && isOurs) this.#outbox.add(null, [delivery])
        else lane.remove(delivery)
      }
    }
    this.#outbox.flush()
  }

  delivered(delivery: Delivery): void {
    this.#arrived.add(arrivalOf(delivery))
    dropOldest(this.#arrived, MAX_ARRIVED)
    const { channel } = this.#lanes.get(delivery.channel) as Lane
    // A channel that shows a state has told the operator, not the parent.
    if (channel.repeatMs === undefined) this.#env.told(delivery.message)
    const recovered = this.#episodes.get(delivery.episode)?.closed?.verdict
    // It went on while the message was under way.
    if (recovered && this.#options.recovered && delivery.message.verdict === 'stale') this.#follow(delivery, recovered)
  }

  /** Nothing is left to do with it. */
  settled({ episode: key, message: { thread, turn } }: Delivery): void {
    const episode = this.#episodes.get(key)
    if (episode === undefined) return
    if (episode.deliveries.every(({ state }) => state === 'withdrawn')) {
      this.#turns.set(thread, turn, numberOf(key), { told: false })
    }
    this.#forget(episode)
  }

  /** Of an episode that lasts we must know what to take back. */
  #forget(episode: Episode): void {
    if (episode.deliveries.some(isOpen) || (episode.closed === null && episode.verdict !== null)) return
    this.#episodes.delete(episode.key)
  }

  /** The key of an episode, of which the detector speaks by a number of its own. */
  #keyFor(verdict: Verdict, number: number): string {
    const key = episodeKey({ threadId: verdict.threadId, turnId: verdict.turnId, episode: number })
    if (number !== verdict.episode) this.#renamed.set(episodeKey(verdict), key)
    return key
  }

  #keyOf(episode: EpisodeIds): string {
    const key = episodeKey(episode)
    return this.#renamed.get(key) ?? key
  }

  #message(verdict: ToldVerdict, key: string, perhapsToldAlready: boolean): Message {
    const text = textOf(verdict, perhapsToldAlready, this.#options.text, (error) => this.#env.fault(error))
    return messageOf(verdict, key, text)
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#env.fault(error)
    }
  }
}

function newEpisode(key: string, reason: StaleReason): Episode {
  return { key, reason, deliveries: [], verdict: null, perhapsToldAlready: false, deciding: false, closed: null }
}

/** Whether a turn has made progress, in this process, since an episode of it opened: an epoch ms. */
function progressedSince({ lastProgressAt }: Verdict, openedAt: number): boolean {
  return lastProgressAt !== null && Date.parse(lastProgressAt) >= openedAt
}

function arrivalOf({ key, channel }: Delivery): string {
  return `${key}\n${channel}`
}

/** The number at the end of an episode's key. */
function numberOf(key: string): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}

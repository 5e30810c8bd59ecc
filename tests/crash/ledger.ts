/**
 * The accounts of one store: what its hosts did and what its receivers got, held against what the store says after each
 * kill. Lost: a message that had to arrive and did not, or cannot any more. Doubled: one that came again though no kill
 * fell between its sending and its mark, or under another key.
 */

import type { Entry, TurnIds } from './journal.ts'
import { factsOf, type RunFacts } from './run-facts.ts'
import { deliveryId, NOTHING, type Snapshot } from './snapshot.ts'

export interface Receipt {
  readonly run: string
  /** As the store knows it. */
  readonly channel: string
  /** The idempotency key of the request. */
  readonly wireKey: string
  /** Keys of the messages in it. */
  readonly keys: readonly string[]
  /** Whether the receiver took it; one that it answered with an error or a reset is to come again. */
  readonly isTaken: boolean
}

type Arrival = Pick<Receipt, 'run' | 'wireKey'>

export class Ledger {
  readonly lost: string[] = []
  readonly doubled: string[] = []
  /** Messages that arrived, and how often one came again as it may. */
  arrived = 0
  again = 0
  readonly #channels: readonly string[]
  readonly #running = new Map<string, TurnIds>()
  readonly #arrivals = new Map<string, Arrival[]>()
  readonly #settled = new Set<string>()
  readonly #heard = new Map<string, Set<string>>()
  readonly #over = new Set<string>()
  readonly #failed = new Set<string>()
  /** The store as it was when each run that lasts began. */
  readonly #began = new Map<string, Snapshot>()
  #last: Snapshot = NOTHING

  constructor(channels: readonly string[]) {
    this.#channels = channels
  }

  /** Turns that have not ended: what a host restores. */
  get running(): readonly TurnIds[] {
    return [...this.#running.values()]
  }

  /** A turn runs of which no host has written yet. */
  expects(turn: TurnIds): void {
    this.#running.set(turn.turnId, turn)
  }

  begins(run: string): void {
    this.#began.set(run, this.#last)
  }

  receives({ run, channel, wireKey, keys, isTaken }: Receipt): void {
    for (const key of keys) {
      const id = deliveryId(channel, key)
      if (this.#settled.has(id)) this.doubled.push(`${id}: came again after the store knew what had become of it`)
      if (!isTaken) continue
      const earlier = this.#arrivals.get(id) ?? []
      this.#arrivals.set(id, [...earlier, { run, wireKey }])
      if (earlier.length === 0) this.arrived++
      else this.again++
      if (earlier.some((one) => one.run === run)) this.doubled.push(`${id}: came twice from one process`)
      else if (earlier.some((one) => this.#began.has(one.run))) this.doubled.push(`${id}: came from two that live`)
      if (earlier.some((one) => one.wireKey !== wireKey)) this.doubled.push(`${id}: came under two keys`)
    }
  }

  /** A run is over, and everything that it has sent was received. */
  ends(run: string, entries: readonly Entry[], now: Snapshot, wasKilled: boolean): void {
    const facts = factsOf(entries, this.#began.get(run) ?? NOTHING, wasKilled)
    this.#began.delete(run)
    this.#last = now
    this.#remember(facts)
    for (const wrong of facts.misnumbered) this.doubled.push(wrong)
    for (const key of facts.written) {
      const missing = this.#channels.some((channel) => !now.messages.has(deliveryId(channel, key)))
      if (missing) this.lost.push(`${key}: had to be told and is not in the store`)
    }
    for (const key of facts.closed) {
      if (now.episodes.get(key)) this.lost.push(`${key}: is over and the store has it open, so the next is not told`)
    }
    for (const id of facts.marked) {
      const { state } = now.messages.get(id) ?? {}
      if (state !== 'delivered') this.doubled.push(`${id}: arrived and is ${state ?? 'missing'} in the store`)
    }
    for (const [id, { state }] of now.messages) {
      if (state === 'pending' || this.#settled.has(id)) continue
      this.#settled.add(id)
      if (state === 'delivered' && !this.#arrivals.has(id)) this.lost.push(`${id}: is marked and never arrived`)
    }
  }

  /** Whether nothing is left to come, as the store sees it. */
  isSettled(now: Snapshot): boolean {
    const isTold = ({ turnId }: TurnIds) => now.lastOf.get(turnId)?.isOpen ?? false
    return this.running.every(isTold) && [...now.messages.values()].every(({ state }) => state !== 'pending')
  }

  /** The last host has run undisturbed until all was settled, or for long enough. */
  finish(): void {
    const { messages, lastOf } = this.#last
    for (const [id, { key, state, reason }] of messages) {
      const failed = reason !== 'silence' || this.#failed.has(key)
      const mayBeTakenBack = this.#arrivals.has(id) || (this.#over.has(key) && !failed)
      if (state === 'delivered' || (state === 'withdrawn' && mayBeTakenBack)) continue
      const why = state !== 'withdrawn' ? '' : failed ? ', and its provider failed' : ', and its turn never went on'
      this.lost.push(`${id}: is ${state} in the end${why}`)
    }
    for (const { turnId } of this.running) {
      if (!lastOf.get(turnId)?.isOpen) this.lost.push(`${turnId}: is silent in the end and was not told`)
    }
    for (const key of [...this.#heard.values()].flatMap((keys) => [...keys])) {
      const isStored = this.#channels.every((channel) => messages.has(deliveryId(channel, key)))
      if (!isStored && !this.#over.has(key)) this.lost.push(`${key}: had to be told and was never written`)
    }
    for (const id of this.#arrivals.keys()) if (!messages.has(id)) this.doubled.push(`${id}: has a key of no episode`)
  }

  #remember({ started, ended, heard, wentOn, over, failed }: RunFacts): void {
    for (const turn of started) this.#running.set(turn.turnId, turn)
    for (const turnId of ended) this.#running.delete(turnId)
    for (const turnId of wentOn) for (const key of this.#heard.get(turnId) ?? []) this.#over.add(key)
    for (const key of over) this.#over.add(key)
    for (const key of failed) this.#failed.add(key)
    for (const [turnId, keys] of heard) {
      this.#heard.set(turnId, new Set([...(this.#heard.get(turnId) ?? []), ...keys]))
    }
  }
}

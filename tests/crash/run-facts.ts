/** What must hold of the store after a run, from the journal of its host alone. */

import { episodeKey } from '../../detector/verdict.ts'
import type { Entry, Meaning, TurnIds } from './journal.ts'
import { deliveryId, type Snapshot } from './snapshot.ts'

/** So many steps after something, the store must know it. One may be under way when the kill comes. */
const STEPS_TO_STORE = 2

export interface RunFacts {
  readonly started: readonly TurnIds[]
  /** Ids of turns that the host has ended: it does not restore them. */
  readonly ended: ReadonlySet<string>
  /** Keys of the verdicts, by turn id. */
  readonly heard: ReadonlyMap<string, readonly string[]>
  /** Ids of turns that went on or ended, and the keys heard before that: their messages may be taken back. */
  readonly wentOn: ReadonlySet<string>
  readonly over: ReadonlySet<string>
  /** Keys that the store must have, must have closed, and must tell whatever comes. */
  readonly written: readonly string[]
  readonly closed: readonly string[]
  readonly failed: readonly string[]
  /** Deliveries that it must know to be delivered. */
  readonly marked: readonly string[]
  /** Verdicts that are not the next of their turn. */
  readonly misnumbered: readonly string[]
}

/** The last episode of a turn, as its host must know it. */
interface Known {
  number: number
  isOpen: boolean
  /** Within this process. */
  isStale: boolean
  /** Whether its verdict is still to be heard. */
  isUnheard: boolean
}

interface Dated {
  readonly what: string
  readonly step: number
}

/** `before`: the store when the run began. A run that was not killed has stored everything. */
export function factsOf(entries: readonly Entry[], before: Snapshot, wasKilled: boolean): RunFacts {
  const run = new Run(before)
  for (const entry of entries) run.take(entry)
  return run.facts(wasKilled)
}

class Run {
  readonly #before: Snapshot
  readonly #turns = new Map<string, Known>()
  readonly #started: TurnIds[] = []
  readonly #ended = new Set<string>()
  readonly #heard = new Map<string, string[]>()
  readonly #wentOn = new Set<string>()
  readonly #over = new Set<string>()
  readonly #misnumbered: string[] = []
  readonly #written: Dated[] = []
  readonly #closed: Dated[] = []
  readonly #failed: Dated[] = []
  readonly #marked: Dated[] = []
  #step = 0

  constructor(before: Snapshot) {
    this.#before = before
  }

  take(entry: Entry): void {
    switch (entry.did) {
      case 'step':
        this.#step++
        return
      case 'start':
        this.#started.push(entry.turn)
        return this.#begin(entry.turn)
      case 'restore':
        return this.#begin(entry.turn)
      case 'feed':
        return this.#feed(entry.turn, entry.meaning)
      case 'fed':
        return this.#fed(entry.turn, entry.meaning)
      case 'judge':
        return this.#judge(entry.turn)
      case 'hear':
        return this.#hear(entry.turn, entry.episode)
      case 'send':
        for (const key of entry.keys) this.#marked.push(this.#now(deliveryId(entry.channel, key)))
        return
      case 'die':
        return
      default:
        entry satisfies never
    }
  }

  facts(wasKilled: boolean): RunFacts {
    const certain = (list: readonly Dated[]) =>
      list.filter(({ step }) => !wasKilled || this.#step - step >= STEPS_TO_STORE).map(({ what }) => what)
    return {
      started: this.#started,
      ended: this.#ended,
      heard: this.#heard,
      wentOn: this.#wentOn,
      over: this.#over,
      written: certain(this.#written),
      closed: certain(this.#closed),
      failed: certain(this.#failed),
      marked: certain(this.#marked),
      misnumbered: this.#misnumbered,
    }
  }

  #begin({ turnId }: TurnIds): void {
    const { number = 0, isOpen = false } = this.#before.lastOf.get(turnId) ?? {}
    this.#turns.set(turnId, { number, isOpen, isStale: false, isUnheard: false })
  }

  #feed({ turnId }: TurnIds, meaning: Meaning): void {
    if (meaning === 'fails') return
    if (meaning === 'ends') this.#ended.add(turnId)
    this.#wentOn.add(turnId)
    for (const key of this.#heard.get(turnId) ?? []) this.#over.add(key)
  }

  #fed(turn: TurnIds, meaning: Meaning): void {
    const known = this.#known(turn)
    const key = keyOf(turn, known.number)
    if (meaning === 'fails') {
      // It is stale at once, also where it was silent only.
      if (known.isOpen) this.#failed.push(this.#now(key))
      else this.#written.push(this.#now(keyOf(turn, known.number + 1)))
      return
    }
    if (known.isOpen) this.#closed.push(this.#now(key))
    known.isOpen = false
    known.isStale = false
  }

  #judge(turn: TurnIds): void {
    const { number, isOpen } = this.#known(turn)
    if (isOpen) this.#misnumbered.push(`${keyOf(turn, number)}: is open, and another is opened`)
    this.#open(turn, { number: number + 1, isOpen: true, isStale: true, isUnheard: true })
  }

  #hear(turn: TurnIds, episode: number): void {
    const known = this.#known(turn)
    const { number, isOpen, isStale, isUnheard } = known
    const isRight = episode === (isOpen ? number : number + 1) && (isUnheard || !isStale)
    if (!isRight) this.#misnumbered.push(`${keyOf(turn, number)}: is followed by ${episode}`)
    known.isUnheard = false
    if (!isUnheard) this.#open(turn, { number: episode, isOpen: true, isStale: true, isUnheard: false })
  }

  #open(turn: TurnIds, known: Known): void {
    const key = keyOf(turn, known.number)
    this.#turns.set(turn.turnId, known)
    this.#heard.set(turn.turnId, [...(this.#heard.get(turn.turnId) ?? []), key])
    this.#written.push(this.#now(key))
  }

  #known({ turnId }: TurnIds): Known {
    return this.#turns.get(turnId) as Known
  }

  #now(what: string): Dated {
    return { what, step: this.#step }
  }
}

function keyOf(turn: TurnIds, episode: number): string {
  return episodeKey({ ...turn, episode })
}

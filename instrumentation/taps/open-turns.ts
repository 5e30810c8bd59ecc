/** The turns that a stream has open: what must be closed when it ends. */

import { dropOldest } from '../drop-oldest.ts'
import { opensTurn, startsNamedTurn, type TurnEvent } from '../events.ts'
import { RecentSet } from '../sources/source.ts'

/** Ids of ended turns that are remembered, so that late events do not open them again. */
const ENDED_IDS = 64
const MAX_OPEN = 10_000
const UNNAMED = ''

export class OpenTurns {
  /** The id of the turn that is open in each thread. */
  readonly #turns = new Map<string, string>()
  readonly #ended = new RecentSet(ENDED_IDS)
  /** Whether there has been a turn. */
  any = false

  /** Takes each event that goes out. */
  note(thread: string, event: TurnEvent): void {
    const open = this.#turns.get(thread)
    const { turn } = event
    if (event.kind === 'turn.ended') {
      const ended = turn ?? open
      if (ended !== undefined && ended !== UNNAMED) this.#ended.add(ended)
      if (turn === undefined || open === UNNAMED || open === turn) this.#turns.delete(thread)
      return
    }
    if (open !== undefined && (turn === undefined || turn === open)) return
    if (turn === undefined ? opensTurn(event) : this.#names(turn, event, open)) this.#open(thread, turn ?? UNNAMED)
  }

  /** For each open turn, the event as one of it. */
  *of(event: TurnEvent): Generator<[thread: string, event: TurnEvent]> {
    for (const [thread, turn] of [...this.#turns]) yield [thread, turn === UNNAMED ? event : { ...event, turn }]
  }

  #open(thread: string, turn: string): void {
    this.any = true
    this.#turns.set(thread, turn)
    dropOldest(this.#turns, MAX_OPEN)
  }

  /** Whether the event's id is that of a new turn, or of the one that had none yet. */
  #names(turn: string, event: TurnEvent, open: string | undefined): boolean {
    return !this.#ended.has(turn) && (open === UNNAMED || startsNamedTurn(event))
  }
}

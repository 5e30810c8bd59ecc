/** The turns of a host: silent ones, some that go on and fall silent again, some that fail or end, at random. */

import type { TurnEvent } from '../../instrumentation/events.ts'
import type { Turnwatch } from '../../turnwatch.ts'
import type { Chance } from './chance.ts'
import type { Entry, Meaning, TurnIds } from './journal.ts'

const MOST_TURNS = 8
const MOST_EVENTS = 3
const WEIGHTS = { start: 15, 'go on': 55, fail: 14, end: 9 } as const

interface Told {
  readonly meaning: Meaning
  readonly events: readonly TurnEvent[]
}

const GOES_ON: readonly Told[] = [
  { meaning: 'goes on', events: [{ kind: 'token', stream: 'text' }] },
  {
    meaning: 'goes on',
    events: [
      { kind: 'tool.started', id: 'a' },
      { kind: 'tool.ended', id: 'a' },
    ],
  },
]
const FAILS: readonly Told[] = [
  { meaning: 'fails', events: [{ kind: 'error', message: 'overloaded_error' }] },
  { meaning: 'fails', events: [{ kind: 'exit', signal: 'SIGTERM' }] },
]
const ENDS: Told = { meaning: 'ends', events: [{ kind: 'turn.ended', outcome: 'completed' }] }
const ENDS_FAILED: Told = { meaning: 'ends', events: [{ kind: 'turn.ended', outcome: 'error' }] }

interface Running {
  readonly turn: TurnIds
  readonly observe: (event: TurnEvent) => void
}

export class HostTurns {
  readonly #watch: Turnwatch
  readonly #chance: Chance
  readonly #write: (entry: Entry) => void
  readonly #run: string
  readonly #running: Running[] = []
  readonly #stale = new Set<string>()
  #made = 0

  constructor(watch: Turnwatch, chance: Chance, write: (entry: Entry) => void, run: string) {
    this.#watch = watch
    this.#chance = chance
    this.#write = write
    this.#run = run
    watch.on('stale', ({ threadId, turnId, episode, reason }) => {
      this.#stale.add(turnId)
      write({ did: 'hear', turn: { threadId, turnId }, episode, reason })
    })
    watch.on('recovered', ({ turnId }) => this.#stale.delete(turnId))
  }

  /** Finds turns running that a host before this one began. */
  restore(turns: readonly TurnIds[]): void {
    for (const turn of turns) {
      this.#write({ did: 'restore', turn })
      if (this.#chance.happens(0.5)) this.#begin(turn)
      else {
        const { threadId, turnId } = turn
        const observe = (event: TurnEvent) => this.#watch.observe(threadId, { ...event, turn: turnId })
        observe({ kind: 'turn.restored', provider: 'codex' })
        this.#running.push({ turn, observe })
      }
    }
  }

  /** A look at every turn. */
  tick(): void {
    this.#write({ did: 'step' })
    this.#watch.tick()
  }

  /** Something happens to some of them. */
  act(): void {
    for (let left = this.#chance.between(0, MOST_EVENTS); left > 0; left--) {
      const act = this.#running.length < 2 ? 'start' : this.#chance.weighted(WEIGHTS)
      if (act === 'start') this.#start()
      else if (act === 'go on') this.#tell(this.#oneToGoOn(), this.#chance.oneOf(GOES_ON))
      else if (act === 'end') this.#end(this.#chance.oneOf(this.#running), ENDS)
      else {
        const failing = this.#chance.oneOf(this.#running)
        this.#tell(failing, this.#chance.oneOf(FAILS))
        if (this.#chance.happens(0.4)) this.#end(failing, ENDS_FAILED)
      }
    }
  }

  #start(): void {
    if (this.#running.length >= MOST_TURNS) return
    const id = `${this.#run}-${++this.#made}`
    const turn = turnOf(`sub.boss-${this.#made % 2}.${id}`)
    this.#write({ did: 'start', turn })
    this.#begin(turn)
  }

  #begin(turn: TurnIds): void {
    const handle = this.#watch.startTurn({ ...turn, provider: 'codex', model: 'gpt-5.5' })
    this.#running.push({ turn, observe: (event) => handle.observe(event) })
  }

  #tell({ turn, observe }: Running, { meaning, events }: Told): void {
    this.#write({ did: 'feed', turn, meaning })
    for (const event of events) observe(event)
    this.#write({ did: 'fed', turn, meaning })
  }

  #end(running: Running, told: Told): void {
    this.#running.splice(this.#running.indexOf(running), 1)
    this.#tell(running, told)
  }

  /** A stale one where there is one, so that it has more than one episode. */
  #oneToGoOn(): Running {
    const stale = this.#running.filter(({ turn }) => this.#stale.has(turn.turnId))
    return this.#chance.oneOf(stale.length > 0 && this.#chance.happens(0.6) ? stale : this.#running)
  }
}

/** A thread of such a host has one turn. */
export function turnOf(threadId: string): TurnIds {
  return { threadId, turnId: `turn-${threadId.slice(threadId.lastIndexOf('.') + 1)}` }
}

/** Whether a turn, or the key of a message, is of one of the runs of a host. */
export function isOf(turnIdOrKey: string, host: string): boolean {
  const [, run = ''] = /turn-([^/-]*)-/.exec(turnIdOrKey) ?? []
  return run.startsWith(host) && /^\d+$/.test(run.slice(host.length))
}

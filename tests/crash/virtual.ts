/** Thousands of kills in a worker: chains of hosts on a virtual clock, each chain on a store file of its own. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { TICK_MS } from '../../detector/observed-clock.ts'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { Chance } from './chance.ts'
import { isOf } from './host-turns.ts'
import { POINTS, reachStatements, type Sabotage } from './kill-points.ts'
import { Ledger } from './ledger.ts'
import { type Outcome, outcomeOf, sumOf } from './outcome.ts'
import { NOTHING, readSnapshot, type Snapshot } from './snapshot.ts'
import { VirtualLife } from './virtual-life.ts'

export interface VirtualOptions {
  readonly kills: number
  readonly seed: number
  readonly folder: string
  readonly sabotage: Sabotage | null
}

const KILLS_OF_CHAIN = 40
const LONGEST_LIFE_TICKS = 14
const LONGEST_PAUSE_MS = 60_000
const LONGEST_END_TICKS = 1500
const SHORT_END_TICKS = 50
const END_LOOK_TICKS = 10
/** How far the wall clock may be off: a message that is due waits as long as it was set back. */
const WALL_OFF_MS = 300_000
/** Turns of the event loop in which a watch does what it put off. */
const LOOP_TURNS = 4

interface Seat {
  readonly name: string
  life: VirtualLife | null
  ticksLeft: number
  /** Virtual ms. */
  startAt: number
}

class VirtualChain {
  readonly #host = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
  readonly #chance: Chance
  readonly #file: string
  readonly #sabotage: Sabotage | null
  readonly #channels: readonly string[]
  readonly #options: Omit<NotifierOptions, 'channels'>
  readonly #ledger: Ledger
  readonly #seats: Seat[]
  readonly #killedAt: string[] = []
  readonly #faults: string[] = []
  /** Kept open, so that no host is the last to close the file, as a killed one never is. */
  #db: DatabaseSync | null = null
  #wallOffMs = 0
  #runs = 0
  #takenOver = 0

  constructor(name: string, folder: string, chance: Chance, sabotage: Sabotage | null) {
    this.#file = join(folder, `virtual-${name}.db`)
    this.#chance = chance
    this.#sabotage = sabotage
    this.#channels = chance.happens(0.3) ? ['hook', 'pager'] : ['hook']
    this.#options = {
      whenOver: chance.oneOf(['withdraw', 'say']),
      recovered: chance.happens(0.3),
      groupMs: chance.oneOf([0, 0, 3000]),
    }
    this.#ledger = new Ledger(this.#channels)
    const hosts = chance.happens(0.3) ? ['a', 'b'] : ['a']
    this.#seats = hosts.map((host) => ({ name: `${name}${host}`, life: null, ticksLeft: 0, startAt: 0 }))
  }

  async run(kills: number): Promise<Outcome> {
    while (this.#killedAt.length < kills) {
      if (this.#seats.every(({ life }) => life === null)) this.#sleep()
      for (const seat of this.#seats) if (seat.life === null && this.#host.now >= seat.startAt) this.#begin(seat, true)
      await this.#second()
      for (const seat of this.#seats) this.#look(seat)
    }
    for (const seat of this.#seats) {
      if (seat.life !== null) this.#bury(seat, seat.life)
      this.#begin(seat, false)
    }
    const longest = this.#sabotage === null ? LONGEST_END_TICKS : SHORT_END_TICKS
    for (let ticks = 1; ticks < longest; ticks++) {
      await this.#second()
      if (ticks % END_LOOK_TICKS === 0 && this.#ledger.isSettled(this.#snapshot())) break
    }
    for (const { life } of this.#seats) {
      if (life === null) continue
      await life.stop()
      this.#over(life)
    }
    this.#ledger.finish()
    this.#db?.close()
    return outcomeOf(this.#ledger, this.#killedAt, this.#takenOver, this.#faults)
  }

  /** One tick of every host, and what follows from it. */
  async #second(): Promise<void> {
    this.#host.run(this.#host.now + TICK_MS, () => {
      for (const { life } of this.#seats) life?.tick()
    })
    for (let left = LOOP_TURNS; left > 0; left--) await turn()
  }

  /** Until somebody starts: nobody lives to whom anything could happen. */
  #sleep(): void {
    this.#host.run(Math.min(...this.#seats.map(({ startAt }) => startAt)), () => {})
  }

  #begin(seat: Seat, dies: boolean): void {
    const run = `${seat.name}${++this.#runs}`
    const chance = this.#chance
    this.#ledger.begins(run)
    seat.ticksLeft = chance.between(1, LONGEST_LIFE_TICKS)
    seat.life = new VirtualLife({
      run,
      host: this.#host,
      file: this.#file,
      channels: this.#channels,
      options: this.#options,
      restores: this.#ledger.running.filter(({ turnId }) => isOf(turnId, seat.name)),
      chance,
      dies: dies ? { point: chance.oneOf(POINTS), nth: chance.between(1, 3) } : null,
      sabotage: this.#sabotage,
      receives: (receipt) => {
        this.#ledger.receives(receipt)
        if (receipt.isTaken) this.#takenOver += receipt.keys.filter((key) => !isOf(key, seat.name)).length
      },
    })
  }

  #look(seat: Seat): void {
    const { life } = seat
    if (life === null) return
    if (--seat.ticksLeft < 0) life.kill()
    if (life.diedAt !== null) this.#bury(seat, life)
  }

  #bury(seat: Seat, life: VirtualLife): void {
    life.kill()
    this.#killedAt.push(life.diedAt as string)
    this.#over(life)
    life.bury()
    seat.life = null
    const chance = this.#chance
    seat.startAt = this.#host.now + (chance.happens(0.5) ? 0 : chance.between(0, LONGEST_PAUSE_MS))
    const isAlone = this.#seats.every((one) => one.life === null)
    if (!isAlone || chance.happens(0.9)) return
    const wallOffMs = chance.between(-WALL_OFF_MS, WALL_OFF_MS)
    this.#host.stepWallClock(wallOffMs - this.#wallOffMs)
    this.#wallOffMs = wallOffMs
  }

  #over(life: VirtualLife): void {
    this.#ledger.ends(life.run, life.entries, this.#snapshot(), life.diedAt !== null)
    this.#faults.push(...life.faults)
  }

  #snapshot(): Snapshot {
    if (this.#db === null && !existsSync(this.#file)) return NOTHING
    this.#db ??= new DatabaseSync(this.#file, { readOnly: true, timeout: 30_000 })
    return readSnapshot(this.#db)
  }
}

async function virtualKills({ kills, seed, folder, sabotage }: VirtualOptions): Promise<Outcome> {
  reachStatements()
  const chance = new Chance(seed)
  // Back-offs are drawn by the package itself.
  Math.random = () => chance.next()
  const outcomes: Outcome[] = []
  for (let left = kills; left > 0; left -= KILLS_OF_CHAIN) {
    const chain = new VirtualChain(`${outcomes.length + 1}`, folder, new Chance(chance.seed()), sabotage)
    outcomes.push(await chain.run(Math.min(left, KILLS_OF_CHAIN)))
  }
  return sumOf(outcomes)
}

parentPort?.postMessage(await virtualKills(workerData as VirtualOptions))

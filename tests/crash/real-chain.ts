/** Real processes on one store file, one host or two at once: each is killed and followed by another, the last are left alone. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { channelId } from '../../notifier/channel-id.ts'
import { webhookChannel } from '../../notifier/channels/webhook.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import type { Chance } from './chance.ts'
import type { ChannelPlan, HostPlan } from './host-plan.ts'
import { HostProcess, type Programs } from './host-process.ts'
import { isOf, turnOf } from './host-turns.ts'
import { readJournal } from './journal.ts'
import { ANSWERS, ANY_TIME, type Answer, isTaken, POINTS, type Sabotage } from './kill-points.ts'
import { Ledger, type Receipt } from './ledger.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import type { Receiver } from './receiver.ts'
import { damageOf, snapshotOf } from './snapshot.ts'

/** Real ms. */
const LONGEST_LIFE_MS = 150
/** Of one that kills itself, after so many steps at most. */
const LONGEST_WAY_MS = 60_000
const LONGEST_WAY_STEPS = 12
const LONGEST_PAUSE_MS = 150
const LONGEST_END_MS = 120_000
/** Where something is wrong, or is made to be. */
const SHORT_END_MS = 2000
const LOOK_MS = 50
/** One host at a time: its lease runs on the clock of its successor. Two: the harness sets the clock of the survivor ahead. */
const LEASE_MS = 1500
const SHARED_LEASE_MS = 600_000
/** Turns of the event loop in which everything is received that a dead process had sent. */
const LOOP_TURNS = 8
/** Of so many hosts one sends through the package's own webhook. */
const BY_WEBHOOK = 40

interface Seat {
  readonly name: string
  host: HostProcess | null
}

export interface ChainSettings {
  readonly name: string
  readonly hosts: 1 | 2
  readonly channels: readonly string[]
  readonly options: Omit<NotifierOptions, 'channels'>
  readonly folder: string
  readonly programs: Programs
  readonly receiver: Receiver
  readonly chance: Chance
  readonly sabotage: Sabotage | null
}

export class RealChain {
  readonly #settings: ChainSettings
  readonly #file: string
  readonly #channels: readonly ChannelPlan[]
  readonly #seats: readonly Seat[]
  readonly #ledger: Ledger
  readonly #killedAt: string[] = []
  readonly #faults: string[] = []
  readonly #epochMs = Date.now()
  /** Runs that the receiver kills at their so many-th request. */
  readonly #receiverKills = new Map<string, number>()
  #skewMs = 0
  #runs = 0
  #toKill = 0
  #takenOver = 0
  #isEnding = false

  constructor(settings: ChainSettings) {
    const { name, hosts, channels, folder, receiver } = settings
    this.#settings = settings
    this.#file = join(folder, `real-${name}.db`)
    this.#seats = ['a', 'b'].slice(0, hosts).map((host) => ({ name: `${name}${host}`, host: null }))
    this.#channels = channels.map((channel) => planOf(channel, receiver.url(name, channel)))
    this.#ledger = new Ledger(this.#channels.map(({ id }) => id))
    receiver.serve(name, (request) => this.#receive(request))
  }

  async run(kills: number): Promise<Outcome> {
    this.#toKill = kills
    await Promise.all(this.#seats.map((seat) => this.#lives(seat)))
    await this.#end()
    this.#ledger.finish()
    const damage = damageOf(this.#file)
    if (damage !== null) this.#faults.push(`${this.#file}: ${damage}`)
    return outcomeOf(this.#ledger, this.#killedAt, this.#takenOver, this.#faults)
  }

  async #lives(seat: Seat): Promise<void> {
    while (this.#toKill > 0 && this.#faults.length === 0) {
      this.#toKill--
      await this.#life(seat)
      await this.#takeOver(seat)
    }
  }

  async #life(seat: Seat): Promise<void> {
    const { chance } = this.#settings
    const point = chance.happens(0.6) ? chance.oneOf(POINTS) : null
    const nth = chance.between(1, 3)
    const steps = chance.between(4, LONGEST_WAY_STEPS)
    const plan = this.#plan(seat, { dies: point === null ? null : { point, nth, steps }, isLeftAlone: false })
    if (point === 'in send') this.#receiverKills.set(plan.run, nth)
    const host = this.#start(seat, plan)
    await host.up
    const timer =
      point === null
        ? setTimeout(() => host.kill(ANY_TIME), chance.between(1, LONGEST_LIFE_MS))
        : setTimeout(() => this.#hangs(host, plan), LONGEST_WAY_MS)
    const { code, signal, stderr } = await host.ended
    clearTimeout(timer)
    const entries = await this.#over(seat, plan, true)
    const died = entries.findLast((entry) => entry.did === 'die')
    if (signal === 'SIGKILL') this.#killedAt.push(died?.at ?? host.killedBy ?? 'unknown')
    else this.#faults.push(`${plan.run}: ended with ${signal ?? code}`)
    if (stderr !== '') this.#faults.push(stderr)
  }

  #hangs(host: HostProcess, { run }: HostPlan): void {
    this.#faults.push(`${run}: hangs`)
    host.kill(ANY_TIME)
  }

  /** The lease of the dead host is over, for one that shares its store. Its successor comes sooner or later. */
  async #takeOver(seat: Seat): Promise<void> {
    if (this.#seats.length === 1) return
    const { chance } = this.#settings
    this.#skewMs += SHARED_LEASE_MS + 1000
    for (const { host } of this.#seats) await host?.skew(this.#skewMs)
    if (chance.happens(0.5)) await sleep(chance.between(1, LONGEST_PAUSE_MS))
    if (seat.host !== null) throw new Error(`${seat.name} has two hosts`)
  }

  async #end(): Promise<void> {
    this.#isEnding = true
    const last = this.#seats.map((seat) => {
      // So that there is something to tell, however soon all others were killed.
      this.#ledger.expects(turnOf(`sub.boss-0.${seat.name}0-0`))
      const plan = this.#plan(seat, { dies: null, isLeftAlone: true })
      return { seat, plan, host: this.#start(seat, plan) }
    })
    const isOver = Promise.race(last.map(({ host }) => host.ended))
    const { lost, doubled } = this.#ledger
    const isWrong = this.#settings.sabotage !== null || lost.length + doubled.length + this.#faults.length > 0
    const tooLate = Date.now() + (isWrong ? SHORT_END_MS : LONGEST_END_MS)
    while (!this.#ledger.isSettled(snapshotOf(this.#file)) && Date.now() < tooLate) {
      if ((await Promise.race([isOver, sleep(LOOK_MS)])) !== undefined) break
    }
    for (const { host } of last) host.stop()
    for (const { seat, plan, host } of last) {
      const { code, signal, stderr } = await host.ended
      await this.#over(seat, plan, code !== 0)
      if (code !== 0) this.#faults.push(`${plan.run}, left alone: ended with ${signal ?? code}`)
      if (stderr !== '') this.#faults.push(stderr)
    }
  }

  #plan(seat: Seat, { dies, isLeftAlone }: Pick<HostPlan, 'dies' | 'isLeftAlone'>): HostPlan {
    const { hosts, options, folder, chance, sabotage } = this.#settings
    const run = `${seat.name}${++this.#runs}`
    return {
      run,
      file: this.#file,
      journal: join(folder, `${run}.jsonl`),
      channels: this.#channels,
      byWebhook: this.#runs % BY_WEBHOOK === 0,
      options: { ...options, leaseMs: hosts === 1 ? LEASE_MS : SHARED_LEASE_MS },
      restores: this.#ledger.running.filter(({ turnId }) => isOf(turnId, seat.name)),
      seed: chance.seed(),
      epochMs: this.#epochMs,
      skewMs: this.#skewMs,
      dies,
      isLeftAlone,
      sabotage,
    }
  }

  #start(seat: Seat, plan: HostPlan): HostProcess {
    this.#ledger.begins(plan.run)
    seat.host = new HostProcess(plan, this.#settings.programs)
    return seat.host
  }

  async #over(seat: Seat, { run, journal }: HostPlan, wasKilled: boolean) {
    seat.host = null
    for (let left = LOOP_TURNS; left > 0; left--) await turn()
    const entries = readJournal(journal)
    rmSync(journal, { force: true })
    this.#ledger.ends(run, entries, snapshotOf(this.#file), wasKilled)
    return entries
  }

  #receive(request: Omit<Receipt, 'isTaken'>): Answer {
    const { chance, sabotage } = this.#settings
    const { run, keys } = request
    const { id: channel } = this.#channels.find(({ name }) => name === request.channel) as ChannelPlan
    const seat = this.#seats.find(({ name }) => isOf(`turn-${run}-`, name))
    const answer = this.#isEnding ? 'taken' : chance.weighted(ANSWERS)
    const taken = isTaken(answer)
    if (!(taken && sabotage === 'dropped')) this.#ledger.receives({ ...request, channel, isTaken: taken })
    if (taken && seat) this.#takenOver += keys.filter((key) => !isOf(key, seat.name)).length
    const left = this.#receiverKills.get(run)
    if (left !== undefined) this.#receiverKills.set(run, left - 1)
    if (left === 1) seat?.host?.kill('in send')
    return answer
  }
}

/** Known to the store as the package's own webhook would be. */
function planOf(name: string, url: string): ChannelPlan {
  const channel = webhookChannel({ name, url })
  void channel.close?.()
  return { name, url, target: channel.target ?? '', id: channelId(channel) }
}

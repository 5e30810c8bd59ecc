/**
 * A dozen hosts in this process, each with a watch and a server of its own, and one that pushes. Their time is virtual
 * until `live`, and then goes on second by second.
 */

import type { PerThreadSeries } from '../../instrumentation/metrics/measured.ts'
import { type LivenessServer, livenessApp, serveLiveness } from '../../liveness/index.ts'
import type { TurnHandle, Turnwatch } from '../../turnwatch.ts'
import { type Fixture, fixture } from '../liveness/manual-clock.ts'

type Model = 'claudeAgent/opus' | 'codex/gpt' | 'opencode/qwen' | 'opencode/llama'

interface HostPlan {
  readonly shard: 'a' | 'b' | 'pushes'
  readonly perThread?: PerThreadSeries
  /** Turns that stream all the time. */
  readonly streams?: readonly Model[]
  /** Turns that fall silent at once. */
  readonly silent?: readonly Model[]
  /** Turns that end, and others that begin, second by second. */
  readonly short?: Model
}

/** No host has three stale turns of codex, nor has a shard; the fleet has four of five. */
const PLANS: Readonly<Record<string, HostPlan>> = {
  a1: { shard: 'a', streams: ['claudeAgent/opus', 'claudeAgent/opus', 'claudeAgent/opus'] },
  a2: { shard: 'a', streams: ['claudeAgent/opus'], silent: ['codex/gpt'] },
  a3: { shard: 'a', streams: ['claudeAgent/opus', 'opencode/qwen'], silent: ['claudeAgent/opus'] },
  a4: { shard: 'a', streams: ['opencode/llama'], silent: ['codex/gpt'] },
  a5: { shard: 'a' },
  a6: { shard: 'a', streams: ['claudeAgent/opus', 'opencode/qwen', 'opencode/llama'] },
  b1: { shard: 'b', streams: ['claudeAgent/opus', 'claudeAgent/opus'], silent: ['codex/gpt'], perThread: 'stale' },
  b2: { shard: 'b', streams: ['claudeAgent/opus'], short: 'opencode/qwen', perThread: 'off' },
  b3: { shard: 'b', streams: ['claudeAgent/opus'], silent: ['codex/gpt'] },
  b4: { shard: 'b', streams: ['codex/gpt'] },
  b5: { shard: 'b', streams: ['opencode/qwen', 'opencode/qwen'] },
  b6: { shard: 'b', streams: ['claudeAgent/opus', 'claudeAgent/opus'] },
  pushed: { shard: 'pushes', streams: ['claudeAgent/opus'] },
}

export class FleetHost {
  readonly name: string
  readonly plan: HostPlan
  readonly perThread: PerThreadSeries
  readonly #at: Fixture
  readonly #streams: readonly TurnHandle[]
  #shortTurns = 0
  #server: LivenessServer | null = null

  constructor(name: string, plan: HostPlan) {
    this.name = name
    this.plan = plan
    this.perThread = plan.perThread ?? 'all'
    this.#at = fixture()
    this.#streams = (plan.streams ?? []).map((model, i) => this.#start(`${name}-streams-${i}`, model))
    for (const [i, model] of (plan.silent ?? []).entries()) {
      this.#start(`${name}-silent-${i}`, model).observe({ kind: 'token', stream: 'text' })
    }
    if (plan.short) this.#start('short', plan.short)
  }

  get watch(): Turnwatch {
    return this.#at.watch
  }

  /** Host and port, as Prometheus names it. */
  get instance(): string {
    return this.#server === null ? this.name : `127.0.0.1:${this.#server.port}`
  }

  /** A second passes. */
  beat(): void {
    for (const turn of this.#streams) turn.observe({ kind: 'token', stream: 'text' })
    if (this.plan.short) {
      this.watch.observe('short', { kind: 'token', stream: 'text' })
      this.watch.observe('short', { kind: 'turn.ended', outcome: 'completed' })
      this.#start('short', this.plan.short, `${this.#shortTurns++}`)
    }
    this.#at.pass(1)
  }

  /** Its clock shows the time of day from now on. */
  setWallClock(): void {
    this.#at.clock.wall = Date.now()
  }

  async serve(): Promise<void> {
    this.#server = await serveLiveness(this.watch, { port: 0, perThread: this.perThread })
  }

  /** What it pushes, where it is not scraped. */
  async text(): Promise<string> {
    return (await livenessApp(this.watch, { perThread: this.perThread }).request('/metrics')).text()
  }

  /** The port is closed. */
  async kill(): Promise<void> {
    await this.#server?.close()
  }

  #start(threadId: string, of: Model, turnId?: string): TurnHandle {
    const [provider, model] = of.split('/') as [string, string]
    return this.watch.startTurn({ threadId, provider, model, ...(turnId === undefined ? {} : { turnId }) })
  }
}

/** Seconds until every silent turn is stale. */
const SILENCE = 130

export class Fleet {
  readonly hosts: readonly FleetHost[]
  #timer: NodeJS.Timeout | null = null

  private constructor(hosts: readonly FleetHost[]) {
    this.hosts = hosts
  }

  /** The silent turns are stale, every scraped host listens, and time goes on. */
  static async live(): Promise<Fleet> {
    const fleet = new Fleet(Object.entries(PLANS).map(([name, plan]) => new FleetHost(name, plan)))
    for (let second = 0; second < SILENCE; second++) for (const host of fleet.hosts) host.beat()
    for (const host of fleet.hosts) {
      host.setWallClock()
      if (host.plan.shard !== 'pushes') await host.serve()
    }
    fleet.#timer = setInterval(() => {
      for (const host of fleet.hosts) host.beat()
    }, 1000)
    return fleet
  }

  get(name: string): FleetHost {
    return this.hosts.find((host) => host.name === name) as FleetHost
  }

  of(shard: HostPlan['shard']): FleetHost[] {
    return this.hosts.filter((host) => host.plan.shard === shard)
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    for (const host of this.hosts) await host.kill()
  }
}

/** A host process as the stage holds it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endProcess } from '../setup/end-process.ts'
import type { HostPlan, Order, Said } from './host-orders.ts'
import { until } from './until.ts'

const PROGRAM = fileURLToPath(new URL('host-child.ts', import.meta.url))
/** Modules are compiled once, not by every host. */
const COMPILE_CACHE = join(tmpdir(), 'turnwatch-test-compile-cache')

type Verdict = Extract<Said, { said: 'stale' }>
type Ended = Extract<Said, { said: 'ended' }>

export class LoopHost {
  /** In every scene's words. */
  readonly name: string
  readonly #plan: HostPlan
  readonly #said: Said[] = []
  #child: ChildProcess

  private constructor(name: string, plan: HostPlan) {
    this.name = name
    this.#plan = plan
    this.#child = this.#spawn()
  }

  /** Resolves when it serves. */
  static async start(name: string, plan: HostPlan): Promise<LoopHost> {
    const host = new LoopHost(name, plan)
    await host.#isUp()
    return host
  }

  get instance(): string {
    return `127.0.0.1:${this.#plan.port}`
  }

  tell(...orders: readonly Order[]): void {
    for (const order of orders) this.#child.send(order)
  }

  /** Until a turn of the thread is stale. */
  stale(thread: string): Promise<Verdict> {
    const isIt = (said: Said): said is Verdict => said.said === 'stale' && said.thread === thread
    return until(`${thread} is stale`, () => this.#said.find(isIt))
  }

  ended(thread: string): Promise<Ended> {
    const isIt = (said: Said): said is Ended => said.said === 'ended' && said.thread === thread
    return until(`${thread} has ended`, () => this.#said.find(isIt))
  }

  /** Nothing is finished or said any more. */
  async kill(): Promise<void> {
    await endProcess(this.#child, 'SIGKILL')
  }

  /** A new process at the same address. */
  async restart(): Promise<void> {
    this.#said.length = 0
    this.#child = this.#spawn()
    await this.#isUp()
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill()
  }

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(this.#plan)], {
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (said: Said) => this.#said.push(said))
    return child
  }

  async #isUp(): Promise<void> {
    await until(`${this.name} is up`, () => {
      if (this.#child.exitCode !== null) throw new Error(`${this.name} ended with ${this.#child.exitCode}`)
      return this.#said.some(({ said }) => said === 'up')
    })
  }
}

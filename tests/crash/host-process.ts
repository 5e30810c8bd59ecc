/** A host process as the harness holds it. */

import { type ChildProcess, spawn } from 'node:child_process'
import type { Command, HostPlan, Said } from './host-plan.ts'
import { SOURCE } from './host-program.ts'

const living = new Set<ChildProcess>()

export interface Programs {
  /** Starts fast, and cannot load the package's own webhook. */
  readonly fast: string
  readonly compileCache: string
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

export class HostProcess {
  /** Who had it killed; null while nobody has. */
  killedBy: string | null = null
  readonly up: Promise<void>
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  readonly #isOver: Promise<unknown>

  constructor(plan: HostPlan, { fast, compileCache }: Programs) {
    this.#child = start(plan.byWebhook ? SOURCE : fast, [JSON.stringify(plan)], compileCache)
    this.ended = ended(this.#child)
    this.#isOver = this.ended
    this.up = this.#says((said) => said === 'up')
  }

  kill(by: string): void {
    this.killedBy ??= by
    this.#child.kill('SIGKILL')
  }

  stop(): void {
    this.#tell('stop')
  }

  /** Sets its wall clock ahead. Resolves when it has done what follows from it, or is dead. */
  skew(skewMs: number): Promise<void> {
    const done = this.#says((said) => said !== 'up' && said.skewMs === skewMs)
    this.#tell({ skewMs })
    return done
  }

  #tell(command: Command): void {
    // One that was killed a moment ago hears nothing.
    if (this.#child.connected) this.#child.send(command, () => {})
  }

  async #says(isIt: (said: Said) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const listen = (said: Said) => {
      if (isIt(said)) resolve()
    }
    this.#child.on('message', listen)
    await Promise.race([promise, this.#isOver])
    this.#child.off('message', listen)
  }
}

/** Loads a host once, for those that are killed leave nothing in the compile cache. */
export async function fillCompileCache({ fast, compileCache }: Programs): Promise<void> {
  const { code, stderr } = await ended(start(fast, [], compileCache))
  if (code !== 0) throw new Error(`a host does not load: ${stderr}`)
}

/** At the end of the harness, whatever way that comes. */
export function killAll(): void {
  for (const child of living) child.kill('SIGKILL')
}

function start(program: string, args: readonly string[], compileCache: string): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  living.add(child)
  return child
}

function ended(child: ChildProcess): Promise<Ended> {
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      living.delete(child)
      resolve({ code, signal, stderr: stderr.trim() })
    })
  })
}

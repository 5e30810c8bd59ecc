/** `turnwatch run` over an agent on a stage: what it told, what it measured, and how both ended. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Receiver, receiver } from '../../command/receiver.ts'
import type { Agent } from '../agent/agent.ts'
import type { Did, Entry, ProviderLog } from '../provider/log.ts'
import type { Scene } from '../provider/scene.ts'
import type { Child, Stage } from '../stage/stage.ts'
import { type Statistics, statisticsOf } from './statistics.ts'

const main = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** A message to the webhook, as far as the tests look at it. */
interface Told {
  readonly reason: string
  readonly phase: string
  readonly provider: string
  readonly silenceMs: number
  readonly thresholdMs: number
  /** Monotonic ms at which it came, on the clock of the provider's log. */
  readonly at: number
}

export interface Ended {
  readonly code: number | null
  /** Lines of ours on stderr. */
  readonly notes: readonly string[]
  readonly told: readonly Told[]
  readonly statistics: Statistics
}

export interface WatchedRun {
  readonly log: ProviderLog
  /** Monotonic ms. */
  readonly startedAt: number
  readonly ended: Promise<Ended>
  /** Until the provider has done this; rejects when the run ends without. */
  until(did: Did, times?: number): Promise<Entry>
  /** The next message; rejects when the run ends without. */
  tells(): Promise<Told>
  /** Kills the agent, not us; says when. */
  killAgent(): number
  /** Ends it as a user does. */
  interrupt(): void
}

export async function watchedRun(
  stage: Stage,
  agent: Agent,
  scene: Scene,
  limits: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<WatchedRun> {
  const { url, log } = await stage.provide(scene)
  const prepared = agent.prepare(stage, url)
  const hook = await receiver([204])
  const metrics = join(stage.folder, 'turnwatch.prom')
  const ours = ['--store', 'off', '--notify', hook.url, '--metrics-file', metrics, ...limits]
  const startedAt = performance.now()
  const child = stage.start([process.execPath, main, 'run', ...ours, '--', ...prepared.command], {
    ...prepared.env,
    ...env,
  })
  child.stdin.end()
  const ended = endOf(child, hook, metrics)
  // Whoever waits for it hears of a failure; a test that failed before does not.
  ended.catch(() => {})
  const before = <T>(awaited: Promise<T>): Promise<T> =>
    Promise.race([awaited, ended.then(({ notes }) => Promise.reject(new Error(`ended before: ${notes.join('\n')}`)))])
  let seen = 0
  return {
    log,
    startedAt,
    ended,
    until: (did, times) => before(log.until(did, times)),
    async tells() {
      const next = ++seen
      await before(hook.gets(next))
      return toldOf(hook)[next - 1] as Told
    },
    killAgent: () => stage.kill(prepared.command),
    interrupt() {
      child.kill('SIGINT')
    },
  }
}

async function endOf(child: Child, hook: Receiver, metrics: string): Promise<Ended> {
  let stderr = ''
  child.stdout.resume()
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const notes = stderr.split('\n').filter((line) => line.startsWith('turnwatch: '))
  try {
    return { code, notes, told: toldOf(hook), statistics: statisticsOf(readFileSync(metrics, 'utf8')) }
  } catch (error) {
    throw new Error(`no metrics: ${stderr}`, { cause: error })
  }
}

function toldOf({ posts }: Receiver): Told[] {
  return posts.map(({ body, at }) => ({
    reason: body.reason,
    phase: body.phase,
    provider: body.provider,
    silenceMs: body.silenceMs,
    thresholdMs: body.thresholdMs,
    at,
  }))
}

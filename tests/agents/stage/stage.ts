/**
 * Where one agent runs: a home of its own, a provider on loopback, and nothing else of the world. Whatever was started
 * there is gone at the end, also when the test fails.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import type { Scene } from '../provider/scene.ts'
import { type Provider, startProvider } from '../provider/server.ts'
import { startOutside } from './outside.ts'
import { MARK, processesOf } from './processes.ts'

/** What a story keeps of what was written at once. */
const LINE_LENGTH = 300

export interface Stage {
  readonly folder: string
  /** Where the agent works; empty at first. */
  readonly work: string
  provide(scene: Scene): Promise<Provider>
  /** Starts a program in the work folder, in an environment that has nothing of the user's. */
  start(command: readonly string[], env: NodeJS.ProcessEnv): Child
  /** Kills a program that was started, below any launcher of its own. Says when, on the monotonic clock. */
  kill(command: readonly string[]): number
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** A test on a stage of its own. */
export const live = test.extend<{ stage: Stage }>({
  stage: async ({ onTestFailed }, use) => {
    const stage = await openStage()
    onTestFailed(() => void process.stderr.write(`${stage.story()}\n`))
    try {
      await use(stage)
    } finally {
      await stage.close()
    }
  },
})

interface OpenStage extends Stage {
  /** What was said and done so far, for whoever looks into a failure. */
  story(): string
  close(): Promise<void>
}

async function openStage(): Promise<OpenStage> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwatch-agent-'))
  const [home, work, temp] = ['home', 'work', 'temp'].map((name) => join(folder, name)) as [string, string, string]
  for (const one of [home, work, temp]) mkdirSync(one)
  const cleanUp = startKeeper(folder)
  const outside = await startOutside()
  const providers: Provider[] = []
  const said: string[] = []
  const openedAt = performance.now()
  const tell = (line: string) => said.push(`${Math.round(performance.now() - openedAt)} ${line}`)
  const env = {
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    LANG: 'C.UTF-8',
    HOME: home,
    TMPDIR: temp,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CACHE_HOME: join(home, 'cache'),
    ...outside.env,
    [MARK]: folder,
  }
  return {
    folder,
    work,
    async provide(scene) {
      const provider = await startProvider(scene, ({ call, did, of }) => tell(`provider: ${call} ${did} ${of}`))
      providers.push(provider)
      return provider
    },
    start([file, ...args], more) {
      const child = spawn(file as string, args, {
        cwd: work,
        env: { ...env, ...more },
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      child.stdin.on('error', () => {})
      child.stdout.on('data', (chunk: Buffer) => tell(`stdout: ${String(chunk).slice(0, LINE_LENGTH)}`))
      child.stderr.on('data', (chunk: Buffer) => tell(`stderr: ${chunk}`))
      child.on('error', ({ message }) => tell(message))
      child.on('exit', (code, signal) => tell(`exit: ${code ?? signal}`))
      return child
    },
    kill(command) {
      const args = command.slice(1).join(' ')
      const all = processesOf(folder).filter(({ command }) => command.endsWith(args))
      const last = all.find(({ pid }) => !all.some(({ parent }) => parent === pid))
      if (!last) throw new Error(`does not run: ${command.join(' ')}`)
      process.kill(last.pid, 'SIGKILL')
      return performance.now()
    },
    story: () => said.join('\n'),
    async close() {
      await cleanUp()
      for (const one of [...providers, outside]) await one[Symbol.asyncDispose]()
      if (outside.wanted.length > 0) throw new Error(`wanted from elsewhere: ${outside.wanted.join(', ')}`)
    },
  }
}

/** Starts what ends all of the stage's processes and removes its folder: when it is told to, or we are gone. */
function startKeeper(folder: string): () => Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./keeper.ts', import.meta.url)), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const complaint = text(child.stderr)
  return async () => {
    child.stdin.end()
    const [code] = await exited
    if (code !== 0) throw new Error(await complaint)
  }
}

/** The runtimes as programs: how each is called, and what it is given. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { endProcess } from '../setup/end-process.ts'
import { installPackages } from '../setup/npm-packages.ts'

const modules = fileURLToPath(new URL('node_modules/', import.meta.url))
const MOST_MS = 60_000

export interface Runtime {
  readonly command: string
  /** Before the program. */
  readonly args: readonly string[]
}

export const NODE: Runtime = { command: process.execPath, args: [] }
export const BUN: Runtime = { command: `${modules}@oven/bun-linux-x64-baseline/bin/bun`, args: ['run', '--no-install'] }
const DENO_ARGS = ['run', '--no-prompt', '--no-config', '--no-lock', '--no-remote', '--no-npm']
const DENO_COMMAND = `${modules}@deno/linux-x64-glibc/deno`
/** It may do nothing, unless that is named. */
export const deno = (...allowed: readonly string[]): Runtime => ({
  command: DENO_COMMAND,
  args: [...DENO_ARGS, ...allowed],
})
const WORKERD = `${modules}@cloudflare/workerd-linux-64/bin/workerd`

/** Whether Bun, Deno and workerd are there; a line says so where they are not. */
export async function installRuntimes(): Promise<boolean> {
  if (process.platform === 'linux' && process.arch === 'x64') return installPackages('tests/runtimes')
  process.stderr.write('Bun, Deno and workerd are tested on Linux on x64 only: what needs them is skipped\n')
  return false
}

/** Runs a program in a folder to its end, and returns what it printed. */
export async function run(
  { command, args }: Runtime,
  folder: string,
  program: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const ended = await promisify(execFile)(command, [...args, ...program], {
    cwd: folder,
    env: environment(folder, env),
    timeout: MOST_MS,
  })
  return ended.stdout + ended.stderr
}

/** Nothing of the user's: caches and settings are in the folder. */
function environment(folder: string, more: Readonly<Record<string, string>>) {
  return { PATH: process.env.PATH, HOME: folder, DENO_DIR: join(folder, 'deno'), NO_COLOR: '1', ...more }
}

/** A server whose port is printed, as a line on its stdout, or within one on its third descriptor. */
export class Serving implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #port: Promise<number>

  constructor({ command, args }: Runtime, folder: string, program: readonly string[]) {
    this.#child = spawn(command, [...args, ...program], {
      cwd: folder,
      env: environment(folder, {}),
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    })
    this.#port = new Promise((resolve, reject) => {
      for (const output of [this.#child.stdout, this.#child.stdio[3] as NodeJS.ReadableStream]) {
        output?.on('data', (data) => {
          const [port] = String(data).match(/\b\d{4,5}\b/) ?? []
          if (port !== undefined) resolve(Number(port))
        })
      }
      this.#child.on('error', reject)
      this.#child.on('exit', (code) => reject(new Error(`${command} ended with ${code}`)))
    })
    this.#port.catch(() => {})
  }

  async origin(): Promise<string> {
    return `http://127.0.0.1:${await this.#port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child)
  }
}

/** A worker of Cloudflare's, served by workerd out of a folder of its own. `origin`: for its `ORIGIN`. */
export function serveWorker(folder: string, code: string, origin: string): Serving {
  const own = mkdtempSync(join(folder, 'worker-'))
  writeFileSync(join(own, 'bundle.js'), code)
  writeFileSync(
    join(own, 'workerd.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["private"]))],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
    );
    const worker :Workerd.Worker = (
      modules = [(name = "bundle.js", esModule = embed "bundle.js")],
      bindings = [(name = "ORIGIN", text = "${origin}")],
      compatibilityDate = "2026-01-01"
    );`,
  )
  return new Serving({ command: WORKERD, args: ['serve', '--control-fd=3'] }, own, ['workerd.capnp'])
}

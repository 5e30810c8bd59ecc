/** Runs the real command, and waits for what it shows. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

export const root = fileURLToPath(new URL('../../', import.meta.url))
const agents = fileURLToPath(new URL('./agents/', import.meta.url))
export const node = process.execPath
export const agent = (name: string) => join(agents, `${name}.mjs`)
export const trace = (name: string) => join(root, 'examples', 'traces', `${name}.jsonl`)

export const folder = mkdtempSync(join(tmpdir(), 'turnwatch-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Modules are compiled once, not by every command that a test starts. */
const compileCache = join(tmpdir(), 'turnwatch-test-compile-cache')

let made = 0
/** A path of its own, where nothing is yet. */
export const newPath = (suffix = '') => join(folder, `${made++}${suffix}`)

interface Ended {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
  /** Our own lines of stderr. */
  readonly notes: readonly string[]
}

export interface Running {
  readonly process: ChildProcess
  /** Until stderr shows it; rejects when the command ends without. */
  sees(pattern: RegExp): Promise<void>
  /** The same of stdout. What it shows was seen by the watch. */
  shows(text: string): Promise<void>
  /** What stderr has shown so far. */
  stderr(): string
  /** Begins to read stdout, of a slow reader. */
  read(): void
  readonly ended: Promise<Ended>
}

export interface Settings {
  readonly input?: Buffer | string | 'open'
  readonly env?: NodeJS.ProcessEnv
  /** Reads nothing of stdout until it is told to. */
  readonly slow?: boolean
  readonly detached?: boolean
}

/** `turnwatch run`, without a store unless the arguments say so. */
export function run(args: readonly string[], settings: Settings = {}): Running {
  const store =
    args.slice(0, args.indexOf('--')).includes('--store') || settings.env?.XDG_STATE_HOME ? [] : ['--store', 'off']
  return turnwatch(['run', ...store, ...args], settings)
}

/** The command, in an environment that names no receiver unless the settings do. */
export function turnwatch(args: readonly string[], settings: Settings = {}): Running {
  const { TURNWATCH_NOTIFY: _url, TURNWATCH_NOTIFY_SECRET: _secret, ...env } = process.env
  const child = spawn(node, [join(root, 'cli', 'main.ts'), ...args], {
    env: { ...env, NODE_COMPILE_CACHE: compileCache, ...settings.env },
    detached: settings.detached ?? false,
  })
  const stdout: Buffer[] = []
  let stderr = ''
  const waiting = new Set<() => void>()
  const look = () => {
    for (const one of waiting) one()
  }
  const read = () =>
    void child.stdout.on('data', (chunk: Buffer) => {
      stdout.push(chunk)
      look()
    })
  if (!settings.slow) read()
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
    look()
  })
  child.stdin.on('error', () => {})
  if (settings.input !== 'open') child.stdin.end(settings.input ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      const notes = stderr.split('\n').filter((line) => line.startsWith('turnwatch: '))
      resolve({ code, stdout: Buffer.concat(stdout), stderr, notes })
    })
  })
  const until = (holds: () => boolean, what: string) =>
    new Promise<void>((resolve, reject) => {
      const one = () => {
        if (!holds()) return
        waiting.delete(one)
        resolve()
      }
      waiting.add(one)
      one()
      void ended.then(() => reject(new Error(`ended without ${what}: ${stderr}`)))
    })
  const sees = (pattern: RegExp) => until(() => pattern.test(stderr), String(pattern))
  const shows = (text: string) => until(() => Buffer.concat(stdout).includes(text), text)
  return { process: child, stderr: () => stderr, sees, shows, read, ended }
}

/** The scripted agent, recognised by its command line as one turn. */
export function claude(steps: string): string[] {
  return ['--', node, agent('claude'), '-p', '--output-format', 'stream-json', '--steps', steps]
}

/** The same agent under a command line that says nothing of its output. */
export function anonymous(steps: string): string[] {
  return ['--', node, agent('claude'), '--steps', steps]
}

export async function exists(file: string): Promise<void> {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
}

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The sum of a metric's series whose labels are among those given. */
export function metric(file: string, name: string, labels: Record<string, string> = {}): number {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines
    .filter((line) => line.startsWith(`turnwatch_${name}{`) || line.startsWith(`turnwatch_${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** What a store learned: threads, providers and models of its samples. */
export function samples(store: string): { thread: string; provider: string; model: string | null }[] {
  const db = new DatabaseSync(store, { readOnly: true })
  const rows = db.prepare('SELECT DISTINCT id, provider, model FROM samples').all()
  db.close()
  return rows.map(({ id, provider, model }) => ({
    thread: String(id).split('/')[1] as string,
    provider: String(provider),
    model: model === null ? null : String(model),
  }))
}

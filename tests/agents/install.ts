/** Installs the agents' own command lines beside this file, in the versions of its lock file, and says so when that fails. */

import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { program } from './agent/agent.ts'

const folder = fileURLToPath(new URL('./', import.meta.url))
const modules = `${folder}node_modules`

/** The programs by the package that brings them. */
const PROGRAMS = { '@anthropic-ai/claude-code': 'claude', '@openai/codex': 'codex', 'opencode-ai': 'opencode' } as const
const PACKAGES = Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[]

/** Some 460 MB come over the network when npm has none of them yet. */
const INSTALL_MS = 480_000
const START_MS = 60_000

declare module 'vitest' {
  interface ProvidedContext {
    /** Packages that could not be installed, or what else is missing. */
    missingAgents: string[]
  }
}

export default function setup(project: TestProject): void {
  if (process.platform !== 'linux') {
    process.stderr.write("the agents' suites need Linux: they are skipped\n")
    return project.provide('missingAgents', ['Linux'])
  }
  const wanted = (read('package.json') as { dependencies: Record<string, string> }).dependencies
  const missing = () =>
    PACKAGES.filter(
      (name) => (read(`node_modules/${name}/package.json`) as { version?: string }).version !== wanted[name],
    )
  const list = (names: readonly string[]) => names.map((name) => `${name}@${wanted[name]}`).join(', ')
  if (missing().length > 0) {
    process.stderr.write(`installing ${list(PACKAGES)} (460 MB)\n`)
    install()
  }
  const left = missing()
  if (left.length > 0) {
    const line = `npm packages missing: ${list(left)} (npm ci in tests/agents)`
    if (process.env.CI === 'true') throw new Error(line)
    process.stderr.write(`${line}: their suites are skipped\n`)
  }
  project.provide('missingAgents', left)
}

function read(file: string): object {
  try {
    return JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as object
  } catch {
    return {}
  }
}

function install(): void {
  try {
    const args = ['ci', '--no-audit', '--no-fund', '--fetch-retries=1']
    execFileSync('npm', args, { cwd: folder, stdio: 'ignore', timeout: INSTALL_MS })
    // The programs themselves are optional packages, so their absence is no failure to npm.
    const env = { PATH: process.env.PATH, HOME: modules }
    for (const name of Object.values(PROGRAMS)) {
      execFileSync(program(name), ['--version'], { env, stdio: 'ignore', timeout: START_MS })
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split('\n')[0]}\n`)
    rmSync(modules, { recursive: true, force: true })
  }
}

/** Brings the packages of this folder: installs them where they are missing or old, and says so where it cannot. */

import { execFile } from 'node:child_process'
import { readFileSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** A link to nothing, whose target is the pid of the process that installs: made whole or not at all. */
const LOCK = here('../../node_modules/.wires-installing')

const INSTALL = [
  'ci',
  '--ignore-scripts',
  '--omit=optional',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  // A machine without network should hear of it soon.
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/**
 * Installs the packages unless they are there as the lock file has them. Suites may call it at the same time: one
 * installs, the others wait for it. False when the packages cannot be had, which a line on stderr says: their suites
 * are to be skipped. Throws instead where the environment has `CI=true`.
 */
export async function installWires(): Promise<boolean> {
  while (!installed()) {
    if (!locked()) {
      await delay(100)
      continue
    }
    try {
      if (!installed()) await install()
    } catch (error) {
      const line = `npm packages missing: ${packages().join(', ')} (npm ci in tests/wires: ${reason(error)})`
      if (process.env.CI === 'true') throw new Error(line)
      process.stderr.write(`${line}: their suites are skipped\n`)
      return false
    } finally {
      rmSync(LOCK)
    }
  }
  return true
}

/** npm writes this file when all the rest is in place. */
function installed(): boolean {
  const made = statSync(here('node_modules/.package-lock.json'), { throwIfNoEntry: false })
  return made !== undefined && made.mtimeMs >= statSync(here('package-lock.json')).mtimeMs
}

/** Whether this call holds the lock now. */
function locked(): boolean {
  try {
    symlinkSync(String(process.pid), LOCK)
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    if (isAbandoned()) rmSync(LOCK, { force: true })
    return false
  }
}

/** Whether the process that made the lock has died. */
function isAbandoned(): boolean {
  try {
    return !process.kill(Number(readlinkSync(LOCK)), 0)
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

async function install(): Promise<void> {
  process.stderr.write(`installing npm packages: ${packages().join(', ')}\n`)
  // The npm at hand, run by this Node.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
  await promisify(execFile)('npm', INSTALL, { cwd: here('.'), env, timeout: 600_000 })
}

function packages(): string[] {
  const { dependencies } = JSON.parse(readFileSync(here('package.json'), 'utf8')) as { dependencies: object }
  return Object.keys(dependencies)
}

function reason(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string }
  const [first] = stderr?.match(/(?<=^npm error )\S.*/m) ?? [message.split('\n')[0]]
  return first ?? 'failed'
}

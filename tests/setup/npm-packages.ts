/** Installs npm packages into folders of tests that have a package of their own, and says so where it cannot. */

import { execFile } from 'node:child_process'
import { readFileSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))

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
 * Installs the packages of a folder, such as `tests/wires`, unless they are there as its lock file has them. Suites may
 * call it at the same time: one installs, the others wait for it. False when the packages cannot be had, which a line on
 * stderr says: what needs them is to be skipped. Throws instead where the environment has `CI=true`.
 */
export async function installPackages(folder: string): Promise<boolean> {
  const packages = new Packages(folder)
  while (!packages.installed()) {
    if (!packages.locked()) {
      await delay(100)
      continue
    }
    try {
      if (!packages.installed()) await packages.install()
    } catch (error) {
      const line = `npm packages missing: ${packages.names().join(', ')} (npm ci in ${folder}: ${reason(error)})`
      if (process.env.CI === 'true') throw new Error(line)
      process.stderr.write(`${line}: what needs them is skipped\n`)
      return false
    } finally {
      packages.unlock()
    }
  }
  return true
}

class Packages {
  readonly #folder: string
  /** A link to nothing, whose target is the pid of the process that installs: made whole or not at all. */
  readonly #lock: string

  constructor(folder: string) {
    this.#folder = join(root, folder)
    this.#lock = join(root, 'node_modules', `.installing-${folder.replaceAll(/[\\/]/g, '-')}`)
  }

  names(): string[] {
    const { dependencies } = JSON.parse(readFileSync(join(this.#folder, 'package.json'), 'utf8')) as {
      dependencies: object
    }
    return Object.keys(dependencies)
  }

  /** npm writes this file when all the rest is in place. */
  installed(): boolean {
    const made = statSync(join(this.#folder, 'node_modules', '.package-lock.json'), { throwIfNoEntry: false })
    return made !== undefined && made.mtimeMs >= statSync(join(this.#folder, 'package-lock.json')).mtimeMs
  }

  async install(): Promise<void> {
    process.stderr.write(`installing npm packages: ${this.names().join(', ')}\n`)
    // The npm at hand, run by this Node.
    const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
    await promisify(execFile)('npm', INSTALL, { cwd: this.#folder, env, timeout: 600_000 })
  }

  /** Whether this call holds the lock now. */
  locked(): boolean {
    try {
      symlinkSync(String(process.pid), this.#lock)
      return true
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      if (this.#isAbandoned()) rmSync(this.#lock, { force: true })
      return false
    }
  }

  unlock(): void {
    rmSync(this.#lock)
  }

  /** Whether the process that made the lock has died. */
  #isAbandoned(): boolean {
    try {
      return !process.kill(Number(readlinkSync(this.#lock)), 0)
    } catch (error) {
      return codeOf(error) === 'ESRCH'
    }
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

function reason(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string }
  const [first] = stderr?.match(/(?<=^npm error )\S.*/m) ?? [message.split('\n')[0]]
  return first ?? 'failed'
}

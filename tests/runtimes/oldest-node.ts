/** The oldest Node that `engines` allows, installed for the length of a test file. */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Runtime } from './runtimes.ts'

export const OLDEST_NODE = '22.16.0'

export class OldestNode implements Runtime {
  readonly args = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'turnwatch-oldest-node-'))
  readonly #installed = this.#install()

  get command(): string {
    return join(this.#folder, 'node_modules', '.bin', 'node')
  }

  /** False when it cannot be had, which a line on stderr says. */
  get installed(): Promise<boolean> {
    return this.#installed
  }

  async remove(): Promise<void> {
    await this.#installed
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #install(): Promise<boolean> {
    // The program itself: the package `node` would bring it by a script.
    const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@${OLDEST_NODE}`
    writeFileSync(join(this.#folder, 'package.json'), '{}')
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', name]
    try {
      await promisify(execFile)('npm', args, { cwd: this.#folder })
      return true
    } catch (error) {
      process.stderr.write(`${name} cannot be installed (${(error as Error).message.split('\n')[0]})\n`)
      return false
    }
  }
}

/** A shell that is fed piece by piece, as somebody types from a page: variables and jobs stay. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { endProcess } from '../setup/end-process.ts'

const DONE = 'the-shell-is-done'

export class ShellSession {
  readonly #child
  /** Commands that failed, with what they said on stderr. */
  readonly failures: string[] = []
  #onDone: (output: string[]) => void = () => {}

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    // A process group of its own, so that jobs that a failed test leaves behind end with it.
    this.#child = spawn('/bin/bash', ['--norc'], { cwd: folder, env, detached: true })
    onTestFinished(() => this.#end())
    let output: string[] = []
    createInterface(this.#child.stdout).on('line', (line) => {
      if (line !== DONE) return line !== '' && output.push(line)
      this.#onDone(output)
      output = []
    })
    const said: string[] = []
    createInterface(this.#child.stderr).on('line', (line) => {
      said.push(line)
      if (line.startsWith('failed: ')) this.failures.push(...said.splice(0))
    })
    this.#child.stdin.write(`set -o pipefail\ntrap 'echo "failed: $BASH_COMMAND" >&2' ERR\n`)
  }

  /** Runs commands, and resolves with what they have printed. */
  run(commands: string): Promise<string[]> {
    return new Promise((resolve) => {
      this.#onDone = resolve
      // What was printed may not have ended its line.
      this.#child.stdin.write(`${commands}\nprintf '\\n${DONE}\\n'\n`)
    })
  }

  async #end(): Promise<void> {
    const { pid } = this.#child
    const gone = endProcess(this.#child)
    if (pid !== undefined) {
      try {
        process.kill(-pid, 'SIGTERM')
      } catch {
        // The whole group has ended by itself.
      }
    }
    await gone
  }
}

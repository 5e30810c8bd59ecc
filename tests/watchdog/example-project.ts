/** A project as a user has it, with the SDKs and turnwatch installed, in which the examples run as they lie there. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const examples = join(root, 'examples', 'watchdog')
const sdks = join(root, 'tests', 'wires', 'node_modules')

export interface Run {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exited: Promise<number | null>
}

export class ExampleProject {
  readonly #folder = mkdtempSync(join(tmpdir(), 'turnwatch-examples-'))

  constructor() {
    const packages = join(this.#folder, 'node_modules')
    mkdirSync(join(packages, 'turnwatch'), { recursive: true })
    for (const name of ['openai', '@anthropic-ai', 'ai', '@ai-sdk']) symlinkSync(join(sdks, name), join(packages, name))
    symlinkSync(join(root, 'node_modules', '@types'), join(packages, '@types'))
    // Node strips types of no file under node_modules, but of one that a link there leads to.
    symlinkSync(join(root, 'detector', 'watchdog', 'index.ts'), join(packages, 'turnwatch', 'watchdog.ts'))
    const turnwatch = { name: 'turnwatch', type: 'module', exports: { './watchdog': './watchdog.ts' } }
    writeFileSync(join(packages, 'turnwatch', 'package.json'), JSON.stringify(turnwatch))
    writeFileSync(join(this.#folder, 'package.json'), '{"type": "module"}')
    writeFileSync(
      join(this.#folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }),
    )
    for (const name of readdirSync(examples)) copyFileSync(join(examples, name), join(this.#folder, name))
  }

  /** What the compiler says of the examples: nothing where all is well. */
  compile(): string {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const run = spawnSync(process.execPath, [tsc, '--pretty', 'false', '-p', this.#folder], { encoding: 'utf8' })
    return run.stdout + run.stderr
  }

  run(example: string, env: Readonly<Record<string, string>>): Run {
    const child = spawn(process.execPath, [`${example}.ts`], { cwd: this.#folder, env: { ...process.env, ...env } })
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text) => {
        texts[name] += text
      })
    }
    const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, exited }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

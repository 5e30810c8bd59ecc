/** The watchdog as the package ships it, alone in a folder, twice, with what runs it in each runtime. */

import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build, type Rolldown } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** By their names in the folder. */
const PROGRAMS = {
  'all.js': `
    export { overHttp, passesOn } from './one/tests/runtimes/over-http.js'
    export { scenario } from './one/tests/runtimes/scenario.js'
    export { workerOf } from './one/tests/runtimes/worker.js'
    export * as copy from './two/detector/watchdog/index.js'`,
  'scenario.js': `
    import { copy, scenario } from './all.js'
    console.log(JSON.stringify(await scenario(copy)))`,
  'over-http.js': `
    import { overHttp } from './all.js'
    console.log(JSON.stringify(await overHttp(process.argv[2])))`,
  'serves.js': `
    import { passesOn } from './all.js'
    const at = { hostname: '127.0.0.1', port: 0 }
    const handler = passesOn(process.argv[2])
    if (globalThis.Bun) console.log(Bun.serve({ ...at, fetch: handler }).port)
    else Deno.serve({ ...at, onListen: ({ port }) => console.log(port) }, handler)`,
  'waits.js': `
    import { watchStream } from './one/detector/watchdog/index.js'
    export function waits(options) {
      const read = watchStream(new ReadableStream(), options).getReader().read()
      read.catch(({ phase }) => console.log('stalled:', phase))
      console.log('reads')
    }`,
  'leaves.js': `
    import { waits } from './waits.js'
    waits({ firstContentMs: 600_000 })`,
  'stays.js': `
    import { waits } from './waits.js'
    waits({ firstContentMs: 700, keepAlive: true })`,
  'worker.js': `
    import { copy, workerOf } from './all.js'
    export default workerOf(copy)`,
  'package.json': '{ "type": "module", "sideEffects": false }',
}

/** A folder that holds `PROGRAMS`, beside the compiled sources that they need. */
export class Built {
  readonly folder = mkdtempSync(join(tmpdir(), 'turnwatch-runtimes-'))

  async make(): Promise<void> {
    const config = {
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: {
        rootDir: root,
        outDir: join(this.folder, 'one'),
        declaration: false,
        typeRoots: [join(root, 'node_modules', '@types')],
      },
      include: [],
      files: [join(root, 'tests', 'runtimes', 'worker.ts')],
    }
    for (const [name, text] of Object.entries({ ...PROGRAMS, 'tsconfig.json': JSON.stringify(config) })) {
      writeFileSync(join(this.folder, name), text)
    }
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    await promisify(execFile)(process.execPath, [tsc, '-p', this.folder])
    cpSync(join(this.folder, 'one'), join(this.folder, 'two'), { recursive: true })
  }

  /** A file of the folder and all that it imports, in one. `iife`: a script, whose exports are in `turnwatch`. */
  async bundle(file: string, format: 'es' | 'iife', minify = false): Promise<Rolldown.OutputChunk> {
    const made = await build({
      configFile: false,
      root: this.folder,
      logLevel: 'silent',
      build: {
        write: false,
        minify,
        target: 'es2024',
        lib: { entry: join(this.folder, file), formats: [format], name: 'turnwatch', fileName: 'bundle' },
      },
    })
    const [{ output }] = made as [Rolldown.RolldownOutput]
    return output[0]
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The program of a host as one file: it is started hundreds of times, and sixty small ones take long to load. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** As it is, for what the one file leaves out. */
export const SOURCE = fileURLToPath(new URL('./host-child.ts', import.meta.url))
const NAME = 'host-child.mjs'

/** Made by a process of its own, because starting others takes longer the more this one holds. */
export async function inOneFile(folder: string): Promise<string> {
  const options = {
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: SOURCE,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'node24',
      rolldownOptions: { output: { entryFileNames: NAME } },
    },
  }
  const script = `import { build } from 'vite'; await build(${JSON.stringify(options)})`
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  return join(folder, NAME)
}

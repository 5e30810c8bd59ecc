/** What `--out FOLDER` of a command writes. */

import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BadInput } from '../bad-input.ts'
import { makeFolder } from '../storage/make-folder.ts'

/** Writes files by their names under the folder, and prints their paths. Throws BadInput for a folder that is none. */
export function writeInto(folder: string, files: Readonly<Record<string, string>>): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isFile()) {
    throw new BadInput(`--out ${folder}: is a file, and not a folder`)
  }
  for (const [name, text] of Object.entries(files)) {
    const target = join(folder, name)
    try {
      makeFolder(dirname(target))
      writeFileSync(target, text)
    } catch (error) {
      throw new BadInput(`--out ${folder}: ${(error as Error).message}`)
    }
    process.stdout.write(`${target}\n`)
  }
}

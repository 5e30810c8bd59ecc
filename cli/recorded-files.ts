/** Recordings by path: a file as it is, a folder for the JSON files in it, not in folders within. */

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BadInput } from '../bad-input.ts'

export function recordedFiles(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const names = readdirSync(path).filter((name) => /\.jsonl?$/.test(name))
  if (names.length === 0) throw new BadInput(`${path}: no .json or .jsonl file in it`)
  return names.sort().map((name) => join(path, name))
}

/** Where the package lies, and its version. */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that package.json is in: this one in a checkout, the one above in a built package. */
export function packageRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  return existsSync(join(here, 'package.json')) ? here : dirname(here)
}

let version: string | undefined

/** The version in package.json; `unknown` where a bundler left it behind. */
export function packageVersion(): string {
  try {
    version ??= String(JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version)
  } catch {
    version = 'unknown'
  }
  return version
}

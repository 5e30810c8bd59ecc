/** Runs promtool, and says what it said. */

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface Answer {
  readonly code: number
  /** stdout and stderr. */
  readonly text: string
}

export function promtool(...args: readonly string[]): Promise<Answer> {
  return program('/usr/bin/promtool', args)
}

export function program(path: string, args: readonly string[]): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(path, args, { timeout: 240_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, text: stdout + stderr + (code === -1 ? String(error) : '') })
    })
  })
}

/** A folder with these files, until the test is over. */
export function folderOf(files: Readonly<Record<string, string>>, copies: readonly (readonly [string, string])[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'turnwatch-rules-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const target = (name: string) => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    return path
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(target(name), text)
  for (const [from, name] of copies) cpSync(from, target(name))
  return folder
}

/** The crash harness in a short form, and that it finds the faults that are put into it. */

import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'
import { SABOTAGES } from './kill-points.ts'

const program = fileURLToPath(new URL('./harness.ts', import.meta.url))

/** Modules are compiled once, not by every harness that a test starts. */
const compileCache = join(tmpdir(), 'turnwatch-test-compile-cache')

function harness(args: readonly string[], onFinished: (undo: () => void) => void) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  })
  onFinished(() => child.kill('SIGTERM'))
  let shown = ''
  child.stdout.on('data', (chunk) => {
    shown += chunk
  })
  return new Promise<{ code: number | null; shown: string; last: string | undefined }>((resolve) => {
    child.on('close', (code) => resolve({ code, shown, last: shown.trimEnd().split('\n').at(-1) }))
  })
}

describe
  .skipIf(process.platform === 'win32')
  .concurrent('hosts that are killed between verdict, write, send and mark', () => {
    it('lose no message, and repeat one only where the kill fell between its sending and its mark', async ({
      expect,
      onTestFinished,
    }) => {
      const { code, shown, last } = await harness(['--kills', '6', '--virtual', '150'], onTestFinished)
      expect(last, shown).toMatch(/^lost 0, doubled 0, of 1\d\d kills$/)
      expect(code).toBe(0)
    })

    it.for(SABOTAGES)('a fault is found: %s', async (sabotage, { expect, onTestFinished }) => {
      const isReal = sabotage === 'dropped' || sabotage === 'rekeyed'
      const kills = isReal ? ['--kills', '4', '--virtual', '0'] : ['--kills', '0', '--virtual', '20']
      const { code, shown, last } = await harness([...kills, '--sabotage', sabotage], onTestFinished)
      expect(last, shown).toMatch(/^lost \d+, doubled \d+, of \d+ kills$/)
      expect(last).not.toMatch(/^lost 0, doubled 0,/)
      expect(code).toBe(1)
    })
  })

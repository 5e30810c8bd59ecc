/**
 * Cleans up after a stage, in a process of its own: once nobody holds its stdin any more, because the test is over or
 * because the whole run was killed, it ends every process of the stage and removes its folder.
 */

import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesOf } from './processes.ts'

/** How long processes that were killed may take to be gone. */
const GONE_MS = 10_000

const stage = process.argv[2] as string

process.stdin.resume().on('end', async () => {
  const until = performance.now() + GONE_MS
  for (let left = processesOf(stage); left.length > 0; left = processesOf(stage)) {
    if (performance.now() > until) throw new Error(`still running: ${left.map(({ command }) => command).join(', ')}`)
    for (const { pid } of left) kill(pid)
    await sleep(50)
  }
  rmSync(stage, { recursive: true, force: true, maxRetries: 5 })
})

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It was gone already.
  }
}

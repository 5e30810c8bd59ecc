/** Real processes, really stopped: the only suite of this room that takes real time. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as passes } from 'node:timers/promises'
import { describe, it } from 'vitest'

interface Said {
  readonly verdict?: string
  readonly silenceMs?: number
  readonly ticks?: number
  readonly lateTicks?: number
  readonly holds?: number
}

const THRESHOLD_MS = 4000
const LIMIT_MS = THRESHOLD_MS * 1.25

async function host(onFinished: (undo: () => void) => void) {
  const script = join(import.meta.dirname, 'watching-child.ts')
  const args = ['--experimental-strip-types', '--no-warnings', script, String(THRESHOLD_MS)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onFinished(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  const said: Said[] = []
  lines.on('line', (line) => said.push(JSON.parse(line)))
  return {
    said,
    token: () => child.stdin.write('token\n'),
    stopFor: async (ms: number) => {
      child.kill('SIGSTOP')
      await passes(ms)
      child.kill('SIGCONT')
    },
    end: async () => {
      child.stdin.end()
      await once(child, 'close')
      return said
    },
  }
}

describe.skipIf(process.platform === 'win32').concurrent('a host process that is stopped and continued', () => {
  it('never flags a turn that streams, though it cannot read for longer than the limit', async ({
    expect,
    onTestFinished,
  }) => {
    const { said, token, stopFor, end } = await host(onTestFinished)
    const stream = setInterval(token, 200)
    for (const stopMs of [LIMIT_MS + 1500, 1500, LIMIT_MS + 500, 1000]) {
      await passes(600)
      await stopFor(stopMs)
    }
    await passes(1200)
    clearInterval(stream)
    await end()
    const [self, ...verdicts] = said.toReversed()
    expect(verdicts).toEqual([])
    expect(self?.lateTicks).toBeGreaterThanOrEqual(2)
    expect(self?.holds).toBe(self?.lateTicks)
  })

  it('flags a turn that is dead, once, when the time that it could read is over the limit and its hold is over', async ({
    expect,
    onTestFinished,
  }) => {
    const { said, token, stopFor, end } = await host(onTestFinished)
    token()
    // At most 3 s of each stop count, and the long one holds the verdict for twice its length and 5 s.
    for (const stopMs of [3200, 1500, 1000]) {
      await passes(500)
      await stopFor(stopMs)
    }
    const deadline = Date.now() + 16_000
    while (!said.some(({ verdict }) => verdict === 'stale') && Date.now() < deadline) await passes(100)
    await passes(1100)
    const verdicts = (await end()).slice(0, -1)
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['suspect', 'stale'])
    expect(verdicts[1]?.silenceMs).toBeGreaterThan(LIMIT_MS)
  })
})

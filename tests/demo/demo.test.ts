import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { PrismLiveness } from '../../index.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let host: ChildProcess
let said = ''
let url = ''

beforeAll(async () => {
  host = spawn(process.execPath, ['cli/main.ts', 'demo'], { cwd: root, env: { ...process.env, TURNWATCH_PORT: '0' } })
  host.stdout?.on('data', (chunk) => {
    said += chunk
  })
  url = await vi.waitUntil(() => /live page: (\S+)/.exec(said)?.[1], { timeout: 30_000 })
})
afterAll(async () => {
  if (host.exitCode !== null) return
  host.kill('SIGKILL')
  await once(host, 'exit')
})

async function threads(): Promise<PrismLiveness[]> {
  const response = await fetch(new URL('/api/prism/threads', url))
  return ((await response.json()) as { threads: PrismLiveness[] }).threads
}

describe('the demo', () => {
  it('plays seven children of one dispatcher, of which only the dead one is ever stale, and the dispatcher is told', async () => {
    const stale = new Set<string>()
    const seen = new Set<string>()
    const shown = await vi.waitUntil(
      async () => {
        const now = await threads()
        for (const thread of now) seen.add(thread.threadId)
        for (const thread of now) if (thread.stale) stale.add(thread.threadId)
        return stale.size > 0 && now
      },
      { timeout: 120_000, interval: 300 },
    )
    expect([...seen].sort()).toEqual([
      'demo-1',
      'sub.demo-1.approval',
      'sub.demo-1.claude-code',
      'sub.demo-1.codex',
      'sub.demo-1.dead-stream',
      'sub.demo-1.long-tool',
      'sub.demo-1.opencode',
      'sub.demo-1.retry',
    ])
    expect([...stale]).toEqual(['sub.demo-1.dead-stream'])
    expect(shown?.[0]?.threadId).toBe('sub.demo-1.dead-stream')
    const dispatcher = shown.find(({ threadId }) => threadId === 'demo-1')
    expect(dispatcher?.messages.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^stale: sub\.demo-1\.dead-stream \(claudeAgent claude-opus-4-6\): reason silence: /),
    ])
    expect(said).toContain('told demo-1: stale: sub.demo-1.dead-stream')
    expect(said).toMatch(/learned once from \d+ recorded turns; below 20 samples a default of 15 s is in force/)
  }, 180_000)

  it('flags nothing else, says so no more than once, and repeats with new threads', async () => {
    const stale = new Set<string>()
    await vi.waitUntil(
      async () => {
        const now = await threads()
        for (const thread of now) if (thread.stale) stale.add(thread.threadId)
        return now.some(({ threadId }) => threadId === 'sub.demo-2.codex')
      },
      { timeout: 120_000, interval: 300 },
    )
    expect([...stale]).toEqual(['sub.demo-1.dead-stream'])
    expect(said.match(/stale: sub\.\S+/g)).toEqual(['stale: sub.demo-1.dead-stream'])
    expect(said).toContain('round 1: demo-1 gives dead-stream up')
  }, 180_000)

  it('serves the page and the metrics', async () => {
    expect(await (await fetch(url)).text()).toContain('<title>')
    expect(await (await fetch(new URL('/metrics', url))).text()).toContain('turnwatch_turns_stale{')
  })

  it('stops at once and cleanly when asked to', async () => {
    host.kill('SIGTERM')
    expect(await once(host, 'exit')).toEqual([0, null])
  })
})

it('a port that is taken is one clear line', async () => {
  const { createServer } = await import('node:net')
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const second = spawn(process.execPath, ['cli/main.ts', 'demo'], {
    cwd: root,
    env: { ...process.env, TURNWATCH_PORT: String(port) },
  })
  let error = ''
  second.stderr.on('data', (chunk) => {
    error += chunk
  })
  expect(await once(second, 'close')).toEqual([2, null])
  expect(error).toBe(
    `turnwatch: port ${port} is in use: set TURNWATCH_PORT or --port to another, or to 0 for any free one\n`,
  )
  taken.close()
})

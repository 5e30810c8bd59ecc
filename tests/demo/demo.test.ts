import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Message, NotifierView, PrismLiveness } from '../../index.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let host: ChildProcess
/** Who is told besides the dispatcher. */
const posted: Message[] = []
const receiver = createServer(async (request, response) => {
  posted.push((await json(request)) as Message)
  response.writeHead(204).end()
})
let said = ''
let url = ''

beforeAll(async () => {
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const env = { ...process.env, TURNWATCH_PORT: '0', TURNWATCH_NOTIFY: `http://127.0.0.1:${port}/hook` }
  host = spawn(process.execPath, ['cli/main.ts', 'demo'], { cwd: root, env })
  host.stdout?.on('data', (chunk) => {
    said += chunk
  })
  url = await vi.waitUntil(() => /live page: (\S+)/.exec(said)?.[1], { timeout: 30_000 })
})
afterAll(async () => {
  receiver.close()
  if (host.exitCode !== null) return
  host.kill('SIGKILL')
  await once(host, 'exit')
})

async function answer<T>(path: string): Promise<T> {
  return (await (await fetch(new URL(path, url))).json()) as T
}

async function threads(): Promise<PrismLiveness[]> {
  return (await answer<{ threads: PrismLiveness[] }>('/api/prism/threads')).threads
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
    // It is busy for a while, which the page shows.
    const waiting = await vi.waitUntil(
      async () => {
        const { notifications } = await answer<{ notifications: NotifierView }>('/api/prism/threads')
        // The other channel may still be at it.
        const [message] = notifications.messages.filter(({ channel }) => channel === 'dispatcher')
        return message?.failure != null && message
      },
      { timeout: 10_000, interval: 100 },
    )
    expect(waiting).toMatchObject({
      thread: 'sub.demo-1.dead-stream',
      parent: 'demo-1',
      failure: 'the parent is busy',
    })
    const told = await vi.waitUntil(() => /^told demo-1: (.*)$/m.exec(said)?.[1], { timeout: 15_000 })
    expect(told).toMatch(
      /^Child thread sub\.demo-1\.dead-stream \(claudeAgent, claude-opus-4-6\) has stopped streaming: .*again\.$/,
    )
    const dispatcher = await answer<PrismLiveness>('/api/prism/liveness?threadId=demo-1')
    expect(new Set(dispatcher.messages.map(({ text }) => text))).toEqual(new Set([told]))
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
    expect(said.match(/^told .* thread \S+/gm)).toEqual(['told demo-1: Child thread sub.demo-1.dead-stream'])
    expect(posted.map(({ thread, parent }) => [thread, parent])).toEqual([['sub.demo-1.dead-stream', 'demo-1']])
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
  const taken = createTcpServer().listen(0, '127.0.0.1')
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

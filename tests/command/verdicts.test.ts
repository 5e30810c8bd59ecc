import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { claude, exists, metric, newPath, run, sleep } from './harness.ts'

// The first token is only limited where that is what is tested: an agent may take its time to start here.
const LIMITS = ['--mid-stream', '2s']

const servers: Server[] = []
afterAll(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

interface Post {
  readonly path: string
  readonly type: string | undefined
  readonly body: Record<string, unknown>
}

/** Answers with a status, or never where that is 0. */
async function webhook(status: number): Promise<{ url: string; posts: Post[]; close: () => void }> {
  const posts: Post[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = JSON.parse(Buffer.concat(parts).toString())
    posts.push({ path: request.url ?? '', type: request.headers['content-type'], body })
    if (status === 0) return
    response.writeHead(status, status >= 300 && status < 400 ? { location: '/elsewhere' } : {}).end()
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/s3cret`,
    posts,
    close: () => server.close(),
  }
}

const KEYS = [
  'verdict',
  'key',
  'thread',
  'turn',
  'parent',
  'provider',
  'model',
  'reason',
  'phase',
  'lastEventAt',
  'lastEventKind',
  'silenceMs',
  'thresholdMs',
  'thresholdSource',
  'text',
]

describe.concurrent('an agent that stalls', () => {
  it('is stale once, told to every URL once, and recovered when it goes on', async () => {
    const [a, b, gate, metrics] = [await webhook(204), await webhook(200), newPath(), newPath('.prom')]
    const names = ['--parent', 'boss', '--metrics-file', metrics, '--notify', a.url]
    const one = run([...LIMITS, ...names, ...claude(`init text until:${gate} text result`)], {
      env: { TURNWATCH_NOTIFY: `${b.url}, ${a.url}` },
    })
    await one.sees(/stale: session-1 .*reason silence/)
    while (a.posts.length + b.posts.length < 2) await sleep(20)
    // Nothing more comes of the same episode.
    await sleep(2500)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(2)
    expect(notes[0]).toMatch(
      /^turnwatch: stale: session-1 \(claudeAgent claude-test-1\): reason silence: silent for \d+\.\d s \(threshold 2\.0 s default, standard, mid-stream\); last progress \S+Z \(text\)$/,
    )
    expect(notes[1]).toMatch(/^turnwatch: recovered: session-1/)
    for (const { posts } of [a, b]) {
      expect(posts).toHaveLength(1)
      expect(posts[0]?.type).toBe('application/json')
      expect(Object.keys(posts[0]?.body ?? {})).toEqual(KEYS)
      expect(posts[0]?.body).toMatchObject({
        verdict: 'stale',
        thread: 'session-1',
        parent: 'boss',
        provider: 'claudeAgent',
        model: 'claude-test-1',
        reason: 'silence',
        phase: 'mid-stream',
        thresholdMs: 2000,
        thresholdSource: 'default',
      })
      expect(posts[0]?.body.key).toBe(`stale/session-1/${posts[0]?.body.turn}/1`)
      expect(`turnwatch: ${posts[0]?.body.text}`).toBe(notes[0])
    }
    expect(metric(metrics, 'turns_stale_total')).toBe(1)
    expect(metric(metrics, 'turns_recovered_total', { reason: 'silence' })).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('is stale although it never printed anything, under the thread that it was given', async () => {
    const one = run(['--first-token', '2s', '--thread', 'mine', ...claude('hang')])
    await one.sees(
      /turnwatch: stale: mine \(claudeAgent\): reason silence: .*first-token\); no progress since the turn started/,
    )
    one.process.kill('SIGTERM')
    const { code, notes } = await one.ended
    expect(code).toBe(143)
    expect(notes).toHaveLength(1)
  })

  it('because it was stopped is stale, and recovered when it is continued', async () => {
    const [pidFile, metrics] = [newPath(), newPath('.prom')]
    const steps = `init text mark:${pidFile} ${'text sleep:200 '.repeat(10)}result`
    const one = run([...LIMITS, '--metrics-file', metrics, ...claude(steps)])
    await exists(pidFile)
    await sleep(100)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    process.kill(pid, 'SIGSTOP')
    await one.sees(/stale: session-1 .*reason silence/)
    process.kill(pid, 'SIGCONT')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(2)
    expect(notes[1]).toContain('recovered')
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })
})

describe.concurrent('no verdict', () => {
  it('comes of a pause in which we were stopped together with the agent', async () => {
    const [gate, metrics] = [newPath(), newPath('.prom')]
    const steps = `init text say:ready until:${gate} text result`
    const one = run([...LIMITS, '--metrics-file', metrics, ...claude(steps)], { detached: true })
    await one.sees(/ready/)
    process.kill(-(one.process.pid as number), 'SIGSTOP')
    await sleep(4500)
    process.kill(-(one.process.pid as number), 'SIGCONT')
    // Together with what the pause counts for, longer than the limit.
    await sleep(2500)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toEqual([])
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('comes of a silence below the limit, or with a limit that is off', async () => {
    const { notes } = await run([...LIMITS, '--mid-stream', 'off', ...claude('init text sleep:4500 text result')]).ended
    expect(notes).toEqual([])
  })
})

describe.concurrent('a URL', () => {
  it('that fails, redirects or cannot be reached is a line each without it, and the agent does not notice', async () => {
    const [failing, moved, gone] = [await webhook(500), await webhook(307), await webhook(200)]
    gone.close()
    const urls = [failing, moved, gone].flatMap(({ url }) => ['--notify', url])
    const { code, notes, stderr } = await run([...urls, ...claude('init text die:SIGKILL')]).ended
    expect(code).toBe(137)
    expect(notes.filter((line) => line.includes('notify')).sort()).toEqual([
      'turnwatch: notify: URL 1 of 3: HTTP 500',
      'turnwatch: notify: URL 2 of 3: HTTP 307',
      'turnwatch: notify: URL 3 of 3: ECONNREFUSED',
    ])
    expect(stderr).not.toContain('s3cret')
    expect(moved.posts.map(({ path }) => path)).toEqual(['/s3cret'])
  })

  it('that never answers delays neither the agent nor, for long, our end', async () => {
    const silent = await webhook(0)
    const { code, notes } = await run(['--notify', silent.url, ...claude('init text exit:9')]).ended
    expect(code).toBe(9)
    expect(silent.posts).toHaveLength(1)
    expect(notes.at(-1)).toBe('turnwatch: notify: 1 not delivered in time')
  })
})

import { describe, expect, test } from 'vitest'
import { type LivenessOptions, livenessApp, type PrismLiveness } from '../../liveness/index.ts'
import type { NotifierView } from '../../notifier/view.ts'
import { type Fixture, fixture } from './manual-clock.ts'
import { ADDED_KEYS, V1B_KEYS } from './v1b.ts'

const MODEL = { provider: 'codex', model: 'gpt-5.2-codex' }

async function ask(at: Fixture, path: string, options: LivenessOptions = {}) {
  const response = await livenessApp(at.watch, options).request(path)
  return { status: response.status, body: await response.json(), headers: response.headers }
}

async function liveness(at: Fixture, threadId: string): Promise<PrismLiveness> {
  const { status, body } = await ask(at, `/api/prism/liveness?threadId=${encodeURIComponent(threadId)}`)
  expect(status).toBe(200)
  return body as PrismLiveness
}

describe('GET /api/prism/liveness', () => {
  const KEYS = [...V1B_KEYS, ...ADDED_KEYS].sort()

  test('has the same keys in every state', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'runs', ...MODEL })
    at.watch.startTurn({ threadId: 'ended', ...MODEL }).observe({ kind: 'turn.ended', outcome: 'completed' })
    at.watch.observe('requested', { kind: 'turn.requested' })
    for (const threadId of ['runs', 'ended', 'requested', 'unknown']) {
      expect(Object.keys(await liveness(at, threadId)).sort(), threadId).toEqual(KEYS)
    }
  })

  test('an unknown thread is idle: nulls, not stale, the default threshold', async () => {
    expect(await liveness(fixture(), 'nobody')).toEqual({
      threadId: 'nobody',
      now: '2026-01-05T08:00:03.000Z',
      lastStreamAt: null,
      silenceMs: null,
      openTool: null,
      turn: null,
      stale: false,
      staleSince: null,
      thresholdMs: 120_000,
      thresholdSource: 'default',
      reason: null,
      state: 'idle',
      phase: null,
      waiting: null,
      lastProgressAt: null,
      progressSilenceMs: null,
      confirmMs: 30_000,
      samples: 0,
      episode: 0,
      parentThreadId: null,
      messages: [],
    })
  })

  test('a requested turn has not started', async () => {
    const at = fixture()
    at.watch.observe('next', { kind: 'turn.requested' })
    expect(await liveness(at, 'next')).toMatchObject({ state: 'requested', turn: null, stale: false, phase: null })
  })

  test('a running turn shows its silence against the threshold of its phase', async () => {
    const at = fixture()
    const turn = at.watch.startTurn({ threadId: 'sub.boss.one', turnId: 't1', ...MODEL })
    at.pass(7)
    expect(await liveness(at, 'sub.boss.one')).toMatchObject({
      state: 'running',
      phase: 'first-token',
      thresholdMs: 120_000,
      progressSilenceMs: 7000,
      parentThreadId: 'boss',
    })
    turn.observe({ kind: 'token', stream: 'text' })
    at.pass(5)
    expect(await liveness(at, 'sub.boss.one')).toEqual({
      threadId: 'sub.boss.one',
      now: '2026-01-05T08:00:15.000Z',
      lastStreamAt: '2026-01-05T08:00:10.000Z',
      silenceMs: 5000,
      openTool: null,
      turn: { turnId: 't1', ...MODEL, startedAt: '2026-01-05T08:00:03.000Z', eventCount: 1 },
      stale: false,
      staleSince: null,
      thresholdMs: 90_000,
      thresholdSource: 'default',
      reason: null,
      state: 'running',
      phase: 'mid-stream',
      waiting: null,
      lastProgressAt: '2026-01-05T08:00:10.000Z',
      progressSilenceMs: 5000,
      confirmMs: 22_500,
      samples: 0,
      episode: 0,
      parentThreadId: 'boss',
      messages: [],
    })
  })

  test('an event that is no progress moves lastStreamAt and not the judged silence', async () => {
    const at = fixture()
    const turn = at.watch.startTurn({ threadId: 'a', ...MODEL })
    at.pass(20)
    turn.observe({ kind: 'side', what: 'ping' })
    at.pass(1)
    expect(await liveness(at, 'a')).toMatchObject({ silenceMs: 1000, progressSilenceMs: 21_000, lastProgressAt: null })
  })

  test('an open tool is shown and stops the judged silence', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL }).observe({ kind: 'tool.started', id: 'call-1', name: 'Bash' })
    at.pass(600)
    expect(await liveness(at, 'a')).toMatchObject({
      state: 'tool',
      openTool: { itemId: 'call-1', itemType: 'Bash', title: 'Bash', startedAt: '2026-01-05T08:00:03.000Z' },
      silenceMs: 600_000,
      progressSilenceMs: 0,
      stale: false,
    })
  })

  test('a wait is shown with its reason and stops the judged silence', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL }).observe({ kind: 'wait.started', id: 'w', reason: 'approval' })
    at.pass(600)
    expect(await liveness(at, 'a')).toMatchObject({
      state: 'waiting',
      waiting: { reason: 'approval', id: 'w', since: '2026-01-05T08:00:03.000Z' },
      progressSilenceMs: 0,
      stale: false,
    })
  })

  test('a silent turn is suspect after its threshold, stale after 1.25 times it, and running again on progress', async () => {
    const at = fixture()
    const turn = at.watch.startTurn({ threadId: 'a', ...MODEL })
    turn.observe({ kind: 'token', stream: 'text' })
    at.pass(91)
    expect(await liveness(at, 'a')).toMatchObject({ state: 'suspect', stale: false, reason: null, episode: 0 })
    at.pass(22)
    expect(await liveness(at, 'a')).toMatchObject({
      state: 'stale',
      stale: true,
      staleSince: '2026-01-05T08:01:56.000Z',
      reason: 'silence',
      phase: 'mid-stream',
      episode: 1,
    })
    turn.observe({ kind: 'token', stream: 'text' })
    expect(await liveness(at, 'a')).toMatchObject({
      state: 'running',
      stale: false,
      staleSince: null,
      reason: null,
      episode: 1,
    })
  })

  test('an ended turn leaves the last event, and no turn', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL }).observe({ kind: 'turn.ended', outcome: 'completed' })
    at.pass(4)
    expect(await liveness(at, 'a')).toMatchObject({
      state: 'ended',
      turn: null,
      stale: false,
      lastStreamAt: '2026-01-05T08:00:03.000Z',
      silenceMs: 4000,
      progressSilenceMs: null,
    })
  })

  test('the flag of a failed turn stays until the next turn of its thread', async () => {
    const at = fixture()
    const turn = at.watch.startTurn({ threadId: 'a', ...MODEL })
    turn.observe({ kind: 'error', message: 'overloaded' })
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    at.pass(600)
    const failed = { stale: true, staleSince: '2026-01-05T08:00:03.000Z', reason: 'provider-error' }
    expect(await liveness(at, 'a')).toMatchObject({ state: 'ended', ...failed })
    at.watch.observe('a', { kind: 'turn.requested' })
    expect(await liveness(at, 'a')).toMatchObject({ state: 'requested', ...failed })
    at.watch.observe('a', { kind: 'turn.started', turn: 't2' })
    expect(await liveness(at, 'a')).toMatchObject({ state: 'running', stale: false, staleSince: null, reason: null })
  })

  test('a parent shows what it was told, whether it runs or not', async () => {
    const at = fixture({ notify: () => {} })
    at.watch.startTurn({ threadId: 'sub.boss.one', turnId: 't1', ...MODEL }).observe({ kind: 'exit', code: 1 })
    await expect
      .poll(async () => (await liveness(at, 'boss')).messages)
      .toEqual([
        {
          key: 'stale/sub.boss.one/t1/1',
          at: '2026-01-05T08:00:03.000Z',
          text: expect.stringContaining('sub.boss.one'),
        },
      ])
  })

  test.each(['', '?threadId=', '?threadId=%20%09', '?threadid=a'])('%j names no thread: 400', async (query) => {
    const { status, body } = await ask(fixture(), `/api/prism/liveness${query}`)
    expect({ status, body }).toEqual({ status: 400, body: { error: 'threadId required' } })
  })

  test('spaces around an id are taken off', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL })
    expect((await ask(at, '/api/prism/liveness?threadId=%20a%20')).body).toMatchObject({
      threadId: 'a',
      state: 'running',
    })
  })

  test.each([
    '__proto__',
    'constructor',
    '<img src=x onerror=alert(1)>',
    'a&b=c?d#e/../f',
    '"}]\n\u0000\u202e',
    '🦀'.repeat(500),
  ])('%j is an id as any other', async (threadId) => {
    const at = fixture()
    expect(await liveness(at, threadId)).toMatchObject({ threadId, state: 'idle' })
    at.watch.startTurn({ threadId, ...MODEL })
    expect(await liveness(at, threadId)).toMatchObject({ threadId, state: 'running' })
  })

  test.each(['%', '%ED%A0%80', '%zz'])('the broken escape %s is an unknown thread', async (broken) => {
    const { status, body } = await ask(fixture(), `/api/prism/liveness?threadId=${broken}`)
    expect({ status, state: (body as PrismLiveness).state }).toEqual({ status: 200, state: 'idle' })
  })

  test('a clock that fails is 503, and 400 comes first', async () => {
    const at = fixture()
    at.clock.monoMs = () => {
      throw new Error('no clock')
    }
    const unavailable = { status: 503, body: { error: 'stream clock unavailable' } }
    expect(await ask(at, '/api/prism/liveness?threadId=a')).toMatchObject(unavailable)
    expect(await ask(at, '/api/prism/threads')).toMatchObject(unavailable)
    expect(await ask(at, '/api/prism/liveness?threadId=')).toMatchObject({ status: 400 })
  })
})

describe('GET /api/prism/threads', () => {
  test('an idle watch has none', async () => {
    const { status, body } = await ask(fixture(), '/api/prism/threads')
    const notifications = { channels: [], messages: [] }
    expect({ status, body }).toEqual({
      status: 200,
      body: { now: '2026-01-05T08:00:03.000Z', threads: [], notifications },
    })
  })

  test('lists the liveness of every running or requested turn, riskiest first', async () => {
    const at = fixture()
    at.watch.observe('requested', { kind: 'turn.requested' })
    at.watch.startTurn({ threadId: 'stale', ...MODEL })
    at.pass(21)
    at.watch.startTurn({ threadId: 'suspect', ...MODEL })
    at.pass(100)
    at.watch.startTurn({ threadId: 'quiet', ...MODEL })
    at.watch.startTurn({ threadId: 'tool', ...MODEL }).observe({ kind: 'tool.started', id: '1' })
    at.watch.startTurn({ threadId: 'ended', ...MODEL }).observe({ kind: 'turn.ended', outcome: 'completed' })
    at.pass(30)
    const { body } = await ask(at, '/api/prism/threads')
    const { now, threads } = body as { now: string; threads: PrismLiveness[] }
    expect(threads.map(({ threadId, state }) => [threadId, state])).toEqual([
      ['stale', 'stale'],
      ['suspect', 'suspect'],
      ['quiet', 'running'],
      ['tool', 'tool'],
      ['requested', 'requested'],
    ])
    expect(now).toBe('2026-01-05T08:02:34.000Z')
    expect(threads[0]).toEqual(await liveness(at, 'stale'))
  })

  test('says which messages have not arrived, as the notifier tells it', async () => {
    const at = fixture()
    const notifications: NotifierView = {
      channels: [{ name: 'webhook', pending: 1, oldestPendingMs: 2000, dead: 0, failing: 'timeout' }],
      messages: [
        {
          key: 'stale/sub.boss.one/t1/1',
          thread: 'sub.boss.one',
          parent: 'boss',
          channel: 'webhook',
          state: 'pending',
          since: '2026-01-05T08:00:01.000Z',
          attempts: 1,
          failure: 'timeout',
          nextTryAt: null,
        },
      ],
    }
    at.watch.notifications = () => notifications
    expect((await ask(at, '/api/prism/threads')).body).toEqual({
      now: '2026-01-05T08:00:03.000Z',
      threads: [],
      notifications,
    })
  })
})

describe('GET /healthz', () => {
  test('is 503 only when the tick is over 30 s late', async () => {
    const at = fixture()
    expect(await ask(at, '/healthz')).toMatchObject({
      status: 200,
      body: { status: 'ok', tickLateMs: 0, ticks: 3, lastTickAt: '2026-01-05T08:00:03.000Z' },
    })
    at.clock.advance(31_000)
    expect(await ask(at, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok', tickLateMs: 30_000 } })
    at.clock.advance(1)
    expect(await ask(at, '/healthz')).toMatchObject({ status: 503, body: { status: 'late', tickLateMs: 30_001 } })
    at.watch.tick()
    expect(await ask(at, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok', tickLateMs: 0 } })
  })

  test.each([-86_400_000, 86_400_000])('a step of the wall clock by %i ms changes nothing', async (step) => {
    const at = fixture()
    at.clock.wall += step
    expect(await ask(at, '/healthz')).toMatchObject({ status: 200, body: { tickLateMs: 0 } })
  })

  test('a watch that never ticks becomes unhealthy', async () => {
    const at = fixture()
    at.clock.advance(40_000)
    expect((await ask(at, '/healthz')).status).toBe(503)
  })
})

describe('GET /metrics', () => {
  const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
  const CLASSIC = 'text/plain; version=0.0.4; charset=utf-8'
  const PROMETHEUS =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

  test.each([
    [undefined, CLASSIC],
    ['*/*', CLASSIC],
    ['text/html,application/xhtml+xml,*/*;q=0.8', CLASSIC],
    ['application/json', CLASSIC],
    ['application/openmetrics-text', OPEN_METRICS],
    ['application/openmetrics-text;q=0', CLASSIC],
    ['text/plain;q=0.9,application/openmetrics-text;q=0.1', CLASSIC],
    [PROMETHEUS, OPEN_METRICS],
  ])('Accept %s gives %s', async (accept, contentType) => {
    const response = await livenessApp(fixture().watch).request('/metrics', { headers: accept ? { accept } : {} })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe(contentType)
  })

  test('one format does not disturb the other', async () => {
    const at = fixture()
    const app = livenessApp(at.watch)
    const read = async (accept: string) => (await app.request('/metrics', { headers: { accept } })).text()
    const [before, open, after] = [await read('text/plain'), await read(PROMETHEUS), await read('text/plain')]
    expect(after).toBe(before)
    expect(before).toMatch(/^turnwatch_ticks_total 3$/m)
    expect(open).toMatch(/^turnwatch_ticks_total 3$/m)
  })

  test('HEAD has the headers of GET and no body', async () => {
    const response = await livenessApp(fixture().watch).request('/metrics', { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe(CLASSIC)
    expect(await response.text()).toBe('')
  })

  test('a collection that fails is 500 with a line, counted and reported', async () => {
    const faults: string[] = []
    const at = fixture({ onError: (fault) => faults.push(fault.message) })
    const app = livenessApp(at.watch)
    const { monoMs } = at.clock
    at.clock.monoMs = () => {
      throw new Error('no clock')
    }
    const response = await app.request('/metrics')
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('collecting the metrics failed\n')
    expect(faults).toEqual(['turnwatch: collector: no clock'])
    at.clock.monoMs = monoMs
    expect(await (await app.request('/metrics')).text()).toContain(
      'turnwatch_internal_errors_total{where="collector"} 1',
    )
  })

  test('a mode of perThread that is none is refused', () => {
    expect(() => livenessApp(fixture().watch, { perThread: 'none' as 'off' })).toThrow(
      new TypeError('perThread: "none" is none of all, stale, off'),
    )
  })

  test('perThread chooses the series of threads', async () => {
    const at = fixture()
    at.watch.startTurn({ threadId: 'a', ...MODEL })
    const read = async (options: LivenessOptions) => (await livenessApp(at.watch, options).request('/metrics')).text()
    expect(await read({})).toContain('turnwatch_thread_stale{thread="a"} 0')
    expect(await read({ perThread: 'off' })).not.toContain('thread="a"')
  })
})

describe('every answer', () => {
  test.each(['localhost', 'LOCALHOST:80', '127.0.0.1', '127.0.0.1:8123', '[::1]', '[::1]:8123'])(
    'the host %s is this machine',
    async (host) => {
      const response = await livenessApp(fixture().watch).request('/healthz', { headers: { host } })
      expect(response.status).toBe(200)
    },
  )

  test.each([
    'evil.example',
    'evil.example:8123',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.2',
    '0.0.0.0',
    'localhost:80:80',
    'localhost/@evil',
    '[::1',
    '::1',
    ' ',
    '',
  ])('the host %j is refused on every path', async (host) => {
    const app = livenessApp(fixture().watch)
    for (const path of ['/', '/metrics', '/healthz', '/api/prism/threads', '/nothing']) {
      const response = await app.request(path, { headers: { host } })
      expect(response.status, path).toBe(403)
      expect(await response.json()).toEqual({ error: 'host not allowed' })
    }
  })

  test('allowedHosts adds names with any port, or with one', async () => {
    const app = livenessApp(fixture().watch, { allowedHosts: ['Watch.example', 'other.example:8443'] })
    const status = async (host: string) => (await app.request('/healthz', { headers: { host } })).status
    expect(await status('watch.example')).toBe(200)
    expect(await status('watch.EXAMPLE:9000')).toBe(200)
    expect(await status('other.example:8443')).toBe(200)
    expect(await status('other.example')).toBe(403)
    expect(await status('localhost')).toBe(200)
  })

  test.each(['', 'http://watch.example', 'a b', '[::1'])('the allowed host %j is refused', (host) => {
    expect(() => livenessApp(fixture().watch, { allowedHosts: [host] })).toThrow(
      `allowedHosts: ${JSON.stringify(host)}`,
    )
  })

  test('an unknown path is 404', async () => {
    for (const path of ['/nothing', '/api/prism', '/page/page.js', '/../package.json', '/api/prism/liveness/']) {
      expect(await ask(fixture(), path), path).toMatchObject({ status: 404, body: { error: 'not found' } })
    }
  })

  test('another method is 405 and says which are allowed', async () => {
    const app = livenessApp(fixture().watch)
    for (const path of [
      '/',
      '/metrics',
      '/healthz',
      '/api/prism/threads',
      '/api/prism/liveness?threadId=a',
      '/page.js',
    ]) {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const response = await app.request(path, { method })
        expect(response.status, `${method} ${path}`).toBe(405)
        expect(response.headers.get('allow')).toBe('GET, HEAD')
        expect(await response.json()).toEqual({ error: 'method not allowed' })
      }
    }
  })

  test('is never stored, sniffed or read by other origins', async () => {
    for (const path of ['/', '/metrics', '/healthz', '/api/prism/threads', '/api/prism/liveness', '/nothing']) {
      const { headers } = await livenessApp(fixture().watch).request(path)
      expect(headers.get('cache-control'), path).toBe('no-store')
      expect(headers.get('x-content-type-options'), path).toBe('nosniff')
      expect(headers.get('cross-origin-resource-policy'), path).toBe('same-origin')
      expect(headers.get('access-control-allow-origin'), path).toBeNull()
    }
  })

  test('the page may load scripts and styles of its own origin only', async () => {
    const response = await livenessApp(fixture().watch).request('/')
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const html = await response.text()
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=/)
    for (const [, file] of html.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg))"/g)) {
      expect((await livenessApp(fixture().watch).request(`/${file}`)).status, file).toBe(200)
    }
  })

  test('the handler may be mounted below a path of another server', async () => {
    const { Hono } = await import('hono')
    const outer = new Hono().route('/watch', livenessApp(fixture().watch))
    expect((await outer.request('/watch/healthz')).status).toBe(200)
  })
})

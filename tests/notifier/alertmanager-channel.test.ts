import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Channel, DeliveryFailed, type Try } from '../../notifier/channel.ts'
import { type AlertmanagerOptions, alertmanagerChannel } from '../../notifier/channels/alertmanager.ts'
import type { Message } from '../../notifier/message.ts'
import { MESSAGE as A_MESSAGE, KEY } from './a-message.ts'

const LONG_AGO = '2026-11-30T12:00:00.000Z'
const ENDED = '2026-11-30T12:03:20.000Z'
const FIRING_MS = 300_000

const MESSAGE = { ...A_MESSAGE, lastEventAt: LONG_AGO }

const LABELS = {
  alertname: 'TurnStale',
  thread: 'sub.boss.one',
  provider: 'claudeAgent',
  model: 'claude-opus-4-6',
  reason: 'silence',
  source: 'turnwatch',
}

interface Alert {
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  readonly startsAt: string
  readonly endsAt: string
}

type Answer = (response: ServerResponse) => void

const ok: Answer = (response) => response.end()
const refused: Answer = (response) => response.writeHead(500).end('hush-body')

/** Gives the first POST the first answer, and so on; the last answer is given to all that follow. */
async function receiving(...answers: readonly Answer[]) {
  const posts: { path: string; authorization: string | undefined; alerts: Alert[] }[] = []
  const server = createServer(async (request, response) => {
    const alerts = (await json(request)) as Alert[]
    const { authorization } = request.headers
    const count = posts.push({ path: `${request.method} ${request.url}`, authorization, alerts })
    ;(answers[Math.min(count, answers.length) - 1] ?? ok)(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, posts, alerts: () => posts.flatMap((post) => post.alerts) }
}

function channel(options: AlertmanagerOptions): Channel {
  const made = alertmanagerChannel(options)
  onTestFinished(() => made.close?.())
  return made
}

function attempt(fields: Partial<Try> = {}): Try {
  const { signal } = new AbortController()
  return { key: KEY, attempt: 1, rejections: 0, since: LONG_AGO, endedAt: null, signal, ...fields }
}

async function failureOf(delivery: ReturnType<Channel['deliver']>): Promise<DeliveryFailed> {
  const outcome = await Promise.resolve(delivery).catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(DeliveryFailed)
  return outcome as DeliveryFailed
}

/** The times between which the alert of a delivery may end, when it fires. */
async function firingWindow(deliver: () => unknown): Promise<[number, number]> {
  const before = Date.now()
  await deliver()
  return [before + FIRING_MS, Date.now() + FIRING_MS]
}

function expectFiring(alert: Alert | undefined, [from, to]: [number, number]): void {
  expect(Date.parse(alert?.endsAt ?? '')).toBeGreaterThanOrEqual(from)
  expect(Date.parse(alert?.endsAt ?? '')).toBeLessThanOrEqual(to)
}

describe('the alert of a stale episode', () => {
  test('says which turn, since when, and fires for five minutes from now', async () => {
    const { url, posts } = await receiving(ok)
    const made = channel({ url })
    const window = await firingWindow(() => made.deliver(MESSAGE, attempt()))
    const [{ path, authorization, alerts }] = posts as [(typeof posts)[number]]
    expect(path).toBe('POST /api/v2/alerts')
    expect(authorization).toBeUndefined()
    expect(alerts).toEqual([
      {
        labels: LABELS,
        annotations: { summary: 'Turn of sub.boss.one is stale: silence', description: MESSAGE.text },
        startsAt: LONG_AGO,
        endsAt: expect.any(String),
      },
    ])
    expectFiring(alerts[0], window)
  })

  test('is told again each minute', () => {
    expect(channel({ url: 'http://a.example' })).toMatchObject({ name: 'alertmanager', repeatMs: 60_000 })
    expect(channel({ url: 'http://a.example', name: 'ops', timeoutMs: 9 })).toMatchObject({ name: 'ops', timeoutMs: 9 })
  })

  test.each(['', '/', '/prefix', '/prefix/', '/prefix//'])('goes to the API below the path %j', async (path) => {
    const { url, posts } = await receiving(ok)
    await channel({ url: `${url.replace('//', '//us:er@')}${path}#fragment` }).deliver(MESSAGE, attempt())
    const prefix = path.startsWith('/prefix') ? '/prefix' : ''
    expect(posts[0]?.path).toBe(`POST ${prefix}/api/v2/alerts`)
    expect(posts[0]?.authorization).toBe(`Basic ${Buffer.from('us:er').toString('base64')}`)
  })

  test('carries the configured labels, annotations and headers', async () => {
    const { url, posts } = await receiving(ok)
    const labels = { team: 'agents\u0007', severity: 'warning' }
    const annotations = { runbook_url: 'https://runbooks.example/TurnStale' }
    await channel({ url, labels, annotations, headers: { authorization: 'Bearer t' } }).deliver(MESSAGE, attempt())
    expect(posts[0]?.alerts[0]?.labels).toEqual({ ...LABELS, team: 'agents', severity: 'warning' })
    expect(posts[0]?.alerts[0]?.annotations).toMatchObject({ ...annotations, description: MESSAGE.text })
    expect(posts[0]?.authorization).toBe('Bearer t')
  })

  test('has labels that Alertmanager takes, whatever the wire said', async () => {
    const { url, alerts } = await receiving(ok)
    const message = { ...MESSAGE, thread: `a\n\u0000\ud800b${'x'.repeat(300)}`, provider: '', model: null }
    await channel({ url }).deliver(message, attempt())
    const [{ labels, annotations }] = alerts() as [Alert]
    expect(Object.keys(labels)).toEqual(['alertname', 'thread', 'reason', 'source'])
    expect(labels.thread).toMatch(/^a\ufffdbx+~[0-9a-f]{8}$/)
    expect(labels.thread).toHaveLength(200)
    expect(annotations.summary).toBe(`Turn of ${labels.thread} is stale: silence`)
  })

  test('keeps its labels when a stronger reason comes, and says the reason', async () => {
    const { url, alerts } = await receiving(refused, ok)
    const made = channel({ url })
    await failureOf(made.deliver(MESSAGE, attempt()))
    const stronger: Message = { ...MESSAGE, reason: 'provider-error' }
    await made.deliver(stronger, attempt({ attempt: 2 }))
    await made.deliver(stronger, attempt({ attempt: 3, endedAt: ENDED }))
    await made.deliver({ ...stronger, key: 'another' }, attempt({ key: 'another' }))
    expect(alerts().map(({ labels }) => labels)).toEqual([
      LABELS,
      LABELS,
      LABELS,
      { ...LABELS, reason: 'provider-error' },
    ])
    expect(alerts()[1]?.annotations.summary).toBe('Turn of sub.boss.one is stale: provider-error')
  })

  test('is the same at every repeat, but for its end', async () => {
    const { url, alerts } = await receiving(ok)
    const made = channel({ url, labels: { team: 'agents' } })
    for (const number of [1, 2, 3]) await made.deliver(MESSAGE, attempt({ attempt: number }))
    const [first, ...repeats] = alerts().map(({ endsAt, ...rest }) => rest)
    expect(repeats).toEqual([first, first])
  })
})

describe('the end of an episode', () => {
  test('of silence resolves its alert at that time', async () => {
    const { url, alerts } = await receiving(ok)
    const made = channel({ url })
    await made.deliver(MESSAGE, attempt())
    await made.deliver(MESSAGE, attempt({ attempt: 2, endedAt: ENDED }))
    expect(alerts()[1]).toEqual({ ...alerts()[0], endsAt: ENDED })
  })

  test('that comes late does not resolve the next episode of the same thread', async () => {
    const { url, alerts } = await receiving(ok)
    const made = channel({ url })
    await made.deliver(MESSAGE, attempt())
    await made.deliver(MESSAGE, attempt({ key: `${KEY}/next`, since: ENDED }))
    await made.deliver(MESSAGE, attempt({ attempt: 2, endedAt: ENDED }))
    expect(alerts().map(({ startsAt }) => startsAt)).toEqual([LONG_AGO, ENDED])
  })

  test('of a silence that was never told resolves it all the same', async () => {
    const { url, alerts } = await receiving(ok)
    await channel({ url }).deliver(MESSAGE, attempt({ endedAt: ENDED }))
    expect(alerts()).toMatchObject([{ startsAt: LONG_AGO, endsAt: ENDED }])
  })

  test('at the same instant does not hide a provider failure: it fires for five minutes from when it was taken', async () => {
    const { url, alerts } = await receiving(refused, ok)
    const made = channel({ url })
    const message: Message = { ...MESSAGE, reason: 'provider-dead' }
    const ended = { endedAt: LONG_AGO }
    const window = await firingWindow(async () => {
      await failureOf(made.deliver(message, attempt(ended)))
      await made.deliver(message, attempt({ ...ended, attempt: 2 }))
    })
    await made.deliver(message, attempt({ ...ended, attempt: 3 }))
    const [lost, taken, again] = alerts()
    expectFiring(lost, window)
    expectFiring(taken, window)
    expectFiring(again, window)
  })

  test('is never before the start, and an alert never ends before it starts, after the clock was set back', async () => {
    const { url, alerts } = await receiving(ok)
    const made = channel({ url })
    const since = new Date(Date.now() + 3_600_000).toISOString()
    await made.deliver(MESSAGE, attempt({ since }))
    await made.deliver(MESSAGE, attempt({ since, endedAt: LONG_AGO }))
    expect(alerts().map(({ startsAt, endsAt }) => Date.parse(endsAt) - Date.parse(startsAt))).toEqual([FIRING_MS, 0])
  })

  test('needs no message of the recovery', async () => {
    const { url, posts } = await receiving(ok)
    const said = await channel({ url }).deliver(
      { ...MESSAGE, verdict: 'recovered' },
      attempt({ key: 'recovered/a/b/1' }),
    )
    expect(said ?? 'delivered').toBe('delivered')
    expect(posts).toEqual([])
  })
})

describe('many alerts at once', () => {
  const deliver = (made: Channel, count: number, fields: Partial<Try> = {}) =>
    Array.from({ length: count }, (_, index) =>
      made.deliver({ ...MESSAGE, thread: `thread-${index}` }, attempt({ key: `stale/thread-${index}/t/1`, ...fields })),
    )

  test('arrive in few POSTs, each once', async () => {
    const { url, posts, alerts } = await receiving(ok)
    const made = channel({ url })
    expect(made.concurrency).toBeGreaterThanOrEqual(500)
    await Promise.all(deliver(made, 500))
    expect(posts.map((post) => post.alerts.length).sort()).toEqual([100, 200, 200])
    expect(new Set(alerts().map(({ labels }) => labels.thread)).size).toBe(500)
  })

  test('that come later go out by themselves', async () => {
    const { url, posts } = await receiving(ok)
    const made = channel({ url })
    await Promise.all(deliver(made, 2))
    await Promise.all(deliver(made, 3))
    expect(posts.map((post) => post.alerts.length)).toEqual([2, 3])
  })

  test('fail together with their POST, and no other', async () => {
    const { url } = await receiving(refused, ok)
    const settled = await Promise.allSettled(deliver(channel({ url }), 250))
    const failed = settled.filter(({ status }) => status === 'rejected')
    expect([50, 200]).toContain(failed.length)
    for (const { reason } of failed as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ reason: 'server_error', retry: true, message: 'HTTP 500' })
    }
  })

  test('are not aborted by the abort of one, before or after it was sent', async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    const { url, alerts } = await receiving((response) => arrived.resolve(response))
    const made = channel({ url })
    const late = new AbortController()
    const [early, sent, kept] = [
      failureOf(made.deliver(MESSAGE, attempt({ key: 'early', signal: AbortSignal.abort() }))),
      failureOf(made.deliver({ ...MESSAGE, thread: 'late' }, attempt({ key: 'late', signal: late.signal }))),
      made.deliver({ ...MESSAGE, thread: 'kept' }, attempt({ key: 'kept' })),
    ]
    expect((await early)?.reason).toBe('timeout')
    const response = await arrived.promise
    late.abort()
    expect((await sent)?.reason).toBe('timeout')
    response.end()
    await kept
    expect(alerts().map(({ labels }) => labels.thread)).toEqual(['late', 'kept'])
  })

  test('are one POST that is given up when all are aborted', async () => {
    const arrived = Promise.withResolvers<ServerResponse>()
    const { url } = await receiving((response) => arrived.resolve(response))
    const { signal, abort } = controller()
    const deliveries = deliver(channel({ url }), 20, { signal }).map(failureOf)
    const closed = once(await arrived.promise, 'close')
    abort()
    for (const failure of await Promise.all(deliveries))
      expect(failure).toMatchObject({ reason: 'timeout', retry: true })
    await closed
  })

  test('are not sent at all when all were aborted before', async () => {
    const { url, posts } = await receiving(ok)
    const made = channel({ url })
    await Promise.all(deliver(made, 3, { signal: AbortSignal.abort() }).map(failureOf))
    await made.deliver(MESSAGE, attempt())
    expect(posts.map((post) => post.alerts.length)).toEqual([1])
  })

  function controller() {
    const made = new AbortController()
    return { signal: made.signal, abort: () => made.abort() }
  }
})

describe('an Alertmanager that does not take the alert', () => {
  test.each([
    [400, {}, { reason: 'client_error', retry: false, retryAfterMs: null }],
    [429, { 'retry-after': '3' }, { reason: 'client_error', retry: true, retryAfterMs: 3000 }],
    [503, { 'retry-after': '3' }, { reason: 'server_error', retry: true, retryAfterMs: 3000 }],
    [302, { location: '/login' }, { reason: 'rejected', retry: false }],
  ])('with %d is judged as a webhook is', async (code, headers, failure) => {
    const { url } = await receiving((response) => response.writeHead(code, headers).end())
    expect(await failureOf(channel({ url }).deliver(MESSAGE, attempt()))).toMatchObject(failure)
  })

  test('in time is tried again', async () => {
    const { url } = await receiving(() => {})
    const failure = await failureOf(channel({ url, timeoutMs: 50 }).deliver(MESSAGE, attempt()))
    expect(failure).toMatchObject({ reason: 'timeout', retry: true, message: 'no answer in time' })
  })

  test('because the channel is closed is tried again', async () => {
    const { url, posts } = await receiving(ok)
    const made = channel({ url })
    const waiting = failureOf(made.deliver(MESSAGE, attempt()))
    await made.close?.()
    expect(await waiting).toMatchObject({ reason: 'other', retry: true, message: 'the channel is closed' })
    expect(posts).toEqual([])
  })
})

test('secrets are neither in the channel nor in its failures', async () => {
  const { port } = await receiving(refused)
  const made = channel({
    url: `http://hush-user:hush-pass@127.0.0.1:${port}/hush?hush`,
    headers: { 'x-hush': 'hush-header' },
  })
  const failure = await failureOf(made.deliver(MESSAGE, attempt()))
  const seen = [made, failure].flatMap((thing) => [
    inspect(thing, { depth: 9, showHidden: true }),
    JSON.stringify(thing),
  ])
  expect(['hush', '127.0.0.1', `:${port}`].filter((one) => seen.join().includes(one))).toEqual([])
})

test('the fingerprint tells receivers apart', () => {
  const targets = ['http://a.example', 'http://a.example/', 'http://b.example'].map((url) => channel({ url }).target)
  for (const target of targets) expect(target).toMatch(/^[0-9a-f]{8,16}$/)
  expect(targets[1]).toBe(targets[0])
  expect(targets[2]).not.toBe(targets[0])
})

type BadOption = [option: string, options: object]

test.each<BadOption>([
  ['url', { url: 'hush' }],
  ['url', { url: 'unix:///hush' }],
  ['name', { name: '' }],
  ['timeoutMs', { timeoutMs: -1 }],
  ['headers', { headers: { 'x-hush': '\n' } }],
  ['labels', { labels: { 'a-b': '1' } }],
  ['labels', { labels: { '1a': '1' } }],
  ['labels', { labels: { '': '1' } }],
  ['labels', { labels: { team: 1 } }],
  ['labels', { labels: null }],
  ['labels', { labels: 'team' }],
  ...['alertname', 'thread', 'provider', 'model', 'reason', 'source'].map(
    (name) => ['labels', { labels: { [name]: '1' } }] satisfies BadOption,
  ),
  ['annotations', { annotations: { 'a b': '1' } }],
  ['annotations', { annotations: { summary: '1' } }],
  ['annotations', { annotations: { description: '1' } }],
  ['annotations', { annotations: { runbook: undefined } }],
])('a bad option %s is refused: %j', (option, options) => {
  const make = () => alertmanagerChannel({ url: 'http://a.example', ...options } as AlertmanagerOptions)
  expect(make).toThrow(new RegExp(`^${option}: .{10}`))
  expect(make).not.toThrow(/hush/)
})

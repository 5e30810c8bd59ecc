import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Channel, DeliveryFailed, type Try } from '../../notifier/channel.ts'
import { type WebhookOptions, webhookChannel } from '../../notifier/channels/webhook.ts'
import { KEY, MESSAGE } from './a-message.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end('hush-body')

/** Gives the first request the first answer, and so on; the last answer is given to all that follow. */
async function receiving(...answers: readonly Answer[]) {
  const requests: Received[] = []
  const http = createServer(async (request, response) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    const { url: path = '', headers } = request
    const index = requests.push({ path, headers, body: '' }) - 1
    const body = await text(request).catch(() => '')
    requests[index] = { path, headers, body }
    answer?.(response, request)
  })
  return { requests, ...(await listening(http)) }
}

/** Answers with these bytes, then cuts the connection, by a reset or an orderly end. */
async function cutting(bytes: string, how: 'reset' | 'end') {
  const tcp = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () =>
      socket.write(bytes, () => (how === 'reset' ? setImmediate(() => socket.resetAndDestroy()) : socket.end())),
    )
  })
  return listening(tcp)
}

async function listening(server: Server) {
  const sockets = new Set<Socket>()
  let mostSockets = 0
  server.on('connection', (socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)))
    mostSockets = Math.max(mostSockets, sockets.size)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}/hook`, sockets, mostSockets: () => mostSockets }
}

function channel(options: WebhookOptions): Channel {
  const made = webhookChannel(options)
  onTestFinished(() => made.close?.())
  return made
}

function attempt(fields: Partial<Try> = {}): Try {
  const { signal } = new AbortController()
  return { key: KEY, attempt: 1, rejections: 0, since: MESSAGE.lastEventAt, endedAt: null, signal, ...fields }
}

async function failureOf(delivery: ReturnType<Channel['deliver']>): Promise<DeliveryFailed> {
  const outcome = await Promise.resolve(delivery).catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(DeliveryFailed)
  return outcome as DeliveryFailed
}

const failing = async (options: WebhookOptions) => failureOf(channel(options).deliver(MESSAGE, attempt()))

/** Written from the text of the specification. */
function verifies(secret: string, headers: Record<string, unknown>, body: string): boolean[] {
  const signingKey = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', signingKey).update(signed).digest('base64')}`
  return String(headers['webhook-signature'])
    .split(' ')
    .map((one) => one === expected)
}

describe('what a webhook posts', () => {
  test('is the message as JSON, its keys in the order of the contract', async () => {
    const { url, requests } = await receiving(status(200))
    const before = Math.floor(Date.now() / 1000)
    await channel({ url }).deliver(MESSAGE, attempt())
    expect(requests).toHaveLength(1)
    const [{ path, headers, body }] = requests as [Received]
    expect(path).toBe('/hook')
    expect(body).toBe(JSON.stringify(MESSAGE))
    expect(Object.keys(JSON.parse(body)).join(' ')).toBe(
      'verdict key thread turn parent provider model reason phase lastEventAt lastEventKind silenceMs thresholdMs thresholdSource text',
    )
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'turnwatch', 'webhook-id': KEY })
    expect(Number(headers['webhook-timestamp'])).toBeGreaterThanOrEqual(before)
    expect(Number(headers['webhook-timestamp'])).toBeLessThanOrEqual(Date.now() / 1000)
    expect(headers).not.toHaveProperty('webhook-signature')
    expect(headers).not.toHaveProperty('authorization')
  })

  test('has the messages of a group', async () => {
    const { url, requests } = await receiving(status(200))
    const grouped = { ...MESSAGE, group: [MESSAGE, { ...MESSAGE, thread: 'sub.boss.two' }] }
    await channel({ url }).deliver(grouped, attempt())
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual(grouped)
  })

  test('carries the user info of the URL as Basic authorization, its query, and no fragment', async () => {
    const { port, requests } = await receiving(status(200))
    await channel({ url: `http://us%C3%A9r:p%40ss@127.0.0.1:${port}/a/b?c=d#e` }).deliver(MESSAGE, attempt())
    expect(requests[0]?.path).toBe('/a/b?c=d')
    expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('usér:p@ss').toString('base64')}`)
  })

  test('carries the configured headers', async () => {
    const { url, requests } = await receiving(status(200))
    await channel({ url: new URL(url), headers: { Authorization: 'Bearer t', 'X-Team': 'a b' } }).deliver(
      MESSAGE,
      attempt(),
    )
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer t', 'x-team': 'a b' })
  })

  test.each([
    ['other letters', 'stale/тред/tür/1'],
    ['a space', 'stale/a b/turn/1'],
    ['a line break', 'stale/a\r\nx-evil: 1/turn/1'],
    ['half a character', 'stale/\ud800/turn/1'],
    ['no character', ''],
    ['more than 255 characters', `stale/${'x'.repeat(250)}/1`],
  ])('has an id that a header can hold, the same at every try, for a key with %s', async (_, key) => {
    const { url, requests } = await receiving(status(200))
    const made = channel({ url, secret: SECRET })
    for (const one of [key, key, `${key}2`]) await made.deliver(MESSAGE, attempt({ key: one }))
    const [first, second, other] = requests.map(({ headers }) => headers['webhook-id'] as string)
    expect(first).toMatch(/^[!-~]{0,200}~[0-9a-f]{8,}$/)
    expect(second).toBe(first)
    expect(other).not.toBe(first)
    for (const { headers, body } of requests) expect(verifies(SECRET, headers, body)).toEqual([true])
  })

  test('has the key itself as id up to 255 characters', async () => {
    const { url, requests } = await receiving(status(200))
    const key = `stale/${'x'.repeat(247)}/1`
    await channel({ url }).deliver(MESSAGE, attempt({ key }))
    expect(requests[0]?.headers['webhook-id']).toBe(key)
  })
})

describe('the signature of a webhook', () => {
  test('the verification of this test takes the vector that Standard Webhooks publish', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    expect(verifies(SECRET, headers, '{"test": 2432232314}')).toEqual([true])
  })

  test.each([SECRET, SECRET.replace('whsec_', ''), [SECRET]])('verifies with %j', async (secret) => {
    const { url, requests } = await receiving(status(200))
    await channel({ url, secret }).deliver(MESSAGE, attempt())
    const [{ headers, body }] = requests as [Received]
    expect(verifies(SECRET, headers, body)).toEqual([true])
    expect(verifies(SECRET, headers, body.replace('113000', '1'))).toEqual([false])
  })

  test('is one for each of several secrets', async () => {
    const { url, requests } = await receiving(status(200))
    const old = `whsec_${Buffer.from('an old secret of 24 bytes').toString('base64')}`
    await channel({ url, secret: [SECRET, old] }).deliver(MESSAGE, attempt())
    const [{ headers, body }] = requests as [Received]
    expect(verifies(SECRET, headers, body)).toEqual([true, false])
    expect(verifies(old, headers, body)).toEqual([false, true])
  })
})

describe('the answer to a webhook', () => {
  test.each([200, 201, 202, 204])('%d is delivered', async (code) => {
    const { url } = await receiving(status(code))
    await expect(channel({ url }).deliver(MESSAGE, attempt())).resolves.toBeUndefined()
  })

  test.each([
    [400, 'client_error', false],
    [401, 'client_error', false],
    [404, 'client_error', false],
    [410, 'client_error', false],
    [408, 'client_error', true],
    [429, 'client_error', true],
    [500, 'server_error', true],
    [502, 'server_error', true],
    [503, 'server_error', true],
    [504, 'server_error', true],
  ] as const)('%d fails as %s, tried again: %s', async (code, reason, retry) => {
    const { url } = await receiving(status(code))
    expect(await failing({ url })).toMatchObject({ reason, retry, retryAfterMs: null, message: `HTTP ${code}` })
  })

  test('500 and then 200 is delivered by the second try, with the same id and body', async () => {
    const { url, requests } = await receiving(status(500), status(200))
    const made = channel({ url })
    expect((await failureOf(made.deliver(MESSAGE, attempt()))).reason).toBe('server_error')
    await made.deliver(MESSAGE, attempt({ attempt: 2 }))
    expect(requests.map(({ headers, body }) => [headers['webhook-id'], body])).toEqual(
      Array(2).fill([KEY, JSON.stringify(MESSAGE)]),
    )
  })

  test.each([
    ['7', 7000],
    ['0', 0],
    ['999999', 3_600_000],
    ['Mon, 30 Nov 2026 12:01:30 GMT', 90_000],
    ['Monday, 30-Nov-26 12:01:30 GMT', 90_000],
    ['Mon Nov 30 12:01:30 2026', 90_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['Tue, 30 Nov 2027 12:00:00 GMT', 3_600_000],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    ['2026-11-30T12:01:30Z', null],
    ['Mon, 99 Nov 2026 12:01:30 GMT', null],
  ])('429 and 503 with Retry-After %j pause for %s ms', async (asked, retryAfterMs) => {
    vi.stubEnv('TZ', 'Asia/Tokyo')
    onTestFinished(() => void vi.unstubAllEnvs())
    const headers = { 'retry-after': asked, date: 'Mon, 30 Nov 2026 12:00:00 GMT' }
    const { url } = await receiving(status(429, headers), status(503, headers), status(500, headers))
    const made = channel({ url })
    expect(await failureOf(made.deliver(MESSAGE, attempt()))).toMatchObject({ retry: true, retryAfterMs })
    expect(await failureOf(made.deliver(MESSAGE, attempt()))).toMatchObject({ retry: true, retryAfterMs })
    expect(await failureOf(made.deliver(MESSAGE, attempt()))).toMatchObject({ retry: true, retryAfterMs: null })
  })

  test('Retry-After as a date is measured by our own clock where the receiver shows none', async () => {
    const { url } = await receiving((response) => {
      response.sendDate = false
      status(429, { 'retry-after': new Date(Date.now() + 600_000).toUTCString() })(response, response.req)
    })
    const { retryAfterMs } = await failing({ url })
    expect(retryAfterMs).toBeGreaterThan(500_000)
    expect(retryAfterMs).toBeLessThanOrEqual(600_000)
  })
})

describe('a redirect of a webhook', () => {
  test.each([307, 308])('%d within the origin is followed with the same headers and body', async (code) => {
    const { url, requests } = await receiving(
      status(code, { location: '/moved?to=here' }),
      (response, { headers }) => response.writeHead(code, { location: `http://${headers.host}/again#end` }).end(),
      status(200),
    )
    await channel({ url: url.replace('//', '//us:er@'), secret: SECRET }).deliver(MESSAGE, attempt())
    expect(requests.map(({ path }) => path)).toEqual(['/hook', '/moved?to=here', '/again'])
    for (const { headers, body } of requests) {
      expect(headers).toEqual(requests[0]?.headers)
      expect(verifies(SECRET, headers, body)).toEqual([true])
    }
  })

  test('is followed three times, and no fourth', async () => {
    const { url, requests } = await receiving(status(308, { location: '/hook' }))
    expect(await failing({ url })).toMatchObject({
      reason: 'rejected',
      retry: false,
      message: 'HTTP 308 more than 3 times, not followed',
    })
    expect(requests).toHaveLength(4)
  })

  test.each([301, 302, 303, 307, 308])('%d to another host, port or scheme is not followed', async (code) => {
    const other = await receiving(status(200))
    for (const [location, where] of [
      [`http://localhost:${other.port}/hook`, 'another host'],
      [other.url, 'another port'],
      [other.url.replace('http:', 'https:'), 'another scheme'],
    ] as const) {
      const { url, requests } = await receiving(status(code, { location }))
      const message = `HTTP ${code} to ${where}, not followed`
      expect(await failing({ url })).toMatchObject({ reason: 'rejected', retry: false, message })
      expect(requests).toHaveLength(1)
    }
    expect(other.requests).toEqual([])
  })

  test.each([
    [301, '/elsewhere', 'HTTP 301 to the same host, not followed'],
    [302, '/elsewhere', 'HTTP 302 to the same host, not followed'],
    [303, '/elsewhere', 'HTTP 303 to the same host, not followed'],
    [308, 'http://[', 'HTTP 308, not followed'],
    [304, undefined, 'HTTP 304, not followed'],
    [307, undefined, 'HTTP 307, not followed'],
  ])('%d with Location %j is not followed', async (code, location, message) => {
    const { url, requests } = await receiving(status(code, location === undefined ? {} : { location }))
    expect(await failing({ url })).toMatchObject({ reason: 'rejected', retry: false, message })
    expect(requests).toHaveLength(1)
  })
})

describe('a slow or broken receiver', () => {
  test('that answers late but in time has the message', async () => {
    const { url } = await receiving((response) => setTimeout(() => response.end(), 50))
    await channel({ url, timeoutMs: 5000 }).deliver(MESSAGE, attempt())
  })

  test('that does not answer is given up, and its socket closed', async () => {
    const closed = Promise.withResolvers<void>()
    const { url } = await receiving((response) => response.on('close', closed.resolve))
    expect(await failing({ url, timeoutMs: 50 })).toMatchObject({
      reason: 'timeout',
      retry: true,
      message: 'no answer in time',
    })
    await closed.promise
  })

  test.each([
    ['before it answers', '', 'reset'],
    ['before it answers', '', 'end'],
    ['in its headers', 'HTTP/1.1 200 OK\r\ncontent-le', 'reset'],
    ['in its headers', 'HTTP/1.1 200 OK\r\ncontent-le', 'end'],
    ['having sent no HTTP', 'SSH-2.0-hush-body\r\n', 'end'],
  ] as const)('that cuts the connection %s (%j, %s) is tried again', async (_, bytes, how) => {
    const failure = await failing({ url: (await cutting(bytes, how)).url })
    expect(failure).toMatchObject({ reason: 'connection', retry: true })
    expect(failure.message).toMatch(/^(ECONNRESET|closed without an answer|the answer is not HTTP)$/)
  })

  test('that nobody listens at is tried again', async () => {
    const { port, url, sockets } = await cutting('', 'end')
    const free = createTcpServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const closedPort = (free.address() as AddressInfo).port
    free.close()
    expect(await failing({ url: url.replace(`${port}`, `${closedPort}`) })).toMatchObject({
      reason: 'connection',
      retry: true,
      message: 'ECONNREFUSED',
    })
    expect(sockets.size).toBe(0)
  })

  test.each([
    ['200', undefined],
    ['500', { reason: 'server_error', retry: true, message: 'HTTP 500' }],
  ])('that cuts the connection in the body of a %s has said enough', async (code, failure) => {
    const { url } = await cutting(`HTTP/1.1 ${code} OK\r\ncontent-length: 100\r\n\r\nhalf`, 'reset')
    const delivery = Promise.resolve(channel({ url }).deliver(MESSAGE, attempt()))
    if (failure === undefined) await expect(delivery).resolves.toBeUndefined()
    else await expect(delivery).rejects.toMatchObject(failure)
  })

  test.each([
    ['is endless', true],
    ['never comes', false],
  ])('whose body %s has the message at once, and its socket is freed', async (_, flowing) => {
    const closed = Promise.withResolvers<void>()
    const { url, requests } = await receiving((response) => {
      response.on('close', closed.resolve).writeHead(200)
      const more = () => {
        while (flowing && !response.closed && response.write('x'.repeat(8192)));
      }
      response.on('drain', more).flushHeaders()
      more()
    }, status(200))
    // Less than the time that a body is waited for.
    const made = channel({ url, concurrency: 1, timeoutMs: 500 })
    await made.deliver(MESSAGE, attempt())
    await closed.promise
    await made.deliver(MESSAGE, attempt())
    expect(requests).toHaveLength(2)
  })

  test('has as many sockets as tries are allowed at a time', async () => {
    const { url, requests, mostSockets } = await receiving((response) => setTimeout(() => response.end(), 5))
    const made = channel({ url, concurrency: 3 })
    expect(made.concurrency).toBe(3)
    await Promise.all(Array.from({ length: 20 }, () => made.deliver(MESSAGE, attempt())))
    expect(requests).toHaveLength(20)
    expect(mostSockets()).toBe(3)
  })
})

describe('a try that is aborted', () => {
  test('before it begins sends nothing', async () => {
    const { url, requests, mostSockets } = await receiving(status(200))
    const failure = await failureOf(channel({ url }).deliver(MESSAGE, attempt({ signal: AbortSignal.abort() })))
    expect(failure).toMatchObject({ reason: 'timeout', retry: true })
    expect([requests.length, mostSockets()]).toEqual([0, 0])
  })

  test('under way closes its socket, and one that waits for a socket is never sent', async () => {
    const arrived = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const { url, requests } = await receiving((response) => {
      response.on('close', closed.resolve)
      arrived.resolve()
    }, status(200))
    const made = channel({ url, concurrency: 1 })
    const first = new AbortController()
    const second = new AbortController()
    const underWay = failureOf(made.deliver(MESSAGE, attempt({ signal: first.signal })))
    await arrived.promise
    const waiting = failureOf(made.deliver(MESSAGE, attempt({ key: 'waits', signal: second.signal })))
    second.abort()
    expect((await waiting).reason).toBe('timeout')
    first.abort()
    expect((await underWay).reason).toBe('timeout')
    await closed.promise
    await made.deliver(MESSAGE, attempt({ key: 'after' }))
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([KEY, 'after'])
  })

  test('says why, where the signal does', async () => {
    const { url } = await receiving(status(200))
    const stopped = new DeliveryFailed('other', 'the watch stopped')
    const made = channel({ url })
    const delivery = failureOf(made.deliver(MESSAGE, attempt({ signal: AbortSignal.abort(stopped) })))
    expect(await delivery).toBe(stopped)
  })

  test('by closing the channel fails, as does what comes later', async () => {
    const arrived = Promise.withResolvers<void>()
    const { url, sockets } = await receiving(() => arrived.resolve())
    const made = channel({ url })
    const underWay = failureOf(made.deliver(MESSAGE, attempt()))
    await arrived.promise
    const gone = [...sockets].map((socket) => once(socket, 'close'))
    await Promise.all([made.close?.(), made.close?.(), ...gone])
    expect(await underWay).toMatchObject({ reason: 'other', retry: true })
    expect(await failureOf(made.deliver(MESSAGE, attempt()))).toMatchObject({ message: 'the channel is closed' })
  })
})

describe('secrets', () => {
  const secretOptions = (port: number): WebhookOptions => ({
    url: `http://hush-user:hush-pass@127.0.0.1:${port}/hush-path?hush=query`,
    headers: { 'x-hush': 'hush-header' },
    secret: SECRET,
    timeoutMs: 200,
  })
  const shown = (port: number, ...things: readonly unknown[]) => {
    const seen = things.flatMap((thing) => [
      inspect(thing, { depth: 9, showHidden: true, getters: true }),
      JSON.stringify(thing),
      thing instanceof Error ? `${thing.stack} ${thing.message} ${thing.cause}` : '',
    ])
    return ['hush', '127.0.0.1', `:${port}`, SECRET.slice(6), 'sub.boss'].filter((one) => seen.join().includes(one))
  }

  test('are not shown by a channel, before and after it was used', async () => {
    const { port } = await receiving(status(200))
    const made = channel(secretOptions(port))
    expect(shown(port, made)).toEqual([])
    await made.deliver(MESSAGE, attempt())
    expect(shown(port, made)).toEqual([])
  })

  test('are in no failure', async () => {
    const answers = [
      status(500),
      status(403),
      status(429, { 'retry-after': 'hush' }),
      status(301, { location: 'http://hush.example/' }),
      status(308, { location: '/hush' }),
      () => {},
    ]
    const receivers = await Promise.all([
      ...answers.map((answer) => receiving(answer)),
      cutting('', 'reset'),
      cutting('HTTP/1.1 200 OK\r\nhush', 'end'),
      cutting('hush\r\n\r\n', 'end'),
    ])
    for (const { port } of receivers) expect(shown(port, await failing(secretOptions(port)))).toEqual([])
  })

  test('are not in the fingerprint, which tells receivers apart', () => {
    const targets = ['http://a.example/1', 'http://a.example/2', 'http://a.example/1#fragment'].map(
      (url) => channel({ url, headers: { 'x-n': url } }).target,
    )
    for (const target of targets) expect(target).toMatch(/^[0-9a-f]{8,16}$/)
    expect(targets[1]).not.toBe(targets[0])
    expect(targets[2]).toBe(targets[0])
  })
})

describe('webhookChannel', () => {
  test('has the name and limits it was given, or its own', () => {
    const url = 'http://a.example/'
    expect(channel({ url })).toMatchObject({ name: 'webhook', concurrency: 16, timeoutMs: 15_000 })
    expect(channel({ url, name: 'ops', concurrency: 2, timeoutMs: 10 })).toMatchObject({
      name: 'ops',
      concurrency: 2,
      timeoutMs: 10,
    })
  })

  test.each([
    ['url', TypeError, { url: 'hush' }],
    ['url', TypeError, { url: '' }],
    ['url', TypeError, { url: 7 }],
    ['url', TypeError, { url: 'ftp://hush.example/' }],
    ['url', TypeError, { url: 'http://hush%zz@a.example/' }],
    ['name', TypeError, { name: '' }],
    ['name', TypeError, { name: ' ' }],
    ['name', TypeError, { name: 'hush\n' }],
    ['name', TypeError, { name: 'h'.repeat(101) }],
    ['name', TypeError, { name: 'https://hush.example/' }],
    ['secret', TypeError, { secret: '' }],
    ['secret', TypeError, { secret: 'whsec_' }],
    ['secret', TypeError, { secret: 'hush hush' }],
    ['secret', TypeError, { secret: 'hush1' }],
    ['secret', TypeError, { secret: [] }],
    ['secret', TypeError, { secret: [SECRET, 'hush!'] }],
    ['secret', TypeError, { secret: 7 }],
    ['timeoutMs', RangeError, { timeoutMs: 0 }],
    ['timeoutMs', RangeError, { timeoutMs: 1.5 }],
    ['timeoutMs', RangeError, { timeoutMs: Number.NaN }],
    ['timeoutMs', RangeError, { timeoutMs: Number.POSITIVE_INFINITY }],
    ['timeoutMs', RangeError, { timeoutMs: '5' }],
    ['concurrency', RangeError, { concurrency: 0 }],
    ['concurrency', RangeError, { concurrency: 1.5 }],
    ['concurrency', RangeError, { concurrency: 257 }],
    ['headers', TypeError, { headers: null }],
    ['headers', TypeError, { headers: ['hush'] }],
    ['headers', TypeError, { headers: { 'x-hush': 7 } }],
    ['headers', TypeError, { headers: { 'hush hush': '1' } }],
    ['headers', TypeError, { headers: { 'x-a': 'hush\r\nx-b: 1' } }],
    ['headers', TypeError, { headers: { 'x-a': 'hush \u{1f92b}' } }],
    ['headers', TypeError, { headers: { 'Content-Type': 'hush' } }],
    ['headers', TypeError, { headers: { 'webhook-id': 'hush' } }],
    ['headers', TypeError, { headers: { 'Transfer-Encoding': 'hush' } }],
    ['headers', TypeError, { headers: { 'x-hush': '1', 'X-Hush': '2' } }],
    ['headers', TypeError, { url: 'http://us:er@a.example/', headers: { authorization: 'hush' } }],
  ])('refuses a bad %s with a %o: %j', (option, kind, options) => {
    const make = () => webhookChannel({ url: 'http://a.example/', ...options } as WebhookOptions)
    expect(make).toThrow(kind)
    expect(make).toThrow(new RegExp(`^${option}: .{10}`))
    expect(make).not.toThrow(/hush|example/)
  })
})

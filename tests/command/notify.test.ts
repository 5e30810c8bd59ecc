import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { claude, metric, newPath, run, turnwatch } from './harness.ts'
import { MESSAGE, type Post, receiver, SECRET_PATH } from './receiver.ts'

const KEYS = [
  Buffer.from('s3cret-key-that-is-being-retired').toString('base64'),
  Buffer.from('s3cret-key-that-takes-its-place!').toString('base64'),
]
const SIGNING = { TURNWATCH_NOTIFY_SECRET: KEYS.map((key) => `whsec_${key}`).join(', ') }

/** An agent whose end is told: its message goes out while the run ends. */
const dies = () => claude('init text die:SIGKILL')
const healthy = () => claude('init text result')

/** The signatures that Standard Webhooks asks for, by hand. */
function signaturesOf({ headers, raw }: Post, keys: readonly string[]): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${raw}`
  return keys
    .map((key) => `v1,${createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64')}`)
    .join(' ')
}

const aboutNotifier = (notes: readonly string[]) => notes.filter((line) => line.startsWith('turnwatch: notifier: '))

/** What a store wrote, its log too. */
function bytesOf(store: string): string {
  const files = ['', '-wal', '-shm'].map((suffix) => store + suffix).filter((file) => existsSync(file))
  return files.map((file) => readFileSync(file, 'latin1')).join('')
}

describe.concurrent('a message', () => {
  it('that a webhook fails is delivered once more under the same key, before we end', async () => {
    const hook = await receiver([500], [200])
    const { code, notes } = await run(['--notify', hook.url, ...dies()]).ended
    expect(code).toBe(137)
    expect(aboutNotifier(notes)).toEqual(['turnwatch: notifier: webhook: HTTP 500; will be tried again'])
    const [first, second] = hook.posts as [Post, Post]
    expect(hook.posts).toHaveLength(2)
    expect(first.headers['webhook-id']).toBe(first.body.key)
    expect(second.headers['webhook-id']).toBe(first.body.key)
    // What it says of a turn that has ended since is all that may differ.
    expect(second.body).toEqual({ ...first.body, text: expect.stringContaining(first.body.text) })
    expect(first.body).toMatchObject({ verdict: 'stale', reason: 'provider-dead', thread: 'session-1' })
  })

  it('waits as long as a webhook asks for', async () => {
    const hook = await receiver([429, { 'retry-after': '2' }], [204])
    const { notes } = await run(['--notify', hook.url, ...dies()]).ended
    expect(aboutNotifier(notes)).toEqual(['turnwatch: notifier: webhook: HTTP 429; will be tried again'])
    expect(hook.posts).toHaveLength(2)
    expect((hook.posts[1] as Post).at - (hook.posts[0] as Post).at).toBeGreaterThan(1990)
  })

  it('is signed with every key', async () => {
    const hook = await receiver([200])
    await run(['--notify', hook.url, ...dies()], { env: SIGNING }).ended
    const [post] = hook.posts as [Post]
    expect(post.headers['webhook-signature']).toBe(signaturesOf(post, KEYS))
  })

  it('fires an alert at an Alertmanager while the silence lasts', async () => {
    const [am, gate, metrics] = [await receiver([200]), newPath(), newPath('.prom')]
    const url = `alertmanager+http://127.0.0.1:${am.port}`
    const options = ['--mid-stream', '2s', '--metrics-file', metrics, '--notify', url, '--notify', `${url}/#again`]
    const one = run([...options, ...claude(`init text until:${gate} text result`)])
    await am.gets(1)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect([code, aboutNotifier(notes)]).toEqual([0, []])
    expect(am.posts.map(({ path }) => path)).toEqual(['/api/v2/alerts', '/api/v2/alerts'])
    const [fired, resolved] = am.posts.map(({ body }) => body[0])
    expect(fired.labels).toMatchObject({ alertname: 'TurnStale', thread: 'session-1', reason: 'silence' })
    expect(resolved.labels).toEqual(fired.labels)
    expect(Date.parse(fired.endsAt)).toBeGreaterThan(Date.now())
    expect(Date.parse(resolved.endsAt)).toBeLessThanOrEqual(Date.now())
    expect(metric(metrics, 'notifications_total', { channel: 'alertmanager' })).toBe(2)
    expect(metric(metrics, 'notifications_pending')).toBe(0)
  })
})

describe.concurrent('a URL', () => {
  it('that fails, redirects or cannot be reached is a line each without it, and the agent does not notice', async () => {
    const metrics = newPath('.prom')
    const [failing, elsewhere, gone] = [await receiver([500]), await receiver([200]), await receiver()]
    const moved = await receiver([307, { location: elsewhere.url.replace('127.0.0.1', 'localhost') }])
    gone.close()
    const urls = [failing, moved, gone].flatMap(({ url }) => ['--notify', url])
    const { code, notes, stderr } = await run(['--metrics-file', metrics, ...urls, ...dies()]).ended
    expect(code).toBe(137)
    const [last, ...lines] = aboutNotifier(notes).reverse()
    expect(lines.sort()).toEqual([
      'turnwatch: notifier: webhook-2: HTTP 307 to another host, not followed; given up',
      'turnwatch: notifier: webhook-3: ECONNREFUSED; will be tried again',
      'turnwatch: notifier: webhook: HTTP 500; will be tried again',
    ])
    expect(last).toBe('turnwatch: notifier: 2 messages not delivered in time, lost')
    for (const shown of [stderr, readFileSync(metrics, 'utf8')]) {
      expect(shown).not.toContain(SECRET_PATH)
      expect(shown).not.toContain('127.0.0.1')
    }
    expect(moved.posts).toHaveLength(1)
    expect(elsewhere.posts).toEqual([])
    expect(metric(metrics, 'notifications_failed_total', { channel: 'webhook-2', reason: 'rejected' })).toBe(1)
    expect(metric(metrics, 'notifications_pending', { channel: 'webhook-2' })).toBe(0)
    expect(metric(metrics, 'notifications_pending', { channel: 'webhook' })).toBe(1)
  })

  it('that never answers does not hold us up for long; the next run with it delivers, and no other', async () => {
    const [hook, other] = [await receiver('never'), await receiver([200])]
    const [store, metrics] = [newPath('.db'), newPath('.prom')]
    const options = ['--store', store, '--metrics-file', metrics]
    const one = run([...options, '--notify', hook.url, ...claude('init text exit:9')], { env: SIGNING })
    await hook.gets(1)
    const postedAt = performance.now()
    const { code, notes, stderr } = await one.ended
    // Its time-out would be twice as long as we wait.
    expect(performance.now() - postedAt).toBeLessThan(9500)
    expect(code).toBe(9)
    expect(notes.at(-1)).toBe('turnwatch: notifier: 1 message not delivered in time, kept for the next start')
    const [first] = hook.posts as [Post]
    expect(hook.posts).toHaveLength(1)
    expect(metric(metrics, 'notifications_pending', { channel: 'webhook' })).toBe(1)

    await run([...options, '--notify', other.url, ...healthy()]).ended
    expect(other.posts).toEqual([])

    hook.answer([200])
    const next = await run([...options, '--notify', hook.url, ...healthy()], { env: SIGNING }).ended
    expect([next.code, next.notes]).toEqual([0, []])
    await run([...options, '--notify', hook.url, ...healthy()], { env: SIGNING }).ended
    const [, second] = hook.posts as [Post, Post]
    expect(hook.posts).toHaveLength(2)
    expect(second.headers['webhook-id']).toBe(first.body.key)
    expect(second.body).toEqual({ ...first.body, text: expect.stringContaining(first.body.text) })
    expect(second.headers['webhook-signature']).toBe(signaturesOf(second, KEYS))

    const written = bytesOf(store)
    expect(written).toContain(first.body.key)
    for (const shown of [written, stderr, next.stderr, readFileSync(metrics, 'utf8')]) {
      for (const secret of [SECRET_PATH, '127.0.0.1', `:${hook.port}`, 'whsec_', ...KEYS, 's3cret']) {
        expect(shown).not.toContain(secret)
      }
    }
  })
})

describe.concurrent('notify --test', () => {
  it('says what became of one message for each channel, and fails if any did not arrive', async () => {
    const [fine, failing, am, gone] = [
      await receiver([200]),
      await receiver([500]),
      await receiver([200]),
      await receiver(),
    ]
    gone.close()
    const { code, stdout, stderr } = await turnwatch(
      ['notify', '--test', '--notify', fine.url, '--notify', failing.url],
      {
        env: { TURNWATCH_NOTIFY: `${gone.url} ${fine.url},alertmanager+http://127.0.0.1:${am.port}`, ...SIGNING },
      },
    ).ended
    expect(stdout.toString()).toMatch(
      /^webhook: delivered in \d+ ms\nwebhook-2: failed: HTTP 500\nwebhook-3: failed: ECONNREFUSED\nalertmanager: delivered in \d+ ms\n$/,
    )
    expect([code, stderr]).toEqual([1, ''])
    const [[post], [alert]] = [fine.posts, am.posts] as [[Post], [Post]]
    expect([fine, failing, am].map(({ posts }) => posts.length)).toEqual([1, 1, 1])
    expect(Object.keys(post.body)).toEqual(MESSAGE)
    expect(post.body).toMatchObject({
      verdict: 'stale',
      thread: 'turnwatch-test',
      key: expect.stringMatching(/^test\/\S+$/),
    })
    expect(post.body.text).toMatch(/^This is a test/)
    expect(post.headers['webhook-id']).toBe(post.body.key)
    expect(post.headers['webhook-signature']).toBe(signaturesOf(post, KEYS))
    expect(alert.body).toHaveLength(1)
    expect(alert.body[0].labels).toMatchObject({ alertname: 'TurnStale', thread: 'turnwatch-test' })
    expect(Date.parse(alert.body[0].endsAt)).toBeGreaterThan(Date.now())
  })

  it('prints JSON', async () => {
    const [fine, failing] = [await receiver([204]), await receiver([404])]
    const urls = ['--notify', failing.url, '--notify', fine.url]
    const { code, stdout } = await turnwatch(['notify', '--test', '--json', ...urls]).ended
    const lines = stdout.toString().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { channel: 'webhook', delivered: false, failure: 'HTTP 404', ms: expect.any(Number) },
      { channel: 'webhook-2', delivered: true, failure: null, ms: expect.any(Number) },
    ])
    expect(code).toBe(1)
    const again = await turnwatch(['notify', '--test', '--json', '--notify', fine.url]).ended
    expect(again.code).toBe(0)
    expect(fine.posts[1]?.body.key).not.toBe(fine.posts[0]?.body.key)
  })

  it('gives up a receiver that never answers', async () => {
    const hook = await receiver('never')
    const { code, stdout } = await turnwatch(['notify', '--test', '--notify', hook.url]).ended
    expect([code, stdout.toString()]).toEqual([1, 'webhook: failed: no answer in time\n'])
    expect(hook.posts).toHaveLength(1)
  })

  it.each([
    [
      ['--test'],
      'no channel: name one with --notify or in TURNWATCH_NOTIFY, as http(s)://... or alertmanager+http(s)://...',
    ],
    [['--notify', 'http://ok.test'], 'nothing to do: turnwatch notify --test [--notify URL]... [--json]'],
  ])('has something to send and somewhere to send it: %j', async (args, line) => {
    const { code, stdout, stderr } = await turnwatch(['notify', ...args]).ended
    expect([code, stdout.toString(), stderr]).toEqual([2, '', `turnwatch: notify: ${line}\n`])
  })
})

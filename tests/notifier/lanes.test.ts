import { describe, expect, it } from 'vitest'
import { DeliveryFailed } from '../../notifier/channel.ts'
import { NotifiedHost, Receiver, settle } from './notified-host.ts'

const FAILS = {
  timeout: new DeliveryFailed('timeout', 'no answer in time'),
  connection: new DeliveryFailed('connection', 'ECONNREFUSED'),
  client_error: new DeliveryFailed('client_error', 'HTTP 404', { retry: false }),
  server_error: new DeliveryFailed('server_error', 'HTTP 500'),
  rejected: new DeliveryFailed('rejected', 'HTTP 301 to another host, not followed', { retry: false }),
}
const fail = (reason: keyof typeof FAILS) => () => Promise.reject(FAILS[reason])

describe('a channel that fails', () => {
  it.each(['timeout', 'connection', 'server_error'] as const)(
    'by %s is tried again, less and less often, under the same key until it works',
    async (reason) => {
      const host = new NotifiedHost()
      host.receiver.answer = fail(reason)
      const at: number[] = []
      const { answer } = host.receiver
      host.receiver.answer = (message, attempt) => {
        at.push(host.virtual.now)
        return answer(message, attempt)
      }
      await host.stale()
      await host.pass(1200)
      const gaps = at.slice(1).map((time, i) => time - (at[i] as number))
      expect(gaps.length).toBeGreaterThan(8)
      expect(gaps.length).toBeLessThan(20)
      for (const [i, gap] of gaps.entries()) {
        // Half to all of the doubled delay, and a tick.
        expect(gap).toBeGreaterThanOrEqual(Math.min(300_000, 1000 * 2 ** i) / 2)
        expect(gap).toBeLessThanOrEqual(Math.min(300_000, 1000 * 2 ** i) + 2000)
      }
      host.receiver.answer = () => {}
      await host.pass(302)
      expect(new Set(host.receiver.keys)).toEqual(new Set(['stale/sub.boss.one/t/1']))
      expect(host.receiver.got.map(({ attempt }) => attempt.attempt)).toEqual(
        Array.from({ length: host.receiver.got.length }, (_, i) => i + 1),
      )
      const failed = host.receiver.got.length - 1
      expect(host.metric('notifications_failed_total', { channel: 'receiver', reason })).toBe(failed)
      expect(host.metric('notifications_failed_total')).toBe(failed)
      expect(host.metric('notifications_total')).toBe(failed + 1)
      // An outage is one line, not one a try.
      expect(host.faults).toEqual([`turnwatch: notifier: receiver: ${FAILS[reason].message}; will be tried again`])
    },
  )

  it.each(['client_error', 'rejected'] as const)(
    'for good by %s has a dead message, which shows why',
    async (reason) => {
      const host = new NotifiedHost()
      host.receiver.answer = fail(reason)
      await host.stale()
      await host.pass(400)
      expect(host.receiver.got).toHaveLength(1)
      expect(host.watch.notifications()).toMatchObject({
        channels: [{ name: 'receiver', pending: 0, dead: 1, failing: FAILS[reason].message }],
        messages: [{ state: 'dead', thread: 'sub.boss.one', failure: FAILS[reason].message, nextTryAt: null }],
      })
      expect(host.faults).toEqual([`turnwatch: notifier: receiver: ${FAILS[reason].message}; given up`])
    },
  )

  it('for an hour is caught up with at once when it is back, and the others never waited', async () => {
    const [dead, alive] = [new Receiver('dead'), new Receiver('alive')]
    const host = new NotifiedHost({ channels: [dead, alive] })
    dead.answer = fail('connection')
    for (const child of ['a', 'b', 'c']) host.start(`sub.boss.${child}`, child)
    await host.leap(160)
    expect(alive.threads).toEqual(['sub.boss.a', 'sub.boss.b', 'sub.boss.c'])
    await host.pass(3600)
    expect(host.metric('notifications_pending', { channel: 'dead' })).toBe(3)
    expect(host.metric('notification_oldest_pending_seconds', { channel: 'dead' })).toBeGreaterThan(3500)
    const tries = dead.got.length
    dead.answer = () => {}
    // One of them finds out; the others follow at the next tick.
    while (host.metric('notifications_pending', { channel: 'dead' }) === 3) await host.pass(1)
    await host.pass(2)
    expect(dead.threads.slice(tries).sort()).toEqual(['sub.boss.a', 'sub.boss.b', 'sub.boss.c'])
    expect(host.metric('notifications_pending')).toBe(0)
    expect(alive.got).toHaveLength(3)
  })

  it('for a day makes its message dead, which is counted', async () => {
    const host = new NotifiedHost({ expireMs: 3_600_000 })
    host.receiver.answer = fail('connection')
    await host.stale()
    await host.pass(3700)
    const tries = host.receiver.got.length
    host.receiver.answer = () => {}
    await host.pass(400)
    expect(host.receiver.got).toHaveLength(tries)
    expect(host.metric('notifications_suppressed_total', { reason: 'expired' })).toBe(1)
    expect(host.watch.notifications().messages).toMatchObject([{ state: 'dead', failure: 'expired' }])
  })

  it('with a time to come back is left alone until then, for all its messages', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () =>
      Promise.reject(new DeliveryFailed('client_error', 'HTTP 429', { retryAfterMs: 120_000 }))
    await host.stale('sub.boss.one')
    await host.stale('sub.boss.two')
    expect(host.receiver.threads).toEqual(['sub.boss.one'])
    host.receiver.answer = () => {}
    await host.pass(125)
    expect(host.receiver.threads.sort()).toEqual(['sub.boss.one', 'sub.boss.one', 'sub.boss.two'])
  })

  it('with a time that is too far away is tried within an hour', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => Promise.reject(new DeliveryFailed('client_error', 'HTTP 429', { retryAfterMs: 1e12 }))
    await host.stale()
    host.receiver.answer = () => {}
    await host.pass(3602)
    expect(host.receiver.got).toHaveLength(2)
  })

  it('by a throw of its own is tried again; only its kind is shown, and it is counted as a fault', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => {
      throw Object.assign(new TypeError('token=s3cret'), { code: 'ECONNRESET' })
    }
    await host.stale()
    expect(JSON.stringify(host.watch.notifications())).not.toContain('s3cret')
    expect(host.watch.notifications().messages[0]?.failure).toBe('ECONNRESET')
    host.receiver.answer = () => {}
    await host.pass(5)
    expect(host.receiver.got).toHaveLength(2)
    expect(host.metric('internal_errors_total', { where: 'notifier' })).toBe(1)
    expect(host.metric('notifications_failed_total', { reason: 'other' })).toBe(1)
  })

  it.each([undefined, null, '', 0, { code: { toString: () => 's3cret' } }, 's3cret', Symbol('s3cret')])(
    'by throwing %s is tried again like any other',
    async (thrown) => {
      const host = new NotifiedHost()
      host.receiver.answer = () => Promise.reject(thrown)
      await host.stale()
      expect(host.watch.notifications().messages).toMatchObject([{ state: 'pending', attempts: 1 }])
      expect(JSON.stringify([host.watch.notifications(), host.faults])).not.toContain('s3cret')
      host.receiver.answer = () => {}
      await host.pass(5)
      expect(host.metric('notifications_pending')).toBe(0)
    },
  )
})

describe('a channel that hangs', () => {
  it('is timed out, and never asked twice at a time: a late answer counts', async () => {
    const host = new NotifiedHost()
    let answer: () => void = () => {}
    host.receiver.answer = (_message, { signal }) =>
      new Promise((resolve) => {
        expect(signal.aborted).toBe(false)
        answer = () => resolve('delivered')
      })
    await host.stale()
    await host.pass(600)
    expect(host.receiver.got).toHaveLength(1)
    expect(host.receiver.got[0]?.attempt.signal.aborted).toBe(true)
    expect(host.metric('notifications_failed_total', { reason: 'timeout' })).toBe(1)
    expect(host.watch.notifications().channels).toMatchObject([{ pending: 1, failing: 'no answer in time' }])
    answer()
    await settle()
    expect(host.metric('notifications_pending')).toBe(0)
    expect(host.metric('notifications_total')).toBe(1)
    await host.pass(400)
    expect(host.receiver.got).toHaveLength(1)
  })

  it('and gives up when it is told to is tried again', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = (_message, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    await host.stale()
    await host.pass(29)
    host.receiver.answer = () => {}
    await host.pass(6)
    expect(host.receiver.keys).toEqual(['stale/sub.boss.one/t/1', 'stale/sub.boss.one/t/1'])
    expect(host.metric('notifications_failed_total')).toBe(1)
  })

  it('for the children of one parent does not keep those of another waiting', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = ({ parent }) => (parent === 'hung' ? new Promise(() => {}) : undefined)
    for (let child = 0; child < 40; child++) host.start(`sub.hung.${child}`)
    for (let child = 0; child < 3; child++) host.start(`sub.boss.${child}`)
    await host.leap(160)
    expect(host.receiver.threads.filter((thread) => thread.startsWith('sub.boss.'))).toHaveLength(3)
    expect(host.receiver.threads.filter((thread) => thread.startsWith('sub.hung.'))).toHaveLength(4)
    // Later ones get their chance as the first lose their place.
    await host.pass(400)
    expect(host.receiver.threads.filter((thread) => thread.startsWith('sub.hung.'))).toHaveLength(40)
    expect(new Set(host.receiver.keys).size).toBe(43)
  })
})

describe('a parent', () => {
  it('that is busy is asked again until it is not, which is no failure', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'busy'
    await host.stale()
    await host.pass(600)
    expect(host.watch.notifications().messages).toMatchObject([{ state: 'pending', failure: 'the parent is busy' }])
    host.receiver.answer = () => 'delivered'
    await host.pass(31)
    expect(host.metric('notifications_pending')).toBe(0)
    expect(host.metric('notifications_failed_total')).toBe(0)
    expect(host.metric('notifications_total')).toBe(host.receiver.got.length)
  })

  it('that is busy for its 19 children gets a message of each, once, and others do not wait for it', async () => {
    const host = new NotifiedHost()
    const children = Array.from({ length: 19 }, (_, i) => `sub.boss.${i}`)
    host.receiver.answer = ({ parent }) => (parent === 'boss' ? 'busy' : 'delivered')
    for (const child of children) host.start(child)
    host.start('sub.other.one')
    await host.leap(160)
    await host.pass(2)
    expect(host.receiver.threads.filter((thread) => thread === 'sub.other.one')).toHaveLength(1)
    const tries = host.receiver.got.length
    host.receiver.answer = () => 'delivered'
    await host.pass(31)
    expect(host.receiver.threads.slice(tries).sort()).toEqual([...children].sort())
    await host.pass(60)
    expect(host.receiver.got).toHaveLength(tries + 19)
  })

  it.each(['archived', 'gone'] as const)('that is %s makes the message dead, with that reason', async (answer) => {
    const host = new NotifiedHost()
    host.receiver.answer = () => answer
    await host.stale()
    await host.pass(60)
    expect(host.receiver.got).toHaveLength(1)
    expect(host.watch.notifications().messages).toMatchObject([{ state: 'dead', failure: `the parent is ${answer}` }])
    expect(host.metric('notifications_failed_total', { reason: 'rejected' })).toBe(1)
  })

  it('that is unknown is asked for again, each time after a definite refusal; for ten minutes', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'unknown'
    await host.stale()
    await host.pass(100)
    const refused = host.receiver.got.map(({ attempt }) => attempt.rejections)
    expect(refused).toEqual(Array.from({ length: refused.length }, (_, i) => i))
    expect(refused.length).toBeGreaterThan(4)
    await host.pass(1000)
    expect(host.watch.notifications().messages).toMatchObject([{ state: 'dead', failure: 'the parent is unknown' }])
  })

  it('that becomes known gets the message', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'unknown'
    await host.stale()
    host.receiver.answer = () => 'delivered'
    await host.pass(5)
    expect(host.receiver.keys).toEqual(['stale/sub.boss.one/t/1', 'stale/sub.boss.one/t/1'])
    expect(host.metric('notifications_pending')).toBe(0)
  })

  it('whose own turn ends first is told all the same', async () => {
    const host = new NotifiedHost()
    const boss = host.start('boss', 'b')
    host.start('sub.boss.one')
    boss.observe({ kind: 'turn.ended', outcome: 'completed' })
    await host.leap(160)
    expect(host.receiver.keys).toEqual(['stale/sub.boss.one/t/1'])
  })
})

describe('children of one parent that stall together on one provider', () => {
  it('get a message each', async () => {
    const host = new NotifiedHost()
    for (const child of ['a', 'b', 'c']) host.start(`sub.boss.${child}`)
    await host.leap(160)
    expect(host.receiver.threads).toEqual(['sub.boss.a', 'sub.boss.b', 'sub.boss.c'])
  })

  it('are named in one message if that is asked for; other parents and providers have their own', async () => {
    const host = new NotifiedHost({ groupMs: 5000 })
    for (const child of ['a', 'b', 'c']) host.start(`sub.boss.${child}`)
    host.start('sub.other.d')
    host.watch.startTurn({ threadId: 'sub.boss.e', turnId: 't', provider: 'claudeAgent' })
    await host.leap(152)
    expect(host.receiver.got).toEqual([])
    await host.pass(7)
    expect(host.receiver.keys.sort()).toEqual(['stale/sub.boss.a/t/1', 'stale/sub.boss.e/t/1', 'stale/sub.other.d/t/1'])
    const group = host.receiver.got.find(({ message }) => message.group)?.message
    expect(group?.group?.map(({ key }) => key)).toEqual(['a', 'b', 'c'].map((child) => `stale/sub.boss.${child}/t/1`))
    expect(group?.text).toMatch(
      /^3 child threads on codex are stale: sub\.boss\.a \(silence, silent for 151\.0 s\), sub\.boss\.b .*, sub\.boss\.c /,
    )
    await host.pass(100)
    expect(host.receiver.got).toHaveLength(3)
    expect(host.metric('notification_delay_seconds')).toBe(5)
    expect(host.watch.liveness('boss').messages).toHaveLength(4)
  })

  it('leave out those that went on before it was sent, and keep the key', async () => {
    const host = new NotifiedHost({ groupMs: 5000 })
    const first = host.start('sub.boss.a')
    for (const child of ['b', 'c']) host.start(`sub.boss.${child}`)
    await host.leap(152)
    first.observe({ kind: 'token', stream: 'text' })
    await host.pass(7)
    expect(host.receiver.got.map(({ message }) => message.group?.map(({ thread }) => thread))).toEqual([
      ['sub.boss.b', 'sub.boss.c'],
    ])
    expect(host.receiver.keys).toEqual(['stale/sub.boss.a/t/1'])
  })

  it('are tried again as the same message, without those that stalled since', async () => {
    const host = new NotifiedHost({ groupMs: 2000 })
    host.receiver.answer = fail('server_error')
    for (const child of ['a', 'b']) host.start(`sub.boss.${child}`)
    await host.leap(152)
    await host.pass(4)
    host.start('sub.boss.c')
    await host.leap(158)
    host.receiver.answer = () => {}
    await host.pass(302)
    const delivered = host.receiver.got.slice(-2).map(({ message }) => message.group?.length ?? 1)
    expect(delivered.sort()).toEqual([1, 2])
    expect(new Set(host.receiver.keys)).toEqual(new Set(['stale/sub.boss.a/t/1', 'stale/sub.boss.c/t/1']))
  })
})

describe('a channel whose parent is absent', () => {
  it('is tried again for ten minutes, without having been refused', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'absent'
    await host.stale()
    await host.pass(1000)
    expect(host.receiver.got.length).toBeGreaterThan(5)
    expect(host.receiver.got.every(({ attempt }) => attempt.rejections === 0)).toBe(true)
    expect(host.watch.notifications().channels).toMatchObject([{ pending: 0, dead: 1 }])
  })
})

describe('a channel that knows the turn to be over', () => {
  it('is asked again about a failure of the provider, which is told all the same', async () => {
    const host = new NotifiedHost()
    const answers = ['over', 'delivered'] as const
    host.receiver.answer = () => answers[host.receiver.got.length - 1]
    host.start().observe({ kind: 'error', message: 'overloaded' })
    await host.pass(5)
    expect(host.receiver.got).toHaveLength(2)
    expect(host.metric('notifications_suppressed_total')).toBe(0)
  })

  it('has its message withdrawn, which is neither delivered nor dead', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'over'
    await host.stale()
    await host.pass(120)
    expect(host.receiver.got).toHaveLength(1)
    expect(host.metric('notifications_suppressed_total', { reason: 'ended' })).toBe(1)
    expect(host.watch.notifications().channels).toMatchObject([{ pending: 0, dead: 0 }])
    expect(host.watch.liveness('boss').messages).toEqual([])
  })
})

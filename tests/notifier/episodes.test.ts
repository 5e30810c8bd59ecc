import { describe, expect, it } from 'vitest'
import { completed, failure, NotifiedHost, Receiver, settle, token } from './notified-host.ts'

const KEY = 'stale/sub.boss.one/t/1'

describe('one message for each stale episode', () => {
  it('comes in the tick that finds the turn stale, and no second one while it lasts', async () => {
    const host = new NotifiedHost()
    await host.stale()
    expect(host.receiver.keys).toEqual([KEY])
    await host.leap(3600)
    expect(host.receiver.keys).toEqual([KEY])
    expect(host.metric('notifications_total', { channel: 'receiver' })).toBe(1)
    expect(host.metric('notification_delay_seconds', { channel: 'receiver' })).toBe(1)
    expect(host.watch.notifications()).toEqual({
      channels: [{ name: 'receiver', pending: 0, oldestPendingMs: 0, dead: 0, failing: null }],
      messages: [],
    })
  })

  it('comes again after the turn went on and fell silent again, under the next key', async () => {
    const host = new NotifiedHost()
    const turn = await host.stale()
    turn.observe(token)
    await host.leap(120)
    expect(host.receiver.keys).toEqual([KEY, 'stale/sub.boss.one/t/2'])
  })

  it("with per: 'turn' comes once for the turn", async () => {
    const host = new NotifiedHost({ per: 'turn' })
    const turn = await host.stale()
    turn.observe(token)
    await host.leap(120)
    expect(host.receiver.keys).toEqual([KEY])
  })

  it("with per: 'turn' comes for the second episode when the first was taken back", async () => {
    const host = new NotifiedHost({ per: 'turn' })
    host.receiver.answer = () => 'busy'
    const turn = await host.stale()
    turn.observe(token)
    await host.pass(60)
    host.receiver.answer = () => {}
    const tries = host.receiver.got.length
    await host.leap(120)
    expect(host.receiver.keys.slice(tries)).toEqual(['stale/sub.boss.one/t/2'])
  })

  it('goes to every channel once', async () => {
    const [a, b] = [new Receiver('a'), new Receiver('b')]
    const host = new NotifiedHost({ channels: [a, b] })
    await host.stale()
    await host.leap(1000)
    expect([a.keys, b.keys]).toEqual([[KEY], [KEY]])
  })

  it('of a provider failure comes at once, outside of any tick, also when the turn ends with it', async () => {
    const host = new NotifiedHost()
    const turn = host.start()
    turn.observe(failure)
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    await settle()
    expect(host.receiver.got.map(({ message }) => [message.key, message.reason])).toEqual([[KEY, 'provider-error']])
    expect(host.metric('notifications_suppressed_total')).toBe(0)
  })

  it('is followed by a shorter one when the turn goes on, if that is asked for', async () => {
    const host = new NotifiedHost({ recovered: true })
    const turn = await host.stale()
    turn.observe(token)
    await host.pass(2)
    expect(host.receiver.got.map(({ message }) => [message.verdict, message.key])).toEqual([
      ['stale', KEY],
      ['recovered', 'recovered/sub.boss.one/t/1'],
    ])
    const [first, second] = host.receiver.got.map(({ message }) => message.text) as [string, string]
    expect(second.length).toBeLessThan(first.length)
    expect(second).toMatch(/^Child thread sub\.boss\.one \(codex, m\) goes on after having been stale for \d+\.\d s/)
  })
})

describe('a message that waits', () => {
  it.each([
    ['goes on', token, 'recovered'],
    ['ends', completed, 'ended'],
  ] as const)('is withdrawn when its turn %s, and counted', async (_name, event, reason) => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'busy'
    const turn = await host.stale()
    await host.pass(5)
    const tries = host.receiver.got.length
    turn.observe(event)
    host.receiver.answer = () => {}
    await host.pass(60)
    expect(host.receiver.got).toHaveLength(tries)
    expect(host.metric('notifications_suppressed_total', { reason })).toBe(1)
    expect(host.metric('notifications_pending')).toBe(0)
  })

  it.each([
    ['goes on', token, 'It has gone on since.'],
    ['ends', completed, 'Its turn has ended since.'],
  ] as const)("with whenOver: 'say' is delivered when its turn %s, and says so", async (_name, event, says) => {
    const host = new NotifiedHost({ whenOver: 'say' })
    host.receiver.answer = () => 'busy'
    const turn = await host.stale()
    turn.observe(event)
    host.receiver.answer = () => {}
    await host.pass(10)
    expect(host.receiver.got.at(-1)?.message.text).toMatch(new RegExp(`${says.replace('.', '\\.')}$`))
    expect(host.metric('notifications_suppressed_total')).toBe(0)
  })

  it.each([
    ['provider-dead', { kind: 'exit' }],
    ['provider-error', failure],
  ] as const)('of %s is delivered although the turn has ended', async (reason, event) => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'busy'
    const turn = host.start()
    turn.observe(event)
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    await host.pass(10)
    host.receiver.answer = () => {}
    await host.pass(60)
    const { message } = host.receiver.got.at(-1) ?? {}
    expect([message?.reason, message?.text.endsWith('Its turn has ended since.')]).toEqual([reason, true])
    expect(host.metric('notifications_pending')).toBe(0)
  })

  it('takes on a stronger reason, and is delivered though the turn has ended', async () => {
    const host = new NotifiedHost()
    host.receiver.answer = () => 'busy'
    const turn = await host.stale()
    turn.observe({ kind: 'exit' })
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    host.receiver.answer = () => {}
    await host.pass(60)
    const { message, attempt } = host.receiver.got.at(-1) ?? {}
    expect([attempt?.key, message?.key, message?.reason]).toEqual([KEY, KEY, 'provider-dead'])
    expect(message?.text).toContain('has lost its provider')
  })

  it('and is under way when the turn goes on may still arrive, once', async () => {
    const host = new NotifiedHost({ recovered: true })
    let arrive: () => void = () => {}
    host.receiver.answer = () =>
      new Promise((resolve) => {
        arrive = () => resolve('delivered')
      })
    const turn = await host.stale()
    turn.observe(token)
    host.receiver.answer = () => {}
    await host.pass(3)
    arrive()
    await host.pass(60)
    expect(host.receiver.keys).toEqual([KEY, 'recovered/sub.boss.one/t/1'])
    expect(host.metric('notifications_suppressed_total')).toBe(0)
  })

  it('and is under way when the turn goes on is not tried again when that fails', async () => {
    const host = new NotifiedHost()
    let fail: () => void = () => {}
    host.receiver.answer = () =>
      new Promise((_resolve, reject) => {
        fail = () => reject(new Error('reset'))
      })
    const turn = await host.stale()
    turn.observe(token)
    await host.pass(3)
    fail()
    await host.pass(80)
    expect(host.receiver.keys).toEqual([KEY])
    expect(host.metric('notifications_suppressed_total', { reason: 'recovered' })).toBe(1)
  })
})

describe('a thread that another supervisor manages', () => {
  const PERHAPS = 'Another supervisor may have told you already.'
  const textOf = (host: NotifiedHost) => host.receiver.got[0]?.message.text ?? ''

  it.each([
    'model-router fix-the-build dispatcher',
    'model-router fix the build worker seq 12',
    'Model-Router a review 3 ',
  ])('by its title %j gets no message, and is counted', async (title) => {
    const host = new NotifiedHost()
    await host.stale('sub.boss.one', 't', { title })
    expect(host.receiver.got).toEqual([])
    expect(host.metric('notifications_suppressed_total', { reason: 'managed' })).toBe(1)
    expect(host.watch.liveness('sub.boss.one').stale).toBe(true)
  })

  it.each(['model-router notes', 'my dispatcher', 'about model-router x dispatcher'])(
    'is not one that is titled %j',
    async (title) => {
      const host = new NotifiedHost({ isManagedElsewhere: () => undefined })
      await host.stale('sub.boss.one', 't', { title })
      expect([host.receiver.got.length, textOf(host).includes(PERHAPS)]).toEqual([1, false])
    },
  )

  it.each<[string, () => boolean | undefined | Promise<boolean | undefined>, number, boolean]>([
    ['yes', () => true, 0, false],
    ['yes, later', async () => true, 0, false],
    ['no', () => false, 1, false],
    ['no, later', async () => false, 1, false],
    ['nothing', () => undefined, 1, true],
    [
      'with a throw',
      () => {
        throw new Error('projection gone')
      },
      1,
      true,
    ],
    ['with a rejection', () => Promise.reject(new Error('projection gone')), 1, true],
  ])('when the host answers %s', async (_name, isManagedElsewhere, messages, perhaps) => {
    const host = new NotifiedHost({ isManagedElsewhere })
    await host.stale()
    expect([host.receiver.got.length, textOf(host).includes(PERHAPS)]).toEqual([messages, perhaps])
    expect(host.metric('notifications_suppressed_total', { reason: 'managed' })).toBe(1 - messages)
  })

  it('when the host never answers gets the message a second later', async () => {
    const host = new NotifiedHost({ isManagedElsewhere: () => new Promise(() => {}) })
    await host.stale()
    expect(host.receiver.got).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 1100))
    await settle()
    expect([host.receiver.got.length, textOf(host).includes(PERHAPS)]).toEqual([1, true])
  })

  it('and goes on while the host still thinks is not told of', async () => {
    let answer: (managed: boolean) => void = () => {}
    const host = new NotifiedHost({
      isManagedElsewhere: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const turn = await host.stale()
    turn.observe(token)
    answer(false)
    await host.pass(5)
    expect(host.receiver.got).toEqual([])
    expect(host.metric('notifications_suppressed_total', { reason: 'recovered' })).toBe(1)
  })
})

describe('a thread without a parent', () => {
  it('is told of on channels that need none; the others count it', async () => {
    const [operator, dispatch] = [new Receiver('operator'), new Receiver('dispatch', { needsParent: true })]
    const host = new NotifiedHost({ channels: [operator, dispatch] })
    await host.stale('main')
    expect([operator.keys, dispatch.keys]).toEqual([['stale/main/t/1'], []])
    expect(operator.got[0]?.message.parent).toBeNull()
    expect(host.metric('notifications_suppressed_total', { reason: 'no-parent' })).toBe(1)
  })
})

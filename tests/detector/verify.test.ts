import { describe, expect, it, vi } from 'vitest'
import type { VerifyAnswer } from '../../detector/detector.ts'
import type { Verdict } from '../../detector/verdict.ts'
import { completed, midStream, started, token, WatchedHost } from './watched-host.ts'

const UNVERIFIED = ['92000 t suspect', '114000 t stale silence']
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** An answer that the test gives when it wants. */
function later() {
  let give: (answer: VerifyAnswer) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const answer = new Promise<VerifyAnswer>((resolve, reject) => {
    give = resolve
    fail = reject
  })
  return { verify: () => answer, give: (said: VerifyAnswer) => give(said), fail: (error: Error) => fail(error) }
}

describe('the host is asked once per suspicion', () => {
  it('with the suspicion, when the turn becomes suspect, and not again when it is flagged', () => {
    const verify = vi.fn((_: Verdict): VerifyAnswer => 'still')
    const host = midStream({ verify }).send(200_000, token).run(320_000)
    expect(host.log).toEqual([
      ...UNVERIFIED,
      '200000 t recovered silence',
      '291000 t suspect',
      '313000 t stale silence',
    ])
    expect(verify.mock.calls.map(([suspicion]) => [suspicion.verdict, suspicion.silenceMs])).toEqual([
      ['suspect', 91_000],
      ['suspect', 91_000],
    ])
  })

  it('and not at all of a turn whose provider is gone', () => {
    const verify = vi.fn((_: Verdict): VerifyAnswer => 'still')
    const host = midStream({ verify }).send(5000, { kind: 'exit' }).run(30_000)
    expect(host.log).toEqual(['5000 t stale provider-dead'])
    expect(verify).not.toHaveBeenCalled()
  })
})

describe('the answer', () => {
  it.each<[string, () => VerifyAnswer | Promise<VerifyAnswer>]>([
    ['still', () => 'still'],
    [
      'a throw',
      () => {
        throw new Error('host is down')
      },
    ],
    ['nothing a host should say', () => undefined as unknown as VerifyAnswer],
  ])('%s lets the silence go on', (_name, verify) => {
    const host = midStream({ verify }).run(200_000)
    expect(host.log).toEqual(UNVERIFIED)
    expect(host.watch.self.faults.verify).toBe(host.faults.length)
  })

  it('no restarts the silence, each time it is asked', () => {
    const host = midStream({ verify: () => 'no' }).run(300_000)
    expect(host.log).toEqual(['92000 t suspect', '183000 t suspect', '274000 t suspect'])
    expect(host.state()).toBe('running')
  })

  it('no within a second of a promise restarts the silence', async () => {
    const { verify, give } = later()
    const host = midStream({ verify }).run(92_900)
    expect(host.state()).toBe('suspect')
    give('no')
    await nextTurn()
    expect([host.state(), host.silence()]).toEqual(['running', 0])
    // The same promise says no to the second suspicion at once, too.
    expect(host.run(184_000).log).toEqual(['92000 t suspect', '183000 t suspect'])
  })

  it('still by a promise lets the silence go on', async () => {
    const host = midStream({ verify: () => Promise.resolve<VerifyAnswer>('still') }).run(92_500)
    await nextTurn()
    expect(host.run(200_000).log).toEqual(UNVERIFIED)
  })

  it('a rejection counts as still, and is reported', async () => {
    const { verify, fail } = later()
    const host = midStream({ verify }).run(92_500)
    fail(new Error('no such thread'))
    await nextTurn()
    expect(host.run(200_000).log).toEqual(UNVERIFIED)
    expect(host.faults).toEqual(['turnwatch: verify: no such thread'])
    expect(host.watch.self.faults.verify).toBe(1)
  })

  it('that never comes counts as still', () => {
    expect(midStream({ verify: () => new Promise(() => {}) }).run(200_000).log).toEqual(UNVERIFIED)
  })

  it('that is pending when the limit is crossed postpones the verdict by a second, no more', () => {
    // One tick is over both.
    const host = midStream({ verify: () => new Promise(() => {}), thresholds: { midStreamMs: 1000 } }).run(10_000)
    expect(host.log).toEqual(['3000 t suspect', '4000 t stale silence'])
  })

  it('no that comes later than a second changes nothing', async () => {
    const { verify, give } = later()
    const host = midStream({ verify }).run(100_000)
    give('no')
    await nextTurn()
    expect([host.state(), host.silence()]).toEqual(['suspect', 99_000])
    expect(host.run(200_000).log).toEqual(UNVERIFIED)
  })

  it('no about a turn that is stale by then changes nothing', async () => {
    const { verify, give } = later()
    const host = midStream({ verify }).run(120_000)
    give('no')
    await nextTurn()
    expect(host.run(300_000).log).toEqual(UNVERIFIED)
  })

  it('no about a turn that has ended does not touch the one that follows in its thread', async () => {
    const { verify, give } = later()
    const host = midStream({ verify })
      .send(92_100, completed)
      .send(92_200, started({ turn: 'u' }))
      .run(92_500)
    give('no')
    await nextTurn()
    expect(host.silence()).toBe(300)
    expect(host.log).toEqual(['92000 t suspect', '92100 t completed'])
  })

  it('no about a turn that was displaced does not touch the one that took its place and its row', async () => {
    const { verify, give } = later()
    const host = midStream({ verify })
      .send(92_100, started({ turn: 'u' }))
      .run(92_600)
    give('no')
    await nextTurn()
    expect(host.silence()).toBe(500)
    expect(host.log).toEqual(['92000 t suspect', '92100 t aborted'])
  })

  it('no about a suspicion that progress has cleared does not restart the silence', async () => {
    const { verify, give } = later()
    const host = midStream({ verify }).send(92_100, token).run(92_900)
    give('no')
    await nextTurn()
    expect(host.silence()).toBe(800)
  })

  it('no about an earlier suspicion does not answer for a later one', async () => {
    const asked = [later(), later()]
    const answers = [...asked]
    const host = midStream({ verify: () => (answers.shift() as (typeof asked)[number]).verify() })
    host.send(92_100, token).run(183_500)
    asked[0]?.give('no')
    await nextTurn()
    expect([host.state(), host.silence()]).toEqual(['suspect', 91_400])
    asked[1]?.give('no')
    await nextTurn()
    expect([host.state(), host.silence()]).toEqual(['running', 0])
  })

  it('no about a turn that has ended does not answer for the suspect one in its row', async () => {
    const asked = [later(), later()]
    const answers = [...asked]
    const verify = () => (answers.shift() as (typeof asked)[number]).verify()
    const host = new WatchedHost({ verify, thresholds: { firstTokenMs: 300 } })
      .send(1500, started({ turn: 't' }))
      .send(2050, completed)
      .send(2060, started({ turn: 'u' }))
      .run(3000)
    expect(host.log).toEqual(['2000 t suspect', '2050 t completed', '3000 u suspect'])
    asked[0]?.give('no')
    await nextTurn()
    expect([host.state(), host.silence()]).toEqual(['suspect', 940])
  })

  it('a host that ends the turn while it is asked is left with one ended turn', () => {
    const host: WatchedHost = midStream({
      verify: (suspicion) => {
        host.watch.observe(suspicion.threadId, completed)
        return 'no'
      },
    })
    host.run(300_000)
    expect(host.log).toEqual(['92000 t suspect', '92000 t completed'])
    expect(host.faults).toEqual([])
  })

  it('gaps in which it restarted the silence give no sample', () => {
    const host = midStream({ verify: () => 'no' })
      .send(100_000, token)
      .send(101_000, completed)
      .run(102_000)
    expect(host.log).toEqual(['92000 t suspect', '101000 t completed'])
    expect(host.ended[0]?.stats.turnwatch).toEqual({ v: 1, firstTokenMs: 1000, midStreamMs: 1000, afterToolMs: null })
  })
})

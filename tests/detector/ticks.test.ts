import { describe, expect, it } from 'vitest'
import { midStream, started, token, WatchedHost } from './watched-host.ts'

/** A mid-stream turn whose threshold is 8 s, its limit 10 s; the last token came at 1 s. */
const short = () => midStream({ thresholds: { midStreamMs: 8000 } })

describe('judging only on settled ticks', () => {
  it('a verdict needs this tick and the one before on time', () => {
    // A block of 2.9 s is still on time, one of 3.5 s is not.
    const onTime = short().blockAt(10_050, 2900).run(40_000)
    expect(onTime.log).toEqual(['10000 t suspect', '12950 t stale silence'])
    expect(onTime.watch.self).toMatchObject({ lateTicks: 0, deferrals: 0, holds: 0 })
  })

  it('two seconds of lateness at every tick are on time and defer nothing', () => {
    const host = midStream({ host: { timersLateMs: 1999 } }).run(130_000)
    expect(host.watch.self).toMatchObject({ lateTicks: 0, deferrals: 0 })
    const [suspectAt, staleAt] = host.log.map((line) => Number.parseInt(line, 10)) as [number, number]
    expect(suspectAt).toBeGreaterThan(91_000)
    expect(suspectAt).toBeLessThanOrEqual(94_000)
    expect(staleAt).toBeGreaterThan(113_500)
    expect(staleAt).toBeLessThanOrEqual(116_500)
  })

  it('when every tick is late, the sixth tick over the threshold is suspect and the sixth over the limit stale', () => {
    // Each tick adds 3 s of observed time; the three holds a turn gets are over long before its limit.
    const host = midStream({ host: { timersLateMs: 2500 } }).run(400_000)
    const ticks = host.watch.self.ticks
    expect(host.watch.self.lateTicks).toBe(ticks)
    // Silence at tick n is 3 n - 1 s: over 90 s from tick 31 on, over 112.5 s from tick 38 on.
    expect(host.log).toEqual([`${36 * 3500} t suspect`, `${43 * 3500} t stale silence`])
  })

  it('five ticks over the limit are enough however they alternate', () => {
    const host = midStream().choke(500, 400_000, 4200, 3400).run(400_000)
    expect(host.log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['t suspect', 't stale silence'])
    expect(host.watch.self.deferrals).toBeGreaterThan(0)
    // Silence when it was flagged: the limit and at most six ticks of 3 s.
    expect(host.verdicts[1]?.silenceMs).toBeLessThanOrEqual(112_500 + 18_000)
  })

  it('ticks over the threshold that were deferred do not postpone the count over the limit', () => {
    // Every tick is late, and the three holds end at 21 s of observed time.
    const host = new WatchedHost({ host: { timersLateMs: 2500 }, thresholds: { firstTokenMs: 20_000 } })
      .send(0, started({ turn: 't' }))
      .run(100_000)
    // Silence at tick n is 3 n s: over 20 s from tick 7 on, over 25 s from tick 9 on.
    expect(host.log).toEqual([`${12 * 3500} t suspect`, `${14 * 3500} t stale silence`])
  })

  it('counts the deferred judgements and starts to count anew after progress', () => {
    const host = midStream({ host: { timersLateMs: 2500 } })
      .send(33 * 3500 + 1, token)
      .run(400_000)
    // Suspect would have come at tick 36; the token at tick 33 gives 90 s and six ticks again.
    expect(host.log).toEqual([`${69 * 3500} t suspect`, `${76 * 3500} t stale silence`])
    expect(host.watch.self.deferrals).toBe(3 + 5 + 5)
  })
})

describe('a tick and an event at the same instant', () => {
  it.each(['event', 'tick'] as const)('the %s first: a token at the crossing decides nothing wrongly', (first) => {
    const host = midStream({ host: { first } }).every(90_000, 91_000, 1_000_000, token)
    expect(host.run(1_000_000).log).toEqual([])
  })

  it('a token at the tick that would flag comes in time or recovers at once', () => {
    const run = (first: 'event' | 'tick') => midStream({ host: { first } }).send(114_000, token).run(150_000).log
    expect(run('event')).toEqual(['92000 t suspect'])
    expect(run('tick')).toEqual(['92000 t suspect', '114000 t stale silence', '114000 t recovered silence'])
  })
})

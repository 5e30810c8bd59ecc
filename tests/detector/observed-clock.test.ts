import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Clock, ObservedClock } from '../../detector/observed-clock.ts'
import { midStream, started, token, WatchedHost } from './watched-host.ts'

/** Clocks that a test sets by hand. */
class HandClock implements Clock {
  mono = 0
  wall = 1_700_000_000_000
  uptime: number | null = 0
  monoMs = () => this.mono
  wallMs = () => this.wall
  uptimeMs = () => this.uptime

  /** Lets real time pass on every clock. */
  pass(ms: number): void {
    this.mono += ms
    this.wall += ms
    if (this.uptime !== null) this.uptime += ms
  }
}

function clocks(uptime: number | null = 0) {
  const hand = new HandClock()
  hand.uptime = uptime
  return { hand, observed: new ObservedClock(hand) }
}

describe('how observed time advances', () => {
  it.each([
    [1000, 1000],
    [1, 1],
    [2999, 2999],
    [3000, 3000],
    [3001, 3000],
    [29_999, 3000],
    [86_400_000, 3000],
  ])('a tick after %d ms adds %d ms', (passed, added) => {
    const { hand, observed } = clocks()
    hand.pass(passed)
    observed.tick()
    expect(observed.now).toBe(added)
  })

  it('an event between ticks gets the same cap, and the late tick that follows adds nothing to it', () => {
    const { hand, observed } = clocks()
    hand.pass(2500)
    observed.read()
    expect(observed.now).toBe(2500)
    hand.pass(60_000)
    observed.read()
    expect(observed.now).toBe(3000)
    observed.tick()
    expect(observed.now).toBe(3000)
    hand.pass(400)
    observed.read()
    expect(observed.now).toBe(3400)
  })

  it('steps of the wall clock move neither observed nor elapsed time, and show in the wall time after a tick', () => {
    const { hand, observed } = clocks()
    for (const step of [3_600_000, -86_400_000, 5]) {
      hand.pass(1000)
      hand.wall += step
      expect(observed.tick()).toMatchObject({ pause: 'none', gapMs: 1000 })
      expect(observed.wallMs).toBe(hand.wall)
    }
    expect([observed.now, observed.elapsedMs, observed.pauseEpoch]).toEqual([3000, 3000, 0])
  })

  it('elapsed time includes pauses and sleep, on both kinds of monotonic clock', () => {
    const { hand, observed } = clocks()
    hand.pass(50_000)
    observed.tick()
    expect([observed.now, observed.elapsedMs]).toEqual([3000, 50_000])
    hand.uptime = (hand.uptime ?? 0) + 99_000
    hand.pass(1000)
    observed.tick()
    expect([observed.now, observed.elapsedMs]).toEqual([4000, 150_000])
  })

  it('is monotone and never ahead of real time, whatever is read when', () => {
    const step = fc.record({ ms: fc.nat({ max: 40_000 }), tick: fc.boolean(), sleep: fc.nat({ max: 4000 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { hand, observed } = clocks()
        let before = 0
        let real = 0
        for (const { ms, tick, sleep } of steps) {
          hand.pass(ms)
          hand.uptime = (hand.uptime ?? 0) + sleep
          real += ms + sleep
          if (tick) observed.tick()
          else observed.read()
          expect(observed.now).toBeGreaterThanOrEqual(before)
          expect(observed.now).toBeLessThanOrEqual(real)
          before = observed.now
        }
      }),
      { seed: 11, numRuns: 300 },
    )
  })
})

describe('what a tick says of the time before it', () => {
  it.each([
    [2999, 0, 'none'],
    [3000, 0, 'late'],
    [29_999, 0, 'late'],
    [30_000, 0, 'suspend'],
    [1000, 1500, 'none'],
    [1000, 1501, 'suspend'],
    [4000, 1501, 'suspend'],
    [1000, 99_000, 'suspend'],
  ] as const)('%d ms on the monotonic clock and %d ms more uptime is %s', (mono, drift, pause) => {
    const { hand, observed } = clocks()
    hand.pass(mono)
    hand.uptime = (hand.uptime ?? 0) + drift
    expect(observed.tick().pause).toBe(pause)
  })

  it('without an uptime that counts sleep only the monotonic gap is evidence', () => {
    const { hand, observed } = clocks(null)
    hand.pass(29_999)
    expect(observed.tick().pause).toBe('late')
    hand.pass(30_000)
    expect(observed.tick().pause).toBe('suspend')
  })

  it('uptime that lags or drifts slowly is no evidence', () => {
    const { hand, observed } = clocks()
    for (let i = 0; i < 50; i++) {
      hand.pass(1000)
      hand.uptime = (hand.uptime ?? 0) + (i % 2 === 0 ? 1400 : -1400)
      expect(observed.tick().pause).toBe('none')
    }
  })

  it('is settled from the second on-time tick on, and again two after a late one', () => {
    const { hand, observed } = clocks()
    const settled = [1000, 1000, 1000, 3000, 1000, 1000, 2999, 45_000, 2000, 2000].map((ms) => {
      hand.pass(ms)
      return observed.tick().settled
    })
    expect(settled).toEqual([false, true, true, false, false, true, true, false, false, true])
  })

  it("the host's power event makes the next tick a wake, once", () => {
    const { hand, observed } = clocks()
    hand.pass(10_000)
    observed.tick()
    observed.powerEvent()
    const pauses = [1000, 1000].map((ms) => {
      hand.pass(ms)
      return observed.tick().pause
    })
    expect(pauses).toEqual(['suspend', 'none'])
  })

  it('a power event within 5 s of a wake that was noticed already is the same wake, a later one is another', () => {
    const { hand, observed } = clocks()
    hand.pass(40_000)
    expect(observed.tick().pause).toBe('suspend')
    const after = [1000, 4000, 1001].map((ms) => {
      hand.pass(ms)
      observed.read()
      observed.powerEvent()
      return observed.tick().pause
    })
    expect(after).toEqual(['none', 'late', 'suspend'])
  })

  it('a pause is noticed once, by the event that comes first or by the tick', () => {
    const { hand, observed } = clocks()
    hand.pass(5000)
    observed.read()
    observed.read()
    expect(observed.pauseEpoch).toBe(1)
    observed.tick()
    expect(observed.pauseEpoch).toBe(1)
    hand.pass(5000)
    observed.tick()
    expect(observed.pauseEpoch).toBe(2)
  })
})

describe('the clock in use', () => {
  it('wall clock steps of hours in both directions change no verdict and no time of one', () => {
    const plain = midStream().run(130_000)
    const stepped = midStream()
      .stepWallAt(20_000, 7_200_000)
      .stepWallAt(60_000, -90_000_000)
      .stepWallAt(100_000, 3000)
      .run(130_000)
    expect(plain.log).toEqual(['92000 t suspect', '114000 t stale silence'])
    expect(stepped.log).toEqual(plain.log)
  })

  it('a turn is told the same silence by an event and by the tick after a pause', () => {
    const host = new WatchedHost()
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .blockAt(10_000, 20_000)
    host.run(29_999)
    // The tick at 10 s shares the instant with the block and goes after it: 9 s had passed by the tick before.
    expect(host.silence()).toBe(8000 + 3000)
    expect(host.run(31_000).silence()).toBe(8000 + 3000 + 1000)
    expect(host.watch.self).toMatchObject({ lateTicks: 1, suspends: 0, observedMs: host.observedMs })
  })
})

import { describe, expect, it } from 'vitest'
import { midStream, progress, side, started, token, toolStarts, WatchedHost } from './watched-host.ts'

const times = (host: WatchedHost) => host.log.map((line) => line.replace('silence', '').trim())

describe('after a wake', () => {
  it.each(['mono-stops', 'both-advance'] as const)(
    'no silence is judged for 130 s, then a dead turn is flagged at once (%s)',
    (clocks) => {
      // The machine sleeps from 60 s to 160 s.
      const host = midStream().sleepAt(60_500, 99_500, clocks).run(500_000)
      const wake = clocks === 'mono-stops' ? 160_500 : 160_000
      expect(times(host)).toEqual([`${wake + 131_000} t suspect`, `${wake + 131_000} t stale`])
      expect(host.watch.self).toMatchObject({ suspends: 1, restarts: 1, holds: 0 })
    },
  )

  it('a threshold beyond the grace counts in full from the wake', () => {
    const host = midStream({ thresholds: { midStreamMs: 200_000 } })
      .sleepAt(60_500, 100_000)
      .run(600_000)
    // It shows at the tick of 161 s.
    expect(times(host)).toEqual(['362000 t suspect', '412000 t stale'])
  })

  it("the host's own power event is a wake", () => {
    const host = midStream()
    host.at(60_000, () => host.watch.hostResumed()).run(500_000)
    expect(times(host)).toEqual(['191000 t suspect', '191000 t stale'])
  })

  it('progress within 5 s does not end the grace: what was buffered proves nothing about the connection', () => {
    const host = midStream().sleepAt(60_500, 100_000).send(166_000, token).run(500_000)
    // The wake shows at the tick of 161 s; its grace ends at 291 s.
    expect(times(host)).toEqual(['292000 t suspect', '292000 t stale'])
  })

  it('progress more than 5 s after it ends the grace', () => {
    const host = midStream().sleepAt(60_500, 100_000).send(166_001, token).run(500_000)
    expect(times(host)).toEqual(['257000 t suspect', '279000 t stale'])
  })

  it('a turn that starts within 130 s inherits the grace, one that starts later does not', () => {
    const start = (at: number) =>
      new WatchedHost({ thresholds: { firstTokenMs: 8000 } })
        .sleepAt(10_000, 100_000)
        .send(at, started({ turn: 't' }))
        .run(300_000).log
    // The wake shows at 111 s at the latest.
    const inherited = Number.parseInt(start(120_000)[0] as string, 10)
    expect(inherited).toBeGreaterThan(240_000)
    expect(inherited).toBeLessThanOrEqual(242_000)
    expect(start(245_000)).toEqual(['254000 t suspect', '256000 t stale silence'])
  })

  it('a suspect turn runs again, a stale one stays stale', () => {
    const suspect = midStream().sleepAt(95_500, 60_000, 'both-advance').run(157_000)
    expect(suspect.log).toEqual(['92000 t suspect'])
    expect([suspect.state(), suspect.silence()]).toEqual(['running', 1500])
    const stale = midStream().sleepAt(120_500, 60_000, 'both-advance').run(600_000)
    expect(stale.log).toEqual(['92000 t suspect', '114000 t stale silence'])
    expect([stale.state(), stale.watch.self.restarts]).toEqual(['stale', 0])
  })

  it('three in a row without progress restart the silence, the fourth only stops the clock', () => {
    const host = midStream()
    for (let i = 0; i < 8; i++) host.sleepAt(60_000 + i * 100_000, 50_000, 'both-advance')
    host.run(900_000)
    expect(host.watch.self).toMatchObject({ suspends: 8, restarts: 3 })
    // The third wake is at 310 s, its grace ends after 130 s of observed time: the sleep at 360 s adds 3 s.
    const flaggedAt = Number.parseInt(host.log.at(-1) as string, 10)
    expect(host.log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['t suspect', 't stale silence'])
    expect(flaggedAt).toBeGreaterThan(310_000 + 130_000 + 47_000)
    expect(flaggedAt).toBeLessThanOrEqual(310_000 + 131_000 + 2 * 47_000 + 6000)
  })

  it.each([
    ['side events do not give another three', side, 3],
    ['progress does', progress, 8],
  ] as const)('%s', (_name, event, restarts) => {
    const host = midStream()
    for (let i = 0; i < 8; i++)
      host.sleepAt(60_000 + i * 100_000, 50_000, 'both-advance').send(112_000 + i * 100_000, event)
    host.run(850_000)
    expect(host.watch.self.restarts).toBe(restarts)
  })

  it.each(['mono-stops', 'both-advance'] as const)(
    'progress that is read between it and the tick that notices it came after it, in both orders (%s)',
    (clocks) => {
      for (const first of ['event', 'tick'] as const) {
        const host = midStream({ host: { first } }).send(110_500, token)
        for (let i = 0; i < 5; i++) host.sleepAt(60_500 + i * 100_000, 50_000, clocks)
        // The first wake has progress; three without follow, and a fourth that restarts nothing.
        expect(host.run(520_000).watch.self).toMatchObject({ suspends: 5, restarts: 4 })
      }
    },
  )

  it('gives the whole grace: progress exactly 130 s after it is in time, whichever goes first', () => {
    for (const first of ['event', 'tick'] as const) {
      const host = midStream({ host: { first } }).sleepAt(60_500, 100_000, 'both-advance').send(290_500, token)
      expect(host.run(291_000).log).toEqual([])
    }
  })
})

describe('after a pause of 3 to 30 s without evidence of sleep', () => {
  it('verdicts are held for twice its length and 5 s', () => {
    // The tick at 95.5 s comes 10.5 s after the one before, at a silence of 87 s; held for 26 s.
    const host = midStream().blockAt(85_500, 10_000).run(300_000)
    expect(times(host)).toEqual(['121500 t suspect', '121500 t stale'])
    expect(host.watch.self).toMatchObject({ lateTicks: 1, holds: 1, restarts: 0, suspends: 0 })
  })

  it('only 3 s of it are silence', () => {
    // The tick at 39.5 s comes 29.5 s after the one before, at a silence of 12 s.
    const host = midStream().blockAt(10_500, 29_000).run(300_000)
    expect(times(host)).toEqual(['118500 t suspect', '140500 t stale'])
  })

  it('three in a row without progress hold, the fourth only stops the clock', () => {
    const blocked = () => {
      const host = midStream({ thresholds: { midStreamMs: 100_000 } })
      for (let i = 0; i < 6; i++) host.blockAt(100_500 + i * 13_000, 12_000)
      return host
    }
    const dead = blocked().run(300_000)
    expect(dead.watch.self).toMatchObject({ lateTicks: 6, holds: 3 })
    // The third pause shows at 138.5 s, after 13 s, at 109 s of observed time: held until 140 s of it.
    expect(times(dead)).toEqual(['199500 t suspect', '199500 t stale'])
    expect(blocked().send(139_000, token).run(180_000).watch.self.holds).toBe(6)
    expect(blocked().send(139_000, side).run(180_000).watch.self.holds).toBe(3)
  })

  it('a tool or wait that is open through it stays unjudged', () => {
    expect(midStream().send(2000, toolStarts()).blockAt(10_000, 29_000).run(400_000).log).toEqual([])
  })
})

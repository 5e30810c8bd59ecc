import { describe, expect, it } from 'vitest'
import {
  completed,
  exit,
  failure,
  interrupt,
  midStream,
  side,
  started,
  THREAD,
  token,
  toolStarts,
  WatchedHost,
  waitStarts,
} from './watched-host.ts'

describe('a provider that is gone, or reports its final error', () => {
  it.each([
    ['provider-dead', exit],
    ['provider-error', failure],
  ] as const)('is %s at once, whatever is open and on whatever tick', (reason, event) => {
    for (const open of [[], [toolStarts()], [waitStarts('approval')]]) {
      const host = midStream()
        .send(5000, ...open)
        .send(5500, event)
        .run(30_000)
      expect(host.log).toEqual([`5500 t stale ${reason}`])
      expect(host.watch.liveness(THREAD)).toMatchObject({ state: 'stale', stale: true, reason, episode: 1 })
    }
  })

  it('is flagged at once in the grace of a wake and in the hold of a pause, too', () => {
    const asleep = midStream().sleepAt(5000, 99_000).send(110_000, exit).run(112_000)
    expect(asleep.log).toEqual(['110000 t stale provider-dead'])
    const blocked = midStream().blockAt(5000, 20_000).send(26_000, failure).run(28_000)
    expect(blocked.log).toEqual(['26000 t stale provider-error'])
  })

  it('tells what the provider said and what was open', () => {
    const host = midStream().send(5000, { kind: 'tool.started', id: 'c1', name: 'Bash' }, failure).run(6000)
    expect(host.verdicts).toMatchObject([{ reason: 'provider-error', errorMessage: 'overloaded', open: 'Bash' }])
  })

  it('replaces the reason of a turn that is stale by silence, without a second verdict; the weaker replaces nothing', () => {
    const host = midStream().send(150_000, exit).run(160_000)
    expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence'])
    expect(host.watch.liveness(THREAD)).toMatchObject({
      reason: 'provider-dead',
      staleSince: '2026-01-01T00:01:54.000Z',
      episode: 1,
    })
    const dead = midStream().send(5000, exit).run(64_000)
    expect(dead.log).toEqual(['5000 t stale provider-dead'])
    expect(dead.watch.liveness(THREAD)).toMatchObject({ reason: 'provider-dead' })
  })

  it('a token after it is a recovery, and the turn goes on', () => {
    const host = midStream().send(5000, exit).send(10_000, token).send(80_000, token).send(90_000, completed)
    expect(host.run(200_000).log).toEqual([
      '5000 t stale provider-dead',
      '10000 t recovered provider-dead',
      '90000 t completed',
    ])
  })

  it('a final error and the failed end give one verdict; the flag stays until the next turn starts', () => {
    const host = midStream().send(5000, failure, { kind: 'turn.ended', outcome: 'error' }).run(200_000)
    expect(host.log).toEqual(['5000 t stale provider-error', '5000 t error'])
    expect(host.watch.liveness(THREAD)).toMatchObject({ state: 'ended', stale: true, reason: 'provider-error' })
    host.send(201_000, started({ turn: 'u' })).run(202_000)
    expect(host.watch.liveness(THREAD)).toMatchObject({ state: 'running', stale: false, reason: null })
  })

  it('a failed end alone, at a limit of the caller, gives no verdict', () => {
    const host = midStream().send(5000, { kind: 'turn.ended', outcome: 'error' }).run(200_000)
    expect(host.log).toEqual(['5000 t error'])
    expect(host.watch.liveness(THREAD)).toMatchObject({ stale: false, reason: null })
  })

  it('that exits where no turn runs is nothing', () => {
    expect(midStream().send(5000, completed).send(6000, exit).run(9000).log).toEqual(['5000 t completed'])
  })
})

describe('an interrupt', () => {
  it.each([0, 1, 9999, 10_000])('and an exit %d ms later end the turn aborted', (ms) => {
    const host = midStream()
      .send(5000, interrupt)
      .send(5000 + ms, exit)
      .run(30_000)
    expect(host.log).toEqual([`${5000 + ms} t aborted`])
  })

  it('and an exit later than 10 s after it are a dead provider', () => {
    const host = midStream().send(5000, interrupt).send(15_001, exit).run(30_000)
    expect(host.log).toEqual(['15001 t stale provider-dead'])
  })

  it('that is requested again counts from the last request', () => {
    const host = midStream().send(5000, interrupt).send(60_000, interrupt).send(61_000, exit).run(70_000)
    expect(host.log).toEqual(['61000 t aborted'])
  })

  it('of an older turn does not excuse the exit of a newer one', () => {
    const host = midStream()
      .send(5000, interrupt)
      .send(5500, started({ turn: 'u' }))
      .send(6000, exit)
      .run(9000)
    expect(host.log).toEqual(['5500 t aborted', '6000 u stale provider-dead'])
  })

  it('alone changes nothing that is judged', () => {
    expect(midStream().send(5000, interrupt).run(120_000).log).toEqual(['92000 t suspect', '114000 t stale silence'])
  })
})

describe('lost turns', () => {
  it('one whose provider is gone ends lost 60 s later, if it shows no end', () => {
    const host = midStream().send(5000, exit).run(300_000)
    expect(host.log).toEqual(['5000 t stale provider-dead', '65000 t lost'])
    expect(host.ended[0]?.stats).toMatchObject({ outcome: 'error', state: 'lost', durationMs: 65_000 })
    expect(host.watch.liveness(THREAD)).toMatchObject({ state: 'ended', stale: true, reason: 'provider-dead' })
  })

  it('a second report of the exit, or anything but progress and an end, does not postpone that', () => {
    const host = midStream().every(20_000, 5000, 300_000, exit, side).run(300_000)
    expect(host.log).toEqual(['5000 t stale provider-dead', '65000 t lost'])
  })

  it('an end in time is the end; progress takes the exit back', () => {
    const ended = midStream().send(5000, exit).send(64_000, completed).run(300_000)
    expect(ended.log).toEqual(['5000 t stale provider-dead', '64000 t completed'])
    const alive = midStream().send(5000, exit).send(64_000, toolStarts()).run(300_000)
    expect(alive.log).toEqual(['5000 t stale provider-dead', '64000 t recovered provider-dead'])
  })

  it('an exit after a recovery counts its 60 s anew', () => {
    const host = midStream().send(5000, exit).send(10_000, token).send(50_000, exit).run(300_000)
    expect(host.log.slice(2)).toEqual(['50000 t stale provider-dead', '110000 t lost'])
  })

  it('the wait after an exit is an option', () => {
    const host = midStream({ lostAfterExitMs: 2500 }).send(5000, exit).run(300_000)
    expect(host.log).toEqual(['5000 t stale provider-dead', '8000 t lost'])
  })

  it('one without any event for 24 h ends lost, even with a tool open; any event postpones that', () => {
    const day = 86_400_000
    const host = new WatchedHost()
      .sendTo('a', 0, started({ turn: 'a' }), toolStarts())
      .sendTo('b', 0, started({ turn: 'b' }), toolStarts())
      .sendTo('b', day / 2, side)
    host.run(1.6 * day)
    // Looked for every 30 s.
    expect(host.log).toEqual([`${day} a lost`, `${1.5 * day} b lost`])
  })

  it('the 24 h are an option', () => {
    const host = midStream({ lostAfterMs: 120_000 }).run(300_000)
    expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence', '150000 t lost'])
  })
})

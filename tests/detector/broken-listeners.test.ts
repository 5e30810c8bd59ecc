import { describe, expect, it } from 'vitest'
import { Detector } from '../../detector/detector.ts'
import { VirtualHost } from '../../hosts/replay/virtual-host.ts'
import {
  attempt,
  completed,
  exit,
  failure,
  midStream,
  started,
  THREAD,
  token,
  toolStarts,
  WatchedHost,
  type WatchedHostOptions,
} from './watched-host.ts'

/** Three turns a, b and c in threads of their names that all go stale at the same tick. */
function three(options: WatchedHostOptions = {}): WatchedHost {
  const host = new WatchedHost(options)
  for (const id of ['a', 'b', 'c']) host.sendTo(id, 0, started({ turn: id })).sendTo(id, 1000, token)
  return host
}
const STALE_AT = ['114000 a stale silence', '114000 b stale silence', '114000 c stale silence']
const staleOnly = (host: WatchedHost) => host.log.filter((line) => line.includes('stale'))
const boom = () => {
  throw new Error('boom')
}

describe('a listener that throws', () => {
  it.each(['suspect', 'stale', 'recovered', 'turn-ended'] as const)('at %s harms nobody and is reported', (name) => {
    const plain = three()
    const host = three()
    host.watch.on(name, boom)
    for (const one of [plain, host]) {
      for (const id of ['a', 'b']) one.sendTo(id, 150_000, token).sendTo(id, 151_000, completed)
      one.run(300_000)
    }
    expect(host.log).toEqual(plain.log)
    expect(host.faults).toEqual(host.faults.map(() => 'turnwatch: listener: boom'))
    expect(host.watch.self.faults.listener).toBe(host.faults.length)
    expect(host.faults.length).toBeGreaterThan(1)
  })

  it('or rejects is reported, too, and the listeners after it are told', async () => {
    const host = midStream()
    host.watch.on('stale', (() => Promise.reject(new Error('later'))) as () => void)
    const heard: string[] = []
    host.watch.on('stale', ({ turnId }) => heard.push(turnId))
    host.run(120_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual(['t'])
    expect(host.faults).toEqual(['turnwatch: listener: later'])
  })

  it('as notify, verify, parentOf or onError harms nobody either', async () => {
    const host = three()
    const broken = three({ notify: boom, verify: boom, parentOf: boom, onError: boom })
    expect(broken.run(114_500).log).toEqual(host.run(114_500).log)
    await new Promise((resolve) => setImmediate(resolve))
    expect(broken.watch.self.faults).toMatchObject({ notifier: 3, verify: 3, listener: 3 })
  })

  it('no longer hears anything once it has unsubscribed', () => {
    const host = midStream()
    const off = host.watch.on('suspect', boom)
    off()
    off()
    expect(host.run(120_000).faults).toEqual([])
  })
})

describe('a listener that changes what is judged, in the middle of a tick', () => {
  it('ends the other turns: they are not flagged any more', () => {
    const host = three()
    host.watch.on('stale', () => {
      for (const id of ['b', 'c']) host.watch.observe(id, completed)
    })
    host.run(300_000)
    expect(staleOnly(host)).toEqual(['114000 a stale silence'])
    expect(host.log.slice(-2)).toEqual(['114000 b completed', '114000 c completed'])
    expect(host.faults).toEqual([])
  })

  it('ends its own turn at suspect or stale', () => {
    for (const name of ['suspect', 'stale'] as const) {
      const host = midStream()
      host.watch.on(name, ({ threadId }) => host.watch.observe(threadId, completed))
      host.run(300_000)
      const at = name === 'suspect' ? 92_000 : 114_000
      expect(host.log.at(-1)).toBe(`${at} t completed`)
      expect(host.log).toHaveLength(name === 'suspect' ? 2 : 3)
      expect(host.faults).toEqual([])
    }
  })

  it('gives events to the turns that are judged next', () => {
    for (const event of [token, toolStarts(), attempt]) {
      const host = three()
      host.watch.on('suspect', ({ turnId }) => {
        if (turnId === 'a') for (const id of ['b', 'c']) host.watch.observe(id, event)
      })
      host.run(115_000)
      expect(host.log).toEqual(['92000 a suspect', '114000 a stale silence'])
    }
  })

  it('starts a turn that takes the row of one that was to be judged', () => {
    const host = three()
    host.watch.on('suspect', ({ turnId }) => {
      if (turnId !== 'a') return
      host.watch.observe('b', { kind: 'turn.ended', outcome: 'aborted' })
      host.watch.observe('d', started({ turn: 'd' }))
    })
    host.run(230_000)
    expect(host.log).toEqual([
      '92000 a suspect',
      '92000 b aborted',
      '92000 c suspect',
      '114000 a stale silence',
      '114000 c stale silence',
      '213000 d suspect',
    ])
  })

  it('starts so many turns that every column moves', () => {
    const host = three()
    host.watch.on('suspect', ({ turnId }) => {
      if (turnId === 'a') for (let i = 0; i < 500; i++) host.watch.observe(`x${i}`, started({ turn: `x${i}` }))
    })
    host.run(120_000)
    expect(staleOnly(host)).toEqual(STALE_AT)
    expect(host.watch.running()).toHaveLength(503)
    host.run(250_000)
    expect(staleOnly(host)).toHaveLength(503)
  })

  it('starts a turn in the thread of the one that was just displaced: one of them runs, and no other is left', () => {
    const host = new WatchedHost()
    let once = true
    host.watch.on('turn-ended', ({ stats }) => {
      if (once) host.watch.startTurn({ threadId: stats.threadId, turnId: 'by-listener' })
      once = false
    })
    host
      .send(0, started({ turn: 't' }))
      .send(1000, started({ turn: 'u' }), { ...token, turn: 'u' })
      .run(400_000)
    expect(host.log).toEqual([
      '1000 t aborted',
      '1000 by-listener aborted',
      '92000 u suspect',
      '114000 u stale silence',
    ])
    expect(host.metric('turns_running')).toBe(1)
  })

  it('starts a turn whenever one ends: the watch survives', () => {
    const host = new WatchedHost()
    host.watch.on('turn-ended', ({ stats }) => host.watch.startTurn({ threadId: stats.threadId }))
    host
      .send(0, started({ turn: 't' }))
      .send(1000, started({ turn: 'u' }), token)
      .run(2000)
    expect(host.watch.liveness(THREAD).turn?.turnId).toBe('u')
    expect(host.faults).toEqual([])
  })

  it('ends a turn that recovers with its first token, and starts one that takes its row', () => {
    const host = new WatchedHost()
    host.watch.on('recovered', ({ threadId }) => {
      host.watch.observe(threadId, completed)
      host.watch.observe('u', started({ turn: 'u', model: 'n' }))
    })
    host
      .send(0, started({ turn: 't' }))
      .send(160_000, token)
      .run(170_000)
    expect(host.log).toEqual([
      '121000 t suspect',
      '151000 t stale silence',
      '160000 t recovered silence',
      '160000 t completed',
    ])
    expect(host.faults).toEqual([])
    const firstToken = host.watch.metrics().find(({ name }) => name.endsWith('time_to_first_token_seconds'))
    expect(firstToken?.points.map((point) => [point.labels.model, 'sum' in point && point.sum])).toEqual([
      ['m', 160],
      ['n', 0],
    ])
  })

  it('ticks again: each verdict still comes once', () => {
    const host = three()
    host.watch.on('suspect', () => host.watch.tick())
    host.watch.on('stale', () => host.watch.tick())
    host.run(300_000)
    expect(staleOnly(host).sort()).toEqual(STALE_AT)
    expect(host.log).toHaveLength(6)
    expect(host.faults).toEqual([])
  })

  it('ends turns that are lost, one by the end of another', () => {
    const host = three()
    host.watch.on('turn-ended', ({ stats }) => {
      if (stats.turnId === 'a') host.watch.observe('b', completed)
    })
    for (const id of ['a', 'b', 'c']) host.sendTo(id, 2000, exit)
    host.run(100_000)
    expect(host.log.slice(3)).toEqual(['62000 a lost', '62000 b completed', '62000 c lost'])
  })
})

describe('the detector alone', () => {
  it('never throws into its caller, whatever its sink does', () => {
    const host = new VirtualHost()
    const faults: string[] = []
    const detector = new Detector(
      { clock: host.clock },
      { verdict: boom, ended: boom, learned: boom, fault: (where) => faults.push(where) },
    )
    const identity = { threadId: 't', turnId: 't', provider: 'p', model: null, parentThreadId: null }
    const turn = detector.begin(identity, true)
    const dead = detector.begin({ ...identity, turnId: 'u' }, true)
    detector.observe(turn, token)
    detector.observe(dead, failure)
    detector.observe(dead, token)
    host.run(120_000, () => detector.tick())
    expect(detector.stateOf(turn)).toBe('stale')
    detector.observe(dead, completed)
    detector.observe(turn, completed)
    // Stale and recovered of one; suspect and stale of both, then recovery and end of one and the end of the other.
    expect(faults.filter((where) => where === 'listener')).toHaveLength(2 + 4 + 2)
    // Their two silences confirm each other, which is one sample.
    expect(faults.filter((where) => where === 'store')).toHaveLength(1)
    expect(faults).toHaveLength(9)
  })
})

import { describe, expect, it } from 'vitest'
import {
  attempt,
  completed,
  exit,
  failure,
  midStream,
  modelCall,
  progress,
  side,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
  waitEnds,
  waitStarts,
} from './watched-host.ts'

describe('crossing the threshold and the limit', () => {
  it('a silence of exactly the threshold is not suspect and of exactly 1.25 times it is not stale; the next tick is', () => {
    const host = new WatchedHost({ thresholds: { midStreamMs: 8000 } })
      .send(0, started({ turn: 't' }))
      .send(1000, token)
      .run(60_000)
    expect(host.log).toEqual(['10000 t suspect', '12000 t stale silence'])
    expect(host.verdicts.map((verdict) => verdict.silenceMs)).toEqual([9000, 11_000])
  })

  it('says in a verdict what was judged', () => {
    const host = midStream()
      .send(1500, started({ turn: 't', parent: 'boss' }))
      .run(120_000)
    expect(host.verdicts.at(-1)).toEqual({
      verdict: 'stale',
      threadId: 't',
      turnId: 't',
      parentThreadId: 'boss',
      provider: 'codex',
      model: 'm',
      episode: 1,
      reason: 'silence',
      phase: 'mid-stream',
      preset: 'standard',
      thresholdMs: 90_000,
      thresholdSource: 'default',
      samples: 0,
      silenceMs: 113_000,
      at: '2026-01-01T00:01:54.000Z',
      lastEventAt: '2026-01-01T00:00:01.500Z',
      lastEventKind: 'turn.started',
      lastProgressAt: '2026-01-01T00:00:01.000Z',
      lastProgressKind: 'text',
      open: null,
      errorMessage: null,
    })
    expect(host.watch.liveness('t')).toMatchObject({ state: 'stale', stale: true, reason: 'silence', episode: 1 })
  })

  it('flags within one tick of the limit wherever the last progress lay between two ticks', () => {
    for (let offset = 0; offset < 1000; offset += 37) {
      const host = new WatchedHost()
        .send(0, started({ turn: 't' }))
        .send(1000 + offset, token)
        .run(130_000)
      const [suspectAt, staleAt] = host.log.map((line) => Number.parseInt(line, 10)) as [number, number]
      expect(suspectAt - (1000 + offset + 90_000)).toSatisfy((late: number) => late > 0 && late <= 1000)
      expect(staleAt - (1000 + offset + 112_500)).toSatisfy((late: number) => late > 0 && late <= 1000)
    }
  })

  it('a turn is flagged once, however long it stays silent', () => {
    expect(midStream().run(20_000_000).log).toEqual(['92000 t suspect', '114000 t stale silence'])
  })

  it('side events and waits that end nothing neither clear nor delay a verdict', () => {
    const host = midStream()
      .every(1000, 2000, 200_000, side, waitEnds('nobody'), { kind: 'turn.requested' })
      .run(200_000)
    expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence'])
  })
})

describe('the gap that is open', () => {
  const gaps = (host: WatchedHost) => {
    const family = host.watch.metrics().find(({ name }) => name.endsWith('event_gap_seconds'))
    const point = family?.points.find(({ labels }) => labels.phase === 'mid-stream')
    return point && 'sum' in point ? [Array.from(point.counts).reduce((a, b) => a + b), point.sum] : null
  }

  it.each([
    ['silence', [side], 113],
    ['provider-dead', [exit], 99],
    ['provider-error', [failure], 99],
  ] as const)('is observed when the turn goes stale (%s), and not again when it ends', (_reason, events, seconds) => {
    const host = midStream()
      .send(100_000, ...events)
      .run(99_999)
    expect(gaps(host)).toEqual([0, 0])
    expect(gaps(host.run(120_000))).toEqual([1, seconds])
    expect(gaps(host.send(130_000, token).run(131_000))).toEqual([1, seconds])
    expect(gaps(host.send(132_000, completed).run(133_000))).toEqual([2, seconds + 2])
  })
})

describe('what clears a suspicion', () => {
  it.each([
    ['a token', token],
    ['progress', progress],
    ['a tool that starts', toolStarts()],
    ['a tool that ends', toolEnds()],
    ['a wait that starts', waitStarts('approval')],
  ])('%s makes a suspect turn run again and a stale one recover', (_name, event) => {
    const suspect = midStream().send(100_000, event).run(100_000)
    expect(suspect.log).toEqual(['92000 t suspect'])
    expect(suspect.state()).not.toBe('suspect')
    const stale = midStream().send(150_000, event).run(150_000)
    expect(stale.log).toEqual(['92000 t suspect', '114000 t stale silence', '150000 t recovered silence'])
    expect(stale.verdicts.at(-1)).toMatchObject({ episode: 1, phase: 'mid-stream', silenceMs: 36_000 })
    expect(stale.watch.liveness('t')).toMatchObject({ stale: false, staleSince: null, reason: null })
  })

  it.each([
    ['a side event', side],
    ['a wait that ends', waitEnds('nobody')],
    ['an attempt', attempt],
    ['a second start of the turn', started()],
    ['a restore', { kind: 'turn.restored' } as const],
    ['an interrupt request', { kind: 'interrupt.requested' } as const],
  ])('%s does not close the episode of a stale turn', (_name, event) => {
    const host = midStream().send(150_000, event).run(600_000)
    expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence'])
    expect(host.state()).toBe('stale')
  })

  it.each([
    ['an attempt', attempt],
    ['a restore', { kind: 'turn.restored' } as const],
    ['progress', progress],
  ])('%s ends a suspicion at once, not at the next tick', (_name, event) => {
    const host = midStream().send(100_300, event).run(100_400)
    expect([host.state(), host.silence()]).toEqual(['running', 100])
  })

  it('an attempt restarts the silence of a suspect turn, in the phase first-token', () => {
    const host = midStream().send(100_000, attempt).run(300_000)
    expect(host.log).toEqual(['92000 t suspect', '221000 t suspect', '251000 t stale silence'])
    expect(host.verdicts.map((verdict) => verdict.phase)).toEqual(['mid-stream', 'first-token', 'first-token'])
  })

  it('episodes count from one, and each has a verdict of its own', () => {
    const host = midStream().send(150_000, token).send(300_000, token).run(420_000)
    expect(host.log).toEqual([
      '92000 t suspect',
      '114000 t stale silence',
      '150000 t recovered silence',
      '241000 t suspect',
      '263000 t stale silence',
      '300000 t recovered silence',
      '391000 t suspect',
      '413000 t stale silence',
    ])
    expect(host.verdicts.map((verdict) => verdict.episode)).toEqual([0, 1, 1, 1, 2, 2, 2, 3])
  })

  it.each(['completed', 'incomplete', 'aborted', 'error', 'lost'] as const)(
    'the end of a stale turn (%s) closes its episode without a recovery',
    (outcome) => {
      const host = midStream().send(150_000, { kind: 'turn.ended', outcome }).run(400_000)
      expect(host.log).toEqual(['92000 t suspect', '114000 t stale silence', `150000 t ${outcome}`])
      expect(host.watch.liveness('t')).toMatchObject({ state: 'ended', stale: false, episode: 1 })
    },
  )
})

describe('attempts', () => {
  it('restart the silence ten times in a row; the eleventh without progress does not', () => {
    const host = midStream().every(60_000, 60_000, 6_000_000, attempt).run(900_000)
    // The tenth comes at 600 s; first-token: 120 s and 150 s.
    expect(host.log).toEqual(['721000 t suspect', '751000 t stale silence'])
  })

  it('are counted afresh after progress', () => {
    const host = midStream().every(60_000, 60_000, 600_000, attempt).send(630_000, progress)
    host.every(60_000, 660_000, 1_400_000, attempt).run(1_400_000)
    expect(host.log).toEqual(['1321000 t suspect', '1351000 t stale silence'])
  })

  it('close tools and retry waits that are open, even beyond the tenth', () => {
    const host = midStream().send(10_000, toolStarts(), waitStarts('retry'), attempt).run(200_000)
    expect(host.log).toEqual(['131000 t suspect', '161000 t stale silence'])
    expect(host.watch.liveness('t')).toMatchObject({ openTool: null, waiting: null })
  })
})

describe('nothing is judged', () => {
  it.each([
    ['while a tool is open', [toolStarts()]],
    ['while it waits', [waitStarts('input')]],
    ['while one of two tools is still open', [toolStarts('a'), toolStarts('b'), toolEnds('a')]],
    ['while a wait outlives a tool', [waitStarts('queue'), toolStarts('a'), toolEnds('a')]],
    ['while a tool has started twice', [toolStarts('a'), toolStarts('a')]],
  ])('%s', (_name, events) => {
    const host = midStream()
      .send(2000, ...events)
      .run(10_000_000)
    expect(host.log).toEqual([])
    expect(host.silence()).toBe(0)
  })

  it('of a turn that has ended', () => {
    expect(midStream().send(2000, completed).run(10_000_000).log).toEqual(['2000 t completed'])
  })

  it('where the default is infinite, whatever was measured', () => {
    const host = midStream({ thresholds: { midStreamMs: Number.POSITIVE_INFINITY } })
    expect(host.run(80_000_000).log).toEqual([])
  })

  it('while a soft wait is open and the wire shows no model call; a call that has begun is judged', () => {
    const idle = midStream().send(2000, waitStarts('background')).run(1_000_000)
    expect(idle.log).toEqual([])
    const calling = midStream().send(2000, waitStarts('background')).send(10_000, modelCall('start')).run(200_000)
    expect(calling.log).toEqual(['101000 t suspect', '123000 t stale silence'])
  })
})

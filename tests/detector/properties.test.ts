import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../instrumentation/events.ts'
import { anyEvent, anyThread, THREADS } from './arbitrary-events.ts'
import { watchEpisodes } from './episode-order.ts'
import {
  completed,
  midStream,
  progress,
  started,
  token,
  toolEnds,
  toolStarts,
  WatchedHost,
  waitEnds,
  waitStarts,
} from './watched-host.ts'

const LIMIT = 1.25
/** fast-check prints the seed of a failure; these make every run the same. */
const runs = (seed: number, numRuns: number) => ({ seed, numRuns })

const gaps = (max: number) => fc.array(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 40 })
const first = fc.constantFrom('event' as const, 'tick' as const)

/** A host that gets token after token, `gapsMs` apart, and the verdicts it gave without their times. */
function stream(gapsMs: readonly number[], from: number, options: ConstructorParameters<typeof WatchedHost>[0]) {
  const host = new WatchedHost(options).send(from, started({ turn: 't' }), token)
  let at = from
  for (const gap of gapsMs) {
    at += gap
    host.send(at, token)
  }
  return host.run(at)
}

describe('a turn whose every silence is at most the threshold', () => {
  it('is never flagged, nor suspect, at any alignment and in any order of events and ticks', () => {
    fc.assert(
      fc.property(
        gaps(20_000),
        fc.nat({ max: 999 }),
        first,
        fc.integer({ min: 0, max: 1999 }),
        (all, from, order, late) => {
          const host = { first: order, timersLateMs: late }
          expect(stream(all, from, { host, thresholds: { midStreamMs: 20_000 } }).log).toEqual([])
        },
      ),
      runs(21, 300),
    )
  })
})

describe('a verdict of silence', () => {
  it('comes exactly of the silences that cross, within one tick of the crossing', () => {
    fc.assert(
      fc.property(gaps(40_000), fc.nat({ max: 999 }), first, (all, from, order) => {
        const T = 20_000
        const host = stream(all, from, { host: { first: order }, thresholds: { midStreamMs: T } })
        let at = from
        const crossings: [number, string][] = []
        for (const gap of all) {
          if (gap > T) crossings.push([at + T, 'suspect'])
          if (gap > T * LIMIT) crossings.push([at + T * LIMIT, 'stale'])
          at += gap
        }
        const flagged = host.verdicts.filter(({ verdict }) => verdict !== 'recovered')
        const times = host.log.filter((line) => !line.includes('recovered')).map((line) => Number.parseInt(line, 10))
        // A silence that ends within a tick of its crossing may pass unseen; nothing else may.
        const seen = crossings.filter(([due, verdict]) =>
          flagged.some(
            (one, i) => one.verdict === verdict && (times[i] as number) > due && (times[i] as number) <= due + 1000,
          ),
        )
        expect(flagged).toHaveLength(seen.length)
        for (const gapEnd of missed(crossings, seen, all, from)) expect(gapEnd).toBeLessThanOrEqual(1000)
      }),
      runs(22, 300),
    )
  })

  it('is the same for the same events at any alignment of the ticks, within one tick', () => {
    // No silence ends within the second after a crossing: there the alignment decides rightly.
    const clear = fc.integer({ min: 0, max: 40_000 }).filter((gap) => {
      const justPast = (edge: number) => gap > edge && gap <= edge + 1000
      return !justPast(20_000) && !justPast(25_000)
    })
    fc.assert(
      fc.property(
        fc.array(clear, { minLength: 1, maxLength: 30 }),
        fc.nat({ max: 999 }),
        fc.nat({ max: 999 }),
        (all, a, b) => {
          const lines = [a, b].map((from) => {
            const { log } = stream(all, from, { thresholds: { midStreamMs: 20_000 } })
            return log.map((line) => {
              const [at, ...rest] = line.split(' ')
              return { at: Number(at) - from, what: rest.join(' ') }
            })
          })
          const [one, two] = lines as [{ at: number; what: string }[], { at: number; what: string }[]]
          expect(one.map(({ what }) => what)).toEqual(two.map(({ what }) => what))
          one.forEach(({ at }, i) => {
            expect(Math.abs(at - (two[i]?.at ?? Number.NaN))).toBeLessThanOrEqual(1000)
          })
        },
      ),
      runs(23, 200),
    )
  })
})

/** How long after their crossing the silences ended whose crossing was not seen. */
function missed(
  crossings: [number, string][],
  seen: [number, string][],
  all: readonly number[],
  from: number,
): number[] {
  let at = from
  const ends = all.map((gap) => {
    at += gap
    return at
  })
  return crossings
    .filter((crossing) => !seen.includes(crossing))
    .map(([due]) => (ends.find((end) => end > due) ?? Number.POSITIVE_INFINITY) - due)
}

describe('a tool or a wait that is open', () => {
  it('keeps a turn from every verdict of silence, whatever else comes', () => {
    const steps = fc.array(
      fc.record({
        after: fc.integer({ min: 0, max: 60_000 }),
        event: fc.constantFrom<TurnEvent[]>(
          [toolStarts('a')],
          [toolEnds('a')],
          [toolStarts('b')],
          [toolEnds('b')],
          [waitStarts('approval', 'w')],
          [waitEnds('w')],
          [token],
          [progress],
          [{ kind: 'side', what: 'ping' }],
          [toolStarts('b'), token],
        ),
      }),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const host = midStream({ thresholds: { firstTokenMs: 20_000, midStreamMs: 20_000, afterToolMs: 20_000 } })
        const open = new Set<string>()
        const seen: string[] = []
        host.watch.on('suspect', () => seen.push(...open))
        host.watch.on('stale', () => seen.push(...open))
        let at = 1000
        for (const { after, event } of all) {
          at += after
          host.send(at, ...event)
          host.at(at, () => {
            for (const one of event) {
              if (one.kind === 'tool.started' || one.kind === 'wait.started') open.add(one.id)
              else if (one.kind === 'tool.ended' || one.kind === 'wait.ended') open.delete(one.id)
            }
          })
        }
        host.run(at + 30_000)
        expect(seen).toEqual([])
        if (open.size === 0) expect(host.log.at(-1)).toMatch(/stale silence$/)
        else expect(host.state()).toMatch(/^(tool|waiting)$/)
      }),
      runs(24, 300),
    )
  })
})

describe('any sequence of events, of any thread and turn', () => {
  const steps = fc.array(
    fc.record({ after: fc.integer({ min: 0, max: 40_000 }), thread: anyThread, event: anyEvent }),
    {
      maxLength: 60,
    },
  )

  it('never throws, never recovers without having been stale, and ends each turn once', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { host, at } = play(all)
        watchEpisodes(host)
        host.run(at + 200_000)
        // What the checks above throw is a fault of a listener.
        expect(host.faults).toEqual([])
        const ids = host.ended.map(({ stats }) => stats.id)
        expect(new Set(ids).size).toBe(ids.length)
        for (const { outcome, stats } of host.ended) {
          expect(stats.state).toBe(outcome)
          expect(stats.outcome).toBe({ incomplete: 'completed', lost: 'error' }[outcome as string] ?? outcome)
          expect(stats.maxGapMs).toBeLessThanOrEqual(stats.durationMs)
          expect(stats.timeToFirstTokenMs ?? 0).toBeLessThanOrEqual(stats.durationMs)
          const { firstTokenMs, midStreamMs, afterToolMs } = stats.turnwatch
          for (const ms of [firstTokenMs, midStreamMs, afterToolMs]) {
            expect(ms ?? 0).toBeGreaterThanOrEqual(0)
            expect(ms ?? 0).toBeLessThanOrEqual(stats.durationMs)
          }
        }
        const [begun, ended, running] = ['turns_started_total', 'turns_ended_total', 'turns_running'].map((name) =>
          host.metric(name),
        ) as [number, number, number]
        expect(ended).toBe(host.ended.length)
        expect(running).toBe(host.watch.running().length)
        expect(begun).toBe(ended + running)
      }),
      runs(25, 300),
    )
  })

  it('leaves nothing behind when its turns have ended: the next turn of a thread is judged like the first', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { host, at } = play(all)
        for (const thread of THREADS) host.sendTo(thread, at, started({ turn: `end-${thread}` }), completed)
        host.run(at)
        expect(host.watch.running()).toEqual([])
        const before = host.log.length
        const from = Math.ceil(at / 1000) * 1000
        for (const thread of THREADS) {
          host.sendTo(
            thread,
            from,
            started({ turn: `fresh-${thread}`, provider: 'fresh', model: 'fresh', parent: 'p' }),
          )
        }
        host.run(from + 200_000)
        const lines = host.log.slice(before).map((line) => line.replace(/fresh-\S*/, 'fresh'))
        expect(lines).toEqual([
          ...THREADS.map(() => `${from + 121_000} fresh suspect`),
          ...THREADS.map(() => `${from + 151_000} fresh stale silence`),
        ])
      }),
      runs(26, 200),
    )
  })

  it('gives a handle that still gets events after its turn has ended no power over another turn', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
        const host = new WatchedHost()
        const old = host.watch.startTurn({ threadId: 't', turnId: 'old', provider: 'codex', model: 'm' })
        old.observe(completed)
        host.watch.startTurn({ threadId: 't', turnId: 'new', provider: 'codex', model: 'm' })
        events.forEach((event, i) => {
          host.at(i * 1000, () => old.observe(event))
        })
        host.run(160_000)
        expect(host.log).toEqual(['0 old completed', '121000 new suspect', '151000 new stale silence'])
      }),
      runs(27, 100),
    )
  })
})

function play(all: readonly { after: number; thread: string; event: TurnEvent }[]) {
  const host = new WatchedHost()
  let at = 0
  for (const { after, thread, event } of all) {
    at += after
    host.sendTo(thread, at, event)
  }
  return { host, at }
}

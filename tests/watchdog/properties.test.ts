import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamControl, type StreamDeadlines, StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { type Kind, objects } from './kinds.ts'
import { QUEUES } from './queues.ts'
import type { Line } from './scripted.ts'
import { completed, delta, progress } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
/** fast-check prints the seed of a failure; these make every run the same. */
const runs = (seed: number, numRuns: number) => ({ seed, numRuns })

/** What a timer on time may be late, in ms: that of virtual time is exact, but for what comes in the very same one. */
const BOUND_MS = 1

/** One read of the consumer. */
interface Read {
  readonly askedAt: number
  readonly answeredAt: number
  /** The event, `done`, or the error. */
  readonly what: unknown
}

interface Run {
  readonly reads: readonly Read[]
  readonly bornAt: number
  readonly ended: number
  readonly endedAt: number | null
}

/** Reads to the end; holds as long as is said after each read, and goes on with the first when all are used up. */
async function readAll(clock: VirtualClock, events: AsyncIterable<unknown>, holds: readonly number[], reads: Read[]) {
  const iterator = events[Symbol.asyncIterator]()
  for (let at = 0; ; at++) {
    const askedAt = clock.monoMs()
    try {
      const { done, value } = await iterator.next()
      reads.push({ askedAt, answeredAt: clock.monoMs(), what: done ? 'done' : value })
      if (done) return
    } catch (error) {
      reads.push({ askedAt, answeredAt: clock.monoMs(), what: error })
      return
    }
    const hold = holds[at % holds.length] ?? 0
    if (hold > 0) await clock.wait(hold)
  }
}

async function run(
  kind: Kind,
  script: readonly Line[],
  holds: readonly number[],
  deadlines: StreamDeadlines,
  ms: number,
) {
  const clock = new VirtualClock()
  const bornAt = clock.monoMs()
  const { stream, ended } = kind.open(clock, script)
  let endedAt: number | null = null
  const abort = () => {
    endedAt = clock.monoMs()
  }
  const options = { source, clock, ...deadlines, abort } as const
  const reads: Read[] = []
  void readAll(clock, kind.events(watchStream(stream, options)), holds, reads)
  await clock.advance(ms)
  return { reads, bornAt, ended: ended.length, endedAt, timers: clock.timers.size }
}

const events = fc.constantFrom('content' as const, 'neutral' as const)
const gaps = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 700 }))
const made = (what: 'content' | 'neutral', at: number) => (what === 'content' ? delta(`${at}`) : { ...progress, at })

/** What a server sends, each event known by its place; in the end it closes, breaks or falls silent, perhaps whole. */
const scripts = fc
  .tuple(
    fc.array(fc.tuple(gaps, events), { maxLength: 14 }),
    fc.boolean(),
    fc.constantFrom('end' as const, 'hang' as const, 'broken' as const),
    gaps,
  )
  .map(([lines, isWhole, last, gap]): Line[] => [
    ...lines.map(([ms, what], at) => [ms, made(what, at)] as const),
    ...(isWhole ? [[0, completed] as const] : []),
    [gap, last === 'broken' ? new Error('broken') : last],
  ])

const deadline = fc.option(fc.integer({ min: 20, max: 500 }), { nil: undefined, freq: 2 })
const silences = fc.record({
  firstContentMs: deadline,
  contentIntervalMs: deadline,
  livenessMs: deadline,
  drainMs: deadline,
})
const anyDeadlines = fc
  .tuple(silences, fc.option(fc.integer({ min: 50, max: 3000 }), { nil: undefined, freq: 2 }))
  .map(([set, totalMs]): StreamDeadlines => ({ ...set, totalMs }))
const holds = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 900 })), { minLength: 1, maxLength: 5 })

/** Time that reads waited since the last content, since anything, and since the terminal event, before each of them. */
class Waited {
  content = 0
  alive = 0
  terminal: number | null = null
  any = false

  read({ askedAt, answeredAt }: Read): void {
    const ms = answeredAt - askedAt
    this.content += ms
    this.alive += ms
    if (this.terminal !== null) this.terminal += ms
  }

  took(what: unknown): void {
    const { type } = what as { type: string }
    this.alive = 0
    if (type === completed.type) this.terminal = 0
    else if (type.endsWith('.delta') && this.terminal === null) {
      this.content = 0
      this.any = true
    }
  }

  /** The silences that run, each with how long it is. */
  running(set: StreamDeadlines): [phase: string, ms: number, timeoutMs: number | null | undefined][] {
    if (this.terminal !== null) return [['drain', this.terminal, set.drainMs]]
    return [
      this.any
        ? ['between_content', this.content, set.contentIntervalMs]
        : ['first_content', this.content, set.firstContentMs],
      ['liveness', this.alive, set.livenessMs],
    ]
  }
}

/** The terms of the contract, held against what a consumer saw. */
function judge({ reads, bornAt, endedAt }: Run, script: readonly Line[], set: StreamDeadlines): void {
  const waited = new Waited()
  const sent = script.map(([, what]) => what).filter((what) => what !== 'end' && what !== 'hang')
  for (const [at, read] of reads.entries()) {
    waited.read(read)
    // No silence lasts longer than its deadline.
    for (const [, ms, timeoutMs] of waited.running(set)) expect(ms).toBeLessThanOrEqual((timeoutMs ?? 1e9) + BOUND_MS)
    const { what } = read
    if (what instanceof StreamStalledError) {
      expect(what.deliveredEvents).toBe(at)
      if (what.phase === 'total') {
        expect(what.timeoutMs).toBe(set.totalMs)
        expect(endedAt).toBeGreaterThanOrEqual(bornAt + (set.totalMs ?? 0))
        expect(endedAt).toBeLessThanOrEqual(bornAt + (set.totalMs ?? 0) + BOUND_MS)
      } else {
        const silence = waited.running(set).find(([phase]) => phase === what.phase)
        expect(silence?.[2]).toBe(what.timeoutMs)
        expect(silence?.[1]).toBeGreaterThanOrEqual(what.timeoutMs)
        expect(what.elapsedMs).toBe(silence?.[1])
      }
      return
    }
    if (what === 'done' && at < sent.length) {
      // It was cut: by the drain, or by the whole time after the terminal event.
      expect(waited.terminal).not.toBe(null)
      const isDrained = (waited.terminal as number) >= (set.drainMs ?? 1e9)
      const isOver = endedAt !== null && endedAt >= bornAt + (set.totalMs ?? 1e9)
      expect(isDrained || isOver).toBe(true)
      return
    }
    if (what === 'done') return
    // A stream that breaks loses what was not read of it.
    if (what instanceof Error) return expect(what).toBe(sent.at(-1))
    expect(what).toBe(sent[at])
    waited.took(what)
  }
}

describe('a stream of any script, read by any consumer', () => {
  it('stalls by no silence but one that is long enough, and by that at once; everything before it is delivered', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, holds, anyDeadlines, async (script, hold, set) => {
        judge(await run(objects, script, hold, set, 30_000), script, set)
      }),
      runs(31, 800),
    )
  })

  it('is read to its end, or has an error: no read waits for ever, and no timer is left', async () => {
    const all = { firstContentMs: 300, contentIntervalMs: 300, drainMs: 300 }
    await fc.assert(
      fc.asyncProperty(scripts, holds, silences, async (script, hold, set) => {
        const { reads, timers } = await run(objects, script, hold, { ...set, ...all }, 60_000)
        const last = reads.at(-1)?.what
        expect(last === 'done' || last instanceof Error).toBe(true)
        expect(timers).toBe(0)
      }),
      runs(32, 150),
    )
  })

  it('has the same result whatever kind it is', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, holds, anyDeadlines, async (script, hold, set) => {
        const all = await Promise.all(QUEUES.map((kind) => run(kind, script, hold, set, 20_000)))
        const [one, ...others] = all.map(({ reads, ended, timers }) => ({ reads: reads.map(told), ended, timers }))
        for (const other of others) expect(other).toEqual(one)
      }),
      runs(33, 150),
    )
  })

  function told({ askedAt, answeredAt, what }: Read): unknown {
    if (what instanceof StreamStalledError) return [askedAt, answeredAt, { ...what.toJSON() }]
    return [askedAt, answeredAt, what instanceof Error ? what.message : what]
  }
})

describe('a stream that is always read', () => {
  const crossing = (script: readonly Line[], { firstContentMs = 0, contentIntervalMs = 0 }) => {
    let at = 0
    let since = 0
    let any = false
    for (const [ms, what] of script) {
      const due = since + (any ? contentIntervalMs : firstContentMs)
      at += ms
      if (what === 'hang' || at > due) return due
      // A tie may go either way.
      if (at === due) return null
      if (what === 'end' || what instanceof Error || what === completed) return null
      if ((what as { type: string }).type.endsWith('.delta')) {
        since = at
        any = true
      }
    }
    return since + (any ? contentIntervalMs : firstContentMs)
  }

  it('stalls exactly where its script has a silence that is too long', async () => {
    const both = fc.record({
      firstContentMs: fc.integer({ min: 20, max: 500 }),
      contentIntervalMs: fc.integer({ min: 20, max: 500 }),
    })
    await fc.assert(
      fc.asyncProperty(scripts, both, async (script, set) => {
        const due = crossing(script, set)
        fc.pre(due !== null)
        const { reads, bornAt } = await run(objects, script, [0], set, 20_000)
        const last = reads.at(-1) as Read
        expect(last.what).toBeInstanceOf(StreamStalledError)
        expect(last.answeredAt - bornAt).toBe(due)
      }),
      runs(34, 300),
    )
  })
})

describe('a stream in a process that is held up, sleeps and pauses', () => {
  const upset = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('advance' as const), fc.integer({ min: 1, max: 800 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('block' as const), fc.integer({ min: 1, max: 5000 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('block' as const), fc.integer({ min: 30_000, max: 900_000 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('sleep' as const), fc.integer({ min: 2000, max: 900_000 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('pause' as const), fc.integer({ min: 1, max: 5000 })) },
  )

  it('never stalls sooner than its deadline, loses nothing, and leaves nothing', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, anyDeadlines, fc.array(upset, { maxLength: 25 }), async (script, set, upsets) => {
        const clock = new VirtualClock()
        const control = new StreamControl()
        const { stream } = objects.open(clock, script)
        const reads: Read[] = []
        void readAll(clock, watchStream(stream as ReadableStream, { source, clock, control, ...set }), [0], reads)
        await settle()
        for (const [what, ms] of upsets) {
          if (what === 'pause') await control.whilePaused(() => clock.advance(ms))
          else await clock[what](ms)
        }
        await clock.advance(60_000)
        const sent = script.map(([, what]) => what).filter((what) => what !== 'end' && what !== 'hang')
        const waited = new Waited()
        for (const [at, read] of reads.entries()) {
          const { what, answeredAt } = read
          waited.read(read)
          if (what === 'done') break
          if (what instanceof StreamStalledError) {
            const silence = waited.running(set).find(([phase]) => phase === what.phase)
            const ms = what.phase === 'total' ? answeredAt - 1000 : (silence?.[1] as number)
            expect(ms).toBeGreaterThanOrEqual(what.timeoutMs)
            expect(what.elapsedMs).toBeGreaterThanOrEqual(what.timeoutMs)
            break
          }
          expect(what).toBe(what instanceof Error ? sent.at(-1) : sent[at])
          if (what instanceof Error) break
          waited.took(what)
        }
        const last = reads.at(-1)?.what
        if (last === 'done' || last instanceof Error) expect(clock.timers.size).toBe(0)
        if (set.totalMs !== undefined) expect(last === 'done' || last instanceof Error).toBe(true)
      }),
      runs(35, 200),
    )
  })

  it('never stalls while content comes within each deadline of time in which it could be read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 290 }), { minLength: 1, maxLength: 60 }),
        fc.array(fc.tuple(fc.constantFrom('advance' as const, 'block' as const), fc.integer({ min: 1, max: 2900 })), {
          maxLength: 20,
        }),
        async (gapsMs, upsets) => {
          const clock = new VirtualClock()
          const script: Line[] = [...gapsMs.map((ms, at) => [ms, delta(`${at}`)] as const), [0, 'end']]
          const { stream } = objects.open(clock, script)
          const options = { source, clock, firstContentMs: 300, contentIntervalMs: 300, livenessMs: 300 } as const
          const reads: Read[] = []
          void readAll(clock, watchStream(stream as ReadableStream, options), [0], reads)
          for (const [what, ms] of upsets) await clock[what](ms)
          await clock.advance(60 * 300)
          expect(reads.at(-1)?.what).toBe('done')
          expect(reads.length).toBe(gapsMs.length + 1)
        },
      ),
      runs(36, 150),
    )
  })
})

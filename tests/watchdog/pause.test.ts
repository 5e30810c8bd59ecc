import { describe, expect, it } from 'vitest'
import { StreamControl, turnDeadlines, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import type { Kind } from './kinds.ts'
import { QUEUES } from './queues.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { completed, created, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const objects = QUEUES[1] as Kind
const HOUR = 3_600_000

function read(script: readonly Line[], options: WatchOptions, clock = new VirtualClock(), kind = objects) {
  const { stream, ended } = kind.open(clock, script)
  return { clock, ended, seen: reading(clock, kind.events(watchStream(stream, { source, clock, ...options }))) }
}

const silent = (...events: unknown[]): Line[] => [...events.map((event) => [0, event] as const), [0, 'hang']]

const deadlines: readonly (readonly [keyof WatchOptions, readonly Line[], string])[] = [
  ['firstContentMs', silent(created), 'first_content'],
  ['contentIntervalMs', silent(delta('x')), 'between_content'],
  ['livenessMs', silent(created), 'liveness'],
]

describe('a stream that is paused', () => {
  it.each(deadlines)('has no %s while it is, and a whole one afterwards', async (setting, script, phase) => {
    const control = new StreamControl()
    const { clock, seen } = read(script, { [setting]: 100, control })
    await clock.advance(90)
    control.pause()
    await clock.advance(HOUR)
    expect(seen.outcome).toBe(undefined)
    expect(clock.timers.size).toBe(0)
    control.resume()
    await clock.advance(99)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase, elapsedMs: 100 })
  })

  it('has its end waited for anew, too', async () => {
    const control = new StreamControl()
    const { clock, seen } = read(silent(delta('x'), completed), { drainMs: 100, control })
    await clock.advance(90)
    control.pause()
    await clock.advance(HOUR)
    control.resume()
    await clock.advance(99)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toBe('done')
  })

  it('has its whole time stand still, and go on', async () => {
    const control = new StreamControl()
    const { clock, seen } = read(silent(delta('x')), { totalMs: 1000, control })
    await clock.advance(400)
    control.pause()
    await clock.advance(HOUR)
    control.resume()
    await clock.advance(300)
    control.pause()
    await clock.advance(HOUR)
    control.resume()
    await clock.advance(299)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'total', elapsedMs: 1000 })
  })

  it.each(QUEUES)('goes on with its events, as $name', async (kind) => {
    const control = new StreamControl()
    const script = [
      [0, delta('a')],
      [500, delta('b')],
      [500, completed],
      [0, 'end'],
    ] as Line[]
    const options = { firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100, totalMs: 200, control }
    const { clock, seen } = read(script, options, undefined, kind)
    control.pause()
    await clock.advance(5000)
    expect([seen.events.length, seen.outcome]).toEqual([3, 'done'])
  })

  it('goes on only when every pause was taken back', async () => {
    const control = new StreamControl()
    const { clock, seen } = read(silent(delta('x')), { contentIntervalMs: 100, control })
    await settle()
    control.pause()
    control.pause()
    control.resume()
    expect(control.paused).toBe(true)
    await clock.advance(5000)
    expect(seen.outcome).toBe(undefined)
    control.resume()
    expect(control.paused).toBe(false)
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('is not changed by what resumes without a pause', async () => {
    const control = new StreamControl()
    const { clock, seen } = read(silent(delta('x')), { contentIntervalMs: 100, control })
    await clock.advance(60)
    control.resume()
    control.resume()
    await clock.advance(40)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 100 })
    control.pause()
    expect(control.paused).toBe(true)
  })

  it('may be so before it is watched, and while its response is waited for', async () => {
    const control = new StreamControl()
    control.pause()
    const clock = new VirtualClock()
    const call = watchStream(
      clock.wait(5000).then(() => pushed(clock, silent(delta('x'))).stream),
      { source, clock, headersMs: 100, contentIntervalMs: 100, totalMs: 300, control },
    )
    await clock.advance(5000)
    const seen = reading(clock, await call)
    await clock.advance(5000)
    expect(seen.outcome).toBe(undefined)
    control.resume()
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('may be one of many with one control', async () => {
    const control = new StreamControl()
    const clock = new VirtualClock()
    const all = QUEUES.map((kind) => read(silent(delta('x')), { contentIntervalMs: 100, control }, clock, kind))
    await clock.advance(50)
    control.pause()
    await clock.advance(5000)
    control.resume()
    await clock.advance(100)
    expect(all.map(({ seen }) => seen.endedAt)).toEqual([5150, 5150, 5150])
    control.pause()
    control.resume()
    expect(clock.timers.size).toBe(0)
  })
})

describe('whilePaused', () => {
  it('pauses for as long as the work takes, and gives what that gives', async () => {
    const control = new StreamControl()
    const { clock, seen } = read(silent(delta('x')), { contentIntervalMs: 100, control })
    const work = control.whilePaused(() => clock.wait(5000).then(() => 'worked'))
    await clock.advance(5099)
    expect(await work).toBe('worked')
    expect([control.paused, seen.outcome]).toEqual([false, undefined])
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('ends the pause where the work fails, at once or later', async () => {
    const control = new StreamControl()
    const broken = new Error('work')
    const works = [
      () => Promise.reject(broken),
      () => {
        throw broken
      },
    ]
    for (const work of works) {
      await expect(control.whilePaused(work)).rejects.toBe(broken)
      expect(control.paused).toBe(false)
    }
  })

  it('nests with other pauses', async () => {
    const control = new StreamControl()
    await control.whilePaused(async () => {
      await control.whilePaused(() => 1)
      expect(control.paused).toBe(true)
    })
    expect(control.paused).toBe(false)
  })
})

describe('a turn that is paused', () => {
  it('has no deadline between its streams, however long a person takes to approve', async () => {
    const clock = new VirtualClock()
    const turn = turnDeadlines({ source, clock, firstContentMs: 100, contentIntervalMs: 100, livenessMs: 100 }).next()
    const asks = reading(
      clock,
      turn.watch(
        pushed(clock, [
          [50, delta('may I?')],
          [50, 'end'],
        ]).stream,
      ),
    )
    await clock.advance(100)
    expect([asks.outcome, clock.timers.size]).toEqual(['done', 0])
    await clock.advance(HOUR)
    const goesOn = reading(
      clock,
      turn.watch(
        pushed(clock, [
          [90, delta('thanks')],
          [0, 'hang'],
        ]).stream,
      ),
    )
    await clock.advance(180)
    expect([goesOn.events, goesOn.outcome]).toEqual([[delta('thanks')], undefined])
    await clock.advance(10)
    expect(goesOn.outcome).toMatchObject({ phase: 'between_content' })
  })

  it('has no deadline of its streams, and other turns have theirs', async () => {
    const clock = new VirtualClock()
    const turns = turnDeadlines({ source, clock, contentIntervalMs: 100 })
    const [paused, other] = [turns.next(), turns.next()]
    const seen = [paused, other].map((turn) => reading(clock, turn.watch(pushed(clock, silent(delta('x'))).stream)))
    await settle()
    paused.pause()
    await clock.advance(5000)
    expect(seen.map(({ endedAt }) => endedAt)).toEqual([Number.NaN, 100])
    paused.resume()
    await clock.advance(100)
    expect(seen[0]?.endedAt).toBe(5100)
    const worked = paused.whilePaused(() => 'worked')
    expect(await worked).toBe('worked')
  })
})

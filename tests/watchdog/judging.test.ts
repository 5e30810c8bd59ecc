import { describe, expect, it } from 'vitest'
import { type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, type Reading, reading } from './scripted.ts'
import { created, delta, progress } from './tries.ts'
import { VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const _MAX_TIMER_MS = 2 ** 31 - 1
const _HOUR = 3_600_000

/** A stream that is read while time passes in its clock. */
function read(script: readonly Line[], options: WatchOptions, clock = new VirtualClock()): [VirtualClock, Reading] {
  return [clock, reading(clock, watchStream(pushed(clock, script).stream, { source, clock, ...options }))]
}

/** Nothing but the answer's first word. */
const _dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

describe('what has come', () => {
  /** Data that is read in a turn of the event loop, as that of a socket is; the first is that after the deadline. */
  class TurningClock extends VirtualClock {
    turns = 0
    onTurn = (_turn: number) => {}

    override nextTurn(work: () => void): void {
      this.onTurn(++this.turns)
      super.nextTurn(work)
    }
  }

  function comesInTurns(turns: readonly number[]) {
    const clock = new TurningClock()
    let controller: ReadableStreamDefaultController | undefined
    const stream = new ReadableStream({
      start(its) {
        controller = its
      },
    })
    clock.onTurn = (turn) => {
      if (turns.includes(turn)) controller?.enqueue(delta('late'))
    }
    const seen = reading(clock, watchStream(stream, { source, clock, firstContentMs: 100, contentIntervalMs: 100 }))
    return { clock, seen }
  }

  it.each([1, 2, 3])('is read before a stream is judged, where that takes %i turns of the event loop', async (turn) => {
    const { clock, seen } = comesInTurns([turn])
    await clock.advance(150)
    expect([seen.events, seen.outcome]).toEqual([[delta('late')], undefined])
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', deliveredEvents: 1 })
    expect(seen.endedAt).toBe(200)
  })

  it('is judged after a few turns in which nothing came', async () => {
    const { clock, seen } = comesInTurns([])
    await clock.advance(100)
    expect(seen.outcome).toMatchObject({ phase: 'first_content' })
    expect(seen.endedAt).toBe(100)
    expect(clock.turns).toBeLessThan(10)
  })
})

describe('heartbeats', () => {
  /** No real timer fires in the ms in which it is set. */
  class CoarseClock extends VirtualClock {
    override later(work: () => void, ms: number, keepAlive: boolean): () => void {
      return super.later(work, Math.max(1, ms), keepAlive)
    }
  }

  /** A source that has a heartbeat in every turn of the event loop. */
  async function* beating(first: unknown): AsyncGenerator<unknown> {
    yield first
    for (;;) yield await new Promise((resolve) => setImmediate(resolve, progress))
  }

  it.each([
    ['first_content', created],
    ['between_content', delta('x')],
  ])('that never stop do not put a %s stall off for more than a second', async (phase, first) => {
    const clock = new CoarseClock()
    const options = { source, clock, firstContentMs: 200, contentIntervalMs: 200, livenessMs: 100 } as const
    const seen = reading(clock, watchStream(beating(first), options))
    await clock.advance(1500)
    expect(seen.outcome).toMatchObject({ phase, timeoutMs: 200 })
    expect(seen.endedAt).toBeGreaterThanOrEqual(200)
    expect(seen.endedAt).toBeLessThanOrEqual(200 + 1000 + 10)
  })

  it.each([1, 20, 99])('of every %i ms do not put it off at all', async (ms) => {
    const beats = Array.from({ length: 300 }, () => [ms, progress] as const)
    const [clock, seen] = read([[0, created], ...beats], { firstContentMs: 150, livenessMs: 120 })
    await clock.advance(1500)
    expect(seen.outcome).toMatchObject({ phase: 'first_content', lastEventType: 'response.in_progress' })
    expect(seen.endedAt).toBeLessThanOrEqual(152)
    // One that comes in the ms of the deadline may be before it or after.
    expect(seen.events.length).toBeGreaterThanOrEqual(1 + Math.floor(149 / ms))
    expect(seen.events.length).toBeLessThanOrEqual(1 + Math.floor(151 / ms))
  })

  it('keep a stream alive whose content may take its time', async () => {
    const beats = Array.from({ length: 50 }, () => [90, progress] as const)
    const [clock, seen] = read([...beats, [0, delta('x')], [0, 'end']], { firstContentMs: 10_000, livenessMs: 100 })
    await clock.advance(6000)
    expect([seen.events.length, seen.outcome]).toEqual([51, 'done'])
  })
})

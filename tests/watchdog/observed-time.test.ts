import { afterEach, describe, expect, it, vi } from 'vitest'
import { type StreamClock, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { queue } from './queues.ts'
import { type Line, pushed, type Reading, reading } from './scripted.ts'
import { completed, delta, progress } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const _MAX_TIMER_MS = 2 ** 31 - 1
const HOUR = 3_600_000

/** A stream that is read while time passes in its clock. */
function read(script: readonly Line[], options: WatchOptions, clock = new VirtualClock()): [VirtualClock, Reading] {
  return [clock, reading(clock, watchStream(pushed(clock, script).stream, { source, clock, ...options }))]
}

/** Nothing but the answer's first word. */
const dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

describe('a blocked event loop', () => {
  it('is no stall, where what came meanwhile is read afterwards', async () => {
    const script = [
      [0, delta('a')],
      [150, delta('b')],
      [60, completed],
      [0, 'end'],
    ] as const
    const [clock, seen] = read(script, { contentIntervalMs: 100, livenessMs: 100 })
    await clock.advance(10)
    await clock.block(160)
    await clock.advance(1000)
    expect([seen.events.length, seen.outcome]).toEqual([3, 'done'])
  })

  it('is no stall however often it is blocked, while content comes', async () => {
    const words = Array.from({ length: 40 }, () => [350, delta('x')] as const)
    const [clock, seen] = read([...words, [0, 'end']], { firstContentMs: 300, contentIntervalMs: 300 })
    for (let block = 0; block < 40; block++) await clock.block(350)
    await clock.advance(1000)
    expect([seen.events.length, seen.outcome]).toEqual([40, 'done'])
  })

  it('gives a silence back how late its timer was, no more than the deadline', async () => {
    const [clock, seen] = read(dead, { contentIntervalMs: 1000 })
    await clock.advance(900)
    await clock.block(400)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(299)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(1)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 1600 })
  })

  it('hides a stream that is really dead only a few times', async () => {
    const [clock, seen] = read(dead, { contentIntervalMs: 300 })
    let blocks = 0
    for (; seen.outcome === undefined && blocks < 100; blocks++) await clock.block(600)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
    expect(blocks).toBeGreaterThan(3)
    expect(blocks).toBeLessThanOrEqual(8)
  })

  it('hides it a few times again after content only', async () => {
    const heartbeats = Array.from({ length: 100 }, () => [600, progress] as const)
    const [clock, seen] = read([[0, delta('x')], ...heartbeats], { contentIntervalMs: 300 })
    let blocks = 0
    for (; seen.outcome === undefined && blocks < 100; blocks++) await clock.block(600)
    expect(seen.outcome).toMatchObject({ phase: 'between_content' })
    expect(blocks).toBeLessThanOrEqual(8)
  })

  it('counts for no more than 3 s of the whole time', async () => {
    const [clock, seen] = read(dead, { totalMs: 10_000 })
    await clock.advance(1000)
    await clock.block(20_000)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(5000)
    expect(seen.outcome).toBe(undefined)
    await clock.advance(15_000)
    expect(seen.outcome).toMatchObject({ phase: 'total', timeoutMs: 10_000 })
  })

  it('is judged no later than a timer that is on time, where it is blocked for less than the deadline has left', async () => {
    const [clock, seen] = read(dead, { contentIntervalMs: 1000 })
    await clock.advance(200)
    await clock.block(500)
    await clock.advance(300)
    expect(seen.endedAt).toBe(1000)
    expect(seen.outcome).toMatchObject({ elapsedMs: 1000 })
  })

  it('is no stall of a response that was there', async () => {
    const clock = new VirtualClock()
    const response = watchStream(
      clock.wait(150).then(() => 'the reply'),
      { headersMs: 100, clock },
    )
    await clock.block(200)
    await clock.advance(10)
    expect(await response).toBe('the reply')
  })
})

describe('a machine that sleeps', () => {
  /** Sleep as the clocks of Linux have it, and as those of macOS and Windows have it. */
  const sleeps: [string, (clock: VirtualClock, ms: number) => Promise<void>][] = [
    ['while its monotonic clock stands', (clock, ms) => clock.sleep(ms)],
    ['while its monotonic clock goes on', (clock, ms) => clock.block(ms)],
  ]

  describe.each(sleeps)('%s', (_, sleep) => {
    it('is no stall: silences begin anew when it wakes', async () => {
      const script: readonly Line[] = [
        [0, delta('a')],
        [0, 'hang'],
      ]
      const [clock, seen] = read(script, { contentIntervalMs: 60_000, livenessMs: 60_000 })
      await clock.advance(55_000)
      await sleep(clock, HOUR)
      await clock.advance(59_000)
      expect(seen.outcome).toBe(undefined)
      await clock.advance(3000)
      expect(seen.outcome).toMatchObject({ phase: 'between_content', timeoutMs: 60_000 })
    })

    it('is no stall of a stream that answers after it woke', async () => {
      const clock = new VirtualClock()
      const { stream, answer } = answering()
      const seen = reading(clock, watchStream(stream, { source, clock, firstContentMs: 60_000 }))
      await clock.advance(55_000)
      await sleep(clock, HOUR)
      await clock.advance(50_000)
      answer(delta('a'))
      answer(null)
      await settle()
      expect([seen.events, seen.outcome]).toEqual([[delta('a')], 'done'])
    })

    it('restarts a short silence too', async () => {
      const [clock, seen] = read(dead, { contentIntervalMs: 500 })
      await clock.advance(400)
      await sleep(clock, HOUR)
      await clock.advance(450)
      expect(seen.outcome).toBe(undefined)
      await clock.advance(700)
      expect(seen.outcome).toMatchObject({ phase: 'between_content' })
    })

    it('restarts a silence at most three times without content', async () => {
      const [clock, seen] = read(dead, { contentIntervalMs: 60_000 })
      let naps = 0
      for (; seen.outcome === undefined && naps < 50; naps++) {
        await clock.advance(50_000)
        await sleep(clock, HOUR)
      }
      expect(seen.outcome).toMatchObject({ phase: 'between_content' })
      expect(naps).toBeGreaterThan(3)
      expect(naps).toBeLessThanOrEqual(8)
    })

    it('restarts it as often as content comes between', async () => {
      const clock = new VirtualClock()
      const { stream, answer } = answering()
      const seen = reading(clock, watchStream(stream, { source, clock, contentIntervalMs: 60_000 }))
      for (let nap = 0; nap < 20; nap++) {
        answer(delta('x'))
        await clock.advance(50_000)
        await sleep(clock, HOUR)
        await clock.advance(50_000)
      }
      expect([seen.events.length, seen.outcome]).toEqual([20, undefined])
    })

    it('takes nothing of the whole time but a few seconds', async () => {
      const [clock, seen] = read(dead, { totalMs: 100_000 })
      await clock.advance(50_000)
      await sleep(clock, HOUR)
      await clock.advance(45_000)
      expect(seen.outcome).toBe(undefined)
      await clock.advance(106_000)
      expect(seen.outcome).toMatchObject({ phase: 'total' })
    })

    it('is no stall of a response that is waited for', async () => {
      const clock = new VirtualClock()
      let error: unknown = null
      watchStream(new Promise(() => {}), { headersMs: 60_000, clock }).catch((why: unknown) => {
        error = why
      })
      await clock.advance(55_000)
      await sleep(clock, HOUR)
      await clock.advance(58_000)
      expect(error).toBe(null)
      await clock.advance(4000)
      expect(error).toMatchObject({ phase: 'headers' })
    })

    it('does not end the wait of a stream for its end', async () => {
      const script = [
        [0, delta('a')],
        [0, completed],
        [0, 'hang'],
      ] as const
      const [clock, seen] = read(script, { drainMs: 10_000 })
      await clock.advance(9000)
      await sleep(clock, HOUR)
      await clock.advance(8000)
      expect(seen.outcome).toBe(undefined)
      await clock.advance(4000)
      expect(seen.outcome).toBe('done')
    })
  })

  it('is no stall of one of several reads, another of which a heartbeat answered after it woke', async () => {
    const clock = new VirtualClock()
    const { stream, answer } = answering()
    const iterable: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => {
        const reader = stream.getReader()
        return { next: () => reader.read() as Promise<IteratorResult<unknown>> }
      },
    }
    const iterator = watchStream(iterable, { source, clock, firstContentMs: 60_000 })[Symbol.asyncIterator]()
    const errors: unknown[] = []
    for (let read = 0; read < 3; read++) iterator.next().catch((error: unknown) => errors.push(error))
    await clock.advance(55_000)
    await clock.sleep(HOUR)
    await clock.advance(2000)
    answer(progress)
    await clock.advance(56_000)
    expect(errors).toEqual([])
    await clock.advance(4000)
    expect(errors.length).toBe(2)
  })

  it('is told from a loop that was blocked for less than 30 s, which restarts nothing', async () => {
    const [clock, seen] = read(dead, { contentIntervalMs: 60_000 })
    await clock.advance(50_000)
    await clock.block(25_000)
    await clock.advance(7500)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: expect.toSatisfy((ms) => ms < 61_500) })
  })

  function answering() {
    let controller: ReadableStreamDefaultController | undefined
    const stream = new ReadableStream({
      start(its) {
        controller = its
      },
    })
    const answer = (event: unknown) => (event === null ? controller?.close() : controller?.enqueue(event))
    return { stream, answer }
  }
})

describe('the clock of a stream', () => {
  afterEach(() => vi.restoreAllMocks())

  it('is one for all streams: of several the deadlines run out each at its own time', async () => {
    const clock = new VirtualClock()
    const all = [300, 100, 700, 500].map((ms) =>
      reading(clock, watchStream(queue.open(clock, dead).stream as AsyncIterable<unknown>, options(ms, clock))),
    )
    await clock.advance(1000)
    expect(all.map(({ endedAt }) => endedAt)).toEqual([300, 100, 700, 500])
    expect(clock.timers.size).toBe(0)
  })

  it('has no timers but while a deadline runs', async () => {
    const clock = new VirtualClock()
    const { stream } = pushed(clock, dead)
    const reader = watchStream(stream, options(5000, clock)).getReader()
    expect(clock.timers.size).toBe(0)
    await reader.read()
    await clock.advance(6000)
    expect(clock.timers.size).toBe(0)
    reader.read().catch(() => {})
    expect(clock.timers.size).toBe(2)
    await clock.advance(5000)
    expect(clock.timers.size).toBe(0)
  })

  it('may be without uptime', async () => {
    const clock = new VirtualClock()
    const bare: StreamClock = {
      monoMs: () => clock.monoMs(),
      later: (...timer) => clock.later(...timer),
      nextTurn: (work) => clock.nextTurn(work),
    }
    const seen = reading(clock, watchStream(pushed(clock, dead).stream, { ...options(5000, clock), clock: bare }))
    await clock.advance(6000)
    expect(seen.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 5000 })
  })

  const options = (ms: number, clock: StreamClock) =>
    ({ source, clock, firstContentMs: ms, contentIntervalMs: ms }) as const
})

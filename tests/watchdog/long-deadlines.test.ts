import { describe, expect, it, vi } from 'vitest'
import { type StreamClock, StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, type Reading, reading } from './scripted.ts'
import { completed, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const MAX_TIMER_MS = 2 ** 31 - 1
const HOUR = 3_600_000

/** A stream that is read while time passes in its clock. */
function _read(script: readonly Line[], options: WatchOptions, clock = new VirtualClock()): [VirtualClock, Reading] {
  return [clock, reading(clock, watchStream(pushed(clock, script).stream, { source, clock, ...options }))]
}

/** Nothing but the answer's first word. */
const _dead: readonly Line[] = [
  [0, delta('x')],
  [0, 'hang'],
]

describe('deadlines that are longer than a timer', () => {
  /** Runs its timers one after the other: for times in which millions of them fire. */
  class FastClock implements StreamClock {
    longest = 0
    readonly timers = new Set<{ at: number; work: () => void }>()
    #now = 0

    monoMs(): number {
      return this.#now
    }

    later(work: () => void, ms: number): () => void {
      this.longest = Math.max(this.longest, ms)
      const timer = { at: this.#now + ms, work }
      this.timers.add(timer)
      return () => this.timers.delete(timer)
    }

    nextTurn(work: () => void): void {
      setImmediate(work)
    }

    async runTo(end: number): Promise<void> {
      await settle()
      for (;;) {
        let next: { at: number; work: () => void } | null = null
        for (const timer of this.timers) if (timer.at <= end && (next === null || timer.at < next.at)) next = timer
        if (next === null) break
        this.#now = next.at
        this.timers.delete(next)
        next.work()
      }
      this.#now = end
      await settle()
    }
  }

  const silent = () => new ReadableStream({ start: () => {} })

  /** The error of a read that hangs, once it has one. */
  function failing(work: Promise<unknown>) {
    const seen: { error: unknown } = { error: null }
    work.catch((error: unknown) => {
      seen.error = error
    })
    return seen
  }

  it.each(['firstContentMs', 'totalMs'] as const)('%s of 2^31 fires at its time', async (setting) => {
    const clock = new FastClock()
    const ms = 2 ** 31
    const seen = failing(
      watchStream(silent(), { [setting]: ms, clock })
        .getReader()
        .read(),
    )
    await clock.runTo(ms - 1)
    expect(seen.error).toBe(null)
    await clock.runTo(ms)
    expect(seen.error).toBeInstanceOf(StreamStalledError)
    expect(seen.error).toMatchObject({ setting, timeoutMs: ms, elapsedMs: ms })
    expect(clock.longest).toBeLessThanOrEqual(MAX_TIMER_MS)
    expect(clock.timers.size).toBe(0)
  })

  it('1e12 is still waited for after two of the longest timers', async () => {
    const clock = new FastClock()
    const seen = failing(watchStream(silent(), { livenessMs: 1e12, clock }).getReader().read())
    await clock.runTo(2 * MAX_TIMER_MS + 1000)
    expect(seen.error).toBe(null)
    const furthest = Math.max(...[...clock.timers].map(({ at }) => at))
    expect(furthest).toBeGreaterThan(2 * MAX_TIMER_MS + HOUR)
    expect(clock.longest).toBe(MAX_TIMER_MS)
  })

  const settings = ['headersMs', 'firstContentMs', 'contentIntervalMs', 'livenessMs', 'totalMs', 'drainMs'] as const
  const scripts: Partial<Record<(typeof settings)[number], readonly unknown[]>> = {
    contentIntervalMs: [delta('x')],
    drainMs: [delta('x'), completed],
  }
  const values = [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 1e12, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]
  it.each(settings.flatMap((setting) => values.map((ms) => [setting, ms] as const)))(
    '%s of %d ms does not fire at once',
    async (setting, ms) => {
      const clock = new FastClock()
      const stream = new ReadableStream({
        start(controller) {
          for (const event of scripts[setting] ?? []) controller.enqueue(event)
        },
      })
      let over = false
      const drained = async () => {
        const watched =
          setting === 'headersMs'
            ? await watchStream(new Promise<ReadableStream>(() => {}), { [setting]: ms, source, clock })
            : watchStream(stream, { [setting]: ms, source, clock })
        for await (const _ of watched);
      }
      const ended = () => {
        over = true
      }
      drained().then(ended, ended)
      await settle()
      await clock.runTo(HOUR)
      expect(over).toBe(false)
      expect(clock.timers.size).toBe(2)
      expect(clock.longest).toBe(Math.min(ms, MAX_TIMER_MS))
    },
  )

  it('Infinity is off, as no deadline is: the stream stays what it was', () => {
    const stream = silent()
    const off = Object.fromEntries(settings.map((setting) => [setting, Number.POSITIVE_INFINITY]))
    expect(watchStream(stream, off)).toBe(stream)
  })

  it('never reach the timers of the runtime, which take no more than 2^31-1', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    try {
      const reader = watchStream(silent(), { firstContentMs: 2 ** 31, livenessMs: 1e12, totalMs: 1e300 }).getReader()
      const seen = failing(reader.read())
      await new Promise((resolve) => setImmediate(resolve))
      const waits = timers.mock.calls.map(([, ms]) => ms ?? 0)
      expect(Math.max(...waits)).toBe(MAX_TIMER_MS)
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(seen.error).toBe(null)
      await reader.cancel()
      expect(warnings).toEqual([])
    } finally {
      timers.mockRestore()
      process.off('warning', note)
    }
  })
})

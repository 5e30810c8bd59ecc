import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as passes } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { generator, KINDS, type Kind, objects, sdk } from './kinds.ts'
import { QUEUES, queue } from './queues.ts'
import { type Line, reading } from './scripted.ts'
import { completed, created, delta } from './tries.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

const source = 'openai-responses'
const ALL = { firstContentMs: 1000, contentIntervalMs: 1000, livenessMs: 1000, totalMs: 10_000, drainMs: 1000 }

interface Ending {
  readonly by: string
  readonly script: readonly Line[]
  readonly act?: (controller: AbortController) => void
}

/** Every way in which a stream can be over: what it says, and what is done while it is read. */
const endings: readonly Ending[] = [
  { by: 'a clean end', script: at0(delta('x'), completed, 'end') },
  { by: 'an end without a word', script: at0('end') },
  { by: 'a failure of the source', script: at0(delta('x'), new Error('broken')) },
  { by: 'a failure that the server reports', script: at0({ type: 'error', code: 'server_error' }, 'end') },
  { by: 'a stall before content', script: at0(created) },
  { by: 'a stall after content', script: at0(delta('x')) },
  { by: 'an end that does not come', script: at0(delta('x'), completed) },
  { by: 'an abort', script: at0(delta('x')), act: (controller) => controller.abort('enough') },
]

function at0(...events: unknown[]): Line[] {
  return events.map((event) => [0, event])
}

describe.each([...KINDS, queue])('the timers of $name', (kind) => {
  it.each(endings)('are gone after $by', async ({ script, act }) => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    const { stream } = kind.open(clock, script)
    const onWarn = () => {}
    const watched = watchStream(stream, { source, clock, ...ALL, signal: controller.signal, onWarn })
    const seen = reading(clock, kind.events(watched))
    await clock.advance(100)
    act?.(controller)
    await clock.advance(2000)
    expect(seen.outcome).not.toBe(undefined)
    expect(clock.timers.size).toBe(0)
  })

  it('are gone when its whole time runs out, though nobody reads', async () => {
    const clock = new VirtualClock()
    const { stream } = kind.open(clock, [[0, delta('x')]])
    watchStream(stream, { source, clock, ...ALL })
    expect(clock.timers.size).toBe(2)
    await clock.advance(10_000)
    expect(clock.timers.size).toBe(0)
  })

  it('are gone when nobody cares any more for a read that waits', async () => {
    const clock = new VirtualClock()
    const { stream, ended } = kind.open(clock, [[0, 'hang']])
    const { firstContentMs } = ALL
    const abandoned = () => {
      const events = kind.events(watchStream(stream, { source, clock, firstContentMs }))
      events[Symbol.asyncIterator]()
        .next()
        .catch(() => {})
    }
    abandoned()
    await settle()
    expect(clock.timers.size).toBe(2)
    await clock.advance(1000)
    await settle()
    expect(clock.timers.size).toBe(0)
    expect(ended.length).toBe(1)
  })
})

describe('the timers of an iterator without return()', () => {
  it('are gone when its consumer has left', async () => {
    const clock = new VirtualClock()
    const stalls: unknown[] = []
    const bare: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: delta('x') }) }),
    }
    const onStall = (error: unknown) => stalls.push(error)
    for await (const _ of watchStream(bare, { source, clock, ...ALL, onStall })) break
    expect(clock.timers.size).toBe(0)
    await clock.advance(60_000)
    expect(stalls).toEqual([])
  })
})

describe('the timers of several iterations of one iterable', () => {
  it('are gone after each', async () => {
    const clock = new VirtualClock()
    const { stream } = queue.open(clock, [[0, 'end']])
    const watched = watchStream(stream as AsyncIterable<unknown>, { source, clock, ...ALL })
    for (let iteration = 0; iteration < 3; iteration++) {
      const seen = reading(clock, watched)
      await clock.advance(10)
      expect([seen.outcome, clock.timers.size]).toEqual(['done', 0])
    }
  })
})

describe('fake timers of vitest', () => {
  const faked = async (work: () => Promise<void>) => {
    vi.useFakeTimers()
    try {
      await work()
    } finally {
      vi.useRealTimers()
    }
  }

  const within = (ms: number) => expect.toSatisfy((elapsed: number) => elapsed >= ms && elapsed < ms + 100)
  const readers: readonly Kind[] = [...QUEUES, generator, sdk]

  it.each(readers)('fire the stall of $name, and none is left', (kind) =>
    faked(async () => {
      const { stream, ended } = kind.open(new VirtualClock(), [[0, delta('x')]])
      const options = { source, contentIntervalMs: 60_000, firstContentMs: 60_000 } as const
      const iterator = kind.events(watchStream(stream, options))[Symbol.asyncIterator]()
      await iterator.next()
      const failed = iterator.next().catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(59_000)
      expect(ended).toEqual([])
      await vi.advanceTimersByTimeAsync(1100)
      expect(await failed).toBeInstanceOf(StreamStalledError)
      expect(await failed).toMatchObject({ phase: 'between_content', elapsedMs: within(60_000) })
      expect(vi.getTimerCount()).toBe(0)
    }),
  )

  it.each(['firstContentMs', 'livenessMs', 'totalMs'] as const)('count %s from where they were put on', (setting) =>
    faked(async () => {
      const { stream } = objects.open(new VirtualClock(), [[0, created]])
      const reader = watchStream(stream as ReadableStream, { source, [setting]: 5000 }).getReader()
      await reader.read()
      const failed = reader.read().catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(4900)
      expect(vi.getTimerCount()).toBeGreaterThan(0)
      await vi.advanceTimersByTimeAsync(200)
      expect(await failed).toMatchObject({ setting, elapsedMs: within(5000) })
      expect(vi.getTimerCount()).toBe(0)
    }),
  )

  it('fire the stall of a response', () =>
    faked(async () => {
      const failed = watchStream(new Promise(() => {}), { headersMs: 10_000 }).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(10_100)
      expect(await failed).toMatchObject({ phase: 'headers', elapsedMs: within(10_000) })
      expect(vi.getTimerCount()).toBe(0)
    }))

  it('count none after a clean end', () =>
    faked(async () => {
      const { stream } = objects.open(new VirtualClock(), [
        [0, delta('x')],
        [0, 'end'],
      ] as Line[])
      for await (const _ of watchStream(stream as ReadableStream, { source, ...ALL }));
      expect(vi.getTimerCount()).toBe(0)
    }))

  it('may be taken off in the middle of a stream, and those of the next stream are real', async () => {
    const { stream } = objects.open(new VirtualClock(), [[0, created]])
    const reader = watchStream(stream as ReadableStream, { source, firstContentMs: 60_000 }).getReader()
    await faked(async () => {
      await reader.read()
      reader.read().catch(() => {})
      await vi.advanceTimersByTimeAsync(5000)
    })
    const next = objects.open(new VirtualClock(), [[0, created]]).stream as ReadableStream
    const failed = watchStream(next, { source, firstContentMs: 300 }).getReader()
    await failed.read()
    await expect(failed.read()).rejects.toMatchObject({ phase: 'first_content', timeoutMs: 300 })
    await reader.cancel()
  })
})

describe('a process', () => {
  const script = join(import.meta.dirname, 'lifetime-child.ts')
  const args = (...what: string[]) => ['--experimental-strip-types', '--no-warnings', script, ...what]

  it('ends when it has nothing to do but to wait for deadlines of an hour, of every kind', () => {
    const run = spawnSync(process.execPath, args('armed', 'all', 'false'), { encoding: 'utf8', timeout: 50_000 })
    expect({ status: run.status, signal: run.signal, out: run.stdout, error: run.stderr }).toEqual({
      status: 0,
      signal: null,
      out: 'armed\n',
      error: '',
    })
  })

  it.each(['readable', 'headers'])('waits for the deadline of %s where it is told to keep alive', async (what) => {
    const child = spawn(process.execPath, args('armed', what, 'true'), { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await once(child.stdout, 'data')
      await passes(1500)
      expect([child.exitCode, child.signalCode]).toEqual([null, null])
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('has no timer left after any ending of a stream, and no rejection that nobody handled', () => {
    const run = spawnSync(process.execPath, args('endings'), { encoding: 'utf8', timeout: 50_000 })
    expect(run.stderr).toBe('')
    const { outcomes, during, after, live, unhandled } = JSON.parse(run.stdout)
    expect(outcomes).toEqual({
      end: 'done',
      error: 'broken',
      stall: 'first_content',
      interval: 'between_content',
      liveness: 'liveness',
      total: 'total',
      drain: 'done',
      abort: 'mine',
      left: 'left',
      thrown: 'thrown',
      cancelled: 'cancelled',
      headers: 'headers',
      late: 'headers',
      refused: 'refused',
      'aborted before': 'mine',
    })
    expect(during).toContain('Timeout')
    expect(after).not.toContain('Timeout')
    expect([live, unhandled]).toEqual([0, []])
  })
})

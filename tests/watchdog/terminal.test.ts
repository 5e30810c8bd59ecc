/** The end of an answer, and what may still come after it, whichever kind of stream it is. */

import { describe, expect, it } from 'vitest'
import { StreamFailedError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { KINDS } from './kinds.ts'
import { type Line, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const delta = { type: 'response.output_text.delta', delta: 'a' }
const completed = { type: 'response.completed', response: { status: 'completed' } }
const failed = {
  type: 'response.failed',
  response: { status: 'failed', error: { code: 'server_error', message: 'Boom' } },
}
const error = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down' }
const trailer = { type: 'response.debug' }

describe.each(KINDS)('$name', (kind) => {
  async function read(script: readonly Line[], options: WatchOptions) {
    const clock = new VirtualClock()
    const { stream, ended } = kind.open(clock, script)
    const result = reading(clock, kind.events(watchStream(stream, { source: 'openai-responses', ...options, clock })))
    await clock.advance(3000)
    const timers = [...clock.timers].filter(({ keepAlive }) => !keepAlive)
    return { ...result, ended, timers }
  }

  it('has no deadline after the terminal event but its drain', async () => {
    const script: Line[] = [
      [10, delta],
      [10, completed],
      [800, trailer],
      [100, 'end'],
    ]
    const deadlines = { firstContentMs: 50, contentIntervalMs: 50, livenessMs: 50, drainMs: 1000 }
    const { events, outcome, endedAt, ended, timers } = await read(script, deadlines)
    expect(events).toEqual([delta, completed, trailer])
    expect([outcome, endedAt, ended, timers]).toEqual(['done', 920, [], []])
  })

  it('just ends where it does not close after its terminal event', async () => {
    const script: Line[] = [
      [10, delta],
      [10, completed],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt, ended, timers } = await read(script, { contentIntervalMs: 50, drainMs: 200 })
    expect(events).toEqual([delta, completed])
    expect([outcome, endedAt, timers]).toEqual(['done', 220, []])
    expect(ended.length).toBe(1)
    if (kind.tellsWhy) expect(ended[0]).toMatchObject({ name: 'AbortError' })
  })

  it('has its drain from the terminal event on, however much follows', async () => {
    const trailers: Line[] = Array.from({ length: 100 }, () => [30, trailer])
    const { events, outcome, endedAt } = await read([[10, completed], ...trailers], { drainMs: 200 })
    expect(outcome).toBe('done')
    expect(events.length).toBe(1 + 6)
    expect(endedAt).toBe(210)
  })

  it('throws at its end what the server called a failure', async () => {
    const { events, outcome, endedAt, ended } = await read(
      [
        [10, failed],
        [600, 'end'],
      ],
      { firstContentMs: 50 },
    )
    expect(events).toEqual([failed])
    expect(outcome).toBeInstanceOf(StreamFailedError)
    expect(outcome).toMatchObject({ code: 'server_error', response: failed.response })
    expect([endedAt, ended]).toEqual([610, []])
  })

  it('throws it too where it never closes, in place of a stall', async () => {
    const deadlines = { firstContentMs: 50, livenessMs: 50, drainMs: 200 }
    const { events, outcome, endedAt, timers } = await read(
      [
        [10, error],
        [0, 'hang'],
      ],
      deadlines,
    )
    expect(events).toEqual([error])
    expect(outcome).toMatchObject({ name: 'StreamFailedError', code: 'rate_limit_exceeded', response: null })
    expect([endedAt, timers]).toEqual([210, []])
  })

  it('is whole where a completion follows a failure', async () => {
    const script: Line[] = [
      [10, error],
      [10, delta],
      [10, completed],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50, drainMs: 200 })
    expect(events).toEqual([error, delta, completed])
    expect(outcome).toBe('done')
    expect(endedAt).toBeGreaterThanOrEqual(210)
  })

  it('just ends where its time is over after its terminal event, and stalls where it is before', async () => {
    const after = await read(
      [
        [10, delta],
        [10, completed],
        [0, 'hang'],
      ],
      { totalMs: 300 },
    )
    expect([after.outcome, after.endedAt, after.ended.length]).toEqual(['done', 300, 1])
    const before = await read(
      [
        [10, delta],
        [0, 'hang'],
      ],
      { totalMs: 300, drainMs: 50 },
    )
    expect(before.outcome).toMatchObject({ phase: 'total', receivedAnyContent: true, elapsedMs: 300 })
    expect(before.endedAt).toBe(300)
    const failure = await read(
      [
        [10, error],
        [0, 'hang'],
      ],
      { totalMs: 300 },
    )
    expect(failure.outcome).toBeInstanceOf(StreamFailedError)
  })

  it('ends as ever where it closes without a terminal event', async () => {
    const { events, outcome, endedAt } = await read(
      [
        [10, delta],
        [10, 'end'],
      ],
      { contentIntervalMs: 50, drainMs: 200 },
    )
    expect([events, outcome, endedAt]).toEqual([[delta], 'done', 20])
  })
})

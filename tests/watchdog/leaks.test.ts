import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'

const STREAMS = 100_000
/** What is kept of each stream for good, in bytes: a listener, a timer or a guard that is forgotten takes more. */
const MOST_PER_STREAM = 24

interface Left {
  readonly heap: number
  readonly listeners: number
  readonly timers: number
}

interface Told {
  /** After the warming up, after half of the streams, and after all of them. */
  readonly states: readonly [Left, Left, Left]
  readonly told: Record<string, Record<string, number>>
  readonly unhandled: readonly string[]
}

describe(`after ${STREAMS.toLocaleString('en')} streams against one signal, one control and one turnDeadlines`, () => {
  let all: Told

  beforeAll(async () => {
    const script = join(import.meta.dirname, 'leaks-child.ts')
    const args = ['--expose-gc', '--experimental-strip-types', '--no-warnings', script, String(STREAMS)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
    all = JSON.parse(out)
  }, 180_000)

  it('each had the end that it should have', () => {
    const ends = Object.fromEntries(Object.entries(all.told).map(([way, ends]) => [way, Object.keys(ends)]))
    expect(ends).toEqual({
      'a readable ends': ['done'],
      'a readable stalls': ['between_content'],
      'a readable drains': ['done'],
      'a response ends': ['done'],
      'a response stalls': ['between_content'],
      'a generator ends': ['done'],
      'a generator stalls': ['between_content'],
      'a generator is left': ['left'],
      'a readable is cancelled': ['cancelled'],
      'a source fails': ['broken'],
      'a caller aborts': ['mine'],
      'a response is refused': ['refused'],
      'headers never come': ['headers'],
      'a turn ends': ['done'],
      'a turn is tried again': ['done'],
      'a turn is aborted': ['mine'],
    })
    const streams = Object.values(all.told).flatMap((ends) => Object.values(ends))
    expect(streams.reduce((sum, count) => sum + count, 0)).toBe(STREAMS / 2)
  })

  it('no timer and no listener for aborts is left', () => {
    expect(all.states.map(({ timers, listeners }) => [timers, listeners])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ])
  })

  it('no memory is left in use for the streams that are over', () => {
    const [warm, half, whole] = all.states.map(({ heap }) => heap) as [number, number, number]
    // The engine itself keeps what it has compiled, for once: the second half tells.
    expect((whole - half) / (STREAMS / 2)).toBeLessThan(MOST_PER_STREAM)
    expect((whole - warm) / STREAMS).toBeLessThan(MOST_PER_STREAM)
  })

  it('no rejection was left to nobody', () => {
    expect(all.unhandled).toEqual([])
  })
})

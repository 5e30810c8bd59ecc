/** What is refused, and in which words: one line, with the option's name, what it was, and what it may be. */

import { describe, expect, it } from 'vitest'
import { StreamControl, watchStream } from '../../detector/watchdog/index.ts'
import { SOURCE_NAMES } from '../../instrumentation/sources/index.ts'
import { VirtualClock } from './virtual-clock.ts'

async function* generator(): AsyncGenerator<unknown> {}

const refusal = (options: unknown, ...stream: unknown[]): unknown => {
  try {
    watchStream((stream.length === 0 ? generator() : stream[0]) as never, options as never)
    return 'taken'
  } catch (error) {
    return error
  }
}

/** Of deadlines that are off too: what is wrong shows at once. */
function expectRefusal(options: unknown, kind: new () => Error, message: string): void {
  for (const more of [{}, { firstContentMs: 50 }]) {
    const error = refusal(typeof options === 'object' && options !== null ? { ...more, ...options } : options)
    expect(error).toBeInstanceOf(kind)
    expect((error as Error).message).toBe(message)
    expect((error as Error).message).not.toContain('\n')
  }
}

describe('a deadline', () => {
  const names = ['headersMs', 'firstContentMs', 'contentIntervalMs', 'livenessMs', 'totalMs', 'drainMs']

  it.each(names)('is a number of ms: %s', (name) => {
    for (const [value, shown] of [
      ['5000', '"5000"'],
      ['', '""'],
      [true, 'true'],
      [5000n, '5000n'],
      [{}, 'an object'],
      [[50], 'Array'],
      [() => 50, 'a function'],
      [Symbol('soon'), 'Symbol(soon)'],
    ] as const) {
      expectRefusal({ [name]: value }, TypeError, `${name}: ${shown} is not a number of ms`)
    }
  })

  it.each(names)('is off where it is nothing that runs out: %s', (name) => {
    for (const off of [undefined, null, 0, -0, -5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(refusal({ [name]: off })).toBe('taken')
    }
  })

  it.each(names)('may be of any length: %s', (name) => {
    for (const ms of [Number.MIN_VALUE, 0.5, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]) {
      expect(refusal({ [name]: ms, clock: new VirtualClock() })).toBe('taken')
    }
  })
})

describe('an option', () => {
  const sources = SOURCE_NAMES.join(', ')

  it.each<[object, new () => Error, string]>([
    [{ source: 'openai' }, TypeError, `source: "openai" is none of ${sources}`],
    [{ source: 'constructor' }, TypeError, `source: "constructor" is none of ${sources}`],
    [{ source: null }, TypeError, `source: null is none of ${sources}`],
    [{ source: 1n }, TypeError, `source: 1n is none of ${sources}`],
    [{ unknown: 'error' }, TypeError, 'unknown: "error" is none of neutral, content'],
    [{ unknown: null }, TypeError, 'unknown: null is none of neutral, content'],
    [{ warnAt: 0 }, RangeError, 'warnAt: 0 is no share above 0 and below 1'],
    [{ warnAt: 1 }, RangeError, 'warnAt: 1 is no share above 0 and below 1'],
    [{ warnAt: Number.NaN }, RangeError, 'warnAt: NaN is no share above 0 and below 1'],
    [{ warnAt: '0.5' }, RangeError, 'warnAt: "0.5" is no share above 0 and below 1'],
    [{ attempt: 0 }, RangeError, 'attempt: 0 is no whole number from 1'],
    [{ attempt: 1.5 }, RangeError, 'attempt: 1.5 is no whole number from 1'],
    [{ attempt: Number.POSITIVE_INFINITY }, RangeError, 'attempt: Infinity is no whole number from 1'],
    [{ attempt: 1n }, RangeError, 'attempt: 1n is no whole number from 1'],
    [{ classify: 'content' }, TypeError, 'classify: "content" is not a function'],
    [{ onStall: {} }, TypeError, 'onStall: an object is not a function'],
    [{ onWarn: true }, TypeError, 'onWarn: true is not a function'],
    [{ pauseDuringTools: 0 }, TypeError, 'pauseDuringTools: 0 is not true or false'],
    [{ throwFailures: 'no' }, TypeError, 'throwFailures: "no" is not true or false'],
    [{ keepAlive: 'yes' }, TypeError, 'keepAlive: "yes" is not true or false'],
    [{ sources: 'measured' }, TypeError, 'sources: "measured" is not an object'],
    [{ signal: new AbortController() }, TypeError, 'signal: AbortController is not an AbortSignal'],
    [{ abort: new AbortController().signal }, TypeError, 'abort: AbortSignal is not an AbortController or a function'],
    [{ control: {} }, TypeError, 'control: an object is not a StreamControl'],
    [{ watch: {} }, TypeError, 'watch: an object is not a Turnwatch'],
    [{ clock: Date }, TypeError, 'clock: a function is not a clock with monoMs, later and nextTurn'],
  ])('is refused where it can mean nothing: %o', (options, kind, message) => {
    expectRefusal(options, kind, message)
  })

  it('may be undefined, every one of them', () => {
    const names = ['source', 'classify', 'unknown', 'pauseDuringTools', 'throwFailures', 'signal', 'abort', 'control']
    const more = ['attempt', 'sources', 'keepAlive', 'watch', 'clock', 'onStall', 'onWarn', 'warnAt']
    const nothing = Object.fromEntries([...names, ...more].map((name) => [name, undefined]))
    expect(refusal({ firstContentMs: 50, ...nothing })).toBe('taken')
  })

  it('is taken where it is good', () => {
    const { signal } = new AbortController()
    const good = { signal, abort: () => {}, control: new StreamControl(), attempt: 2, warnAt: 0.9, keepAlive: true }
    expect(refusal({ firstContentMs: 50, ...good })).toBe('taken')
    expect(refusal({ firstContentMs: 50, signal: null, abort: new AbortController() })).toBe('taken')
  })

  it.each([
    [null, 'null'],
    [5, '5'],
    ['fast', '"fast"'],
  ])('is one of an object: %j is none', (options, shown) => {
    expectRefusal(options, TypeError, `options: ${shown} is no object`)
  })
})

describe('a stream', () => {
  const on = { livenessMs: 50, headersMs: 50 }

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [5, '5'],
    [5n, '5n'],
    ['data: {}', '"data: {}"'],
    [{}, 'an object'],
    [{ next: () => {} }, 'an object'],
    [[], 'Array'],
    [new Map(), 'Map'],
    [new Uint8Array(), 'Uint8Array'],
    [generator, 'a function'],
  ])('is refused where it is none: %o', (stream, shown) => {
    for (const options of [{}, on]) {
      const error = refusal(options, stream)
      expect(error).toBeInstanceOf(TypeError)
      expect((error as Error).message).toBe(
        `stream: ${shown} is no AsyncIterable, ReadableStream, Response, or promise of one`,
      )
    }
  })

  it('is refused where it is read already, under whatever options', () => {
    const locked = new ReadableStream()
    locked.getReader()
    const response = new Response('data: {}\n\n', { headers: { 'content-type': 'text/event-stream' } })
    response.body?.getReader()
    for (const stream of [locked, response]) {
      for (const options of [{}, on]) {
        const error = refusal(options, stream)
        expect(error).toBeInstanceOf(TypeError)
        expect((error as Error).message).toBe('stream: is locked to a reader; watch it before it is read')
      }
    }
  })
})

/** The error of a stalled stream: what it says, and to whom it is one. */

import { describe, expect, it } from 'vitest'
import { type StallFacts, StreamFailedError, StreamStalledError, watchStream } from '../../detector/watchdog/index.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const FACTS: StallFacts = {
  phase: 'first_content',
  timeoutMs: 15_000,
  elapsedMs: 15_003.5,
  receivedAnyContent: false,
  deliveredEvents: 2,
  lastEventType: 'response.in_progress',
  setting: 'firstContentMs',
  settingSource: 'option',
  attempt: 1,
}

describe('a StreamStalledError', () => {
  it('is an Error with a name and every fact of the stall', () => {
    const error = new StreamStalledError(FACTS)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ ...FACTS, name: 'StreamStalledError' })
    expect(error.stack).toContain('stream stalled: no content')
    expect(String(error)).toMatch(/^StreamStalledError: stream stalled/)
  })

  it.each<[string, Partial<StallFacts>, string]>([
    [
      'before content',
      {},
      'no content within 15000 ms (firstContentMs), after 2 events, the last response.in_progress',
    ],
    [
      'after content',
      { phase: 'between_content', setting: 'contentIntervalMs', timeoutMs: 30_000, deliveredEvents: 1 },
      'no more content within 30000 ms (contentIntervalMs), after 1 event, the last response.in_progress',
    ],
    [
      'without a response',
      { phase: 'headers', setting: 'headersMs', timeoutMs: 10, deliveredEvents: 0, lastEventType: null },
      'no response within 10 ms (headersMs), after 0 events',
    ],
    [
      'without a sign of life',
      { phase: 'liveness', setting: 'livenessMs', lastEventType: null },
      'nothing at all within 15000 ms (livenessMs), after 2 events',
    ],
    ['without an end', { phase: 'total', setting: 'totalMs' }, 'no end within 15000 ms (totalMs), after 2 events'],
    [
      'by a measured deadline',
      { settingSource: 'measured' },
      'no content within 15000 ms (firstContentMs, measured), after 2 events',
    ],
    ['in a later try', { attempt: 3 }, 'no content within 15000 ms (firstContentMs) in try 3, after 2 events'],
  ])('says in one line what came when: %s', (_, facts, text) => {
    const { message } = new StreamStalledError({ ...FACTS, ...facts })
    expect(message).toContain(`stream stalled: ${text}`)
    expect(message).not.toContain('\n')
  })

  it('may be retried only where nothing of an answer came', () => {
    expect(new StreamStalledError(FACTS).retryable).toBe(true)
    expect(new StreamStalledError({ ...FACTS, receivedAnyContent: true }).retryable).toBe(false)
  })

  it('can be logged as JSON', () => {
    const error = new StreamStalledError(FACTS)
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: { ...FACTS, name: 'StreamStalledError', message: error.message, retryable: true },
    })
  })
})

describe('a deadline', () => {
  async function stall(options: object, ...events: unknown[]): Promise<unknown> {
    const clock = new VirtualClock()
    const { stream } = pushed(clock, [...events.map((event): Line => [0, event]), [0, 'hang']])
    const result = reading(clock, watchStream(stream, { ...options, clock }))
    await clock.advance(500)
    return result.outcome
  }

  it('names where its value came from, for each setting', async () => {
    const sources = { firstContentMs: 'measured', livenessMs: 'default' }
    expect(await stall({ firstContentMs: 50, sources })).toMatchObject({ settingSource: 'measured' })
    expect(await stall({ livenessMs: 50, sources })).toMatchObject({ settingSource: 'default' })
    expect(await stall({ totalMs: 50, sources })).toMatchObject({ settingSource: 'option' })
    expect(await stall({ totalMs: 50 })).toMatchObject({ settingSource: 'option', attempt: 1 })
  })

  it.each<[object, unknown, string | null]>([
    [{ source: 'openai-responses' }, { type: 'response.created' }, 'response.created'],
    [{ source: 'openai-responses' }, { type: 'never.heard' }, 'never.heard'],
    [{ source: 'openai-responses' }, { type: 'x'.repeat(500) }, 'x'.repeat(200)],
    [{ source: 'openai-responses' }, { type: 5 }, null],
    [{ source: 'openai-responses' }, null, null],
    [{ source: 'anthropic-messages' }, { type: 'content_block_delta', delta: {} }, 'content_block_delta'],
    [{ source: 'openai-chat-chunk' }, { choices: [{ delta: { role: 'assistant' } }] }, 'delta.role'],
    [{ source: 'codex-app-server' }, { method: 'turn/started' }, 'turn/started'],
    [{}, { type: 'mine' }, 'mine'],
    [{}, 'a text', null],
  ])('names the last event that came, under %o %o', async (options, event, type) => {
    const before = { type: 'response.in_progress' }
    const error = await stall({ livenessMs: 50, ...options }, before, event)
    expect(error).toMatchObject({ lastEventType: type, deliveredEvents: 2 })
  })

  it('names the try that its stream was', async () => {
    const error = (await stall({ firstContentMs: 50, attempt: 4 })) as StreamStalledError
    expect(error.attempt).toBe(4)
    expect(error.message).toContain('in try 4')
  })
})

describe('instanceof', () => {
  // As where a bundle, or a second version, brings the module once more.
  const copies = async () => {
    const of = (file: string) => import(/* @vite-ignore */ new URL(`${file}?copy`, import.meta.url).href)
    const [stalled, failed] = await Promise.all([
      of('../../detector/watchdog/stall-error.ts'),
      of('../../detector/watchdog/failed-error.ts'),
    ])
    return {
      Stalled: stalled.StreamStalledError as typeof StreamStalledError,
      Failed: failed.StreamFailedError as typeof StreamFailedError,
    }
  }
  const failure = { message: 'm', code: 'server_error', errorType: null, response: null }

  it('knows the errors of another copy of the module, either way', async () => {
    const { Stalled, Failed } = await copies()
    expect(Stalled).not.toBe(StreamStalledError)
    expect(Failed).not.toBe(StreamFailedError)
    expect(Object.getPrototypeOf(new Stalled(FACTS))).not.toBe(StreamStalledError.prototype)
    expect(new Stalled(FACTS) instanceof StreamStalledError).toBe(true)
    expect(new StreamStalledError(FACTS) instanceof Stalled).toBe(true)
    expect(new Failed(failure) instanceof StreamFailedError).toBe(true)
    expect(new StreamFailedError(failure) instanceof Failed).toBe(true)
  })

  it('tells the two errors apart, and from all else', async () => {
    const { Stalled, Failed } = await copies()
    for (const stalled of [new StreamStalledError(FACTS), new Stalled(FACTS)]) {
      expect(stalled instanceof StreamFailedError).toBe(false)
    }
    for (const failed of [new StreamFailedError(failure), new Failed(failure)]) {
      expect(failed instanceof StreamStalledError).toBe(false)
    }
    const alike = Object.assign(new Error('stream stalled'), { ...FACTS, name: 'StreamStalledError' })
    for (const other of [alike, {}, null, undefined, 'StreamStalledError', () => {}] as unknown[]) {
      expect(other instanceof StreamStalledError).toBe(false)
      expect(other instanceof StreamFailedError).toBe(false)
    }
  })

  it('knows what extends them, and only that as such', async () => {
    const { Stalled } = await copies()
    class OwnStall extends StreamStalledError {}
    class OwnFailure extends StreamFailedError {}
    const own = new OwnStall(FACTS)
    expect([own instanceof OwnStall, own instanceof StreamStalledError, own instanceof Stalled]).toEqual([
      true,
      true,
      true,
    ])
    expect(new StreamStalledError(FACTS) instanceof OwnStall).toBe(false)
    expect(new Stalled(FACTS) instanceof OwnStall).toBe(false)
    expect(new OwnFailure(failure) instanceof OwnFailure).toBe(true)
    expect(new StreamFailedError(failure) instanceof OwnFailure).toBe(false)
  })
})

/** Chat completions under their deadlines: on the wire and out of an SDK, of one choice and of several. */

import { afterAll, describe, expect, it } from 'vitest'
import { classesSeen, classSeen, type Seen } from './class-seen.ts'
import { type Line, pushed, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

const clock = new VirtualClock()
// OpenRouter's functions take no clock: they have that of the process, from its first reading on.
const restore = clock.install()
const { applyChatStreamWatchdog, StreamFailedError, watchStream } = await import('../../detector/watchdog/index.ts')
afterAll(restore)

const source = 'openai-chat-chunk'
const seen = (...chunks: unknown[]) => classesSeen(chunks, { source })
const all = (length: number, is: Seen) => Array.from({ length }, () => is)

const chunk = (...choices: unknown[]) => ({ id: 'c', object: 'chat.completion.chunk', choices })
const says = (delta: unknown, index = 0) => chunk({ index, delta, finish_reason: null })
const prelude = says({ role: 'assistant', content: '' })
const word = (text: string, index = 0) => says({ content: text }, index)
const finished = (reason: string, index = 0) => chunk({ index, delta: {}, finish_reason: reason })
const usage = { ...chunk(), usage: { prompt_tokens: 1, completion_tokens: 1 } }

describe('a chunk', () => {
  it.each([
    ['text', { content: 'a' }, { content: 'a' }],
    ['reasoning', { reasoning: 'a' }, { reasoning: 'a' }],
    ['reasoning as others call it', { reasoning_content: 'a' }, { reasoningContent: 'a' }],
    ['details of reasoning', { reasoning_details: [{ type: 'r' }] }, { reasoningDetails: [{ type: 'r' }] }],
    ['a refusal', { refusal: 'a' }, { refusal: 'a' }],
    ['a call without arguments yet', { tool_calls: [{ index: 0 }] }, { toolCalls: [{ index: 0 }] }],
    ['a call of old', { function_call: { name: 'f' } }, { functionCall: { name: 'f' } }],
    ['audio', { audio: { data: 'AA' } }, { audio: { data: 'AA' } }],
  ])('with %s is content, in either spelling', async (_, wire, sdk) => {
    expect(await seen(says(wire), says(sdk), says({ role: 'assistant', ...wire }))).toEqual(all(3, 'content'))
  })

  it('is none with a role alone, an empty text, nothing, or no choices', async () => {
    const chunks = [prelude, word(''), says({}), usage, chunk(), says({ tool_calls: [] }), says({ new_field: 'a' })]
    expect(await seen(...chunks)).toEqual(all(chunks.length, 'neutral'))
  })

  it('is the end with a reason to finish, in either spelling', async () => {
    const sdk = chunk({ index: 0, delta: {}, finishReason: 'stop' })
    const withText = chunk({ index: 0, delta: { content: 'a' }, finish_reason: 'length' })
    expect(await seen(finished('stop'), finished('tool_calls'), sdk, withText, '[DONE]')).toEqual(all(5, 'terminal'))
  })

  it('is a failed end with an error of its own or of a choice', async () => {
    const error = { code: 502, message: 'Provider returned error' }
    const chunks = [{ ...word('a'), error }, { error }, finished('error'), chunk({ finishReason: 'error', error })]
    expect(await seen(...chunks)).toEqual(all(4, 'failed'))
  })

  it('is no end with a delta or a role', async () => {
    expect(await seen(word('a'), prelude)).toEqual(['content', 'neutral'])
  })

  it.each<[string, unknown]>([
    ['null where each part would be', says({ audio: null, tool_calls: null, reasoning_details: null, refusal: null })],
    [
      "null where each part of an SDK's would be",
      says({ toolCalls: null, reasoningDetails: null, functionCall: null }),
    ],
    ['error: null', { ...says({ content: null }), error: null }],
    ['no choices', { id: 'c', error: null, usage: null }],
    ['choices: null', { id: 'c', choices: null }],
    ['choices that are none', { id: 'c', choices: 'many' }],
    ['a choice that is null', chunk(null, undefined, 7)],
    ['a delta that is null', says(null)],
    ['no delta', chunk({ index: 0, finish_reason: null })],
    ['an empty reason to finish', finished('')],
  ])('says nothing and harms nothing with %s', async (_, odd) => {
    expect(await classSeen(odd, { source })).toBe('neutral')
    expect(await classSeen(odd, { source, unknown: 'content' })).toBe('neutral')
  })

  it('says what it says beside what is null', async () => {
    const nothing = { audio: null, toolCalls: null, tool_calls: null, reasoning_details: null }
    const finish = { ...chunk({ delta: nothing, finish_reason: 'stop' }), error: null }
    expect(await seen({ ...says({ ...nothing, content: 'a' }), error: null }, finish)).toEqual(['content', 'terminal'])
  })
})

describe.each([
  ['watchStream', (stream: ReadableStream, deadlines: object) => watchStream(stream, { ...deadlines, source, clock })],
  ['applyChatStreamWatchdog', applyChatStreamWatchdog<unknown>],
])('a completion under %s', (_, watch) => {
  async function read(script: readonly Line[], deadlines: object) {
    const { stream, cancelled } = pushed(clock, script)
    const result = reading(clock, watch(stream, deadlines))
    await clock.advance(2000)
    return { ...result, cancelled }
  }

  it('stalls before content where only its role came', async () => {
    const { events, outcome, endedAt, cancelled } = await read(
      [
        [10, prelude],
        [0, 'hang'],
      ],
      { firstContentMs: 50 },
    )
    expect(events).toEqual([prelude])
    expect(outcome).toMatchObject({ phase: 'first_content', receivedAnyContent: false, retryable: true })
    expect([endedAt, cancelled]).toEqual([50, [outcome]])
  })

  it('stalls amid its content where no more came', async () => {
    const script: Line[] = [
      [10, prelude],
      [10, word('a')],
      [0, 'hang'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50, contentIntervalMs: 70 })
    expect(events).toEqual([prelude, word('a')])
    expect(outcome).toMatchObject({ phase: 'between_content', receivedAnyContent: true, retryable: false })
    expect(endedAt).toBe(90)
  })

  it('may take its time for what follows the finish', async () => {
    const script: Line[] = [
      [10, word('a')],
      [10, finished('stop')],
      [100, usage],
      [100, '[DONE]'],
      [100, 'end'],
    ]
    const { events, outcome, endedAt } = await read(script, { firstContentMs: 50, contentIntervalMs: 50 })
    expect(events).toEqual([word('a'), finished('stop'), usage, '[DONE]'])
    expect([outcome, endedAt]).toEqual(['done', 320])
  })

  it('goes on under its deadlines while one of its choices does', async () => {
    const both: Line[] = [
      [0, word('a', 0)],
      [0, word('b', 1)],
      [10, finished('stop', 1)],
    ]
    const stalled = await read([...both, [0, 'hang']], { contentIntervalMs: 50 })
    expect(stalled.outcome).toMatchObject({ phase: 'between_content', elapsedMs: 50 })
    expect(stalled.endedAt).toBe(60)
    const whole = await read([...both, [40, finished('length', 0)], [500, 'end']], { contentIntervalMs: 50 })
    expect([whole.outcome, whole.endedAt]).toEqual(['done', 550])
  })

  it('is over when a chunk ends all of its choices', async () => {
    const ends = chunk({ index: 0, finish_reason: 'stop' }, { index: 1, finish_reason: 'stop' })
    const script: Line[] = [
      [0, word('a', 0)],
      [0, word('b', 1)],
      [0, ends],
      [500, 'end'],
    ]
    expect(await read(script, { contentIntervalMs: 50 })).toMatchObject({ outcome: 'done', endedAt: 500 })
  })

  it('is under its deadlines again when a choice begins after another had ended', async () => {
    const script: Line[] = [
      [0, word('a', 0)],
      [0, finished('stop', 0)],
      [300, word('b', 1)],
      [0, 'hang'],
    ]
    const { outcome, endedAt } = await read(script, { contentIntervalMs: 50 })
    expect(outcome).toMatchObject({ phase: 'between_content' })
    expect(endedAt).toBe(350)
  })
})

describe('a failed completion', () => {
  const error = { code: 502, message: 'Provider returned error', metadata: { error_type: 'provider_unavailable' } }
  const read = async (script: readonly Line[], options: object = {}) => {
    const watched = watchStream(pushed(clock, script).stream, { source, contentIntervalMs: 50, clock, ...options })
    const result = reading(clock, watched)
    await clock.advance(2000)
    return result
  }

  it('throws at its end, which [DONE] does not make whole', async () => {
    const script: Line[] = [
      [0, word('a')],
      [0, { ...chunk(), error }],
      [0, '[DONE]'],
      [0, 'end'],
    ]
    const { events, outcome } = await read(script)
    expect(events.length).toBe(3)
    expect(outcome).toBeInstanceOf(StreamFailedError)
    expect(outcome).toMatchObject({ code: '502', message: 'stream failed: 502: Provider returned error' })
  })

  it('throws what a choice says of its own failure', async () => {
    const failed = chunk({ index: 0, delta: {}, finish_reason: 'error', error: { code: 'server_error', message: 'm' } })
    expect(
      (
        await read([
          [0, failed],
          [0, 'end'],
        ])
      ).outcome,
    ).toMatchObject({ code: 'server_error', retryable: true })
  })

  it('passes where a completion follows all the same', async () => {
    const script: Line[] = [
      [0, { ...chunk(), error }],
      [0, word('a')],
      [0, finished('stop')],
      [0, 'end'],
    ]
    expect((await read(script)).outcome).toBe('done')
  })
})

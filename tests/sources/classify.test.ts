import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { classify, SOURCE_NAMES } from '../../instrumentation/sources/index.ts'
import { samplesOf } from './reference-events.ts'

const SOURCES = SOURCE_NAMES.filter((name) => name !== 't3-native')

describe.each(SOURCES)('%s', (name) => {
  it.each(samplesOf(name).map((sample) => [sample.name, sample] as const))(
    'classifies %s as the reference does',
    (_, { event, key, class: of }) => {
      expect(classify(name, event)).toMatchObject({ key, class: of })
    },
  )

  it('calls a type it does not know neutral, with a null key', () => {
    const unknown = { type: 'never.heard', method: 'never/heard', session_id: 's' }
    // A chunk without a type is one with nothing in it.
    const nothing = name === 'openai-chat-chunk' ? 'empty' : null
    for (const odd of [unknown, {}, { type: 5 }, { type: '__proto__' }, { method: 'constructor' }]) {
      expect(classify(name, odd)).toMatchObject({ key: nothing, class: 'neutral' })
    }
    for (const odd of [null, 7, true, 'text', '', []])
      expect(classify(name, odd)).toEqual({ key: null, class: 'neutral' })
  })
})

describe('chat completion chunks', () => {
  const chunk = (...choices: unknown[]) => ({ id: 'c', object: 'chat.completion.chunk', choices })
  const of = (raw: unknown) => {
    const { key, class: class_, outcome } = classify('openai-chat-chunk', raw)
    return [key, class_, ...(outcome === undefined ? [] : [outcome])].join(' ')
  }

  it('that match several keys take the strongest', () => {
    const delta = { role: 'assistant', content: 'a', reasoning: 'b', tool_calls: [{}] }
    expect(of({ ...chunk({ delta, finish_reason: 'stop' }), error: {} })).toBe('error terminal-error error')
    expect(of(chunk({ delta, finish_reason: 'stop' }))).toBe('finish_reason terminal-ok completed')
    const [cut, whole] = [{ finish_reason: 'length' }, { finish_reason: 'stop' }]
    expect(of(chunk(cut, whole))).toBe('finish_reason terminal-ok incomplete')
    expect(of(chunk(cut, { finish_reason: 'error' }))).toBe('finish_reason terminal-error error')
    expect(of(chunk({ delta }))).toBe('delta.content content')
    expect(of(chunk({ delta: { ...delta, content: '' } }))).toBe('delta.reasoning content')
    expect(of(chunk({ delta: { tool_calls: [{}] } }, { delta: { content: 'a' } }))).toBe('delta.content content')
    expect(of({ ...chunk({ delta: { role: 'assistant', content: '' } }), usage: {} })).toBe('delta.role turn-start')
    expect(of({ ...chunk(), usage: {} })).toBe('usage neutral')
  })

  it('of an SDK are spelled in camel case', () => {
    expect(of(chunk({ delta: {}, finishReason: 'stop' }))).toBe('finish_reason terminal-ok completed')
    expect(of(chunk({ delta: {}, finishReason: 'error' }))).toBe('finish_reason terminal-error error')
    expect(of(chunk({ delta: { reasoningDetails: [{}] } }))).toBe('delta.reasoning_details content')
    expect(of(chunk({ delta: { reasoningContent: 'a' } }))).toBe('delta.reasoning_content content')
    expect(of(chunk({ delta: { toolCalls: [{}] } }))).toBe('delta.tool_calls content')
    expect(of(chunk({ delta: { functionCall: {} } }))).toBe('delta.function_call content')
  })

  it('with nothing in them are empty, whatever is missing or null', () => {
    const nothing = { content: null, refusal: null, tool_calls: null, function_call: null, audio: null, role: null }
    for (const choices of [
      null,
      undefined,
      {},
      [],
      [null],
      [{}],
      [{ delta: null }],
      [{ delta: nothing }],
      [{ delta: 5 }],
    ]) {
      expect(of({ id: 'c', choices, error: null, usage: null })).toBe('empty neutral')
    }
    expect(of(chunk({ delta: { content: '', tool_calls: [] }, finish_reason: null }))).toBe('empty neutral')
    expect(of(chunk({ delta: {}, finish_reason: '' }))).toBe('empty neutral')
  })
})

it('the end of a UI stream as server-sent events ends the turn', () => {
  expect(classify('ai-sdk-ui-stream', '[DONE]')).toMatchObject({ key: '[DONE]', class: 'terminal-ok' })
  expect(classify('ai-sdk-fullstream', '[DONE]')).toEqual({ key: null, class: 'neutral' })
})

describe('what cannot be read', () => {
  const trap = new Proxy({}, { getOwnPropertyDescriptor: () => assert.fail(), get: () => assert.fail() })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()

  it.each(SOURCE_NAMES)('is neutral: %s', (name) => {
    expect(classify(name, trap)).toEqual({ key: null, class: 'neutral' })
    expect(classify(name, proxy)).toEqual({ key: null, class: 'neutral' })
  })

  it('is no excuse for a source that is none', () => {
    expect(() => classify('constructor' as never, {})).toThrow('source: "constructor" is none of claude-code')
  })
})

describe('the recorded runs', () => {
  const folder = new URL('../../examples/traces/', import.meta.url)
  const sourceOf = (file: string) => {
    if (file.startsWith('claude')) return 'claude-code-stream-json'
    if (file.startsWith('codex-appserver')) return 'codex-app-server'
    if (file.startsWith('codex')) return 'codex-exec-json'
    return file.includes('sse') ? 'opencode-sse' : 'opencode-run-json'
  }
  it.each(readdirSync(folder))('%s holds no type that its table lacks', (file) => {
    const unknown = readFileSync(new URL(file, folder), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event, dir }) => dir !== 'out' && !('probe' in event) && (event.method || !file.includes('appserver')))
      .filter(({ event }) => classify(sourceOf(file), event).key === null)
    expect(unknown).toEqual([])
  })
})

describe('empty deltas', () => {
  it('are not content', () => {
    const delta = (delta: object) => ({ type: 'stream_event', event: { type: 'content_block_delta', delta } })
    const of = (raw: object) => classify('claude-code-stream-json', raw).class
    expect(of(delta({ type: 'text_delta', text: '' }))).toBe('neutral')
    expect(of(delta({ type: 'text_delta', text: 'a' }))).toBe('content')
    expect(of(delta({ type: 'thinking_delta', thinking: '' }))).toBe('neutral')
    expect(of(delta({ type: 'thinking_delta', thinking: '', estimated_tokens: 5 }))).toBe('content')
    expect(classify('opencode-sse', { type: 'message.part.delta', properties: { delta: '' } }).class).toBe('neutral')
  })
})

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { classify, SOURCE_NAMES } from '../../instrumentation/sources/index.ts'

type Condition = { path: string } & Record<string, unknown>
/** How a key is told where events have no type: by a field, or by the text of a line that is no JSON. */
type Match = { raw: string } | { rawPrefix: string } | { otherwise: true } | Condition
interface EventType {
  class: string
  match?: Match
  rules?: { when: Condition; class: string }[]
}
const reference: Record<string, { keys: string[]; events: Record<string, EventType> }> = JSON.parse(
  readFileSync(new URL('../data/event-classes.json', import.meta.url), 'utf8'),
)
const SOURCES = SOURCE_NAMES.filter((name) => name !== 't3-native')

/** Sets a value at a path with dots, `[]` = one element. */
function put(raw: Record<string, unknown>, path: string, value: unknown): void {
  const [step = '', ...rest] = path.split('.')
  const name = step.replace('[]', '')
  if (rest.length === 0) {
    raw[name] = value
    return
  }
  raw[name] ??= step.endsWith('[]') ? [{}] : {}
  const inside = step.endsWith('[]') ? (raw[name] as unknown[])[0] : raw[name]
  put(inside as Record<string, unknown>, rest.join('.'), value)
}

/** Templates that spell a key of two or more parts only for keys that begin so. */
const OWN: Record<string, string> = {
  stream_event: '{event.type}',
  control_request: '{request.subtype}',
  control_response: '{response.subtype}',
  content_block_start: '{content_block.type}',
  content_block_delta: '{delta.type}',
  'content.delta': '{payload.streamKind}',
}

function spells(template: string, parts: string[]): boolean {
  if (parts.length === 1) return true
  if (parts.includes('content_block_start') && template.includes('delta')) return false
  const own = OWN[parts[0] ?? '']
  return own === undefined ? Object.values(OWN).every((other) => !template.includes(other)) : template.includes(own)
}

/** An event of the type that a key names, by the first template that can spell it. */
function eventOf(
  templates: string[],
  key: string,
  events: Record<string, EventType>,
): Record<string, unknown> | string {
  const match = events[key]?.match
  if (match !== undefined) return matching(match)
  for (const template of templates) {
    const paths = [...template.matchAll(/\{([^}]+)\}/g)].map((found) => found[1] as string)
    const parts = paths.length === 1 ? [key] : key.split(template.includes(':') ? ':' : '/')
    if (paths.length !== parts.length || !spells(template, parts)) continue
    const raw: Record<string, unknown> = {}
    for (const [i, path] of paths.entries()) put(raw, path, parts[i])
    return raw
  }
  throw new Error(`no template spells ${key}`)
}

function matching(match: Match): Record<string, unknown> | string {
  if ('raw' in match) return String(match.raw)
  if ('rawPrefix' in match) return `${match.rawPrefix} processing`
  const raw: Record<string, unknown> = {}
  if (!('otherwise' in match)) put(raw, match.path, satisfying(match as Condition)[0])
  return raw
}

/** Values that a condition holds for. */
function satisfying(when: Condition): unknown[] {
  if ('equals' in when) return [when.equals]
  if ('in' in when) return when.in as unknown[]
  if ('anyIn' in when) return when.anyIn as unknown[]
  if ('nonEmpty' in when) return ['x', ['x']]
  if ('exists' in when) return ['x', 0]
  if ('gt' in when) return [(when.gt as number) + 1]
  return [String(when.matches).replace('^', '').concat('... 1/5')]
}

describe.each(SOURCES)('%s', (name) => {
  const { keys, events } = reference[name] as (typeof reference)[string]

  it.each(Object.entries(events))('classifies %s as the reference does', (key, type) => {
    expect(classify(name, eventOf(keys, key, events))).toMatchObject({ key, class: type.class })
  })

  const rules = Object.entries(events).flatMap(([key, type]) =>
    (type.rules ?? []).flatMap((rule) =>
      satisfying(rule.when).map((value) => [key, rule.when.path, value, rule] as const),
    ),
  )
  it.runIf(rules.length > 0).each(rules)('%s with %s = %j follows its rule', (key, path, value, rule) => {
    const raw = eventOf(keys, key, events) as Record<string, unknown>
    put(raw, path, value)
    expect(classify(name, raw)).toMatchObject({ key, class: rule.class })
  })

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

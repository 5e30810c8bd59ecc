import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { classify, SOURCE_NAMES } from '../../instrumentation/sources/index.ts'

type Condition = { path: string } & Record<string, unknown>
interface EventType {
  class: string
  rules?: { when: Condition; class: string }[]
}
const reference: Record<string, { keys: string[]; events: Record<string, EventType> }> = JSON.parse(
  readFileSync(new URL('../data/event-classes.json', import.meta.url), 'utf8'),
)

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

/** An event of the type that a key names, by the first template that can spell it. */
function eventOf(templates: string[], key: string, events: Record<string, EventType>): Record<string, unknown> {
  const parts = key.split('/')
  for (const template of templates) {
    const paths = [...template.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] as string)
    const raw: Record<string, unknown> = {}
    if (paths.length === 1 && paths[0] === 'method') put(raw, 'method', key)
    else if (paths.length === parts.length) {
      for (const [i, path] of paths.entries()) put(raw, path, parts[i])
    } else continue
    if (paths.length > 1 && parts[0] === 'stream_event' && !template.includes('event')) continue
    if (paths.length > 1 && parts[0] === 'control_request' && !template.includes('request.')) continue
    if (paths.length > 1 && parts[0] === 'control_response' && !template.includes('response.')) continue
    if (paths.length === 2 && !['stream_event', 'control_request', 'control_response'].includes(parts[0] ?? '')) {
      if (!template.includes('{subtype}')) continue
    }
    if (parts[1] === 'content_block_start' && template.includes('delta')) continue
    if (key in events) return raw
  }
  throw new Error(`no template spells ${key}`)
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

describe.each(SOURCE_NAMES)('%s', (name) => {
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
    const raw = eventOf(keys, key, events)
    put(raw, path, value)
    expect(classify(name, raw)).toMatchObject({ key, class: rule.class })
  })

  it('calls a type it does not know neutral, with a null key', () => {
    const raw = name === 'codex-app-server' ? { method: 'never/heard' } : { type: 'never.heard', session_id: 's' }
    expect(classify(name, raw)).toEqual({ key: null, class: 'neutral' })
    for (const odd of [null, 7, 'text', [], {}, { type: 5 }, { type: '__proto__' }, { method: 'constructor' }]) {
      expect(classify(name, odd)).toEqual({ key: null, class: 'neutral' })
    }
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

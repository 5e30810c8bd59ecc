/** What each event of each wire counts as, seen through the deadlines that it sets off or satisfies. */

import { describe, expect, it } from 'vitest'
import type { StreamEventClass } from '../../detector/watchdog/index.ts'
import { SOURCE_NAMES, type SourceName } from '../../instrumentation/sources/index.ts'
import { reference, type Sample, samplesOf } from '../sources/reference-events.ts'
import { classesSeen, classSeen, type Seen } from './class-seen.ts'

const WIRES = SOURCE_NAMES.filter((name) => name in reference)

/** The class of the reference, as content alone counts. */
function expected({ class: is, type }: Sample): Seen {
  if (is === 'terminal-ok') return 'terminal'
  if (is === 'terminal-error') return 'failed'
  if (type.dev723 !== undefined) return type.dev723 as Seen
  return is === 'content' || is === 'tool-end' || is === 'wait-end' ? 'content' : 'neutral'
}

async function byName(samples: readonly Sample[], source: SourceName, options = {}) {
  const classes = await classesSeen(
    samples.map(({ event }) => event),
    { source, ...options },
  )
  return Object.fromEntries(samples.map(({ name }, at) => [name, classes[at]]))
}

describe('every event of the reference', () => {
  it('is of a wire that can be named', () => {
    expect([...WIRES, 't3-native'].sort()).toEqual([...SOURCE_NAMES].sort())
    expect(Object.keys(reference).sort()).toEqual([...WIRES].sort())
  })

  it.each(WIRES)('has its class: %s', async (source) => {
    const samples = samplesOf(source)
    const classes = Object.fromEntries(samples.map((sample) => [sample.name, expected(sample)]))
    expect(Object.keys(classes).length).toBe(samples.length)
    expect(await byName(samples, source)).toEqual(classes)
  })

  it.each(WIRES)('has it whatever unknown types count as: %s', async (source) => {
    const samples = samplesOf(source)
    expect(await byName(samples, source, { unknown: 'content' })).toEqual(await byName(samples, source))
  })
})

describe('a stream of Responses', () => {
  const both = ['openai-responses', 'openrouter-responses'] as const
  const ofOther = {
    'openai-responses': samplesOf('openrouter-responses'),
    'openrouter-responses': samplesOf('openai-responses'),
  }

  it.each(both)('knows the types of the other maker too: %s', async (source) => {
    const samples = ofOther[source]
    const classes = Object.fromEntries(samples.map((sample) => [sample.name, expected(sample)]))
    expect(await byName(samples, source)).toEqual(classes)
  })

  it.each(both)('takes every whole part of a fusion for content, and its states for none: %s', async (source) => {
    const types = (names: string) => names.split(' ').map((name) => ({ type: `response.fusion_call.${name}` }))
    const whole = types('panel.completed panel.failed analysis.completed completed panel.delta panel.reasoning.delta')
    const states = types('in_progress panel.added analysis.in_progress')
    expect(await classesSeen(whole, { source })).toEqual(whole.map(() => 'content'))
    expect(await classesSeen(states, { source })).toEqual(states.map(() => 'neutral'))
  })

  it.each(both)('lets tools that run at the provider stop no clock: %s', async (source) => {
    const tool = (name: string) => ({ type: `response.${name}`, item_id: 'i', output_index: 0 })
    const events = [
      tool('code_interpreter_call.in_progress'),
      tool('code_interpreter_call.interpreting'),
      tool('code_interpreter_call_code.delta'),
      tool('code_interpreter_call_code.done'),
      tool('code_interpreter_call.completed'),
      tool('mcp_call.failed'),
    ]
    const classes = ['neutral', 'neutral', 'content', 'content', 'content', 'content']
    expect(await classesSeen(events, { source, pauseDuringTools: true })).toEqual(classes)
  })

  it('counts deltas by their type, though there is nothing in them', async () => {
    const empty = { type: 'response.output_text.delta', delta: '' }
    expect(await classSeen(empty, { source: 'openrouter-responses' })).toBe('content')
  })
})

it('the events of T3 are those of the wires that it logs', async () => {
  const wrapped = (event: object) => ({ observedAt: '2026-11-30T10:00:00.000Z', event })
  const codex = (method: string) => ({ provider: 'codex', threadId: 'T', method, payload: { threadId: 'c' } })
  const opencode = (type: string, properties: object) =>
    wrapped({ provider: 'opencode', type, payload: { type, properties } })
  const of: [unknown, Seen][] = [
    [codex('turn/started'), 'neutral'],
    [codex('item/agentMessage/delta'), 'content'],
    [wrapped(codex('item/agentMessage/delta')), 'content'],
    [opencode('message.part.delta', { delta: 'hi' }), 'content'],
    [opencode('message.part.delta', { delta: '' }), 'neutral'],
    [opencode('server.heartbeat', {}), 'neutral'],
    [opencode('session.idle', {}), 'terminal'],
    [codex('never/heard'), 'neutral'],
  ]
  const events = of.map(([event]) => event)
  expect(await classesSeen(events, { source: 't3-native' })).toEqual(of.map(([, is]) => is))
})

it("Anthropic's pings are liveness only, its thinking counts without a word, its errors end", async () => {
  const delta = (of: object) => ({ type: 'content_block_delta', index: 0, delta: of })
  const of: [unknown, Seen][] = [
    [{ type: 'ping' }, 'neutral'],
    [{ type: 'message_start', message: { id: 'm', usage: {} } }, 'neutral'],
    [{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'neutral'],
    [delta({ type: 'text_delta', text: '' }), 'neutral'],
    [delta({ type: 'text_delta', text: 'a' }), 'content'],
    [delta({ type: 'thinking_delta', thinking: '' }), 'neutral'],
    [delta({ type: 'thinking_delta', thinking: '', estimated_tokens: 12 }), 'content'],
    [delta({ type: 'input_json_delta', partial_json: '' }), 'neutral'],
    [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, 'neutral'],
    [{ type: 'message_stop' }, 'terminal'],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'failed'],
  ]
  const events = of.map(([event]) => event)
  expect(await classesSeen(events, { source: 'anthropic-messages' })).toEqual(of.map(([, is]) => is))
})

describe('what no table knows', () => {
  const unknown = [
    { type: 'response.brand_new.delta' },
    { type: 5 },
    {},
    { type: '__proto__' },
    { type: 'constructor' },
  ]

  it('shows life only, unless it shall count', async () => {
    const source = 'openrouter-responses'
    expect(await classesSeen(unknown, { source })).toEqual(unknown.map(() => 'neutral'))
    expect(await classesSeen(unknown, { source, unknown: 'neutral' })).toEqual(unknown.map(() => 'neutral'))
    expect(await classesSeen(unknown, { source, unknown: 'content' })).toEqual(unknown.map(() => 'content'))
  })

  it.each([null, undefined, 7, true, [], [{ type: 'response.output_text.delta' }]])(
    'may be no event at all: %j',
    async (odd) => {
      expect(await classSeen(odd, { source: 'openai-responses' })).toBe('neutral')
      expect(await classSeen(odd, { source: 'openai-responses', unknown: 'content' })).toBe('content')
    },
  )

  it.each(['keepalive', 'response.heartbeat', 'keep_alive', 'ping'])(
    'never counts where its name says that it only keeps a connection: %s',
    async (type) => {
      expect(await classSeen({ type }, { source: 'openai-responses', unknown: 'content' })).toBe('neutral')
    },
  )

  it('harms nothing where it cannot be read', async () => {
    const fail = () => {
      throw new Error('a trap')
    }
    const trap = new Proxy({}, { get: fail, has: fail, getOwnPropertyDescriptor: fail })
    for (const source of SOURCE_NAMES) expect(await classSeen(trap, { source })).toBe('neutral')
  })
})

it('without a source, and without a classifier, everything is content', async () => {
  const events = [{ type: 'response.created' }, 'text', new Uint8Array(3), null, { type: 'error' }]
  expect(await classesSeen(events, {})).toEqual(events.map(() => 'content'))
})

describe('a classifier of the caller', () => {
  const source = 'openrouter-responses'
  const [delta, created, done] = ['response.output_text.delta', 'response.created', 'response.completed'].map(
    (type) => ({ type }),
  )

  it.each(['content', 'neutral', 'terminal'] satisfies StreamEventClass[])(
    'is asked first, and says %s',
    async (is) => {
      const events = [delta, created, done, { type: 'mine' }]
      expect(await classesSeen(events, { source, classify: () => is })).toEqual(events.map(() => is))
      expect(await classSeen({ type: 'mine' }, { classify: () => is })).toBe(is)
    },
  )

  it.each([
    ['undefined', () => undefined],
    ['null', () => null],
    ['nonsense', () => 'vital' as never],
    ['a promise', () => Promise.resolve('content') as never],
    [
      'nothing, but throws',
      () => {
        throw new Error('broken')
      },
    ],
  ])('that says %s leaves it to the source', async (_, classify) => {
    const events = [delta, created, done, { type: 'mine' }]
    const classes = ['content', 'neutral', 'terminal', 'neutral']
    expect(await classesSeen(events, { source, classify })).toEqual(classes)
    expect(await classSeen({ type: 'mine' }, { classify })).toBe('neutral')
    expect(await classSeen({ type: 'mine' }, { classify, unknown: 'content' })).toBe('content')
  })

  it('has each event as it is', async () => {
    const asked: unknown[] = []
    await classSeen(delta, { source, classify: (event) => void asked.push(event) })
    expect(asked).toEqual([delta])
    expect(asked[0]).toBe(delta)
  })

  it('may call a failure what it likes, which is remembered all the same', async () => {
    const failed = { type: 'response.failed', response: { error: { code: 'server_error' } } }
    expect(await classSeen(failed, { source, classify: () => 'content' })).toBe('content')
    expect(await classSeen(failed, { source, classify: () => 'terminal' })).toBe('failed')
  })
})

import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { JsonEvents, type TextFormat } from '../../instrumentation/taps/json-events.ts'

function eventsOf(format: TextFormat | null, ...chunks: readonly (string | ArrayBufferView | ArrayBuffer)[]) {
  return eventsBy(JsonEvents, format, ...chunks)
}

function eventsBy(
  decoder: typeof JsonEvents,
  format: TextFormat | null,
  ...chunks: readonly (string | ArrayBufferView | ArrayBuffer)[]
) {
  const found: unknown[] = []
  const events = new decoder(format, {
    onEvent: (raw) => found.push(raw),
    onSentinel: (text) => found.push(text),
    onNotJson: () => found.push('not JSON'),
    onTooLong: () => found.push('too long'),
  })
  for (const chunk of chunks) events.push(chunk)
  events.end()
  return found
}

const endsWhole = (text: string, format: TextFormat | null = null): boolean => {
  const events = new JsonEvents(format, { onEvent() {}, onSentinel() {}, onNotJson() {}, onTooLong() {} })
  for (const character of text) events.push(character)
  return events.end()
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('raw events', () => {
  it.each([
    ['of lines', '{"a":1}\n{"b":"é 🙂"}\r\nlog\n[1]\n{"c":3}', [{ a: 1 }, { b: 'é 🙂' }, { c: 3 }]],
    ['of lines after blank ones', '\n \r\n{"a":1}\n', [{ a: 1 }]],
    ['of server-sent events', 'data: {"a":1}\n\ndata: [1]\n\n', [{ a: 1 }, [1]]],
    ['of what may be either', '\n \r\n', []],
  ])('are told by the first character: %s', (_, text, expected) => {
    expect(eventsOf(null, text)).toEqual(expected)
    expect(eventsOf(null, ...text)).toEqual(expected)
    expect(eventsOf(null, Buffer.from(text))).toEqual(expected)
  })

  it('are of the format that is named', () => {
    expect(eventsOf('ndjson', 'data: {"a":1}\n{"b":2}\n')).toEqual([{ b: 2 }])
    expect(eventsOf('sse', '{"b":2}\ndata: {"a":1}\n\n')).toEqual([{ a: 1 }])
  })

  it('are the same from strings and from bytes of any kind, cut anywhere', () => {
    const texts = fc.array(fc.record({ text: fc.string({ unit: 'binary' }) }))
    fc.assert(
      fc.property(texts, fc.constantFrom('sse', 'ndjson', null), fc.array(fc.nat(9)), (all, format, sizes) => {
        const stream = all.map((event) => `${format === 'ndjson' ? '' : 'data: '}${JSON.stringify(event)}\n\n`).join('')
        const bytes = new TextEncoder().encode(stream)
        const strings: string[] = []
        const views: (DataView | ArrayBuffer)[] = []
        let at = 0
        for (const size of [...sizes, bytes.length]) {
          strings.push(stream.slice(at, at + size))
          const part = bytes.slice(at, at + size)
          views.push(size % 2 === 0 ? part.buffer : new DataView(part.buffer))
          at += size
        }
        expect(eventsOf(format, ...strings)).toEqual(all)
        expect(eventsOf(format, ...views)).toEqual(all)
      }),
    )
  })

  it('are the same from strings of any length, one after another', () => {
    const lengths = [1, 3000, 2, 6000, 20_000, 5, 6000, 0]
    const all = lengths.map((length) => ({ text: 'é'.repeat(length) }))
    expect(eventsOf('sse', ...all.map((event) => `data: ${JSON.stringify(event)}\n\n`))).toEqual(all)
    // Each is held while the next comes.
    const text = lengths.map((length, at) => String(at % 10).repeat(length))
    expect(eventsOf(null, '{"text":"', ...text, '"}\n')).toEqual([{ text: text.join('') }])
  })

  it('have a replacement for half a character, as Node has', () => {
    expect(eventsOf('ndjson', '{"a":"\ud83d', '"}\n{"b":"\ude42"}\n')).toEqual([{ a: '\ufffd' }, { b: '\ufffd' }])
  })

  it('are the same where there is no Buffer', async () => {
    vi.stubGlobal('Buffer', undefined)
    vi.resetModules()
    const { JsonEvents } = await import('../../instrumentation/taps/json-events.ts')
    const bytes = new TextEncoder().encode('data: {"a":"é 🙂"}\n\n')
    const found = [eventsBy(JsonEvents, null, bytes, bytes.buffer), eventsBy(JsonEvents, null, ...'{"b":"🙂"}\n')]
    vi.unstubAllGlobals()
    expect(found).toEqual([[{ a: 'é 🙂' }, { a: 'é 🙂' }], [{ b: '🙂' }]])
  })

  it.each<[TextFormat | null, string, string]>([
    [null, 'data: {"a":', '1}\n\n'],
    ['sse', 'data: {"a":1}\n', '\n'],
    [null, ' {"a":', '1}\n'],
    ['ndjson', '{', '"a":1}\r\n'],
  ])('are pending while one is under way: %j, %j', (format, begun, rest) => {
    const found: unknown[] = []
    const nothing = () => {}
    const onEvent = (raw: unknown) => found.push(raw)
    const events = new JsonEvents(format, { onEvent, onSentinel: nothing, onNotJson: nothing, onTooLong: nothing })
    expect(events.pending).toBe(false)
    events.push(begun)
    expect(events.pending).toBe(true)
    events.push(rest)
    expect([events.pending, found]).toEqual([false, [{ a: 1 }]])
    events.push(begun)
    events.end()
    expect(events.pending).toBe(false)
  })

  it.each<[TextFormat | null, string]>([
    [null, ' \n'],
    [null, ': PROCESSING\n\n'],
    [null, 'event: ping'],
    ['ndjson', 'a log line'],
    ['ndjson', '[1'],
  ])('are not pending without one: %j, %j', (format, text) => {
    const nothing = () => {}
    const events = new JsonEvents(format, {
      ...{ onEvent: nothing, onSentinel: nothing, onNotJson: nothing, onTooLong: nothing },
    })
    events.push(text)
    expect(events.pending).toBe(false)
  })

  it('that are no JSON are counted', () => {
    expect(eventsOf(null, 'data: {"a":\n\ndata: {"b":1}\n\n')).toEqual(['not JSON', { b: 1 }])
    expect(eventsOf(null, '{"a":\n{"b":1}\n{"c"')).toEqual(['not JSON', { b: 1 }, 'not JSON'])
  })

  it('are told from plain text, which is counted once', () => {
    const plain = ['Hello, world.', 'Hi', '# Title\n\ndata\n\ntext', '0:"part"\n', '<p>', 'identity', 'events: none']
    for (const text of plain) {
      expect([text, eventsOf(null, text), eventsOf(null, ...text)]).toEqual([text, ['not JSON'], ['not JSON']])
    }
    const fields = [':', ': x\n', 'id\n', 'id: 1\n', 'event: ping\n', 'event:x\n', 'retry: 5\n', '\ufeffdata\n']
    for (const text of fields) expect([text, eventsOf(null, text).includes('not JSON')]).toEqual([text, false])
  })

  it.each([
    ['plain text', 'Hello, world.'],
    ['text of lines', '{"a":1}\n{"b":2}'],
    ['text of lines that are no JSON', '{\n  "a": 1\n}'],
    ['text of server-sent events', 'event: a\ndata: {"a":1}\n\n'],
    ['text of server-sent events that are no JSON', 'data: hello\n\n'],
  ])('that end have ended whole: %s', (_, text) => {
    expect(endsWhole(text)).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['blanks', '\n\n'],
    ['a line', '{"a":1}\n{"b":'],
    ['data', 'data: {"a":1}\n\ndata: {"b'],
    ['a field without data', 'event: a'],
  ])('that are cut have not: within %s', (_, text) => {
    expect(endsWhole(text)).toBe(false)
  })

  it('have an end mark, and comments', () => {
    expect(eventsOf(null, ': hello\n\ndata: [DONE]\n\ndata: [DONE] \n\n')).toEqual([': hello', '[DONE]', '[DONE]'])
  })

  it('of more than 64 MiB are counted', () => {
    const part = ' '.repeat(1024 * 1024)
    const long = (from: string) => eventsOf(null, from, ...Array(65).fill(part), '\n\n', `${from}"b":1}\n\n`)
    expect(long('{')).toEqual(['too long', { b: 1 }])
    expect(long('data: {')).toEqual(['too long', { b: 1 }])
  })
})

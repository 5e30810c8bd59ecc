import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServerSentEvents } from '../../instrumentation/taps/server-sent-events.ts'

/** What comes of chunks: data as it is, comments with their colon. */
function eventsOf(...chunks: readonly Buffer[]): string[] {
  const found: string[] = []
  const events = new ServerSentEvents({
    onData: (text) => found.push(text),
    onComment: (text) => found.push(text),
    onTooLong: () => found.push('too long'),
  })
  for (const chunk of chunks) events.push(chunk)
  events.end()
  return found
}

const events = (text: string) => eventsOf(Buffer.from(text))

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  let at = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return [...chunks, bytes.subarray(at)]
}

describe('server-sent events', () => {
  it.each([
    ['with newlines', 'data: 1\n\ndata: 2\n\n', ['1', '2']],
    ['with carriage returns and newlines', 'data: 1\r\n\r\ndata: 2\r\n\r\n', ['1', '2']],
    ['with carriage returns', 'data: 1\r\rdata: 2\r\r', ['1', '2']],
    ['with a mixture of them', 'data: 1\r\n\ndata: 2\r\n\rdata: 3\n\r', ['1', '2', '3']],
    ['whose data has several lines', 'data: {\ndata:  "a": 1\ndata\ndata: }\n\n', ['{\n "a": 1\n\n}']],
    ['without a space, or with two', 'data:1\n\ndata:  2\n\n', ['1', ' 2']],
    ['with other fields', 'event: x\ndata: 1\nid: 7\nretry: 9\ndatum: 2\ndat\ndatax: 3\n data: 4\n\n', ['1']],
    ['without data', 'event: ping\n\ndata:\n\ndata\n\n\n\n', []],
    ['with comments between and within', ': hello\n:\ndata: 1\n:: again\n\n', [': hello', ':', ':: again', '1']],
    ['with a byte order mark', '\ufeffdata: 1\n\ndata: \ufeff2\n\n', ['1', '\ufeff2']],
    ['without the last blank line', 'data: 1\n\ndata: 2\n', ['1', '2']],
    ['without the last newline', 'data: 1\n\ndata: 2', ['1', '2']],
    ['whose last line is only a name', 'data: 1\ndata', ['1\n']],
    ['without the end of a comment', ': hello', [': hello']],
    ['of a stream that says nothing', '', []],
  ])('are found %s', (_, text, expected) => {
    expect(events(text)).toEqual(expected)
  })

  it('are the same however the bytes are cut into chunks', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => `data: ${text}`),
      fc.string({ unit: 'grapheme' }).map((text) => `:${text}`),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('data', 'event: x', ''),
    )
    const end = fc.constantFrom('\n', '\r', '\r\n')
    const stream = fc.array(fc.tuple(line, end)).map((lines) => lines.flat().join(''))
    fc.assert(
      fc.property(stream, fc.array(fc.nat(12)), (text, sizes) => {
        const bytes = Buffer.from(text)
        const found = eventsOf(...cut(bytes, sizes))
        expect(found).toEqual(plainly(text))
        expect(eventsOf(...cut(bytes, Array(bytes.length).fill(1)))).toEqual(found)
      }),
      { numRuns: 500 },
    )
  })

  /** The same, by splitting the whole text. */
  function plainly(text: string): string[] {
    const found: string[] = []
    let data: string[] = []
    const dispatch = () => {
      const joined = data.join('\n')
      if (joined !== '') found.push(joined)
      data = []
    }
    for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
      if (line === '') dispatch()
      else if (line.startsWith(':')) found.push(line)
      else if (line === 'data') data.push('')
      else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
    }
    dispatch()
    return found
  }

  it('are found up to 64 MiB, of one line or many', () => {
    const part = Buffer.alloc(1024 * 1024, 'x')
    const line = [Buffer.from('data: '), ...Array(50).fill(part), Buffer.from('\n\n')]
    const lines = Array(50).fill(Buffer.concat([Buffer.from('data: '), part, Buffer.from('\n')]))
    expect(eventsOf(...line, ...lines, Buffer.from('\n')).map((text) => text.length)).toEqual([
      50 * 1024 * 1024,
      50 * (1024 * 1024 + 1) - 1,
    ])
  })

  it('are passed over when they are longer, told once, and the next one is found', () => {
    const part = Buffer.alloc(1024 * 1024, 'x')
    const line = [Buffer.from('data: '), ...Array(70).fill(part), Buffer.from('\ndata: end\n\n')]
    expect(eventsOf(...line, Buffer.from('data: next\n\n'))).toEqual(['too long', 'next'])
  })

  it('hold nothing of a long line that is no data, and the beginning of a comment', () => {
    const part = Buffer.alloc(1024 * 1024, 'x')
    const found = eventsOf(
      ...[Buffer.from('event: '), ...Array(80).fill(part), Buffer.from('\n:')],
      ...[...Array(80).fill(part), Buffer.from('\n\n')],
    )
    expect(found.map((text) => text.length)).toEqual([1025])
  })
})

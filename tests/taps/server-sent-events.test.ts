import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServerSentEvents } from '../../instrumentation/taps/server-sent-events.ts'

/** What comes of chunks: data as it is, comments with their colon. */
function eventsOf(...chunks: readonly Uint8Array[]): string[] {
  const { decoder, found } = decoding()
  for (const chunk of chunks) decoder.push(chunk)
  decoder.end()
  return found
}

function decoding() {
  const found: string[] = []
  const decoder = new ServerSentEvents({
    onData: (text) => found.push(text),
    onComment: (text) => found.push(text),
    onTooLong: () => found.push('too long'),
  })
  return { decoder, found }
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

  it('have the text that Node decodes, whatever bytes they are of', () => {
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0xc3, 0xa9, 0xe2, 0x82, 0xf0, 0x9f, 0xed, 0xa0, 0xef, 0xbb, 0xbf),
    )
    const value = fc.array(byte.filter((one) => one !== 0x0a && one !== 0x0d)).map((bytes) => Buffer.from(bytes))
    fc.assert(
      fc.property(value, value, fc.nat(20), (comment, data, at) => {
        const stream = Buffer.concat([Buffer.from(':'), comment, Buffer.from('\ndata: 1'), data, Buffer.from('\n\n')])
        const expected = [`:${comment.toString('utf8')}`, `1${data.toString('utf8')}`]
        expect(eventsOf(new Uint8Array(stream))).toEqual(expected)
        expect(eventsOf(...cut(stream, [at]).map((part) => new Uint8Array(part)))).toEqual(expected)
      }),
    )
  })

  it.each([
    ['at first', '', false],
    ['within the name of its first line', 'dat', true],
    ['within a line of data', 'data: 1', true],
    ['after a line of data', 'data: 1\n', true],
    ['after a line of data that is empty', 'data\n', true],
    ['after other lines that follow its data', 'data: 1\nid: 7\n: hello\n', true],
    ['within a line that follows its data', 'data: 1\nid', true],
    ['after its blank line', 'data: 1\n\n', false],
    ['after its blank line, whose newline may follow', 'data: 1\r\r', false],
    ['within another field', 'event: x', false],
    ['within a field whose name begins alike', 'dato', false],
    ['after fields that are no data', 'event: x\nid: 7\n', false],
    ['within a comment', 'data: 1\n\n: hello', false],
  ])('are pending while there is data of one: %s', (_, text, expected) => {
    const whole = decoding().decoder
    whole.push(Buffer.from(text))
    expect(whole.pending).toBe(expected)
    const { decoder } = decoding()
    for (const byte of Buffer.from(text)) decoder.push(Uint8Array.of(byte))
    expect(decoder.pending).toBe(expected)
    decoder.end()
    expect(decoder.pending).toBe(false)
  })

  it('are pending until the end of one that is passed over', () => {
    const { decoder, found } = decoding()
    decoder.push(Buffer.from('data: '))
    for (let i = 0; i < 70; i++) decoder.push(Buffer.alloc(1024 * 1024, 'x'))
    expect([decoder.pending, found]).toEqual([true, []])
    decoder.push(Buffer.from('\n\n'))
    expect([decoder.pending, found]).toEqual([false, ['too long']])
  })

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

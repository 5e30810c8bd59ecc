import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonLines } from '../../instrumentation/taps/json-lines.ts'

function linesOf(chunks: readonly Uint8Array[]): { found: string[]; lines: JsonLines } {
  const found: string[] = []
  const lines = new JsonLines((line) => found.push(line))
  for (const chunk of chunks) lines.push(chunk)
  lines.end()
  return { found, lines }
}

describe('lines that may be JSON objects', () => {
  it('are the same however the bytes are cut into chunks', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => `{"a":${JSON.stringify(text)}}`),
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')),
    )
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(40)), fc.boolean(), (texts, cuts, newlineAtEnd) => {
        const bytes = Buffer.from(texts.join('\n') + (newlineAtEnd ? '\n' : ''))
        const chunks: Buffer[] = []
        let at = 0
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut))
          at += cut
        }
        chunks.push(bytes.subarray(at))
        const { found, lines } = linesOf(chunks)
        expect(found).toEqual(texts.filter((text) => /^[ \t\r]*\{/.test(text)))
        expect(lines.bytes).toBe(bytes.length)
      }),
    )
  })

  it('are text as Node decodes it, whatever bytes they are of', () => {
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0xc3, 0xa9, 0xe2, 0x82, 0xf0, 0x9f, 0xed, 0xa0, 0xef, 0xbb, 0xbf),
    )
    const line = fc.array(byte.filter((one) => one !== 0x0a)).map((bytes) => Buffer.from([0x7b, ...bytes]))
    fc.assert(
      fc.property(line, fc.nat(20), (bytes, at) => {
        const expected = [bytes.toString('utf8')]
        const chunk = new Uint8Array([...bytes, 0x0a])
        expect(linesOf([chunk]).found).toEqual(expected)
        expect(linesOf([chunk.subarray(0, at), chunk.subarray(at)]).found).toEqual(expected)
      }),
    )
  })

  it('are passed over when they are longer than 64 MiB, and the next one is found', () => {
    const part = Buffer.alloc(1024 * 1024, 'x')
    const { found, lines } = linesOf([Buffer.from('{"'), ...Array(65).fill(part), Buffer.from('"}\n{"next":1}\n')])
    expect(found).toEqual(['{"next":1}'])
    expect(lines.lines).toBe(2)
  })

  it('are found up to that length', () => {
    const text = `{"${'x'.repeat(60 * 1024 * 1024)}":1}`
    const bytes = Buffer.from(`${text}\n`)
    const { found } = linesOf([bytes.subarray(0, 1000), bytes.subarray(1000)])
    expect(found.map((line) => line === text)).toEqual([true])
  })
})

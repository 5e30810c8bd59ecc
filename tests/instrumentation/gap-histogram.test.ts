import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GAP_BOUNDS_SECONDS, GapHistogram } from '../../instrumentation/gap-histogram.ts'

const BOUNDS_MS = [0, ...GAP_BOUNDS_SECONDS.map((s) => s * 1000), Number.POSITIVE_INFINITY]

function filled(gaps: readonly number[], row = 0): GapHistogram {
  const histogram = new GapHistogram()
  histogram.grow(row + 1)
  for (const gap of gaps) histogram.record(row, gap)
  return histogram
}

const gap = fc.oneof(
  fc.double({ min: 0, max: 10_000_000, noNaN: true }),
  fc.double({ min: 0, max: 2000, noNaN: true }),
  fc.constantFrom(...GAP_BOUNDS_SECONDS.map((s) => s * 1000)),
)

describe('a gap', () => {
  it('on a bound belongs to the bucket that the bound closes, just above it to the next', () => {
    GAP_BOUNDS_SECONDS.forEach((bound, i) => {
      const on = filled([bound * 1000]).counts(0)
      const above = filled([bound * 1000 + 0.001]).counts(0)
      expect([on.indexOf(1), above.indexOf(1)]).toEqual([i, i + 1])
    })
  })

  it('of 0 belongs to the first bucket, and one beyond every bound to the last', () => {
    expect(filled([0]).counts(0).indexOf(1)).toBe(0)
    expect(filled([1e9]).counts(0).indexOf(1)).toBe(GAP_BOUNDS_SECONDS.length)
  })

  it('adds to count, sum and largest of its row alone', () => {
    const histogram = filled([10, 20], 4)
    histogram.grow(200)
    histogram.record(4, 5)
    expect([histogram.sumMs(4), histogram.largestMs(4), histogram.counts(4).reduce((a, b) => a + b)]).toEqual([
      35, 20, 3,
    ])
    for (const row of [0, 3, 5, 199]) {
      expect([histogram.sumMs(row), histogram.largestMs(row), histogram.quantileMs(row, 0.5)]).toEqual([0, 0, 0])
    }
  })

  it('bounds rise to 7200 s', () => {
    expect(GAP_BOUNDS_SECONDS.at(-1)).toBe(7200)
    expect([...GAP_BOUNDS_SECONDS].sort((a, b) => a - b)).toEqual([...GAP_BOUNDS_SECONDS])
  })
})

describe('a quantile', () => {
  it('lies in the bucket of the true one, and never above the largest gap', () => {
    const share = fc.double({ min: 0.001, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.array(gap, { minLength: 1, maxLength: 300 }), share, (gaps, q) => {
        const sorted = gaps.toSorted((a, b) => a - b)
        const exact = sorted[Math.ceil(q * gaps.length) - 1] as number
        const bucket = BOUNDS_MS.findIndex((bound, i) => i > 0 && exact <= bound)
        const found = filled(gaps).quantileMs(0, q)
        expect(found).toBeGreaterThanOrEqual(BOUNDS_MS[bucket - 1] as number)
        expect(found).toBeLessThanOrEqual(Math.min(BOUNDS_MS[bucket] as number, sorted.at(-1) as number))
      }),
      { seed: 31, numRuns: 500 },
    )
  })

  it('never falls as the share rises, and is the largest gap for all of them', () => {
    fc.assert(
      fc.property(fc.array(gap, { minLength: 1, maxLength: 100 }), (gaps) => {
        const histogram = filled(gaps)
        const quantiles = Array.from({ length: 21 }, (_, i) => histogram.quantileMs(0, i / 20))
        expect(quantiles.toSorted((a, b) => a - b)).toEqual(quantiles)
        expect(quantiles.at(-1)).toBe(Math.max(...gaps))
      }),
      { seed: 32, numRuns: 300 },
    )
  })

  it('without gaps is 0', () => {
    expect(filled([]).quantileMs(0, 0.99)).toBe(0)
  })
})

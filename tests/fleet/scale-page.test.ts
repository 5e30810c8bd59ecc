import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dayOf, PAGE, parts, seriesOf, tables, withTables } from '../../docs/scale.ts'
import { livenessApp } from '../../liveness/index.ts'
import { createTurnwatch } from '../../turnwatch.ts'
import { samplesOf } from '../metrics/exposition.ts'

describe('docs/scale.md', () => {
  const page = readFileSync(PAGE, 'utf8')

  it('has the tables that the command counts', () => {
    expect(withTables(page, tables())).toBe(page)
  }, 300_000)

  it('refuses a table that it has no place for', () => {
    expect(() => withTables(page, { other: '| a |\n' })).toThrow('docs/scale.md has no place for the table other')
  })
})

describe('the count of series', () => {
  it('is that of the lines which a scrape reads', async () => {
    const watch = createTurnwatch({ notify: () => {} })
    watch.startTurn({ threadId: 'one', provider: 'codex', model: 'gpt' }).observe({ kind: 'token', stream: 'text' })
    watch.startTurn({ threadId: 'two', provider: 'claudeAgent' })
    const text = await (await livenessApp(watch).request('/metrics')).text()
    const series = seriesOf(watch.metrics())
    expect(series).toHaveLength(samplesOf(text).length)
    expect(new Set(series).size).toBe(series.length)
  })

  it('has six for a running thread', () => {
    expect(parts().thread).toBe(6)
  })

  it('grows by threads only where they have series', () => {
    const [stale, off] = [dayOf('stale'), dayOf('off')]
    // Ten turns were stale: five series of a thread, and its turn.
    expect(stale.series - off.series).toBe(60)
    expect(off.inHead).toBe(off.series)
  }, 300_000)
})

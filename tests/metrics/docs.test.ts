import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { metricsDoc, metricsTable, PAIR_SERIES } from '../../docs/metrics.ts'
import { catalogue, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { ownMetrics } from './routes.ts'

describe('docs/metrics.md', () => {
  test('is what `node docs/metrics.ts` writes', () => {
    expect(readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')).toBe(metricsDoc())
  })

  test('has every metric once, in a row with five cells', () => {
    const rows = metricsTable()
      .split('\n')
      .filter((line) => line.startsWith(`| \`${PREFIX}`))
    expect(rows.map((row) => row.split('`')[1])).toEqual(Object.keys(catalogue).map((name) => PREFIX + name))
    for (const row of rows)
      expect(row.split(' | ').length + row.split(' |  |').length - 1, row).toBeGreaterThanOrEqual(5)
  })

  test('tells the type, the unit and the values of labels', () => {
    expect(metricsTable()).toContain(
      '| `turnwatch_prompt_cache_write_tokens_total` | counter | `{token}` | `provider`<br>`model`<br>`ttl` = `5m` `1h` `unknown` | Input tokens of ended turns that were written to the cache, by how long they live in it. |',
    )
  })

  test('says how many series a running thread and a model have', async () => {
    const { watch } = fixture()
    const count = async () => (await ownMetrics(watch)).length
    const before = await count()
    const turn = watch.startTurn({ threadId: 'a', provider: 'codex', model: 'gpt' })
    const running = await count()
    turn.observe({ kind: 'turn.ended', outcome: 'completed' })
    const ended = await count()
    expect({ thread: running - ended, pair: ended - before }).toEqual({ thread: 6, pair: PAIR_SERIES })
  })
})

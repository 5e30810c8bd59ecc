import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { fixture } from '../liveness/manual-clock.ts'
import { ownMetrics } from './routes.ts'

const MODEL = { provider: 'codex', model: 'gpt' }

interface Measured {
  readonly text: number
  readonly producer: number
  readonly heap: number
}

async function churn(...args: string[]): Promise<Record<'start' | 'middle' | 'end', Measured>> {
  const child = fileURLToPath(new URL('./churn-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, ...args])
  return JSON.parse(stdout) as Record<'start' | 'middle' | 'end', Measured>
}

test('20,000 turns leave as many series as there were, in a registry and in a producer, and nothing in memory', async () => {
  const { start, middle, end } = await churn()
  const series = ({ text, producer }: Measured) => ({ text, producer })
  expect(series(middle)).toEqual(series(start))
  expect(series(end)).toEqual(series(start))
  // The watch remembers some of its last turns, so the heap is compared with that of one that nobody reads.
  const unread = await churn('unread')
  const grownBy = (of: typeof unread) => of.end.heap - of.middle.heap
  // The id alone of each turn, kept, would be more than this.
  expect((grownBy({ start, middle, end }) - grownBy(unread)) / 10_000, 'bytes a turn').toBeLessThan(50)
}, 300_000)

describe('10,000 turns at a time', () => {
  test('give at most 500 threads their series, the riskiest, and count the rest', async () => {
    const { watch, pass } = fixture()
    const start = (threadId: string) => watch.startTurn({ threadId, turnId: `turn of ${threadId}`, ...MODEL })
    for (let i = 0; i < 100; i++) start(`stale ${i}`)
    pass(30)
    for (let i = 0; i < 100; i++) start(`suspect ${i}`)
    pass(121)
    // The silence of each is a share of its threshold: after a token that is shorter than before the first.
    for (let i = 0; i < 200; i++) start(`silent ${i}`).observe({ kind: 'token', stream: 'text' })
    for (let i = 0; i < 200; i++) start(`slow ${i}`)
    pass(60)
    for (let i = 0; i < 9400; i++) start(`new ${i}`)
    const samples = await ownMetrics(watch)
    const threads = samples.filter(({ name }) => name === 'turnwatch_thread_info').map(({ labels }) => labels.thread)
    const kinds = threads.map((thread) => thread?.split(' ')[0])
    const counted = ['stale', 'silent', 'slow', 'new', 'suspect'].map(
      (of) => kinds.filter((kind) => kind === of).length,
    )
    // By now the suspect ones are stale too.
    expect(counted).toEqual([100, 200, 100, 0, 100])
    expect(kinds.indexOf('silent')).toBeGreaterThan(Math.max(kinds.lastIndexOf('stale'), kinds.lastIndexOf('suspect')))
    expect(kinds.indexOf('slow')).toBeGreaterThan(kinds.lastIndexOf('silent'))
    const value = (name: string) =>
      samples.filter((one) => one.name === `turnwatch_${name}`).reduce((sum, one) => sum + one.value, 0)
    expect(value('thread_series_omitted')).toBe(9500)
    expect(value('turns_running')).toBe(10_000)
    expect(value('turns_stale')).toBe(200)
  })
})

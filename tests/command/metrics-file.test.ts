import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keepMetricsFile, metricsTarget } from '../../hosts/command/metrics-file.ts'
import { createTurnwatch } from '../../index.ts'
import { samplesOf } from '../metrics/exposition.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-metrics-'))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

it('the file is replaced every 15 s and at the end, and is whole whenever it is read', async () => {
  const watch = createTurnwatch()
  const file = join(folder, 'turnwatch.prom')
  const started = () =>
    samplesOf(readFileSync(file, 'utf8'))
      .filter(({ name }) => name === 'turnwatch_turns_started_total')
      .reduce((sum, { value }) => sum + value, 0)
  const shows = (count: number) =>
    vi.waitFor(() => expect([started(), readdirSync(folder)]).toEqual([count, ['turnwatch.prom']]), 30_000)
  const start = (id: string) => watch.startTurn({ threadId: id, provider: 'p', model: 'm' })
  const kept = keepMetricsFile(watch, metricsTarget(file), (error) => {
    throw error
  })
  await shows(0)
  start('a')
  // Waiting moves the faked timers on a little.
  vi.advanceTimersByTime(10_000)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(started()).toBe(0)
  vi.advanceTimersByTime(5000)
  await shows(1)
  start('b')
  vi.advanceTimersByTime(15_000)
  await shows(2)
  start('c')
  await kept.close()
  expect(started()).toBe(3)
  vi.advanceTimersByTime(60_000)
  expect(readdirSync(folder)).toEqual(['turnwatch.prom'])
})

it('what is left of a run that has ended says nothing of a detector, which would be one that has stopped', async () => {
  const watch = createTurnwatch()
  const file = join(folder, 'turnwatch.prom')
  const names = () => new Set(samplesOf(readFileSync(file, 'utf8')).map(({ name }) => name))
  const kept = keepMetricsFile(watch, metricsTarget(file), (error) => {
    throw error
  })
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual(['turnwatch.prom']), 30_000)
  const running = names()
  await kept.close()
  const left = names()
  expect([...running].filter((name) => !left.has(name)).sort()).toEqual([
    'turnwatch_build_info',
    'turnwatch_last_tick_timestamp_seconds',
    'turnwatch_ticks_total',
  ])
})

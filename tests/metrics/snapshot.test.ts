import { expect, test } from 'vitest'
import { livenessApp } from '../../liveness/index.ts'
import { fixture } from '../liveness/manual-clock.ts'
import { samplesOf } from './exposition.ts'

const MODEL = { provider: 'codex', model: 'gpt' }

test('what was collected stays as it was, whatever happens afterwards', () => {
  const { watch, pass } = fixture()
  const turn = watch.startTurn({ threadId: 'a', ...MODEL })
  const collected = watch.metrics()
  const before = structuredClone(collected)
  pass(115)
  turn.observe({ kind: 'token', stream: 'text' })
  pass(115)
  turn.observe({ kind: 'turn.ended', outcome: 'completed' })
  watch.unclassified('source', 'type')
  watch.streamStalled('source', 'total')
  expect(collected).toEqual(before)
  expect(watch.metrics()).not.toEqual(before)
})

test('a scrape of /metrics agrees with itself while events go on', async () => {
  const { watch, clock } = fixture()
  const run = (threadId: string) => {
    const turn = watch.startTurn({ threadId, ...MODEL })
    clock.advance(1000)
    turn.observe({ kind: 'turn.ended', outcome: 'completed' })
  }
  run('a')
  let goesOn = true
  let turns = 1
  const keepOn = () => {
    if (!goesOn) return
    turns++
    run('a')
    setImmediate(keepOn)
  }
  const scrape = livenessApp(watch).request('/metrics')
  keepOn()
  const samples = samplesOf(await (await scrape).text())
  goesOn = false
  expect(turns, 'turns ended while the text was written').toBeGreaterThan(5)
  const value = (name: string, labels: Readonly<Record<string, string>>) =>
    samples.find(
      (sample) =>
        sample.name === `turnwatch_${name}` && Object.entries(labels).every(([k, v]) => sample.labels[k] === v),
    )?.value
  const ended = value('turns_ended_total', { outcome: 'completed' })
  expect(ended).toBeGreaterThan(0)
  expect({
    started: value('turns_started_total', {}),
    count: value('turn_duration_seconds_count', { outcome: 'completed' }),
    sum: value('turn_duration_seconds_sum', { outcome: 'completed' }),
    inBuckets: value('turn_duration_seconds_bucket', { outcome: 'completed', le: '+Inf' }),
  }).toEqual({ started: ended, count: ended, sum: ended, inBuckets: ended })
})

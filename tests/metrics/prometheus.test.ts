import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { catalogue, PREFIX } from '../../instrumentation/metrics/catalogue.ts'
import { type LivenessServer, livenessApp, serveLiveness } from '../../liveness/index.ts'
import { type Fixture, fixture } from '../liveness/manual-clock.ts'
import { samplesOf } from './exposition.ts'
import { PrometheusServer } from './prometheus-server.ts'

const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
const HOSTILE = '"\\\n\r\t\u0000\u2028{}=,#🦀\ud800 <img>'
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'

/** Running, stale and ended turns, and label values as bad as a wire can make them. */
function busy(): Fixture {
  const at = fixture()
  at.watch.startTurn({ threadId: 'stale', ...CODEX }).observe({ kind: 'token', stream: 'text' })
  at.pass(120)
  at.watch.startTurn({ threadId: HOSTILE, turnId: HOSTILE, provider: HOSTILE, model: HOSTILE, parentThreadId: HOSTILE })
  at.watch.startTurn({ threadId: 'x'.repeat(300), ...CODEX })
  at.watch.startTurn({ threadId: 'asks', ...CODEX }).observe({ kind: 'wait.started', id: 'w', reason: 'approval' })
  at.watch.startTurn({ threadId: 'no model', provider: 'opencode' })
  at.watch.startTurn({ threadId: 'ended', ...CODEX }).observe({ kind: 'turn.ended', outcome: 'completed' })
  at.watch.startTurn({ threadId: 'failed', ...CODEX }).observe({ kind: 'error', message: HOSTILE })
  at.watch.unclassified('codex-exec', HOSTILE)
  return at
}

async function metrics(at: Fixture, accept: string): Promise<string> {
  return (await livenessApp(at.watch).request('/metrics', { headers: { accept } })).text()
}

describe('the text of /metrics', () => {
  test('has every series once', async () => {
    const samples = samplesOf(await metrics(busy(), 'text/plain'))
    const series = samples.map(({ name, labels }) => `${name} ${JSON.stringify(Object.entries(labels).sort())}`)
    expect(new Set(series).size).toBe(series.length)
    expect(samples.filter(({ value }) => Number.isNaN(value))).toEqual([])
  })

  test('gives hostile values back as they are, without control characters', async () => {
    const samples = samplesOf(await metrics(busy(), 'text/plain'))
    const cleaned = '"\\\u2028{}=,#🦀\ufffd <img>'
    expect(samples.filter(({ name }) => name === 'turnwatch_thread_info').map(({ labels }) => labels)).toContainEqual({
      thread: cleaned,
      turn: cleaned,
      parent: cleaned,
      provider: cleaned,
      model: cleaned,
    })
  })

  test('as OpenMetrics ends with # EOF and has _total once on every counter', async () => {
    const at = busy()
    const text = await metrics(at, OPEN_METRICS)
    expect(text.endsWith('\n# EOF\n')).toBe(true)
    expect(text.match(/# EOF/g)).toHaveLength(1)
    expect(text).not.toMatch(/\n\n/)
    expect(text).not.toContain('_total_total')
    const counters = [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name)
    expect(counters).toContain('turnwatch_turns_started')
    expect(counters.filter((name) => name?.endsWith('_total'))).toEqual([])
    const classic = samplesOf(await metrics(at, 'text/plain'))
    expect(samplesOf(text), 'the same samples in both formats').toEqual(classic)
  })

  test('as OpenMetrics has every family of the catalogue once: a counter that would be another is of no type', async () => {
    const text = await metrics(busy(), OPEN_METRICS)
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name as string, type] as const)
    const names = Object.entries(catalogue).map(([key, { type }]) => {
      const short = PREFIX + key.replace(/_total$/, '')
      const isTaken = key.endsWith('_total') && short.slice(PREFIX.length) in catalogue
      return isTaken ? [PREFIX + key, 'unknown'] : [short, type]
    })
    expect(types).toEqual(names)
    expect(new Set(types.map(([name]) => name)).size).toBe(Object.keys(catalogue).length)
    expect(types).toContainEqual(['turnwatch_turns_stale', 'gauge'])
    expect(types).toContainEqual(['turnwatch_turns_stale_total', 'unknown'])
  })
})

describe.skipIf(inject('missing').includes('prometheus'))('promtool', () => {
  test('finds nothing wrong with the classic text', async () => {
    const { status, stderr, stdout } = spawnSync('/usr/bin/promtool', ['check', 'metrics'], {
      input: await metrics(busy(), 'text/plain'),
      encoding: 'utf8',
    })
    expect({ status, stderr, stdout }).toEqual({ status: 0, stderr: '', stdout: '' })
  })
})

describe.skipIf(inject('missing').includes('prometheus'))('a real Prometheus', () => {
  let at: Fixture
  let server: LivenessServer
  let prometheus: PrometheusServer
  const soon = { timeout: 30_000, interval: 250 }
  const values = (expression: string) => expect.poll(() => prometheus.values(expression), soon)

  beforeAll(async () => {
    at = busy()
    server = await serveLiveness(at.watch, { port: 0 })
    prometheus = await PrometheusServer.start(`127.0.0.1:${server.port}`)
  })

  afterAll(async () => {
    await prometheus?.stop()
    await server?.close()
  })

  test('scrapes the server without losing a sample', async () => {
    await values('up{job="turnwatch"}').toEqual([1])
    const lines = samplesOf(await metrics(at, 'text/plain')).length
    await values('scrape_samples_scraped').toEqual([lines])
    await values('scrape_samples_post_metric_relabeling').toEqual([lines])
  })

  test('knows what each family is', async () => {
    const metadata = async (metric: string) => {
      const response = await fetch(`${prometheus.url}/api/v1/metadata?metric=${metric}`)
      const { data } = (await response.json()) as { data: Record<string, { type: string }[]> }
      return data[metric]?.map(({ type }) => type)
    }
    await expect.poll(() => metadata('turnwatch_turns_stale'), soon).toEqual(['gauge'])
    // Prometheus has the metadata of a counter under its name without `_total`.
    expect(await metadata('turnwatch_turns_recovered')).toEqual(['counter'])
    expect(await metadata('turnwatch_turns_stale_total')).toEqual(['unknown'])
  })

  test('answers what runs, waits and is stale', async () => {
    await values('sum(turnwatch_turns_running{provider="codex"})').toEqual([4])
    await values('turnwatch_turns_running{provider="codex", state="waiting"}').toEqual([1])
    await values('sum by (reason) (turnwatch_turns_stale) > 0').toEqual([1, 1])
    await values('turnwatch_turns_stale{reason="silence", provider="codex"}').toEqual([1])
    await values('turnwatch_turns_waiting{reason="approval"}').toEqual([1])
    await values('turnwatch_turns_ended_total{provider="codex", outcome="completed"}').toEqual([1])
    await values('turnwatch_build_info{catalogue="1"}').toEqual([1])
  })

  test('joins a thread with what is known of it', async () => {
    const expression =
      'turnwatch_thread_stale * on (thread) group_left (provider, model) turnwatch_thread_info{provider="codex"} == 1'
    await expect
      .poll(async () => (await prometheus.query(expression)).map(({ metric }) => metric.thread).sort(), soon)
      .toEqual(['failed', 'stale'])
  })

  test('computes quantiles from the histograms', async () => {
    await values(
      'histogram_quantile(0.99, turnwatch_event_gap_seconds_bucket{provider="codex", phase="mid-stream"}) > 60',
    ).toHaveLength(1)
  })

  test('sees a silence grow', async () => {
    const silence = 'turnwatch_thread_silence_seconds{thread="no model"}'
    await values(silence).toEqual([0])
    at.pass(7)
    await values(silence).toEqual([7])
    at.pass(5)
    await values(silence).toEqual([12])
  })

  test('sees the series of a turn go when it ends, and the count stay', async () => {
    await values('count({thread="no model", job="turnwatch"})').toEqual([6])
    at.watch.observe('no model', { kind: 'turn.ended', outcome: 'completed' })
    await values('count({thread="no model", job="turnwatch"})').toEqual([])
    await values('turnwatch_turns_running{provider="opencode"} > 0').toEqual([])
    await values('turnwatch_turns_ended_total{provider="opencode", outcome="completed"}').toEqual([1])
  })

  test('sees a stale turn recover', async () => {
    at.watch.observe('stale', { kind: 'token', stream: 'text' })
    await values('turnwatch_turns_stale{reason="silence", provider="codex"}').toEqual([0])
    await values('turnwatch_turns_recovered_total{reason="silence", phase="mid-stream", provider="codex"}').toEqual([1])
  })
})

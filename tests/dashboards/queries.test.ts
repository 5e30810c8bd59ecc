import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { dashboards } from './dashboard.ts'
import { interpolated } from './interpolate.ts'
import { GOOD, VARIABLES } from './lint/good.ts'
import { checkQueries, describeFailure, queriesOf } from './queries.ts'

const times = { rateInterval: '1m', range: '3h' }

function put(text: string, values: Record<string, string | string[]>): string {
  const thread = { name: 'thread', type: 'query', query: 'query_result(turnwatch_thread_info)' }
  return interpolated(text, { ...times, values, variables: [...VARIABLES, thread] })
}

describe('variables are replaced as Grafana does', () => {
  it('times by what they are told to be', () => {
    expect(put('rate(a[$__rate_interval]) + increase(a[$__range])', {})).toBe('rate(a[1m]) + increase(a[3h])')
  })

  it('one of several by itself, several by a group, none by all, unescaped', () => {
    expect(put('a{job=~"$job"}', { job: ['one'] })).toBe('a{job=~"one"}')
    expect(put('a{job=~"$job"}', { job: ['one', 'two'] })).toBe('a{job=~"(one|two)"}')
    expect(put('a{job=~"$job|", model=~"$model"}', {})).toBe('a{job=~".+|", model=~".*"}')
  })

  it('with what regular expressions and strings would take for theirs escaped', () => {
    expect(put('a{instance=~"$instance"}', { instance: ['10.0.0.1:9464'] })).toBe(
      String.raw`a{instance=~"10\\.0\\.0\\.1:9464"}`,
    )
    expect(put('a{thread="$thread"}', { thread: String.raw`a.b\c` })).toBe(String.raw`a{thread="a.b\\c"}`)
  })

  it('with double quotes as they are, so that only a raw value between backticks is safe', () => {
    expect(put('a{thread="$thread"}', { thread: 'a"b' })).toBe('a{thread="a"b"}')
    expect(put(`a{thread=\`\${thread:raw}\`}`, { thread: String.raw`a"b'\c` })).toBe('a{thread=`a"b\'\\c`}')
  })

  it('and refused where there is none', () => {
    expect(() => put('$other', {})).toThrow('$other is no variable')
    expect(() => put('$thread', {})).toThrow('$thread is no variable of this dashboard that has a value')
  })
})

it('every query of a dashboard is told, variables and overlays too', () => {
  const queries = queriesOf(GOOD, { ...times, values: {} })
  expect(queries.map(({ kind, title, label }) => [kind, title, label])).toEqual([
    ['variable', 'job', 'job'],
    ['variable', 'instance', 'instance'],
    ['variable', 'provider', 'provider'],
    ['variable', 'model', 'model'],
    ['annotation', 'Alerts', undefined],
    ['panel', 'Stale turns by model', undefined],
  ])
  expect(queries.at(-1)?.expr).toBe(
    'sum by (provider, model) (turnwatch_turns_stale{job=~".+", instance=~".+", provider=~".*", model=~".*"})',
  )
})

describe('a check of all queries', () => {
  let server: Server | undefined

  afterEach(async () => {
    server?.close()
    if (server?.listening) await once(server, 'close')
  })

  /** A Prometheus that answers every query alike. */
  async function prometheus(result: (path: URL) => unknown): Promise<string> {
    server = createServer((request, response) => {
      const data = result(new URL(request.url ?? '', 'http://x'))
      const body = data === null ? { status: 'error', error: 'no such thing' } : { status: 'success', data }
      response.end(JSON.stringify(body))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const check = { from: 1000, to: 1060, step: 5 }
  const some = (value: string) => (url: URL) =>
    url.pathname.startsWith('/api/v1/label/') ? ['x'] : { result: [{ value: [1060, value], values: [[1060, value]] }] }

  it('has nothing to say where all come back with something', async () => {
    expect(await checkQueries(await prometheus(some('1')), check)).toEqual([])
  })

  it('tells what came back with NaN alone, each with its panel', async () => {
    const failures = await checkQueries(await prometheus(some('NaN')), check)
    const variables = dashboards().flatMap(({ templating }) =>
      templating.list.filter(({ query }) => query.startsWith('label_values(')),
    )
    const all = dashboards().flatMap((one) => queriesOf(one, { ...times, values: { thread: 'x' } }))
    expect(failures).toHaveLength(all.length - variables.length)
    expect(failures.find(({ title }) => title === 'Stale turns now')).toMatchObject({
      dashboard: 'turnwatch-overview',
      kind: 'panel',
      refId: 'A',
      problem: 'only NaN',
    })
  })

  it('tells what came back empty, and which panel has words for it', async () => {
    const failures = await checkQueries(
      await prometheus((url) => (url.pathname.includes('/label/') ? [] : { result: [] })),
      check,
    )
    expect(failures.every(({ problem }) => problem === 'empty')).toBe(true)
    const { empty } = failures.find(({ title }) => title === 'Alerts that fire') ?? {}
    expect(empty).toBe('No alert fires')
    expect(failures.find(({ title }) => title === 'Stale turns now')?.empty).toBeUndefined()
  })

  it('tells what was refused', async () => {
    const url = await prometheus((path) => (path.pathname.includes('/label/') ? ['x'] : null))
    const [failure] = await checkQueries(url, check)
    expect(failure && describeFailure(failure)).toMatch(
      /^turnwatch-cache: annotation "Alerts" A: error: no such thing\n {2}max by \(alertname, severity\) \(ALERTS/,
    )
  })

  it('chooses the first of a variable that takes results, as its pattern reads it', async () => {
    const asked: string[] = []
    const url = await prometheus((path) => {
      const query = path.searchParams.get('query') ?? ''
      asked.push(query)
      if (!query.startsWith('sort_desc(')) return some('1')(path)
      const of = (thread: string, value: string) => ({ metric: { thread }, value: [1060, value] })
      return { result: [of('the "worst"', '3.1'), of('another', '0')] }
    })
    expect(await checkQueries(url, check)).toEqual([])
    expect(asked.filter((query) => query.includes('thread=`')).length).toBeGreaterThan(5)
    expect(asked.filter((query) => query.includes('thread=`') && !query.includes('thread=`the "worst"`'))).toEqual([])
  })

  it('asks for one moment where the panel does, and for the time shown elsewhere', async () => {
    const asked = new Map<string, string>()
    const url = await prometheus((path) => {
      asked.set(path.searchParams.get('query') ?? '', path.pathname + path.search.replace(/query=[^&]*&/, ''))
      return some('1')(path)
    })
    await checkQueries(url, { ...check, variables: { thread: 'sub.a' } })
    const of = (part: string) => [...asked].find(([query]) => query.includes(part))?.[1]
    expect(of('prompt_cache_read_tokens_total')).toBe('/api/v1/query?time=1060')
    expect(of('thread=`sub.a`')).toBe('/api/v1/query_range?start=1000&end=1060&step=5')
    expect(of('[20s]')).toBe('/api/v1/query_range?start=1000&end=1060&step=5')
    expect(of('[60s]')).toBe('/api/v1/query?time=1060')
  })
})

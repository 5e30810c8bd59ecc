/**
 * PromQL and MetricsQL are two languages. Every expression of the pack is asked of a Prometheus and of a VictoriaMetrics
 * that have the same samples; where they answer differently is what docs/scale.md says of it.
 */

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { checkQueries, describeFailure, type Failure } from '../dashboards/queries.ts'
import { BEGIN_MS, fleetHistory } from './history.ts'
import { History, type PrometheusWithHistory } from './history-stores.ts'
import { packExpressions } from './pack-expressions.ts'
import { instantVector, VictoriaMetricsServer } from './victoria-metrics-server.ts'

/** Minutes: windows of a quarter of an hour are full at the first; at the last every host has been gone for long. */
const EVERY = 3
const MINUTES = [...Array.from({ length: 21 }, (_, i) => 18 + EVERY * i), 41.5, 90]
/** Until here nothing has vanished: VictoriaMetrics does not extrapolate, so what is gone counts as if it went on. */
const STEADY = 63
/** As far as Prometheus looks back for a sample; vmalert asks the same with `-datasource.queryStep=5m`. */
const LOOK_BACK = '5m'

const EXPRESSIONS = packExpressions({ enable: ['MetricsAbsent'] })
const isRecording = (name: string) => name.includes(':')
const counts = (expr: string) => /\b(increase|rate)\(/.test(expr)

/** By label set, by minute. */
type Answers = Map<string, Map<number, number>>

describe.skipIf(inject('missing').some((name) => name === 'prometheus' || name === 'victoria-metrics'))(
  'the expressions of the pack, in Prometheus and in VictoriaMetrics',
  { timeout: 300_000 },
  () => {
    let history: History
    let prometheus: PrometheusWithHistory
    let victoria: VictoriaMetricsServer
    const inPrometheus = new Map<string, Answers>()
    const inVictoria = new Map<string, Answers>()

    beforeAll(async () => {
      history = await History.recorded(await fleetHistory())
      prometheus = await history.prometheus()
      victoria = await VictoriaMetricsServer.start()
      await history.pushTo(victoria)
      for (const minute of MINUTES) {
        for (const { name, expr } of EXPRESSIONS) {
          await Promise.all([
            ask(prometheus.url, minute, expr).then((answer) => remember(inPrometheus, name, minute, answer)),
            ask(victoria.url, minute, expr, LOOK_BACK).then((answer) => remember(inVictoria, name, minute, answer)),
          ])
        }
      }
    }, 480_000)

    afterAll(async () => {
      await prometheus?.stop()
      await victoria?.stop()
      await history?.remove()
    })

    test('all have something to say in this history', () => {
      const silent = EXPRESSIONS.filter(({ name }) => !inPrometheus.get(name) || !inVictoria.get(name))
      expect(silent.map(({ name }) => name)).toEqual([])
    })

    test('say the same, label for label and value for value, where nothing is counted over time', () => {
      const plain = EXPRESSIONS.filter(({ expr }) => !counts(expr))
      expect(plain.length).toBeGreaterThan(20)
      for (const { name } of plain) {
        expect(rounded(inVictoria.get(name)), name).toEqual(rounded(inPrometheus.get(name)))
      }
    })

    test('count the same events, but for those at the edges of the window', () => {
      const counting = EXPRESSIONS.filter(({ name, expr }) => isRecording(name) && counts(expr) && !isRatio(name))
      expect(counting.length).toBeGreaterThan(5)
      for (const { name } of counting) {
        const minutes = name.endsWith('5m') ? (name.endsWith('15m') ? 15 : 5) : 1440
        const events = name.includes(':rate') ? minutes * 60 : 1
        for (const [labels, minute, prom, vm] of pairs(name, minutes)) {
          // Between the first sample of the window and the one before it Prometheus sees nothing, and events come in
          // bursts: those of a minute, and one a host.
          const edge = (vm * events) / minutes + HOSTS
          expect(Math.abs(prom - vm) * events, `${name}${labels} at ${minute}: ${prom} and ${vm}`).toBeLessThan(edge)
        }
      }
    })

    test('find the same quantiles within a twentieth', () => {
      const quantiles = EXPRESSIONS.filter(({ name }) => isRecording(name) && /:p\d\d_/.test(name))
      expect(quantiles).toHaveLength(3)
      for (const { name } of quantiles) {
        for (const [labels, minute, prom, vm] of pairs(name)) {
          // Nothing was observed: NaN in Prometheus, no answer in VictoriaMetrics.
          if (Number.isNaN(prom)) expect(vm, `${name}${labels} at ${minute}`).toBeNaN()
          else expect(Math.abs(prom / vm - 1), `${name}${labels} at ${minute}`).toBeLessThan(0.05)
        }
      }
    })

    test('raise the same alerts, those that count within minutes of each other', () => {
      const alerts = EXPRESSIONS.filter(({ name }) => !isRecording(name))
      expect(alerts.length).toBeGreaterThan(20)
      for (const { name } of alerts) {
        expect(lone(inPrometheus.get(name), inVictoria.get(name)), `${name} in Prometheus only`).toEqual([])
        expect(lone(inVictoria.get(name), inPrometheus.get(name)), `${name} in VictoriaMetrics only`).toEqual([])
      }
    })

    test('see a push that has stopped end after the lookback: 5 minutes in Prometheus, less than one in VictoriaMetrics', async () => {
      const { expr } = EXPRESSIONS.find(({ name }) => name === 'HostVanishedWithTurnsRunning') as { expr: string }
      const vanished = async (url: string, minute: number, step?: string) =>
        (await ask(url, minute, expr, step)).map(({ metric }) => metric.instance)
      // The last scrape of that host was at 66 minutes.
      expect(await vanished(victoria.url, 67, '15s')).toEqual(['vanishes:9464'])
      expect(await vanished(prometheus.url, 70.5)).toEqual([])
      expect(await vanished(victoria.url, 70.5, LOOK_BACK)).toEqual([])
      expect(await vanished(prometheus.url, 71.5)).toEqual(['vanishes:9464'])
      expect(await vanished(victoria.url, 71.5, LOOK_BACK)).toEqual(['vanishes:9464'])
    })

    test('fill the same panels of the dashboards', async () => {
      const check = { from: BEGIN_MS / 1000 + 600, to: BEGIN_MS / 1000 + 4200, step: 60 }
      const [inProm, inVm] = [await checkQueries(prometheus.url, check), await checkQueries(victoria.url, check)]
      const queryOf = ({ dashboard, kind, title, refId }: Failure) => `${dashboard}: ${kind} ${title} ${refId}`
      expect(inVm.map(queryOf)).toEqual(inProm.map(queryOf))
      // No rule has run here, so that no alert is on record; panels of trouble that there was none of say so.
      const unexpected = inVm.filter(({ title, empty }) => title !== 'Alerts' && empty === undefined)
      expect(unexpected.map(describeFailure)).toEqual([])
    })

    /**
     * What both have an answer for, and what one answers with NaN and the other not at all. Without series that began
     * within the window: Prometheus takes a beginning for part of a steady growth, VictoriaMetrics for the whole of it.
     */
    function* pairs(name: string, window = 0): Generator<[labels: string, minute: number, prom: number, vm: number]> {
      for (const [labels, values] of inPrometheus.get(name) as Answers) {
        const begins = Math.min(...values.keys())
        for (const [minute, value] of values) {
          const other = inVictoria.get(name)?.get(labels)?.get(minute)
          const grown = begins === MINUTES[0] || minute - begins >= window
          if (grown && minute <= STEADY) yield [labels, minute, value, other ?? Number.NaN]
        }
      }
    }
  },
)

const HOSTS = 6

function isRatio(name: string): boolean {
  return /:ratio_|:p\d\d_/.test(name)
}

function ask(url: string, minute: number, expr: string, step?: string) {
  const time = String(BEGIN_MS / 1000 + minute * 60 + 7)
  return instantVector(url, expr, step === undefined ? { time } : { time, step })
}

function remember(
  all: Map<string, Answers>,
  name: string,
  minute: number,
  answer: Awaited<ReturnType<typeof instantVector>>,
): void {
  for (const { metric, value } of answer) {
    const { __name__, ...labels } = metric
    const key = JSON.stringify(Object.entries(labels).sort())
    const answers = all.get(name) ?? new Map<string, Map<number, number>>()
    all.set(name, answers.set(key, (answers.get(key) ?? new Map()).set(minute, value)))
  }
}

/** To a millionth: the one adds up in another order than the other, and VictoriaMetrics keeps 15 digits. */
function rounded(answers: Answers | undefined): unknown {
  return [...(answers ?? [])]
    .map(([labels, values]) => [labels, [...values].map(([minute, value]) => [minute, Number(value.toPrecision(9))])])
    .sort()
}

/** What only the first holds, and the second neither then nor at the instants before and after. */
function lone(one: Answers | undefined, other: Answers | undefined): string[] {
  return [...(one ?? [])].flatMap(([labels, values]) =>
    [...values.keys()]
      .filter((minute) => minute <= 80 && ![-EVERY, 0, EVERY].some((by) => other?.get(labels)?.has(minute + by)))
      .map((minute) => `${minute}: ${labels}`),
  )
}

/** What the rules would have left in a Prometheus that had evaluated them: recorded series, and ALERTS. */

import { PrometheusApi, type Series } from '../../dashboards/preview/prometheus-api.ts'
import { alertGroups, recordingGroups } from '../../rules/files.ts'
import { makePack } from '../../rules/pack.ts'
import { SCRAPE_MS } from './fleet.ts'
import { lineOf } from './openmetrics.ts'

interface Rule {
  readonly expr: string
  readonly record?: string
  readonly alert?: string
  readonly for?: string
  readonly labels?: { readonly severity: string }
}

/** The rules of the pack in such an order that each stage uses only what the ones before it have recorded. */
export function ruleStages(): Rule[][] {
  const pack = makePack()
  const all: Rule[] = [...recordingGroups(pack), ...alertGroups(pack)].flatMap(({ rules }) => [...rules])
  const records = new Map(all.flatMap((rule) => (rule.record === undefined ? [] : [[rule.record, rule] as const])))
  const stageOf = ({ expr }: Rule): number => {
    const used = expr.match(/\b\w+:turnwatch_\w+:\w+/g) ?? []
    return Math.max(-1, ...used.map((name) => stageOf(records.get(name) as Rule))) + 1
  }
  const stages: Rule[][] = []
  for (const rule of all) {
    const stage = stageOf(rule)
    for (let i = stages.length; i <= stage; i++) stages.push([])
    stages[stage]?.push(rule)
  }
  return stages
}

/** Every sample of the rules between two times, as lines. */
export async function* recordedLines(
  rules: readonly Rule[],
  url: string,
  fromMs: number,
  toMs: number,
): AsyncGenerator<string> {
  const api = new PrometheusApi(url)
  for (const rule of rules) {
    for (const series of await api.range(rule.expr, fromMs, toMs, SCRAPE_MS)) {
      if (rule.record === undefined) yield* alertLines(series, rule)
      else
        for (const [atMs, value] of series.points)
          yield lineOf({ ...series.labels, __name__: rule.record }, value, atMs)
    }
  }
}

/** Pending until it has been there at every evaluation for as long as the alert waits. */
function* alertLines({ labels, points }: Series, { alert = '', for: wait = '0s', labels: own }: Rule) {
  const waitMs = milliseconds(wait)
  let activeMs = Number.NaN
  let lastMs = Number.NaN
  for (const [atMs] of points) {
    if (atMs - lastMs !== SCRAPE_MS) activeMs = atMs
    lastMs = atMs
    const alertstate = atMs - activeMs >= waitMs ? 'firing' : 'pending'
    yield lineOf({ ...labels, ...own, __name__: 'ALERTS', alertname: alert, alertstate }, 1, atMs)
  }
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000 } as const

function milliseconds(duration: string): number {
  const [, count, unit] = /^(\d+)([smh])$/.exec(duration) ?? []
  if (count === undefined) throw new Error(`cannot read the duration ${duration}`)
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

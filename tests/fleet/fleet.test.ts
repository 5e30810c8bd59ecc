/**
 * The fleet: a dozen hosts, half of them scraped by one Prometheus and half by another, which write into one store, and
 * one that pushes into it. The pack is evaluated by each Prometheus for its half, and by vmalert for all. The store is
 * a single-node VictoriaMetrics; a cluster of them answers with the same code.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { SERIES_OF_A_TARGET, seriesOf } from '../../docs/scale.ts'
import { ALERTS_FILE, packFiles, RECORDING_FILE } from '../../rules/files.ts'
import { ALERTS, makePack } from '../../rules/pack.ts'
import { type Receiver, receiver } from '../command/receiver.ts'
import { checkQueries, describeFailure } from '../dashboards/queries.ts'
import { type FiringAlert, PrometheusServer, type Result } from '../metrics/prometheus-server.ts'
import { Fleet, type FleetHost } from './fleet-hosts.ts'
import { VictoriaMetricsServer, VmAlert } from './victoria-metrics-server.ts'

/** The pack as it is; every wait is 8 s, four scrapes, and the label that the fleet adds is one that tells hosts apart. */
const SET = makePack({
  set: [
    'hostLabels=instance, pod, container, node, shard',
    'clusterLabels=shard',
    ...ALERTS.filter((alert) => alert.for).map(({ name }) => `${name}.for=8s`),
  ],
})
// What is recorded every 15 s would not be found within the lookback, which is as short.
const PACK = packFiles({ ...SET, recordings: SET.recordings.map(({ interval: _interval, ...recording }) => recording) })
const RULES = {
  [RECORDING_FILE]: PACK[RECORDING_FILE] as string,
  [ALERTS_FILE]: PACK[ALERTS_FILE] as string,
}
/** What a shard has summed up over its hosts would stand beside the sums over all; what it says of one host is the same. */
const WITHOUT_SUMS_OF_SHARDS = `
- action: drop
  source_labels: [shard, __name__]
  regex: '[ab];(job|provider\\w*):turnwatch_.+'
`
const LOOKBACK = '15s'
const soon = { timeout: 120_000, interval: 500 }

describe.skipIf(inject('missing').some((name) => name === 'prometheus' || name === 'victoria-metrics'))(
  'a fleet of hosts over two shards and one store',
  { timeout: 300_000 },
  () => {
    let fleet: Fleet
    let store: VictoriaMetricsServer
    let shards: Record<'a' | 'b', PrometheusServer>
    let vmalert: VmAlert
    let notified: Receiver
    let pushing: NodeJS.Timeout

    beforeAll(async () => {
      fleet = await Fleet.live()
      store = await VictoriaMetricsServer.start(WITHOUT_SUMS_OF_SHARDS)
      const shard = (name: 'a' | 'b') =>
        PrometheusServer.start(
          fleet.of(name).map(({ instance }) => instance),
          {
            rules: RULES,
            remoteWrite: store.remoteWrite,
            externalLabels: { shard: name },
            lookback: LOOKBACK,
            interval: '2s',
          },
        )
      shards = { a: await shard('a'), b: await shard('b') }
      const pushed = fleet.get('pushed')
      pushing = setInterval(async () => store.push(await pushed.text(), { job: 'turnwatch', instance: 'pushed' }), 1000)
      while (numberOf(await store.query('count(turnwatch_build_info)')) !== fleet.hosts.length) await sleep(500)
      notified = await receiver([200])
      vmalert = await VmAlert.start(store, RULES, {
        notifierUrl: `http://127.0.0.1:${notified.port}`,
        lookback: LOOKBACK,
      })
    }, 300_000)

    afterAll(async () => {
      clearInterval(pushing)
      await vmalert?.stop()
      await Promise.all(Object.values(shards ?? {}).map((one) => one.stop()))
      await store?.stop()
      await fleet?.stop()
    })

    const instanceOf = (name: string) => fleet.get(name).instance
    const stale = (name: string, provider: string) => `TurnStale ${instanceOf(name)} ${provider}`
    /** Alerts by name, instance and provider that the receiver has ever been told of. */
    const told = () => [...new Set(notified.posts.flatMap(({ body }) => (body as FiringAlert[]).map(nameOf)))].sort()
    const inShardA = () => [stale('a2', 'codex'), stale('a3', 'claudeAgent'), stale('a4', 'codex')].sort()
    const inShardB = () => [stale('b1', 'codex'), stale('b3', 'codex')].sort()
    const inFleet = () => [...inShardA(), ...inShardB(), 'ProviderStalled  codex'].sort()

    test('each Prometheus finds the stale turns of its half, and no provider that has stalled', async () => {
      const firing = async (shard: 'a' | 'b') =>
        (await shards[shard].alerts())
          .filter(({ state }) => state === 'firing')
          .map(nameOf)
          .sort()
      await expect.poll(() => firing('a'), soon).toEqual(inShardA())
      await expect.poll(() => firing('b'), soon).toEqual(inShardB())
    })

    test('vmalert finds all of them, and that the provider has stalled over both; it tells of nothing else', async () => {
      await expect.poll(told, soon).toEqual(inFleet())
      // Whatever else there was to fire has had the time to.
      await sleep(12_000)
      expect(told()).toEqual(inFleet())
    })

    test('with the labels that tell hosts apart as shipped, each shard would be a fleet of its own', async () => {
      const asShipped = makePack().alerts.find(({ alert }) => alert.name === 'ProviderStalled')
      if (asShipped === undefined) throw new Error('no ProviderStalled')
      const expr = asShipped.alert.expr(asShipped.knobs, makePack().knobs)
      expect(await store.query(expr)).toEqual([])
    })

    test.each([
      ['provider_model:turnwatch_turns_running:sum', 'turns_running', ['model', 'provider']],
      ['provider_model_state:turnwatch_turns_running:sum', 'turns_running', ['model', 'provider', 'state']],
      ['provider_model:turnwatch_turns_stale:sum', 'turns_stale', ['model', 'provider']],
    ])('%s is what the watches of all hosts say', async (record, metric, by) => {
      await expect
        .poll(async () => byLabels(await store.query(record)), soon)
        .toEqual(sums(fleet.hosts, `turnwatch_${metric}`, by))
    })

    test('every host is counted once, and has its own sums', async () => {
      expect((await store.query('job:turnwatch_hosts:count')).map(({ metric, value }) => [metric.job, value])).toEqual([
        ['turnwatch', 13],
      ])
      const running = Object.fromEntries(
        (await store.query('instance:turnwatch_turns_running:sum > 0')).map(({ metric, value }) => [
          metric.instance,
          value,
        ]),
      )
      const said = fleet.hosts.map(
        (host) => [host.instance, sums([host], 'turnwatch_turns_running', [])['{}'] ?? 0] as const,
      )
      expect(running).toEqual(Object.fromEntries(said.filter(([, value]) => value > 0)))
    })

    test('there are as many series as the watches say', async () => {
      const predicted = (hosts: readonly FleetHost[]) =>
        hosts.reduce((sum, { watch, perThread }) => sum + seriesOf(watch.metrics({ perThread })).length, 0)
      const scraped = (shard: 'a' | 'b') => predicted(fleet.of(shard)) + fleet.of(shard).length * SERIES_OF_A_TARGET
      for (const shard of ['a', 'b'] as const) {
        const ofRules = 'count(last_over_time({__name__=~".+:.+|ALERTS.*"}[1h]))'
        await expect
          .poll(
            async () => (await headSeries(shards[shard])) - (numberOf(await shards[shard].query(ofRules)) ?? 0),
            soon,
          )
          .toBe(scraped(shard))
      }
      const all = scraped('a') + scraped('b') + predicted(fleet.of('pushes'))
      await expect.poll(() => store.seriesCount('{job="turnwatch", __name__!~".+:.+|ALERTS.*"}'), soon).toBe(all)
    })

    test('every query of the dashboards has something to show, but for what shows only trouble', async () => {
      // No machine has slept, so that there is nothing to mark with an annotation.
      const unexpected = async () => {
        const to = Date.now() / 1000
        const failures = await checkQueries(store.url, { from: to - 60, to, step: 5 })
        return failures.filter(({ kind, empty }) => kind !== 'annotation' && empty === undefined).map(describeFailure)
      }
      await expect.poll(unexpected, soon).toEqual([])
    })

    test('hosts that vanish are told of: one killed, one that pushes no more; the others are left alone', async () => {
      clearInterval(pushing)
      // This one has turns that run.
      await fleet.get('b6').kill()
      // This one has none.
      await fleet.get('a5').kill()
      const expected = [
        ...inFleet(),
        `HostVanishedWithTurnsRunning ${instanceOf('b6')} `,
        'HostVanishedWithTurnsRunning pushed ',
        `ServerDown ${instanceOf('a5')} `,
        `ServerDown ${instanceOf('b6')} `,
      ].sort()
      await expect.poll(told, { timeout: 180_000, interval: 500 }).toEqual(expected)
      await sleep(12_000)
      expect(told()).toEqual(expected)
      const still = await vmalert.alerts()
      expect(
        still
          .filter(({ state }) => state === 'firing')
          .map(nameOf)
          .sort(),
      ).toEqual(expected)
    }, 300_000)
  },
)

/** What it is, where, and of whom. */
function nameOf({ labels }: Pick<FiringAlert, 'labels'>): string {
  return `${labels.alertname} ${labels.instance ?? ''} ${labels.provider ?? ''}`
}

function numberOf([one]: readonly Result[]): number | undefined {
  return one?.value
}

function byLabels(results: readonly Result[]): Record<string, number> {
  return Object.fromEntries(
    results.map(({ metric, value }) => {
      const { __name__, job, ...labels } = metric
      return [keyOf(labels), value]
    }),
  )
}

/** Of a metric over hosts, as `sum by`. */
function sums(hosts: readonly FleetHost[], metric: string, by: readonly string[]): Record<string, number> {
  const all: Record<string, number> = {}
  for (const { watch } of hosts) {
    for (const point of watch.metrics().find(({ name }) => name === metric)?.points ?? []) {
      const key = keyOf(Object.fromEntries(by.map((label) => [label, point.labels[label] as string])))
      if ('value' in point) all[key] = (all[key] ?? 0) + point.value
    }
  }
  return all
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(labels).sort()))
}

async function headSeries({ url }: PrometheusServer): Promise<number> {
  const response = await fetch(`${url}/api/v1/status/tsdb`)
  return ((await response.json()) as { data: { headStats: { numSeries: number } } }).data.headStats.numSeries
}

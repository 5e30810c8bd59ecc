import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { serveLiveness } from '../../liveness/index.ts'
import { receiver } from '../command/receiver.ts'
import { PrometheusServer } from '../metrics/prometheus-server.ts'
import { EXAMPLE } from './alertmanager-process.ts'
import { AlertmanagerServer, type Notification, type NotifiedAlert } from './alertmanager-server.ts'
import { goOn, type Model, WatchingHost } from './watching-host.ts'

/** TurnStale of the pack, without its minute of `for`. */
const RULES = `groups:
  - name: turnwatch
    rules:
      - alert: TurnStale
        expr: turnwatch_turns_stale > 0
        for: 0s
        labels: { severity: warning }
`
const OPUS = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
/** Its model is not known: neither alert has that label. */
const UNNAMED = { provider: 'opencode' }

const soon = { timeout: 40_000, interval: 250 }
const missing = inject('missing')

describe.skipIf(missing.includes('prometheus-alertmanager'))("the example's configuration", () => {
  test('is one that Alertmanager takes', () => {
    const { status, stderr } = spawnSync('/usr/bin/amtool', ['check-config', EXAMPLE], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test("waits for longer than TurnStale and ProviderStalled take, and for less than a provider's failure is shown", async () => {
    const { route } = parse(await readFile(EXAMPLE, 'utf8')) as { route: { group_wait: string } }
    const minutes = Number(/^(\d+)m$/.exec(route.group_wait)?.[1])
    // Two minutes of `for`, a scrape and an evaluation.
    expect(minutes).toBeGreaterThan(2.5)
    expect(minutes).toBeLessThan(5)
  })

  test("groups by labels that the notifier's alert and the rule's share", async () => {
    const { route } = parse(await readFile(EXAMPLE, 'utf8')) as { route: { group_by: string[] } }
    expect(route.group_by).toEqual(['alertname', 'provider', 'model'])
  })
})

describe.skipIf(missing.includes('prometheus-alertmanager') || missing.includes('prometheus'))(
  "the notifier's alert and the rule's for the same turn",
  () => {
    test('arrive in one notification, and end in the same group', async () => {
      const webhook = await receiver([200])
      const alertmanager = await AlertmanagerServer.start({
        receiverUrl: webhook.url,
        // The rule takes a scrape and an evaluation, of 1 s each.
        groupWait: '8s',
        groupInterval: '2s',
      })
      const folder = await mkdtemp(join(tmpdir(), 'turnwatch-watched-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      const host = new WatchingHost(alertmanager.url, join(folder, 'turnwatch.db'))
      onTestFinished(() => host.stop())
      const server = await serveLiveness(host.watch, { port: 0 })
      onTestFinished(() => server.close())
      const instance = `127.0.0.1:${server.port}`
      const prometheus = await PrometheusServer.start(instance, {
        rules: { 'rules.yaml': RULES },
        alertmanager: alertmanager.address,
      })
      onTestFinished(() => prometheus.stop())
      await expect.poll(() => prometheus.values('up'), soon).toEqual([1])

      const both = (thread: string, model: Model) => {
        const shared = { alertname: 'TurnStale', ...model, reason: 'silence', severity: 'warning' }
        return [
          text({ ...shared, thread, source: 'turnwatch' }),
          text({ ...shared, job: 'turnwatch', instance }),
        ].sort()
      }
      const notifications = () => webhook.posts.map(({ body }) => body as Notification)
      /** The alerts of each notification that are in this state. */
      const told = (status: NotifiedAlert['status']) => notifications().map((one) => textsOf(one, status))

      const turns = [host.silentTurn('sub.boss.one', OPUS), host.silentTurn('sub.boss.two', UNNAMED)]
      const [one, two] = [both('sub.boss.one', OPUS), both('sub.boss.two', UNNAMED)]
      await expect.poll(() => told('firing').sort(), soon).toEqual([one, two].sort())
      for (const turn of turns) goOn(turn)
      await expect.poll(() => told('resolved').flat().sort(), soon).toEqual([...one, ...two].sort())
      expect(new Set(notifications().map(({ groupKey }) => groupKey)).size).toBe(2)
      expect(host.faults).toEqual([])
    })
  },
)

function textsOf({ alerts }: Notification, status: NotifiedAlert['status']): string[] {
  return alerts
    .filter((alert) => alert.status === status)
    .map(({ labels }) => text(labels))
    .sort()
}

/** Labels as a text, to compare alerts and notifications in whatever order they come. */
function text(labels: NotifiedAlert['labels']): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(', ')
}

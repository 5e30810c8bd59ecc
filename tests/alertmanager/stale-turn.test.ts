import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { receiver } from '../command/receiver.ts'
import { AlertmanagerServer, type Notification, type NotifiedAlert } from './alertmanager-server.ts'
import { goOn, WatchingHost } from './watching-host.ts'

const THREAD = 'sub.boss.one'
const OPUS = { provider: 'claudeAgent', model: 'claude-opus-4-6' }
const LABELS = {
  alertname: 'TurnStale',
  thread: THREAD,
  ...OPUS,
  reason: 'silence',
  source: 'turnwatch',
  severity: 'warning',
}

const GROUP_INTERVAL_MS = 1000
const soon = { timeout: 30_000, interval: 100 }

async function fixture() {
  const webhook = await receiver([200])
  const alertmanager = await AlertmanagerServer.start({
    receiverUrl: webhook.url,
    groupWait: '1s',
    groupInterval: `${GROUP_INTERVAL_MS}ms`,
  })
  const folder = await mkdtemp(join(tmpdir(), 'turnwatch-watched-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const host = () => {
    const made = new WatchingHost(alertmanager.url, join(folder, 'turnwatch.db'))
    onTestFinished(() => made.stop())
    return made
  }
  /** What the operator was told, in order. */
  const told = () =>
    webhook.posts
      .flatMap(({ body }) => (body as Notification).alerts)
      .map(({ status, labels }: NotifiedAlert) => [status, labels] as const)
  return { alertmanager, host, told }
}

type Fixture = Awaited<ReturnType<typeof fixture>>

async function activeAlert({ alertmanager }: Fixture) {
  await expect
    .poll(async () => (await alertmanager.alerts()).map(({ status }) => status.state), soon)
    .toEqual(['active'])
  const [alert] = await alertmanager.alerts()
  if (alert === undefined) throw new Error('the alert is gone')
  return alert
}

/** Until the alert has been told again so often. */
async function repeats({ alertmanager }: Fixture, count: number): Promise<void> {
  const ends = new Set<string>()
  await expect
    .poll(async () => {
      for (const { endsAt } of await alertmanager.alerts()) ends.add(endsAt)
      return ends.size
    }, soon)
    .toBeGreaterThan(count)
}

/** That the alert resolves, and the operator is told of its end once. */
async function resolves({ alertmanager, told }: Fixture): Promise<void> {
  await expect.poll(() => alertmanager.alerts(), soon).toEqual([])
  const firedOnceAndResolvedOnce = [
    ['firing', LABELS],
    ['resolved', LABELS],
  ]
  await expect.poll(told, soon).toEqual(firedOnceAndResolvedOnce)
  await sleep(1.5 * GROUP_INTERVAL_MS)
  expect(told()).toEqual(firedOnceAndResolvedOnce)
  expect(await alertmanager.alerts()).toEqual([])
}

describe.skipIf(inject('missing').includes('prometheus-alertmanager'))('in a real Alertmanager a stale turn', () => {
  test('is one alert with the labels of the contract and the configured ones', async () => {
    const at = await fixture()
    const host = at.host()
    host.silentTurn(THREAD, OPUS)
    const alert = await activeAlert(at)
    expect(alert.labels).toEqual(LABELS)
    expect(alert.annotations).toEqual({
      summary: 'Turn of sub.boss.one is stale: silence',
      description: expect.stringContaining(THREAD),
    })
    await expect.poll(at.told, soon).toEqual([['firing', LABELS]])
    expect(host.faults).toEqual([])
  })

  test('keeps firing until it goes on, and is then resolved once', async () => {
    const at = await fixture()
    const turn = at.host().silentTurn(THREAD, OPUS)
    await activeAlert(at)
    await repeats(at, 3)
    goOn(turn)
    await resolves(at)
  })

  test.each([
    ['was stopped', (host: WatchingHost) => host.stop()],
    ['crashed', (host: WatchingHost) => host.crash()],
  ])('stays the same alert over a restart of a host that %s, and is resolved once', async (_, end) => {
    const at = await fixture()
    const first = at.host()
    first.silentTurn(THREAD, OPUS)
    const { fingerprint, startsAt } = await activeAlert(at)
    const recorded = at.alertmanager.record((alerts) =>
      alerts.map((alert) => [alert.fingerprint, alert.startsAt, alert.status.state]),
    )
    await repeats(at, 1)
    await end(first)
    const second = at.host()
    const turn = second.restoredTurn(THREAD, OPUS)
    await repeats(at, 2)
    await expect.poll(() => second.watch.liveness(THREAD), soon).toMatchObject({ state: 'stale', episode: 1 })
    await repeats(at, 2)
    expect(await recorded()).toEqual([[[fingerprint, startsAt, 'active']]])
    goOn(turn)
    await resolves(at)
    expect([first.faults, second.faults]).toEqual([[], []])
  })

  test('that failed and ended in the same instant is seen', async () => {
    const at = await fixture()
    const turn = at.host().silentTurn(THREAD, OPUS)
    turn.observe({ kind: 'error', message: 'overloaded' })
    turn.observe({ kind: 'turn.ended', outcome: 'error' })
    const labels = { ...LABELS, reason: 'provider-error' }
    expect((await activeAlert(at)).labels).toEqual(labels)
    await expect.poll(at.told, soon).toEqual([['firing', labels]])
  })
})

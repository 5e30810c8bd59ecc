import { describe, expect, inject, test } from 'vitest'
import { receiver } from '../command/receiver.ts'
import { AlertmanagerServer, type Notification, type ShownAlert } from './alertmanager-server.ts'
import { ALERT_NAMES, notifiersAlert, type Place, packAlert } from './pack-alerts.ts'

const HERE: Place = { job: 'turnwatch', instance: 'a:9464', provider: 'claudeAgent' }
const PLACES: Readonly<Record<string, Place>> = {
  here: HERE,
  'another host': { ...HERE, instance: 'b:9464' },
  'another provider': { ...HERE, provider: 'codex' },
  'another job': { ...HERE, job: 'staging' },
}
/** Those that inhibit others; each is looked at alone. */
const SOURCES = ['HostVanishedWithTurnsRunning', 'ServerDown', 'HostSuspended', 'DetectorStopped', 'ProviderStalled']

/** What a source silences, by where it is. */
type Silenced = Readonly<Record<string, readonly string[]>>

const OF_ONE_HOST = [
  'CatalogueMismatch',
  'DetectorDisagrees',
  'InterruptNotSettled',
  'ManyTurnsStale',
  'NoProgress',
  'NotifierBacklog',
  'NotifierFailing',
  'SeriesOmitted',
  'ThresholdExcessive',
  'ToolOpenLong',
  'TurnFailed',
  'TurnNotSettled',
  'TurnNotStarted',
  'TurnStale',
  'UnclassifiedEvents',
  'WaitLong',
]
/** Those of the same host are the same alert wherever no provider is named. */
const OF_ITS_OTHER_PROVIDER = ['ThresholdExcessive', 'ToolOpenLong', 'TurnFailed', 'TurnStale']
const GONE: Silenced = { here: OF_ONE_HOST, 'another provider': OF_ITS_OTHER_PROVIDER }

const CASES: Readonly<Record<string, Silenced>> = {
  HostVanishedWithTurnsRunning: GONE,
  ServerDown: GONE,
  HostSuspended: { here: ['DetectorDisagrees', 'NoProgress', 'TurnFailed'], 'another provider': ['TurnFailed'] },
  DetectorStopped: { here: ['DetectorDisagrees', 'NotifierBacklog'] },
  ProviderStalled: {
    here: ['EventGapSlow', 'FirstTokenSlow', 'NoProgress', 'TurnErrorRatioHigh', 'TurnStale'],
    'another host': ['NoProgress', 'TurnStale'],
    notifier: ['TurnStale'],
  },
}

const soon = { timeout: 30_000, interval: 100 }

async function alertmanager() {
  const webhook = await receiver([200])
  const started = await AlertmanagerServer.start({ receiverUrl: webhook.url, groupWait: '1s', groupInterval: '1s' })
  const told = () =>
    webhook.posts.flatMap(({ body }) => {
      const { receiver: name, alerts } = body as Notification
      return alerts.map(({ labels }) => `${name}: ${labels.alertname}`)
    })
  return { server: started, told }
}

const textOf = (labels: ShownAlert['labels']) => JSON.stringify(Object.entries(labels).sort())

/** Every alert that inhibits none, at every place, each once, by its labels. */
function bystanders(): Map<string, { readonly name: string; readonly place: string }> {
  const found = new Map<string, { name: string; place: string }>()
  for (const [place, at] of Object.entries(PLACES)) {
    for (const name of ALERT_NAMES.filter((one) => !SOURCES.includes(one))) {
      const text = textOf(packAlert(name, at))
      if (!found.has(text)) found.set(text, { name, place })
    }
  }
  found.set(textOf(notifiersAlert(HERE)), { name: 'TurnStale', place: 'notifier' })
  found.set(textOf(notifiersAlert({ ...HERE, provider: 'codex' })), { name: 'TurnStale', place: 'another notifier' })
  return found
}

describe.skipIf(inject('missing').includes('prometheus-alertmanager'))('in a real Alertmanager', () => {
  test.each(Object.entries(CASES))('%s silences what it causes, and nothing else', async (source, silenced) => {
    const { server } = await alertmanager()
    const others = bystanders()
    await server.post([...others.keys()].map((text) => Object.fromEntries(JSON.parse(text))))
    await expect.poll(async () => (await server.alerts()).length, soon).toBe(others.size)
    expect((await server.alerts()).filter(({ status }) => status.inhibitedBy.length > 0)).toEqual([])

    await server.post([packAlert(source, HERE)])
    const inhibited = async () => {
      const alerts = await server.alerts()
      const cause = alerts.find(({ labels }) => labels.alertname === source)
      const byPlace: Record<string, string[]> = {}
      for (const { labels, status } of alerts) {
        if (status.inhibitedBy.length === 0) continue
        expect(status).toMatchObject({ state: 'suppressed', inhibitedBy: [cause?.fingerprint] })
        const { name, place } = others.get(textOf(labels)) ?? { name: `${labels.alertname}`, place: 'sources' }
        byPlace[place] = [...(byPlace[place] ?? []), name].sort()
      }
      return byPlace
    }
    await expect.poll(inhibited, soon).toEqual(silenced)
  })

  test('a provider that has stopped answering does not silence a process that died', async () => {
    const { server } = await alertmanager()
    const dead = { ...packAlert('TurnStale', HERE), reason: 'provider-dead' }
    const deadToo = { ...notifiersAlert(HERE), reason: 'provider-dead' }
    const failed = { ...packAlert('TurnStale', HERE), reason: 'provider-error' }
    await server.post([packAlert('ProviderStalled', HERE), dead, deadToo, failed])
    const states = async () =>
      Object.fromEntries(
        (await server.alerts()).map(({ labels, status }) => [
          `${labels.alertname} ${labels.source ?? 'rules'} ${labels.reason ?? ''}`,
          status.state,
        ]),
      )
    await expect.poll(states, soon).toEqual({
      'ProviderStalled rules ': 'active',
      'TurnStale rules provider-dead': 'active',
      'TurnStale turnwatch provider-dead': 'active',
      'TurnStale rules provider-error': 'suppressed',
    })
  })

  test('a server that dies with turns in hand is one page, the one that says so', async () => {
    const { server, told } = await alertmanager()
    await server.post(
      ['ServerDown', 'HostVanishedWithTurnsRunning', 'HostSuspended'].map((name) => packAlert(name, HERE)),
    )
    await server.post([packAlert('ServerDown', { ...HERE, instance: 'b:9464' })])
    const states = async () =>
      Object.fromEntries(
        (await server.alerts()).map(({ labels, status }) => [`${labels.alertname} ${labels.instance}`, status.state]),
      )
    await expect.poll(states, soon).toEqual({
      'HostVanishedWithTurnsRunning a:9464': 'active',
      'ServerDown a:9464': 'suppressed',
      'ServerDown b:9464': 'active',
      'HostSuspended a:9464': 'suppressed',
    })
    await expect.poll(() => told().sort(), soon).toEqual(['pages: HostVanishedWithTurnsRunning', 'pages: ServerDown'])
  })

  test('a page is silenced only by what pages, whatever severities are set', async () => {
    const { server } = await alertmanager()
    const at = (instance: string): Place => ({ ...HERE, instance })
    const as = (severity: string, name: string, place: Place) => ({ ...packAlert(name, place), severity })
    await server.post([
      as('info', 'HostVanishedWithTurnsRunning', at('a:9464')),
      as('critical', 'ServerDown', at('a:9464')),
      as('warning', 'ServerDown', at('b:9464')),
      as('critical', 'ManyTurnsStale', at('b:9464')),
      as('info', 'HostSuspended', at('c:9464')),
      as('critical', 'NoProgress', at('c:9464')),
      as('warning', 'DetectorDisagrees', at('c:9464')),
    ])
    const suppressed = async () => {
      const alerts = await server.alerts()
      const names = alerts.filter(({ status }) => status.state === 'suppressed').map(({ labels }) => labels.alertname)
      return alerts.length === 7 ? names.sort() : alerts.length
    }
    await expect.poll(suppressed, soon).toEqual(['DetectorDisagrees'])
  })

  test('alerts that lack job and instance are silenced by none', async () => {
    const { server } = await alertmanager()
    const bare = (name: string) => {
      const { job: _job, instance: _instance, provider: _provider, ...labels } = packAlert(name, HERE)
      return labels
    }
    await server.post(ALERT_NAMES.map(bare))
    await expect.poll(async () => (await server.alerts()).length, soon).toBe(ALERT_NAMES.length)
    expect((await server.alerts()).filter(({ status }) => status.inhibitedBy.length > 0)).toEqual([])
  })
})

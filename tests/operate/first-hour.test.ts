import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { EXAMPLE } from '../alertmanager/alertmanager-process.ts'
import { AlertmanagerServer, type Notification, type NotifiedAlert } from '../alertmanager/alertmanager-server.ts'
import { receiver } from '../command/receiver.ts'
import { freePort } from '../metrics/prometheus-server.ts'
import { exampleFolder, replaceIn, root, startPrometheus } from './example-prometheus.ts'
import { blocks } from './runbook-page.ts'
import { ShellSession } from './shell-session.ts'

const PAGE = await readFile(join(root, 'docs/first-hour.md'), 'utf8')
const SECTIONS = PAGE.split(/^## /m)
  .slice(1)
  .map((section) => ({ title: section.split('\n', 1)[0] as string, commands: blocks(section, 'sh') }))

const GROUP_MS = 1000
const soon = { timeout: 60_000, interval: 250 }
const missing = inject('missing')

interface PrometheusAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
}

/** The page's programs on ports of this test, and the folder in which its reader works. */
async function reader() {
  const webhook = await receiver([200])
  const alertmanager = await AlertmanagerServer.start({
    receiverUrl: webhook.url,
    groupWait: `${GROUP_MS}ms`,
    groupInterval: `${GROUP_MS}ms`,
  })
  const host = `127.0.0.1:${await freePort()}`
  const folder = await exampleFolder('unused')
  // There are no rules yet, and no fleet.
  await rm(join(folder, 'rules'), { recursive: true })
  await writeFile(join(folder, 'hosts/turnwatch.example.yaml'), '[]\n')
  await cp(EXAMPLE, join(folder, 'alertmanager.yaml'))
  await replaceIn(join(folder, 'prometheus.yaml'), {
    '127.0.0.1:9093': alertmanager.address,
    '127.0.0.1:9464': host,
  })
  await mkdir(join(folder, 'bin'))
  await writeFile(
    join(folder, 'bin/turnwatch'),
    `#!/bin/sh\nexec ${process.execPath} ${join(root, 'cli/main.ts')} "$@"\n`,
  )
  await chmod(join(folder, 'bin/turnwatch'), 0o755)
  const prometheus = await startPrometheus(folder)
  const shell = new ShellSession(folder, {
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
    HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
  })
  const here = (commands: string) =>
    commands
      .replaceAll('127.0.0.1:9090', prometheus)
      .replaceAll('127.0.0.1:9093', alertmanager.address)
      .replaceAll('127.0.0.1:9464', host)
      .replaceAll('--port 9464', `--port ${host.split(':')[1]}`)
      // Not the minute that it takes by itself.
      .replace('turnwatch rules --set', 'turnwatch rules --set TurnStale.for=3s --set')
  /** Types what a section says. */
  const read = async (title: string) => {
    const section = SECTIONS.find((one) => one.title === title)
    if (section === undefined) throw new Error(`the page has no section ${title}`)
    const output: string[] = []
    for (const commands of section.commands) output.push(...(await shell.run(here(commands))))
    expect({ title, failures: shell.failures }).toEqual({ title, failures: [] })
    return output.join('\n')
  }
  const told = () =>
    webhook.posts.flatMap(({ body }) => {
      const { receiver: name, groupKey, alerts } = body as Notification
      return alerts.map((alert) => ({ ...alert, receiver: name, groupKey }))
    })
  return { alertmanager, prometheus, host, folder, read, told }
}

const labelled = (labels: NotifiedAlert['labels']) =>
  expect.objectContaining({ labels: expect.objectContaining(labels) })

describe('the page of the first hour', () => {
  test('fits on a page, and its links lead somewhere', () => {
    expect(PAGE.split('\n').length).toBeLessThan(140)
    const links = [...PAGE.matchAll(/\]\(([^)]*)\)/g)].map(([, link]) => link as string)
    expect(links.filter((link) => !existsSync(join(root, 'docs', link)))).toEqual([])
    expect(links.length).toBeGreaterThan(0)
  })

  test.skipIf(
    missing.includes('prometheus') || missing.includes('prometheus-alertmanager') || !existsSync('/usr/bin/curl'),
  )(
    'does what it says, command by command',
    async () => {
      const { alertmanager, prometheus, host, folder, read, told } = await reader()
      const done: string[] = []
      const follow = async (title: string) => {
        done.push(title)
        return read(title)
      }

      await follow('Metrics arrive')
      expect(await follow('Rules are loaded')).toContain('rules found')
      const rules = await (await fetch(`http://${prometheus}/api/v1/rules?type=alert`)).text()
      expect(rules).toContain('"name":"TurnStale"')
      expect(rules).toContain('http://127.0.0.1:3000/d/turnwatch-overview')
      expect((await follow('Alertmanager knows whom to tell')).split('\n').at(-1)).toBe('pages')
      await follow('Dashboards are there')
      const dashboards = await readFile(join(folder, 'dashboards/turnwatch-overview.json'), 'utf8')
      expect(JSON.parse(dashboards)).toMatchObject({ uid: 'turnwatch-overview' })

      await follow('A test alert arrives')
      await expect
        .poll(told, soon)
        .toEqual(
          expect.arrayContaining([
            labelled({ alertname: 'TurnStale', provider: 'test', instance: host }),
            labelled({ alertname: 'TurnStale', thread: 'turnwatch-test' }),
          ]),
        )

      await follow('A real one arrives')
      const real = () => told().filter(({ labels }) => labels.model === 'test' && labels.provider === 'claudeAgent')
      const byRule = labelled({ job: 'turnwatch', instance: host, reason: 'silence', severity: 'warning' })
      const byNotifier = labelled({ thread: 'first-hour', source: 'turnwatch', reason: 'silence' })
      await expect.poll(real, soon).toEqual(expect.arrayContaining([byRule, byNotifier]))
      expect(new Set(real().map(({ groupKey }) => groupKey)).size).toBe(1)
      // The demo may have had a note of its own to send.
      const staleTurns = told().filter(({ labels }) => labels.alertname === 'TurnStale')
      expect(new Set(staleTurns.map(({ receiver: name }) => name))).toEqual(new Set(['tickets']))

      expect(await follow('What to look at then')).toContain('"threadId":"first-hour"')

      await follow('It can be silenced')
      const quiet = { alertname: 'TurnStale', severity: 'warning', instance: host, provider: 'quiet' }
      await alertmanager.post([quiet])
      /** Alerts that a silence covers, by provider, with whether it is the only thing that does. */
      const silenced = async () =>
        (await alertmanager.alerts())
          .filter(({ status }) => status.silencedBy.length > 0)
          .map(({ labels, status }) => [labels.provider, labels.thread, status.state, status.silencedBy.length])
          .sort()
      await expect.poll(silenced, soon).toEqual([
        ['claudeAgent', undefined, 'suppressed', 1],
        ['quiet', undefined, 'suppressed', 1],
        ['test', undefined, 'suppressed', 1],
      ])
      await sleep(4 * GROUP_MS)
      const toldOfQuiet = () => told().filter(({ labels }) => labels.provider === 'quiet').length
      expect(toldOfQuiet()).toBe(0)

      await follow('The silence ends')
      await expect.poll(silenced, soon).toEqual([])
      await expect.poll(toldOfQuiet, soon).toBe(1)

      await follow('A host that dies')
      const states = async () => {
        const answer = await fetch(`http://${prometheus}/api/v1/alerts`)
        const { data } = (await answer.json()) as { data: { alerts: PrometheusAlert[] } }
        return data.alerts.map(({ labels, state }) => `${labels.alertname} ${state}`)
      }
      await expect
        .poll(states, soon)
        .toEqual(expect.arrayContaining(['HostVanishedWithTurnsRunning pending', 'TurnStale firing']))
      expect(done).toEqual(SECTIONS.map(({ title }) => title))
    },
    240_000,
  )
})

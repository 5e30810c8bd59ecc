/** The files that set up Grafana, and the compose file that has them all: every path leads to something, every configuration is taken. */

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../package-root.ts'
import { dashboards } from './dashboard.ts'

const root = packageRoot()
const compose = join(root, 'examples', 'compose')
const missing = inject('missing')

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly network_mode?: string
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

const text = readFileSync(join(compose, 'compose.yaml'), 'utf8')
const { services } = parse(text) as { services: Record<string, Service> }

function mounts(): { readonly service: string; readonly from: string; readonly to: string; readonly mode: string }[] {
  return Object.entries(services).flatMap(([service, { volumes = [] }]) =>
    volumes.map((volume) => {
      const [from = '', to = '', mode = ''] = volume.split(':')
      return { service, from: resolve(compose, from), to, mode }
    }),
  )
}

describe('the compose file', () => {
  it('says first that it has not been run', () => {
    expect(text.split('\n')[0]).toContain('Not run')
  })

  it('mounts folders that there are, to be read only: a single file would stay the old one when it is replaced', () => {
    expect(mounts().length).toBeGreaterThan(5)
    expect(mounts().filter(({ from }) => !existsSync(from) || !statSync(from).isDirectory())).toEqual([])
    expect(mounts().filter(({ mode }) => mode !== 'ro')).toEqual([])
  })

  it('takes images by their versions', () => {
    expect(Object.values(services).filter(({ image }) => !/^[\w/]+:v?\d+\.\d+\.\d+/.test(image))).toEqual([])
  })

  it('opens ports on this machine alone', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? [])
    expect(ports).toHaveLength(3)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('has all in the network of the demo, which answers on the loopback address', () => {
    const others = Object.entries(services).filter(([name]) => name !== 'demo')
    expect(others.map(([, service]) => service.network_mode)).toEqual(others.map(() => 'service:demo'))
  })

  it('gives Grafana every dashboard, where its provisioning looks', () => {
    const { providers } = parse(provisioning('dashboards')) as { providers: { options: { path: string } }[] }
    const path = providers[0]?.options.path
    const [given] = mounts().filter(({ service, to }) => service === 'grafana' && to === path)
    const read = readdirSync(given?.from ?? '', { recursive: true, encoding: 'utf8' })
    expect(read.filter((name) => name.endsWith('.json')).sort()).toEqual(dashboards().map(({ uid }) => `${uid}.json`))
    expect(text).toContain(`${path}/turnwatch-overview.json\n`)
  })

  it('has its provisioning where Grafana looks for it', () => {
    const given = mounts().filter(
      ({ service, to }) => service === 'grafana' && to.startsWith('/etc/grafana/provisioning/'),
    )
    expect(given.map(({ from, to }) => [basename(to), readdirSync(from)])).toEqual([
      ['datasources', ['turnwatch.yaml']],
      ['dashboards', ['turnwatch.yaml']],
    ])
  })

  it('gives it a data source of the kind that the dashboards choose', () => {
    const { datasources } = parse(provisioning('datasources')) as { datasources: { type: string; url: string }[] }
    expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://127.0.0.1:9090' }])
  })
})

describe.skipIf(missing.includes('prometheus') || missing.includes('prometheus-alertmanager'))(
  'its configurations',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwatch-compose-'))

    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    /** The configuration that a service is started with, its files as they stand in its container. */
    function laidOut(service: string): string {
      for (const mount of mounts().filter((one) => one.service === service)) {
        cpSync(mount.from, join(folder, mount.to), { recursive: true })
      }
      const { command = [] } = services[service] ?? {}
      return join(folder, /^--config\.file=(.+)$/m.exec(command.join('\n'))?.[1] ?? 'none')
    }

    it('are taken by Prometheus, with both rule files', () => {
      const config = laidOut('prometheus')
      const said = execFileSync('/usr/bin/promtool', ['check', 'config', config], { encoding: 'utf8' })
      expect(said).toContain('2 rule files found')
      expect(said).toMatch(/SUCCESS: \d+ rules found/)
    })

    it('are taken by Alertmanager', () => {
      const config = laidOut('alertmanager')
      expect(execFileSync('/usr/bin/amtool', ['check-config', config], { encoding: 'utf8' })).toContain('SUCCESS')
    })
  },
)

function provisioning(folder: string): string {
  return readFileSync(join(root, 'dashboards', 'provisioning', folder, 'turnwatch.yaml'), 'utf8')
}

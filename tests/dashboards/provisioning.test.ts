/** The files that set up Grafana, and the compose file that has them all: every path leads to something, every configuration is taken. */

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../package-root.ts'
import { dashboards } from './dashboard.ts'

const root = packageRoot()
const compose = join(root, 'examples', 'compose')
const missing = inject('missing')

interface Service {
  readonly image: string
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

  it('mounts files that there are, to be read only', () => {
    expect(mounts().length).toBeGreaterThan(8)
    expect(mounts().filter(({ from }) => !existsSync(from))).toEqual([])
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
    const given = mounts().filter(({ service, to }) => service === 'grafana' && dirname(to) === path)
    expect(given.map(({ to }) => basename(to)).sort()).toEqual(dashboards().map(({ uid }) => `${uid}.json`))
    expect(text).toContain(`${path}/turnwatch-overview.json\n`)
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

    /** The files of a service as they stand in its container. */
    function laidOut(service: string): string {
      for (const mount of mounts().filter((one) => one.service === service)) {
        mkdirSync(join(folder, dirname(mount.to)), { recursive: true })
        cpSync(mount.from, join(folder, mount.to))
      }
      return folder
    }

    it('are taken by Prometheus, with both rule files', () => {
      const config = join(laidOut('prometheus'), 'etc', 'prometheus', 'prometheus.yml')
      const said = execFileSync('/usr/bin/promtool', ['check', 'config', config], { encoding: 'utf8' })
      expect(said).toContain('2 rule files found')
      expect(said).toMatch(/SUCCESS: \d+ rules found/)
    })

    it('are taken by Alertmanager', () => {
      const config = join(laidOut('alertmanager'), 'etc', 'alertmanager', 'alertmanager.yml')
      expect(execFileSync('/usr/bin/amtool', ['check-config', config], { encoding: 'utf8' })).toContain('SUCCESS')
    })
  },
)

function provisioning(folder: string): string {
  return readFileSync(join(root, 'dashboards', 'provisioning', folder, 'turnwatch.yaml'), 'utf8')
}

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { serveLiveness } from '../../liveness/index.ts'
import { createTurnwatch } from '../../turnwatch.ts'
import { endProcess } from '../setup/end-process.ts'
import { exampleFolder, replaceIn, root, startPrometheus, valuesBy } from './example-prometheus.ts'

const SECRET = 'correct horse battery staple'
const soon = { timeout: 30_000, interval: 250 }

/** The example of a host, run as it is; returns where it listens. */
async function guardedHost(): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'examples/metrics-behind-bearer.ts')], {
    env: { ...process.env, METRICS_BEARER: SECRET, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => endProcess(child))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return new URL(line.replace('metrics: ', '')).host
}

describe('the host behind a bearer', () => {
  test('answers whoever has the secret, by whatever name, and nobody else', async () => {
    const host = await guardedHost()
    const ask = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`http://${host}${path}`, { headers })).status
    const authorization = `Bearer ${SECRET}`
    expect(await ask('/metrics', { authorization })).toBe(200)
    expect(await ask('/healthz', { authorization })).toBe(200)
    for (const path of ['/metrics', '/', '/healthz', '/api/prism/threads', '/nothing']) {
      expect([path, await ask(path)]).toEqual([path, 401])
      expect([path, await ask(path, { authorization: `Bearer ${SECRET}x` })]).toEqual([path, 401])
      expect([path, await ask(path, { authorization: SECRET })]).toEqual([path, 401])
    }
    // fetch does not let its caller name the host.
    const byAnotherName = get(`http://${host}/metrics`, { headers: { authorization, host: 'agents-1.example.org' } })
    const [response] = (await once(byAnotherName, 'response')) as [IncomingMessage]
    expect(await text(response)).toContain('turnwatch_turns_running{provider="demo"')
  })

  test('does not start without a secret', () => {
    const { METRICS_BEARER: _secret, ...env } = process.env
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'examples/metrics-behind-bearer.ts')], {
      env: { ...env, PORT: '0' },
      encoding: 'utf8',
    })
    expect(status).toBe(1)
    expect(stderr).toContain('METRICS_BEARER: the secret is missing')
  })
})

describe.skipIf(inject('missing').includes('prometheus'))('the scrape example', () => {
  test('is one that promtool takes, with the rules and targets that it names', async () => {
    const folder = await exampleFolder(SECRET)
    const { status, stdout, stderr } = spawnSync(
      '/usr/bin/promtool',
      ['check', 'config', join(folder, 'prometheus.yaml')],
      {
        encoding: 'utf8',
      },
    )
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('2 rule files found')
    expect(stdout).not.toContain('WARNING')
  })

  test('scrapes with the right secret, and not with a wrong one', async () => {
    const host = await guardedHost()
    const watch = createTurnwatch().start()
    onTestFinished(() => watch.stop())
    const local = await serveLiveness(watch, { port: 0 })
    onTestFinished(() => local.close())
    const folder = await exampleFolder(SECRET)
    await replaceIn(join(folder, 'prometheus.yaml'), { '127.0.0.1:9464': `127.0.0.1:${local.port}` })
    await replaceIn(join(folder, 'hosts/turnwatch.example.yaml'), {
      'agents-1.example.org:9464': host,
      'agents-2.example.org:9464': host,
    })
    const prometheus = await startPrometheus(folder)
    const up = () => valuesBy(prometheus, 'job', 'up')
    await expect.poll(up, soon).toEqual({ turnwatch: 1, 'turnwatch-fleet': 1 })
    await expect
      .poll(() => valuesBy(prometheus, 'env', 'turnwatch_build_info{job="turnwatch-fleet"}'), soon)
      .toEqual({ production: 1 })
    await writeFile(join(folder, 'turnwatch.token'), 'another')
    await expect.poll(up, soon).toEqual({ turnwatch: 1, 'turnwatch-fleet': 0 })
  })
})

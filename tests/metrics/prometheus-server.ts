/** A real Prometheus that scrapes, and may have rules, for as long as a test needs it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endProcess } from '../setup/end-process.ts'

export interface Result {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

export interface Setup {
  /** Texts of rule files by name; evaluated as often as targets are scraped. */
  readonly rules?: Readonly<Record<string, string>>
  /** Host and port of the Alertmanager that is told. */
  readonly alertmanager?: string
  /** Scrape configs instead of the one job `turnwatch`, as YAML list items without indentation. */
  readonly scrapeConfigs?: string
  /** Where samples are written to as well. */
  readonly remoteWrite?: string
  /** Between two scrapes, and how long one may take. @default '1s' */
  readonly interval?: string
  /** Labels for everything that leaves it. */
  readonly externalLabels?: Readonly<Record<string, string>>
  /**
   * How long a series without a marker stays visible. A series that is no longer scraped is gone at once by its
   * staleness marker; nothing older may stand in for it. @default '5s'
   */
  readonly lookback?: string
}

/** As `/api/v1/alerts` shows it. */
export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
  readonly activeAt: string
}

export class PrometheusServer {
  /** Without a slash at its end. */
  readonly url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url
    this.#folder = folder
    this.#process = process
  }

  /** Starts one that scrapes `http://<target>/metrics` of every target. */
  static async start(targets: string | readonly string[], setup: Setup = {}): Promise<PrometheusServer> {
    const folder = await mkdtemp(join(tmpdir(), 'turnwatch-prometheus-'))
    const config = join(folder, 'prometheus.yaml')
    await writeFile(config, configOf([targets].flat(), setup))
    for (const [name, text] of Object.entries(setup.rules ?? {})) await writeFile(join(folder, name), text)
    const port = await freePort()
    const child = spawn(
      '/usr/bin/prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        `--query.lookback-delta=${setup.lookback ?? '5s'}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    return new PrometheusServer(`http://127.0.0.1:${port}`, folder, child)
  }

  /** Pending and firing alerts; empty while Prometheus does not answer. */
  async alerts(): Promise<FiringAlert[]> {
    try {
      const response = await fetch(`${this.url}/api/v1/alerts`)
      return ((await response.json()) as { data: { alerts: FiringAlert[] } }).data.alerts
    } catch {
      return []
    }
  }

  /** The instant vector of an expression; empty while Prometheus does not answer. */
  async query(expression: string): Promise<Result[]> {
    try {
      const response = await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(expression)}`)
      const { data } = (await response.json()) as {
        data: { result: { metric: Record<string, string>; value: [number, string] }[] }
      }
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    } catch {
      return []
    }
  }

  /** The values of an expression. */
  async values(expression: string): Promise<number[]> {
    return (await this.query(expression)).map(({ value }) => value)
  }

  async stop(): Promise<void> {
    await endProcess(this.#process)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function configOf(targets: readonly string[], setup: Setup): string {
  const job = `- job_name: turnwatch
  static_configs: [{ targets: ${JSON.stringify(targets)} }]`
  return `global:
  scrape_interval: ${setup.interval ?? '1s'}
  scrape_timeout: ${setup.interval ?? '1s'}
  evaluation_interval: ${setup.interval ?? '1s'}
  external_labels: ${JSON.stringify(setup.externalLabels ?? {})}
scrape_configs:
${setup.scrapeConfigs ?? job}
rule_files: ${JSON.stringify(Object.keys(setup.rules ?? {}))}
${setup.alertmanager ? `alerting: { alertmanagers: [{ static_configs: [{ targets: ['${setup.alertmanager}'] }] }] }` : ''}
${setup.remoteWrite ? `remote_write: [{ url: '${setup.remoteWrite}', queue_config: { batch_send_deadline: 1s } }]` : ''}
`
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

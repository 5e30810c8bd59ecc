/** A real Prometheus that scrapes one target every second, and may have rules, for as long as a test needs it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Result {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

export interface Alerting {
  /** The text of a rule file; evaluated every second. */
  readonly rules: string
  /** Host and port of the Alertmanager that is told. */
  readonly alertmanager: string
}

const RULES = 'rules.yaml'

export class PrometheusServer {
  readonly #url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.#url = url
    this.#folder = folder
    this.#process = process
  }

  /** Starts one that scrapes `http://<target>/metrics`. */
  static async start(target: string, alerting?: Alerting): Promise<PrometheusServer> {
    const folder = await mkdtemp(join(tmpdir(), 'turnwatch-prometheus-'))
    const config = join(folder, 'prometheus.yaml')
    await writeFile(
      config,
      `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
scrape_configs:
  - job_name: turnwatch
    static_configs: [{ targets: ['${target}'] }]
${alerting ? alertingConfig(alerting) : ''}`,
    )
    if (alerting) await writeFile(join(folder, RULES), alerting.rules)
    const port = await freePort()
    const child = spawn(
      '/usr/bin/prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        // A series that is no longer scraped is gone at once by its staleness marker; nothing older may stand in for it.
        '--query.lookback-delta=5s',
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    return new PrometheusServer(`http://127.0.0.1:${port}`, folder, child)
  }

  /** The instant vector of an expression; empty while Prometheus does not answer. */
  async query(expression: string): Promise<Result[]> {
    try {
      const response = await fetch(`${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`)
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
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit')
      this.#process.kill()
      await exited
    }
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function alertingConfig({ alertmanager }: Alerting): string {
  return `rule_files: [${RULES}]
alerting:
  alertmanagers:
    - static_configs: [{ targets: ['${alertmanager}'] }]
`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

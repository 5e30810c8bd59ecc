/** A real VictoriaMetrics, and a vmalert that evaluates rules against it every second, for as long as a test needs them. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FiringAlert, freePort, type Result } from '../metrics/prometheus-server.ts'
import { endProcess } from '../setup/end-process.ts'

export class VictoriaMetricsServer {
  /** Without a slash at its end; also what Grafana's Prometheus data source takes. */
  readonly url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url
    this.#folder = folder
    this.#process = process
  }

  /**
   * Resolves when it answers. Single-node. A scrape arrives in parts, so that queries do not see what is younger than
   * some seconds; by default 30. Takes relabeling rules for whatever comes in.
   */
  static async start(relabeling = '[]'): Promise<VictoriaMetricsServer> {
    const folder = await mkdtemp(join(tmpdir(), 'turnwatch-victoria-metrics-'))
    const relabelConfig = join(folder, 'relabel.yaml')
    await writeFile(relabelConfig, relabeling)
    const port = await freePort()
    const child = spawn(
      '/usr/bin/victoria-metrics',
      [
        `-storageDataPath=${join(folder, 'data')}`,
        `-relabelConfig=${relabelConfig}`,
        `-httpListenAddr=127.0.0.1:${port}`,
        '-search.latencyOffset=5s',
        '-search.disableCache',
        '-retentionPeriod=100y',
        '-memory.allowedBytes=256MB',
        '-loggerLevel=ERROR',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const url = `http://127.0.0.1:${port}`
    await answers(`${url}/health`, child)
    return new VictoriaMetricsServer(url, folder, child)
  }

  /** Where Prometheus writes to. */
  get remoteWrite(): string {
    return `${this.url}/api/v1/write`
  }

  /** Takes the text of `/metrics`, or of a whole history, and gives every series these labels. */
  async push(text: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const query = Object.entries(labels).map(([name, value]) => `extra_label=${encodeURIComponent(`${name}=${value}`)}`)
    const response = await fetch(`${this.url}/api/v1/import/prometheus?${query.join('&')}`, {
      method: 'POST',
      body: text,
    })
    if (!response.ok) throw new Error(`import: ${response.status} ${await response.text()}`)
  }

  /** Makes what was pushed visible. */
  async flush(): Promise<void> {
    await fetch(`${this.url}/internal/force_flush`)
  }

  async query(expression: string, parameters: Readonly<Record<string, string>> = {}): Promise<Result[]> {
    return instantVector(this.url, expression, parameters)
  }

  /** How many series of today it has by its own count. */
  async seriesCount(selector: string): Promise<number> {
    const response = await fetch(
      `${this.url}/api/v1/status/tsdb?${new URLSearchParams({ topN: '1', 'match[]': selector })}`,
    )
    return ((await response.json()) as { data: { totalSeries: number } }).data.totalSeries
  }

  async stop(): Promise<void> {
    await endProcess(this.#process)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

export class VmAlert {
  readonly #url: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.#url = url
    this.#folder = folder
    this.#process = process
  }

  /** Evaluates the rule files against the store, writes what is recorded back into it, and tells the notifier. */
  static async start(
    store: VictoriaMetricsServer,
    rules: Readonly<Record<string, string>>,
    { notifierUrl, lookback }: { readonly notifierUrl: string; readonly lookback: string },
  ): Promise<VmAlert> {
    const folder = await mkdtemp(join(tmpdir(), 'turnwatch-vmalert-'))
    for (const [name, text] of Object.entries(rules)) await writeFile(join(folder, name), text)
    const port = await freePort()
    const child = spawn(
      '/usr/bin/vmalert',
      [
        ...Object.keys(rules).map((name) => `-rule=${join(folder, name)}`),
        `-datasource.url=${store.url}`,
        `-remoteWrite.url=${store.url}`,
        `-notifier.url=${notifierUrl}`,
        `-httpListenAddr=127.0.0.1:${port}`,
        '-evaluationInterval=1s',
        // How far back it looks for a sample that has no successor and no staleness marker; by default 5 minutes.
        `-datasource.queryStep=${lookback}`,
        '-remoteWrite.flushInterval=1s',
        // It adds the name of the group to every alert; then they would not be those of Prometheus.
        '-disableAlertgroupLabel',
        '-loggerLevel=ERROR',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const url = `http://127.0.0.1:${port}`
    await answers(`${url}/health`, child)
    return new VmAlert(url, folder, child)
  }

  async alerts(): Promise<FiringAlert[]> {
    const response = await fetch(`${this.#url}/api/v1/alerts`)
    return ((await response.json()) as { data: { alerts: FiringAlert[] } }).data.alerts
  }

  async stop(): Promise<void> {
    await endProcess(this.#process)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** The instant vector of an expression, from anything that answers as Prometheus does. Throws what it says is wrong. */
export async function instantVector(
  url: string,
  query: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Result[]> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query, ...parameters })}`)
  const answer = (await response.json()) as {
    error?: string
    data?: { result: { metric: Record<string, string>; value: [number, string] }[] }
  }
  if (answer.data === undefined) throw new Error(`${query}: ${answer.error}`)
  return answer.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    try {
      if ((await fetch(url)).ok) return
    } catch {}
    await sleep(100)
  }
}

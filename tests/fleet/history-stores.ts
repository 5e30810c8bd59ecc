/** The same history in a Prometheus and in a VictoriaMetrics: what was scraped, and what the pack records of it. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../metrics/prometheus-server.ts'
import { endProcess } from '../setup/end-process.ts'
import { BEGIN_MS, type Sample } from './history.ts'
import { recordingsFromScrapes } from './pack-expressions.ts'
import type { VictoriaMetricsServer } from './victoria-metrics-server.ts'

const LINES_AT_ONCE = 50_000

/** A Prometheus that scrapes nothing and has the history as blocks. */
export class PrometheusWithHistory {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(url: string, process: ChildProcess) {
    this.url = url
    this.#process = process
  }

  static async start(folder: string): Promise<PrometheusWithHistory> {
    const port = await freePort()
    const config = join(folder, 'prometheus.yaml')
    await writeFile(config, '{}\n')
    const child = spawn(
      '/usr/bin/prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${dataIn(folder)}`,
        '--storage.tsdb.retention.time=100y',
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const url = `http://127.0.0.1:${port}`
    const ready = () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    while (!(await ready())) {
      if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`)
      await sleep(100)
    }
    return new PrometheusWithHistory(url, child)
  }

  async stop(): Promise<void> {
    await endProcess(this.#process)
  }
}

export class History {
  /** Scraped and recorded. */
  readonly samples: readonly Sample[]
  readonly #folder: string

  private constructor(samples: readonly Sample[], folder: string) {
    this.samples = samples
    this.#folder = folder
  }

  /** Has a Prometheus evaluate the recording rules over what was scraped. */
  static async recorded(scraped: readonly Sample[]): Promise<History> {
    const folder = await mkdtemp(join(tmpdir(), 'turnwatch-history-'))
    await addBlocks(scraped, folder)
    const prometheus = await PrometheusWithHistory.start(folder)
    const recorded = await recordedSamples(prometheus.url)
    await prometheus.stop()
    await addBlocks(recorded, folder)
    return new History([...scraped, ...recorded], folder)
  }

  prometheus(): Promise<PrometheusWithHistory> {
    return PrometheusWithHistory.start(this.#folder)
  }

  async pushTo(store: VictoriaMetricsServer): Promise<void> {
    for (let from = 0; from < this.samples.length; from += LINES_AT_ONCE) {
      const part = this.samples.slice(from, from + LINES_AT_ONCE)
      await store.push(part.map(({ series, value, at }) => `${series} ${value} ${at}\n`).join(''))
    }
    await store.flush()
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function addBlocks(samples: readonly Sample[], folder: string): Promise<void> {
  const text = join(folder, 'samples.txt')
  await pipeline(Readable.from(openMetrics(samples)), createWriteStream(text))
  await promisify(execFile)('/usr/bin/promtool', ['tsdb', 'create-blocks-from', 'openmetrics', text, dataIn(folder)])
}

function* openMetrics(samples: readonly Sample[]): Generator<string> {
  for (let from = 0; from < samples.length; from += LINES_AT_ONCE) {
    const part = samples.slice(from, from + LINES_AT_ONCE)
    yield part.map(({ series, value, at }) => `${series} ${value} ${at / 1000}\n`).join('')
  }
  yield '# EOF\n'
}

/** Every 15 s, as a rule group evaluates them. */
async function recordedSamples(url: string): Promise<Sample[]> {
  const samples: Sample[] = []
  const range = { start: String(BEGIN_MS / 1000 + 5), end: String(BEGIN_MS / 1000 + 5400), step: '15' }
  for (const { name, expr } of recordingsFromScrapes()) {
    const response = await fetch(`${url}/api/v1/query_range?${new URLSearchParams({ query: expr, ...range })}`)
    const { data } = (await response.json()) as {
      data: { result: { metric: Record<string, string>; values: [number, string][] }[] }
    }
    for (const { metric, values } of data.result) {
      const { __name__, ...labels } = metric
      const series = `${name}{${Object.entries(labels)
        .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
        .join(',')}}`
      // A quantile of nothing is NaN; both stores are without it then.
      const told = values.filter(([, value]) => value !== 'NaN')
      samples.push(...told.map(([seconds, value]) => ({ series, value, at: seconds * 1000 })))
    }
  }
  return samples
}

function dataIn(folder: string): string {
  return join(folder, 'data')
}

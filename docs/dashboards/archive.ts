/** A Prometheus that serves a past: blocks made from text by promtool, without anything scraped. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../tests/metrics/prometheus-server.ts'
import { endProcess } from '../../tests/setup/end-process.ts'
import { END } from './openmetrics.ts'

const PROMETHEUS = process.env.PROMETHEUS ?? '/usr/bin/prometheus'
const PROMTOOL = process.env.PROMTOOL ?? '/usr/bin/promtool'
const START_MS = 60_000
const run = promisify(execFile)

export class Archive {
  readonly #folder: string
  #process: ChildProcess | null = null
  #files = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(): Promise<Archive> {
    return new Archive(await mkdtemp(join(tmpdir(), 'turnwatch-archive-')))
  }

  /** Adds samples as blocks; lines of OpenMetrics without its end. Not while it is served. */
  async add(lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
    const file = join(this.#folder, `${this.#files++}.om`)
    const stream = createWriteStream(file)
    for await (const text of lines) if (!stream.write(text)) await once(stream, 'drain')
    stream.end(END)
    await once(stream, 'close')
    await run(PROMTOOL, ['tsdb', 'create-blocks-from', 'openmetrics', '-q', file, join(this.#folder, 'data')])
    await rm(file)
  }

  /** Serves what it has; gives its address. */
  async serve(): Promise<string> {
    const config = join(this.#folder, 'prometheus.yaml')
    await writeFile(config, 'global: {}\n')
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    this.#process = spawn(
      PROMETHEUS,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.#folder, 'data')}`,
        '--storage.tsdb.retention.time=50y',
        // Blocks from text have no markers where a series ends, so nothing older than a scrape may stand in.
        '--query.lookback-delta=14s',
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    for (let waited = 0; waited < START_MS; waited += 100) {
      const ready = await fetch(`${url}/-/ready`).catch(() => null)
      if (ready?.ok) return url
      await sleep(100)
    }
    throw new Error('Prometheus did not start')
  }

  async close(): Promise<void> {
    if (this.#process !== null) await endProcess(this.#process)
    this.#process = null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

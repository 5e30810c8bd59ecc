/** A real Prometheus on the scrape example, in a folder laid out as the example says. */

import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freePort } from '../metrics/prometheus-server.ts'
import { endProcess } from '../setup/end-process.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))
const CONFIG = 'prometheus.yaml'

/** A folder with the example as it is, and what it refers to; gone when the test is over. */
export async function exampleFolder(secret: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwatch-operate-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(join(root, 'rules/scrape/prometheus.example.yaml'), join(folder, CONFIG))
  await cp(join(root, 'rules/scrape/hosts'), join(folder, 'hosts'), { recursive: true })
  await mkdir(join(folder, 'rules'))
  for (const file of ['turnwatch-recording.yaml', 'turnwatch-alerts.yaml']) {
    await cp(join(root, 'rules', file), join(folder, 'rules', file))
  }
  await writeFile(join(folder, 'turnwatch.token'), `${secret}\n`)
  return folder
}

/** Replaces texts in a file of the folder; one that is not there is an error. */
export async function replaceIn(file: string, texts: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(file, 'utf8')
  for (const [from, to] of Object.entries(texts)) {
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`)
    text = text.replaceAll(from, to)
  }
  await writeFile(file, text)
}

/** Starts Prometheus in the folder, scraping and evaluating every second; returns its address. */
export async function startPrometheus(folder: string): Promise<string> {
  await replaceIn(join(folder, CONFIG), { ': 15s': ': 1s' })
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(
    '/usr/bin/prometheus',
    [
      `--config.file=${join(folder, CONFIG)}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--web.enable-lifecycle',
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  onTestFinished(() => endProcess(child))
  return address
}

/** Values of an instant query by the value of a label; empty while Prometheus does not answer. */
export async function valuesBy(address: string, label: string, query: string): Promise<Record<string, number>> {
  try {
    const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`)
    const { data } = (await response.json()) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] }
    }
    return Object.fromEntries(data.result.map(({ metric, value }) => [metric[label] ?? '', Number(value[1])]))
  } catch {
    return {}
  }
}

/** A real Alertmanager with the example's own routes and inhibitions, its times divided, and every receiver one webhook. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { scaledTime } from './scaled-pack.ts'

const EXAMPLE = fileURLToPath(new URL('../../rules/alertmanager/alertmanager.example.yaml', import.meta.url))

export interface RunningAlertmanager {
  /** Host and port. */
  readonly address: string
  stop(): Promise<void>
}

export async function startAlertmanager(receiverUrl: string, divisor: number): Promise<RunningAlertmanager> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwatch-alertmanager-'))
  const config = join(folder, 'alertmanager.yaml')
  await writeFile(config, scaledConfig(await readFile(EXAMPLE, 'utf8'), receiverUrl, divisor))
  const child = spawn(
    '/usr/bin/prometheus-alertmanager',
    [
      `--config.file=${config}`,
      `--storage.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--cluster.listen-address=',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    }
    await rm(folder, { recursive: true, force: true })
  }
  return { address: await listenAddress(child), stop }
}

function scaledConfig(example: string, receiverUrl: string, divisor: number): string {
  return example
    .replace(/^( *(?:- )?url:) .*$/gm, `$1 ${receiverUrl}`)
    .replace(/^( *(?:group_wait|group_interval|repeat_interval):) (\S+)/gm, (_, key: string, time: string) => {
      return `${key} ${scaledTime(time, divisor)}`
    })
}

/** The port was free when the system gave it, so nobody else can have taken it. */
function listenAddress({ stderr }: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (stderr === null) throw new Error('stderr is no pipe')
  const said: string[] = []
  createInterface(stderr)
    .on('line', (line) => {
      said.push(line)
      const address = /msg="Listening on" address=(\S+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    .on('close', () => reject(new Error(`Alertmanager ended: ${said.join('\n')}`)))
  return promise
}

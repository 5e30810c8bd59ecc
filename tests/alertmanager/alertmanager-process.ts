/** A real Alertmanager with a configuration of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endProcess } from '../setup/end-process.ts'

export const EXAMPLE = fileURLToPath(new URL('../../rules/alertmanager/alertmanager.example.yaml', import.meta.url))

export interface AlertmanagerProcess {
  /** Host and port. */
  readonly address: string
  stop(): Promise<void>
}

/** Starts one with the project's example, changed. Resolves when it listens. */
export async function startAlertmanager(change: (example: string) => string): Promise<AlertmanagerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwatch-alertmanager-'))
  const config = join(folder, 'alertmanager.yaml')
  await writeFile(config, change(await readFile(EXAMPLE, 'utf8')))
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
    await endProcess(child)
    await rm(folder, { recursive: true, force: true })
  }
  return { address: await listenAddress(child), stop }
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

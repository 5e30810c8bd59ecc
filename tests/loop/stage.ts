/** Hosts, the demo, Prometheus with the pack, Alertmanager and the receivers of webhooks: all real, for as long as a play lasts. */

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Message } from '../../index.ts'
import { ALERTS_FILE, packFiles, RECORDING_FILE } from '../../rules/files.ts'
import { startAlertmanager } from '../alertmanager/alertmanager-process.ts'
import { PrometheusServer } from '../metrics/prometheus-server.ts'
import { endProcess } from '../setup/end-process.ts'
import { AlertLog, type Notification } from './alert-log.ts'
import { LoopHost } from './loop-host.ts'
import { scaledExample } from './scaled-example.ts'
import { scaledPack, scaledTime } from './scaled-pack.ts'
import { steadyPort } from './steady-port.ts'
import { setPatience, until } from './until.ts'
import { Webhook } from './webhook.ts'

const HOSTS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'] as const
export const DEMO = 'demo'

/** A round of it may be over before the shipped minute of TurnStale is, and may not. */
export const hasDemo = (divisor: number) => divisor > 1

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SCRAPE_S = 15
/** Longer than the longest window of the pack that anything waits for, and what a slow machine adds. */
const PATIENCE_MS = 900_000
const SLOW_MACHINE_MS = 60_000

export interface Stage {
  readonly divisor: number
  readonly hosts: Readonly<Record<(typeof HOSTS)[number], LoopHost>>
  readonly prometheus: PrometheusServer
  readonly log: AlertLog
  /** Where the notifiers of the hosts send their messages; to the pager each on a path of its own, its name. */
  readonly parents: Webhook<Message>
  readonly pager: Webhook<Message>
  stop(): Promise<void>
}

/** Resolves when all of it runs and everything is scraped. */
export async function setStage(divisor: number): Promise<Stage> {
  setPatience(SLOW_MACHINE_MS + PATIENCE_MS / divisor)
  const undo: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const one of undo.splice(0).reverse()) await one()
  }
  const kept = <T extends { stop(): Promise<void> }>(one: T): T => {
    undo.push(() => one.stop())
    return one
  }
  try {
    const parents = kept(await Webhook.start<Message>())
    const pager = kept(await Webhook.start<Message>())
    const operators = kept(await Webhook.start<Notification>())
    const alertmanager = kept(await startAlertmanager((example) => scaledExample(example, operators.url, divisor)))
    const started = await Promise.all(
      HOSTS.map(async (name) => {
        const plan = { port: await steadyPort(), parentsUrl: parents.url, pagerUrl: pager.url + name, divisor }
        return [name, kept(await LoopHost.start(name, plan))] as const
      }),
    )
    const hosts = Object.fromEntries(started) as Stage['hosts']
    const names = new Map(started.map(([name, { instance }]) => [instance, name as string]))
    if (hasDemo(divisor)) names.set(kept(await startDemo()).instance, DEMO)
    const { [RECORDING_FILE]: recording = '', [ALERTS_FILE]: alerts = '' } = packFiles(scaledPack(divisor))
    const prometheus = kept(
      await PrometheusServer.start([...names.keys()], {
        rules: { [RECORDING_FILE]: recording, [ALERTS_FILE]: alerts },
        alertmanager: alertmanager.address,
        interval: `${Math.max(1, Math.round(SCRAPE_S / divisor))}s`,
        lookback: scaledTime('5m', divisor),
      }),
    )
    const log = kept(new AlertLog(prometheus, operators, names))
    await until('everything is scraped', async () => (await prometheus.values('up == 1')).length === names.size)
    return { divisor, hosts, prometheus, log, parents, pager, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The demo as anybody starts it. */
async function startDemo(): Promise<{ instance: string; stop(): Promise<void> }> {
  const { TURNWATCH_NOTIFY: _url, TURNWATCH_NOTIFY_SECRET: _secret, ...env } = process.env
  const child = spawn(process.execPath, ['cli/main.ts', 'demo', '--port', '0'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  const instance = await until('the demo serves', () => {
    if (child.exitCode !== null) throw new Error(`the demo ended with ${child.exitCode}`)
    return /live page: http:\/\/(\S+?)\/?\n/.exec(said)?.[1]
  })
  return { instance, stop: () => endProcess(child, 'SIGKILL') }
}

/** Turns that their provider fails, and a channel of the notifier that fails. */

import { spawn } from 'node:child_process'
import { nameOf } from '../alert-log.ts'
import { CURSOR, GROK, type Scene, scraped, timing, turnStale } from '../scene.ts'
import type { Stage } from '../stage.ts'

/** The channel's path on the pager. */
const PAGER = '/delta'

const failedThread = 'sub.boss.failed'
const error = nameOf('TurnFailed', { host: 'delta', ...GROK, reason: 'provider-error' })

/** An error ends a turn. The message of it reaches the parents, and not the pager. */
export const failed: Scene = {
  name: 'failed',
  fires: [{ alert: error, toldTo: 'notes' }],
  notifies: [failedThread],
  async play(stage) {
    stage.pager.broken.add(PAGER)
    const at = await failingTurn(stage, failedThread)
    return [await timing(stage, 'failed', error, at, failedThread)]
  },
}

const againThread = 'sub.boss.failed-again'
const failing = nameOf('NotifierFailing', { host: 'delta', channel: 'pager' })
const backlog = nameOf('NotifierBacklog', { host: 'delta', channel: 'pager' })

/** Then it works again, of which the message of another turn is the first sign. */
export const notifierFailing: Scene = {
  name: 'notifier failing',
  fires: [
    { alert: failing, toldTo: 'tickets' },
    { alert: backlog, toldTo: 'tickets' },
  ],
  notifies: [againThread],
  async play(stage) {
    const { log, pager } = stage
    const { at } = await stage.hosts.delta.stale(failedThread)
    const timings = [
      await timing(stage, 'notifier failing', failing, at),
      await timing(stage, 'notifier failing', backlog, at),
    ]
    pager.broken.delete(PAGER)
    await failingTurn(stage, againThread)
    for (const alert of [error, failing, backlog]) await log.told(alert, 'resolved')
    return timings
  },
}

const deadThread = 'sub.boss.dead'
const dead = nameOf('TurnFailed', { host: 'beta', ...CURSOR, reason: 'provider-dead' })
const staleDead = turnStale('beta', CURSOR, 'provider-dead')

/** The process of an agent is killed, and its host does not end the turn. */
export const providerDead: Scene = {
  name: 'provider dead',
  fires: [
    { alert: dead, toldTo: 'notes' },
    { alert: staleDead, toldTo: 'tickets' },
  ],
  notifies: [deadThread],
  async play(stage) {
    const { log } = stage
    const { beta } = stage.hosts
    const thread = deadThread
    const agent = spawn('sleep', ['100000'], { stdio: 'ignore' })
    if (agent.pid === undefined) throw new Error('sleep has no process')
    beta.tell({ do: 'start', thread, ...CURSOR, pid: agent.pid }, { do: 'stream', thread })
    await scraped(stage, running(beta.instance, CURSOR.provider))
    agent.kill('SIGKILL')
    const since = Date.now()
    beta.tell({ do: 'hush', thread })
    await beta.stale(thread)
    const timings = [
      await timing(stage, 'provider dead', dead, since, thread),
      await timing(stage, 'provider dead', staleDead, since, thread),
    ]
    await beta.ended(thread)
    for (const alert of [dead, staleDead]) await log.told(alert, 'resolved')
    return timings
  },
}

/** Resolves when the turn has failed, with the epoch ms of that. */
async function failingTurn(stage: Stage, thread: string): Promise<number> {
  const { delta } = stage.hosts
  delta.tell({ do: 'start', thread, ...GROK }, { do: 'stream', thread })
  await scraped(stage, running(delta.instance, GROK.provider))
  delta.tell({ do: 'observe', thread, event: { kind: 'error', message: 'overloaded' } })
  delta.tell({ do: 'observe', thread, event: { kind: 'turn.ended', outcome: 'error' } })
  return (await delta.stale(thread)).at
}

function running(instance: string, provider: string): string {
  return `sum(turnwatch_turns_running{instance="${instance}", provider="${provider}"}) == 1`
}

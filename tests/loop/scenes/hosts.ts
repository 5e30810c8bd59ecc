/** What befalls hosts: one is killed, one stands still and sleeps, one is the demo. */

import { setTimeout as sleep } from 'node:timers/promises'
import { nameOf } from '../alert-log.ts'
import { HAIKU, OPENCODE, OPUS, type Scene, scraped, silence, TOKEN, timing, turnStale } from '../scene.ts'
import { DEMO } from '../stage.ts'

const doomed = 'sub.boss.doomed'
const vanished = nameOf('HostVanishedWithTurnsRunning', { host: 'gamma' })
const down = nameOf('ServerDown', { host: 'gamma' })
const stale = turnStale('gamma', OPENCODE, 'silence')

/** With turns running, of which one has just become stale. It comes back when its last word no longer stands. */
export const killed: Scene = {
  name: 'server killed',
  fires: [
    { alert: vanished, toldTo: 'pages' },
    { alert: down, toldTo: null },
    { alert: stale, toldTo: null },
  ],
  notifies: [doomed],
  async play(stage) {
    const { log } = stage
    const { gamma } = stage.hosts
    await silence(gamma, { thread: doomed, ...OPENCODE })
    await scraped(stage, `turnwatch_turns_stale{instance="${gamma.instance}", reason="silence"} == 1`)
    await gamma.kill()
    const told = await timing(stage, 'server killed', vanished, Date.now())
    for (const alert of [down, stale]) await log.fires(alert)
    await log.resolves(stale)
    await gamma.restart()
    gamma.tell({ do: 'work', thread: 'worker-gamma', ...OPUS })
    for (const alert of [down, vanished]) await log.resolves(alert)
    await log.told(vanished, 'resolved')
    return [told]
  },
}

const stopped = nameOf('DetectorStopped', { host: 'epsilon' })

/** The host answers, and does not tick. */
export const detectorStopped: Scene = {
  name: 'detector stopped',
  fires: [{ alert: stopped, toldTo: 'pages' }],
  notifies: [],
  async play(stage) {
    stage.hosts.epsilon.tell({ do: 'tick', on: false })
    return [await timing(stage, 'detector stopped', stopped, Date.now())]
  },
}

const suspended = nameOf('HostSuspended', { host: 'epsilon' })
const SLEPT_MS = 600_000
const MID_STREAM_MS = 90_000
/** Of the threshold: later than a turn that had not slept is stale, and within the 130 s for which nothing is flagged. */
const OVERDUE = 1.35

/** It ticks again after a sleep of the machine. A turn that was silent before is not flagged once it wakes. */
export const hostSuspended: Scene = {
  name: 'host suspended',
  fires: [{ alert: suspended, toldTo: 'notes' }],
  notifies: [],
  async play(stage) {
    const { log, divisor } = stage
    const { epsilon } = stage.hosts
    const thread = 'sub.boss.asleep'
    epsilon.tell({ do: 'start', thread, ...HAIKU }, { do: 'observe', thread, event: TOKEN })
    epsilon.tell({ do: 'sleep', ms: SLEPT_MS }, { do: 'tick', on: true })
    const since = Date.now()
    await sleep((OVERDUE * MID_STREAM_MS) / divisor)
    epsilon.tell({ do: 'stream', thread })
    const told = await timing(stage, 'host suspended', suspended, since)
    for (const alert of [stopped, suspended]) await log.told(alert, 'resolved')
    return [told]
  },
}

const staleInDemo = turnStale(DEMO, OPUS, 'silence')

/** Its dead child is stale until the round is over. */
export const demo: Scene = {
  name: 'demo',
  // The next round has a dead child again.
  fires: [{ alert: staleInDemo, toldTo: 'tickets', mayFireAtEnd: true }],
  notifies: [],
  async play({ log }) {
    await log.told(staleInDemo, 'firing')
    await log.resolves(staleInDemo)
    return []
  },
}

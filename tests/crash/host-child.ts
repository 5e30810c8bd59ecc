/**
 * A host in a process of its own: restores the turns of the one before, goes on with them, and is killed, or kills itself at
 * a point. The argument is its plan; without one it only loads what it needs, for the compile cache.
 */

import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../detector/observed-clock.ts'
import type { Channel } from '../../notifier/channel.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { createTurnwatch } from '../../turnwatch.ts'
import { Chance } from './chance.ts'
import { type Command, type HostPlan, type Said, SPEED, TICK_MS } from './host-plan.ts'
import { HostTurns, turnOf } from './host-turns.ts'
import { FileJournal } from './journal.ts'
import { ANY_TIME, isRefusal, mortalChannel, mortalStore, type Point, reachStatements } from './kill-points.ts'
import { socketChannel } from './socket-channel.ts'

const THRESHOLD_MS = 20 * SPEED
/** Longer than any life. */
const NEVER_MS = 86_400_000
const STORE_TIMEOUT_MS = 30_000

const [, , planned] = process.argv
if (planned === undefined) process.exit(0)
const plan = JSON.parse(planned) as HostPlan
const { write } = new FileJournal(plan.journal)
const say = (said: Said) => process.send?.(said)
let { skewMs } = plan
let isStopping = false
let left = plan.dies?.nth ?? 0

const clock: Clock = {
  monoMs: () => performance.now() * SPEED,
  wallMs: () => plan.epochMs + (Date.now() - plan.epochMs) * SPEED + skewMs,
  uptimeMs: () => null,
}

function reach(point: Point): void {
  if (point === plan.dies?.point && --left <= 0) die(point)
}

function die(at: Point | typeof ANY_TIME): void {
  write({ did: 'die', at })
  process.kill(process.pid, 'SIGKILL')
  // The signal may take a moment to arrive, in which nothing must happen.
  for (;;);
}

async function channels(): Promise<Channel[]> {
  if (!plan.byWebhook) return plan.channels.map((channel) => socketChannel(channel, plan.run))
  const { webhookChannel } = await import('../../notifier/channels/webhook.ts')
  return plan.channels.map(({ name, url }) =>
    webhookChannel({ name, url, timeoutMs: 3_600_000, headers: { 'x-run': plan.run } }),
  )
}

// The harness is gone.
process.on('disconnect', () => process.exit(3))
reachStatements()
const ways = await channels()
say('up')
const watch = createTurnwatch({
  clock,
  store: mortalStore(sqliteStore(plan.file, { busyTimeoutMs: STORE_TIMEOUT_MS }), reach, plan.sabotage),
  thresholds: { firstTokenMs: THRESHOLD_MS, midStreamMs: THRESHOLD_MS, afterToolMs: THRESHOLD_MS },
  lostAfterMs: NEVER_MS * SPEED,
  lostAfterExitMs: NEVER_MS * SPEED,
  notify: {
    ...plan.options,
    isManagedElsewhere: (threadId) => {
      write({ did: 'judge', turn: turnOf(threadId) })
      reach('at verdict')
      return false
    },
    channels: ways.map((channel) => ({ ...mortalChannel(channel, reach, write, plan.sabotage), timeoutMs: NEVER_MS })),
  },
  onError: ({ message }) => {
    if (!isRefusal(message)) console.error(`${plan.run}: ${message}`)
  },
})
const turns = new HostTurns(watch, new Chance(plan.seed), write, plan.run)
turns.restore(plan.restores)

process.on('message', (command: Command) => {
  if (command === 'stop') {
    isStopping = true
    return
  }
  skewMs = command.skewMs
  // Takes over what the other has left, before any other host may come.
  turns.tick()
  say(command)
})

for (let steps = 1; !isStopping; steps++) {
  if (steps === plan.dies?.steps) die(ANY_TIME)
  turns.tick()
  if (!plan.isLeftAlone) turns.act()
  await turn()
  await sleep(TICK_MS)
}
await watch.stop()
process.exit(0)

/**
 * A host that embeds the package: it plays recorded runs at their real pace as children of one dispatcher, one of which
 * dies, and serves the live page.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createSource } from '../../instrumentation/sources/index.ts'
import { serveLiveness } from '../../liveness/server.ts'
import type { Channel } from '../../notifier/channel.ts'
import { createTurnwatch, type TurnHandle, type Turnwatch } from '../../turnwatch.ts'
import { type Child, children, recordedStatistics } from './recordings.ts'

/** The demo's own default, so that a dead stream shows within half a minute. */
const DEFAULT_MS = 15_000
/** Long enough for its dead child to be noticed and looked at. */
const MIN_ROUND_MS = 40_000
const BETWEEN_ROUNDS_MS = 4000
/** The dispatcher is busy for so many tries of a message, so that the page shows one that waits. */
const BUSY_TRIES = 2
/** At the end nobody waits long for a message of a play. */
const CLOSE_MS = 1000

export interface DemoOptions {
  readonly port: number
  /** How long a round lasts at least, in ms; its recordings may take longer. @default 40000 */
  readonly roundMs?: number | undefined
  /** Who is told besides the dispatcher. */
  readonly channels: readonly Channel[]
  /** Takes a line of what is going on. */
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Plays round after round until the signal is aborted. */
export async function demo({ port, roundMs = MIN_ROUND_MS, channels, say, signal }: DemoOptions): Promise<void> {
  const watch = createTurnwatch({
    thresholds: { firstTokenMs: DEFAULT_MS, midStreamMs: DEFAULT_MS, afterToolMs: DEFAULT_MS },
    notify: { channels: [dispatch(say), ...channels], isManagedElsewhere: () => false, closeMs: CLOSE_MS },
  })
  const server = await serveLiveness(watch, { port })
  try {
    say(`live page: ${server.url}`)
    const learned = watch.learn(recordedStatistics())
    say(`learned once from ${learned} recorded turns; below 20 samples a default of ${DEFAULT_MS / 1000} s is in force`)
    watch.on('recovered', ({ threadId }) => say(`${threadId} went on`))
    watch.start()
    for (let round = 1; !signal.aborted; round++) await playRound(watch, { round, roundMs }, say, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await server.close()
    await watch.stop()
  }
}

/** What a host does that puts messages into the threads of its agents. */
function dispatch(say: DemoOptions['say']): Channel {
  return {
    name: 'dispatcher',
    needsParent: true,
    deliver: ({ parent, text }, { attempt }) => {
      if (attempt <= BUSY_TRIES) return 'busy'
      say(`told ${parent}: ${text}`)
      return 'delivered'
    },
  }
}

async function playRound(
  watch: Turnwatch,
  { round, roundMs }: { round: number; roundMs: number },
  say: DemoOptions['say'],
  signal: AbortSignal,
): Promise<void> {
  const dispatcher = `demo-${round}`
  const cast = children()
  const boss = watch.startTurn({ threadId: dispatcher, provider: 'demo', model: 'dispatcher' })
  boss.observe({ kind: 'token', stream: 'text' })
  say(`round ${round}: ${dispatcher} starts ${cast.map(({ name }) => name).join(', ')}`)
  const pause = sleep(roundMs, undefined, { signal })
  const plays = cast.map((child) => play(watch, child, boss, say, signal))
  await Promise.all([pause, ...plays])
  for (const { name } of cast.filter((child) => child.dies)) {
    say(`round ${round}: ${dispatcher} gives ${name} up`)
    watch.observe(threadOf(boss, name), { kind: 'turn.ended', outcome: 'aborted' })
    boss.observe({ kind: 'wait.ended', id: name })
  }
  boss.observe({ kind: 'token', stream: 'text' })
  boss.observe({ kind: 'turn.ended', outcome: 'completed' })
  await sleep(BETWEEN_ROUNDS_MS, undefined, { signal })
}

/** Plays one recording, event by event, at the pace it was recorded. */
async function play(watch: Turnwatch, child: Child, boss: TurnHandle, say: DemoOptions['say'], signal: AbortSignal) {
  const { name, trace, dies } = child
  const thread = threadOf(boss, name)
  const source = createSource(trace.source, { thread, parent: boss.threadId, onUnclassified: watch.unclassified })
  boss.observe({ kind: 'wait.started', id: name, reason: 'subagent' })
  const startedAt = performance.now()
  for (const line of trace.lines) {
    const due = startedAt + line.t - performance.now()
    if (due > 1) await sleep(due, undefined, { signal })
    source.read(line.event, watch.observe, line.direction)
  }
  if (dies) {
    say(`${thread}: its stream has died, which nothing but silence tells`)
    return
  }
  say(`${thread} completed`)
  boss.observe({ kind: 'wait.ended', id: name })
}

function threadOf(boss: TurnHandle, name: string): string {
  return `sub.${boss.threadId}.${name}`
}

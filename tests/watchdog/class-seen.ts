/** The class of an event as deadlines show it: what a stream waits for that says it, and then nothing. */

import { StreamFailedError, StreamStalledError, type WatchOptions, watchStream } from '../../detector/watchdog/index.ts'
import { pushed, type Reading, reading } from './scripted.ts'
import { VirtualClock } from './virtual-clock.ts'

/** A deadline for each class, so that the one which runs out names it. */
const DEADLINES = { firstContentMs: 100, contentIntervalMs: 200, drainMs: 300 }

/** Tools stop no clock, unless the options say so. `failed` is a terminal event that says so. */
export type Seen = 'neutral' | 'content' | 'terminal' | 'failed' | 'silence stands still'

/** The class of each of these events, every one of them in a stream of its own. */
export async function classesSeen(events: readonly unknown[], options: WatchOptions): Promise<Seen[]> {
  const clock = new VirtualClock()
  const readings = events.map((event) => {
    const { stream } = pushed(clock, [
      [0, event],
      [0, 'hang'],
    ])
    return reading(clock, watchStream(stream, { ...DEADLINES, pauseDuringTools: false, ...options, clock }))
  })
  await clock.advance(1000)
  return readings.map(seen)
}

export async function classSeen(event: unknown, options: WatchOptions): Promise<Seen> {
  const [is] = await classesSeen([event], options)
  return is as Seen
}

function seen({ outcome, events }: Reading): Seen {
  if (events.length !== 1) throw new Error('the event was not delivered')
  if (outcome === undefined) return 'silence stands still'
  if (outcome === 'done') return 'terminal'
  if (outcome instanceof StreamFailedError) return 'failed'
  if (!(outcome instanceof StreamStalledError)) throw outcome
  if (outcome.phase === 'first_content') return 'neutral'
  if (outcome.phase === 'between_content') return 'content'
  throw outcome
}

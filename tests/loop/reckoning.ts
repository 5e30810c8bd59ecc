/** What a play has brought about against what its scenes say, line by line, so that the two can be compared as they are. */

import type { Expected } from './scene.ts'
import { tracks } from './scenes.ts'
import type { Stage } from './stage.ts'

/** Sorted, each once. */
export interface Reckoning {
  /** Every alert that fired at any time. */
  readonly fired: readonly string[]
  /** What Alertmanager told, with the receiver. */
  readonly told: readonly string[]
  /** The same of their ends; of those that may fire at the end, nothing. */
  readonly toldEnds: readonly string[]
  /** Threads of whose turns the notifiers told, as often as they did. */
  readonly notified: readonly string[]
}

export function expected(divisor: number): Reckoning {
  const scenes = tracks(divisor).flat()
  const alerts = scenes.flatMap(({ fires }) => fires)
  const told = alerts.filter(({ toldTo }) => toldTo !== null)
  const line = ({ alert, toldTo }: Expected) => `${alert} to ${toldTo}`
  return {
    fired: sorted(alerts.map(({ alert }) => alert)),
    told: sorted(told.map(line)),
    toldEnds: sorted(told.filter(({ mayFireAtEnd }) => !mayFireAtEnd).map(line)),
    notified: scenes.flatMap(({ notifies }) => notifies).sort(),
  }
}

export async function reckoned({ divisor, log, parents }: Stage): Promise<Reckoning> {
  const alerts = tracks(divisor).flatMap((track) => track.flatMap(({ fires }) => fires))
  const mayFire = new Set(alerts.filter(({ mayFireAtEnd }) => mayFireAtEnd).map(({ alert }) => alert))
  const tellings = log.tellings()
  const told = (status: 'firing' | 'resolved') => tellings.filter((one) => one.status === status)
  return {
    fired: await log.everFired(),
    told: sorted(told('firing').map(({ alert, receiver }) => `${alert} to ${receiver}`)),
    toldEnds: sorted(
      told('resolved')
        .filter(({ alert }) => !mayFire.has(alert))
        .map(({ alert, receiver }) => `${alert} to ${receiver}`),
    ),
    notified: parents.posts.map(({ body }) => body.thread).sort(),
  }
}

function sorted(lines: readonly string[]): string[] {
  return [...new Set(lines)].sort()
}

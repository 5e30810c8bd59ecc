/** A clock that moves when a test moves it, and a watch that ticks with it. */

import type { Clock } from '../../detector/observed-clock.ts'
import { createTurnwatch, type Turnwatch } from '../../turnwatch.ts'
import type { TurnwatchOptions } from '../../turnwatch-options.ts'

class ManualClock implements Clock {
  mono = 1000
  wall = Date.parse('2026-01-05T08:00:00.000Z')

  monoMs(): number {
    return this.mono
  }

  wallMs(): number {
    return this.wall
  }

  uptimeMs(): number {
    return this.mono
  }

  advance(ms: number): void {
    this.mono += ms
    this.wall += ms
  }
}

export interface Fixture {
  readonly clock: ManualClock
  readonly watch: Turnwatch
  /** Lets seconds pass, with a tick in each. */
  pass(seconds: number): void
}

export function fixture(options: TurnwatchOptions = {}): Fixture {
  const clock = new ManualClock()
  const watch = createTurnwatch({ ...options, clock })
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1000)
      watch.tick()
    }
  }
  pass(3)
  return { clock, watch, pass }
}

/** The clocks of this machine. */

import { uptime } from 'node:os'
import type { Clock } from './detector/observed-clock.ts'

export function systemClock(platform: NodeJS.Platform = process.platform): Clock {
  const { performance } = globalThis
  return {
    monoMs: () => performance.now(),
    wallMs: () => Date.now(),
    // Elsewhere the monotonic clock itself goes on in sleep, and uptime has steps of a second.
    uptimeMs: platform === 'linux' ? () => uptime() * 1000 : () => null,
  }
}

/** The clocks of the machine that this runs on, in any runtime. */

import type { Clock } from './observed-clock.ts'

export function systemClock(): Clock {
  const { performance } = globalThis
  return { monoMs: () => performance.now(), wallMs: () => Date.now(), uptimeMs: uptimeClock() }
}

function uptimeClock(): () => number | null {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> }
  // Elsewhere the monotonic clock itself goes on in sleep, and uptime has steps of a second. Deno asks its user first.
  if (process?.platform !== 'linux' || 'Deno' in globalThis) return () => null
  return () => {
    try {
      const seconds = process.getBuiltinModule?.('node:os')?.uptime()
      return seconds === undefined ? null : seconds * 1000
    } catch {
      // A runtime that only looks like Node.
      return null
    }
  }
}

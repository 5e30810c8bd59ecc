/** Waits for what another process does. */

import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 100
/** By the divisor of the stage; nothing here waits for longer than the longest window of the pack. */
let patienceMs = 120_000

/** How long anything may take from here on. */
export function setPatience(ms: number): void {
  patienceMs = ms
}

/** Until there is an answer that is not undefined or false. Throws what was waited for when it takes too long. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    const answer = await look()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > giveUpAt) throw new Error(`waited ${patienceMs / 1000} s in vain: ${what}`)
    await sleep(LOOK_MS)
  }
}

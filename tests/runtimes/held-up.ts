/** A loop that is blocked for longer than a deadline: the stream was not silent, it was not read. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { delta, type Reading, readAll, served, wait } from './small-streams.ts'

const DEADLINE_MS = 150
const BLOCK_MS = 500

/** What comes next does so after the deadline, and before the loop is free. */
export async function aBlockedLoop(): Promise<Reading> {
  for (let rounds = 1 << 22; ; ) {
    const { stream } = served(
      [
        [0, delta('a')],
        [DEADLINE_MS * 1.3, delta('b')],
      ],
      'closes',
    )
    const read = readAll(watchStream(stream, { contentIntervalMs: DEADLINE_MS }))
    const blockedMs = await lengthOf(() => spin(rounds))
    const reading = await read
    if (blockedMs >= BLOCK_MS) return reading
    rounds *= Math.min(16, (1.3 * BLOCK_MS) / blockedMs)
  }
}

/** The length of work, told from outside of it: the clock of a worker stands still while it works. */
async function lengthOf(work: () => unknown): Promise<number> {
  await wait(0)
  const startedAt = performance.now()
  work()
  await wait(0)
  return performance.now() - startedAt
}

function spin(rounds: number): number {
  let sum = 0
  for (let round = 0; round < rounds; round++) sum = (sum * 31 + round) % 65_537
  return sum
}

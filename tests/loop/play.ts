/**
 * Plays every scene and prints how long each alert took. `node tests/loop/play.ts --divisor 1` plays with the pack exactly
 * as it is shipped, which takes half an hour, and fails when an alert is missing or one too many.
 */

import { deepEqual } from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { expected, reckoned } from './reckoning.ts'
import type { Timing } from './scene.ts'
import { tracks } from './scenes.ts'
import { type Stage, setStage } from './stage.ts'
import { timingTable } from './timing-table.ts'

/** Of the times of the pack, of Alertmanager's example and of the hosts; the longest of them is then under a minute. */
export const QUICK = 12

/** Resolves when every scene is over, with how long its alerts took. */
export async function playScenes(stage: Stage): Promise<Timing[]> {
  const timings = await Promise.all(
    tracks(stage.divisor).map(async (track) => {
      const ofTrack: Timing[] = []
      for (const scene of track) ofTrack.push(...(await scene.play(stage)))
      return ofTrack
    }),
  )
  return timings.flat()
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { divisor: { type: 'string', default: `${QUICK}` } } })
  const divisor = Number(values.divisor)
  if (!(divisor >= 1)) throw new RangeError(`--divisor ${values.divisor}: a number from 1 up`)
  const stage = await setStage(divisor)
  try {
    console.log(timingTable(await playScenes(stage)))
    deepEqual(await reckoned(stage), expected(divisor))
  } finally {
    await stage.stop()
  }
}

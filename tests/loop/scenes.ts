/** Every scene, in tracks: scenes of one track follow one another, tracks go on at the same time and touch no turn of another. */

import type { Scene } from './scene.ts'
import { failed, notifierFailing, providerDead } from './scenes/failures.ts'
import { demo, detectorStopped, hostSuspended, killed } from './scenes/hosts.ts'
import { providerWide, recovered, stalled } from './scenes/stalls.ts'
import { healthy, slow } from './scenes/work.ts'
import { hasDemo } from './stage.ts'

export function tracks(divisor: number): readonly (readonly Scene[])[] {
  return [
    [healthy, slow],
    [stalled, recovered],
    [providerWide],
    [failed, notifierFailing],
    [providerDead],
    [killed],
    [detectorStopped, hostSuspended],
    hasDemo(divisor) ? [demo] : [],
  ]
}

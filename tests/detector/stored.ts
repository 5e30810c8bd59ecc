/** What a store holds: samples and extras of one key, as far as a test says nothing else. */

import type { StoredExtras } from '../../detector/sample-store.ts'
import type { Sample } from '../../instrumentation/turn-stats.ts'

const KEY = { provider: 'codex', model: 'm', phase: 'mid-stream' } as const

export function sample(id: string, silenceMs = 1000, fields: Partial<Sample> = {}): Sample {
  return { id, ...KEY, silenceMs, ...fields }
}

export function extras(fields: Partial<StoredExtras> = {}): StoredExtras {
  return { ...KEY, largestEverMs: 0, censored: 0, quarantineMs: null, quarantineTurnsLeft: 0, ...fields }
}

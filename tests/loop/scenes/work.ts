/** Turns that do well, and turns that are slow: nobody is told of either. */

import { nameOf } from '../alert-log.ts'
import { CODEX, HAIKU, OPUS, type Scene, TOKEN } from '../scene.ts'

/** Of the threshold; stale is 1.25. */
const SLOW = 1.12
const FIRST_TOKEN_MS = 120_000
const MID_STREAM_MS = 90_000
const LITTLE_MS = 1000

/** Every host works until the end. One of them meets an event that no source knows. */
export const healthy: Scene = {
  name: 'healthy',
  fires: [
    {
      alert: nameOf('UnclassifiedEvents', { host: 'alpha', source: 'claude-stream-json', type: 'brand_new_event' }),
      toldTo: 'notes',
      mayFireAtEnd: true,
    },
  ],
  notifies: [],
  async play({ hosts }) {
    for (const host of Object.values(hosts)) host.tell({ do: 'work', thread: `worker-${host.name}`, ...OPUS })
    hosts.alpha.tell({ do: 'work', thread: 'worker-codex', ...CODEX }, { do: 'stumble' })
    return []
  },
}

/** Beyond its threshold and short of 1.25 of it, once before the first token and once after it. */
export const slow: Scene = {
  name: 'slow',
  fires: [],
  notifies: [],
  async play({ hosts: { alpha }, divisor }) {
    const threads = { first: 'sub.boss.slow-to-begin', middle: 'sub.boss.slow-to-go-on' }
    const silences = { first: (SLOW * FIRST_TOKEN_MS) / divisor, middle: (SLOW * MID_STREAM_MS) / divisor }
    alpha.tell({ do: 'start', thread: threads.first, ...HAIKU })
    alpha.tell(
      { do: 'start', thread: threads.middle, ...HAIKU },
      { do: 'observe', thread: threads.middle, event: TOKEN },
    )
    for (const which of ['first', 'middle'] as const) {
      const thread = threads[which]
      const inMs = silences[which]
      const end = { kind: 'turn.ended', outcome: 'completed' } as const
      alpha.tell({ do: 'observe', thread, event: TOKEN, inMs })
      alpha.tell({ do: 'observe', thread, event: end, inMs: inMs + LITTLE_MS })
    }
    await Promise.all([alpha.ended(threads.first), alpha.ended(threads.middle)])
    return []
  },
}

/** What the hosts do when the scenes are over, so that every panel of the dashboards has something to show. */

import { CODEX, OPUS, SONNET, scraped, silence, TOKEN } from './scene.ts'
import type { Stage } from './stage.ts'

/** The thread that is stale at the end. */
export const STALE_THREAD = 'sub.boss.stale'

/** Resolves when all of it is scraped. */
export async function encore(stage: Stage): Promise<void> {
  const { alpha } = stage.hosts
  const [tool, asks, stops] = ['sub.boss.tool', 'sub.boss.asks', 'sub.boss.stops']
  alpha.tell({ do: 'start', thread: tool, ...OPUS })
  alpha.tell({ do: 'observe', thread: tool, event: { kind: 'tool.started', id: 'tool', name: 'Bash' } })
  alpha.tell({ do: 'start', thread: asks, ...CODEX })
  alpha.tell({ do: 'observe', thread: asks, event: { kind: 'wait.started', id: 'wait', reason: 'approval' } })
  alpha.tell({ do: 'start', thread: stops, ...OPUS }, { do: 'stream', thread: stops })
  alpha.tell({ do: 'observe', thread: stops, event: { kind: 'interrupt.requested' } })
  alpha.tell({ do: 'observe', thread: 'sub.boss.queued', event: { kind: 'turn.requested' } })
  alpha.tell({ do: 'observe', thread: tool, event: TOKEN })
  await silence(alpha, { thread: STALE_THREAD, ...SONNET })
  await scraped(stage, `turnwatch_thread_stale{instance="${alpha.instance}", thread="${STALE_THREAD}"} == 1`)
}

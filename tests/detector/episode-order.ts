/** The order that the verdicts of a turn must have, checked while they come. */

import { expect } from 'vitest'
import { CONFIRM } from '../../detector/thresholds.ts'
import type { Verdict } from '../../detector/verdict.ts'
import type { WatchedHost } from './watched-host.ts'

/**
 * In each turn: stale, then at most one recovery, and so on, with episodes that count up. By thread, because a turn that
 * the wire names late changes its id.
 */
export function watchEpisodes({ watch }: WatchedHost): void {
  const open = new Map<string, number>()
  const count = new Map<string, number>()
  const check = ({ threadId, verdict, episode, silenceMs, thresholdMs, reason, open: what }: Verdict) => {
    if (verdict === 'recovered') {
      expect(open.get(threadId)).toBe(episode)
      open.delete(threadId)
      return
    }
    expect(open.has(threadId)).toBe(false)
    if (verdict === 'suspect') expect(silenceMs).toBeGreaterThan(thresholdMs)
    else {
      if (reason === 'silence') expect(silenceMs).toBeGreaterThan(thresholdMs * CONFIRM)
      expect(episode).toBe((count.get(threadId) ?? 0) + 1)
      open.set(threadId, episode)
      count.set(threadId, episode)
    }
    if (reason === 'silence') expect([null, 'background', 'wakeup', 'subagent']).toContain(what)
  }
  watch.on('suspect', check)
  watch.on('stale', check)
  watch.on('recovered', check)
  watch.on('turn-ended', ({ stats }) => {
    open.delete(stats.threadId)
    count.delete(stats.threadId)
  })
}

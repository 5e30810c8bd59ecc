/** A message as the webhook and Alertmanager get it. */

import type { Message } from '../../notifier/message.ts'

export const KEY = 'stale/sub.boss.one/turn-1/1'

export const MESSAGE: Message = {
  verdict: 'stale',
  key: KEY,
  thread: 'sub.boss.one',
  turn: 'turn-1',
  parent: 'boss',
  provider: 'claudeAgent',
  model: 'claude-opus-4-6',
  reason: 'silence',
  phase: 'mid-stream',
  lastEventAt: '2026-11-30T12:00:00.000Z',
  lastEventKind: 'token',
  silenceMs: 113_000,
  thresholdMs: 90_000,
  thresholdSource: 'default',
  text: 'Child thread sub.boss.one has been silent for 113 s – “stale”.',
}

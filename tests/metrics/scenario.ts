/** Everything that metrics can tell, on the virtual clock: one watch with turns in every state and ends of every kind. */

import { DeliveryFailed } from '../../notifier/channel.ts'
import { type Fixture, fixture } from '../liveness/manual-clock.ts'

const CODEX = { provider: 'codex', model: 'gpt-5.2-codex' }
const CLAUDE = { provider: 'claudeAgent', model: 'claude-opus-4-5[1m]' }
const TOKEN = { kind: 'token', stream: 'text' } as const

const USAGE = {
  inputTokens: 12,
  outputTokens: 42,
  cacheReadTokens: 20_000,
  cacheWriteTokens: 300,
  cacheWriteByTtl: { '5m': 100, '1h': 150 },
}

/** Label values as bad as a host or a wire can make them, each of which stays apart from the others. */
export const HOSTILE: readonly string[] = [
  '',
  ' ',
  '"\\\n\r\t\u0000\u2028{}=,#🦀\ud800 <img>',
  '\\',
  '\\n',
  'a\nb',
  'ab',
  'a\u0000b',
  'half \ud800',
  'half \udfff',
  'half \ufffd',
  `${'x'.repeat(10_000)}a`,
  `${'x'.repeat(10_000)}b`,
  '思考中、ожидание, انتظار',
  '__proto__',
  'constructor',
  'toString',
  'claude-opus-4-5[1m]',
  'sub.sub.sub.sub.a.b.c.d',
  '+Inf',
  'NaN',
  'a="b",c',
  '} 1\n# EOF',
]

/** A store that cannot be read. */
const BROKEN = {
  load: () => {
    throw new Error('disk on fire')
  },
  save: () => {},
}

/** More threads than have series. */
const CROWD = 520

/** A watch on which all of it has happened. Nothing moves any more unless a test moves it. */
export async function everything(): Promise<Fixture> {
  const at = fixture({
    onError: () => {},
    store: BROKEN,
    runningThreads: () => ['unsettled'],
    notify: {
      channels: [
        () => {},
        {
          name: '__proto__',
          deliver: () => {
            throw new DeliveryFailed('server_error', 'no')
          },
        },
      ],
    },
  })
  const { watch, clock, pass } = at
  const start = (threadId: string, of = CODEX) => watch.startTurn({ threadId, turnId: `turn of ${threadId}`, ...of })
  watch.on('suspect', () => {
    throw new Error('a listener that is broken')
  })
  start('sub.boss.lost', CLAUDE).observe({ kind: 'exit', code: 1 })
  pass(70)
  start('sub.boss.stale').observe(TOKEN)
  start('sub.boss.recovers').observe(TOKEN)
  start('sub.boss.fails').observe({ kind: 'error', message: 'overloaded' })
  pass(115)
  watch.observe('sub.boss.recovers', TOKEN)
  // The machine sleeps for an hour.
  clock.advance(3_600_000)
  pass(3)
  start('suspect', CLAUDE).observe(TOKEN)
  pass(200)
  start('suspect by now', CLAUDE).observe(TOKEN)
  pass(100)
  start('sub.boss.dead', CLAUDE).observe({ kind: 'exit', code: 1 })
  start('busy', CLAUDE).observe(TOKEN)
  start('tool', CLAUDE).observe({ kind: 'tool.started', id: 'call', name: 'Bash' })
  start('asks', CLAUDE).observe({ kind: 'wait.started', id: 'ask', reason: 'approval' })
  start('asked to stop', CLAUDE).observe({ kind: 'interrupt.requested' })
  watch.observe('requested', { kind: 'turn.requested' })
  for (const outcome of ['completed', 'incomplete', 'aborted', 'error'] as const) {
    const turn = start(outcome === 'completed' ? 'unsettled' : outcome, CLAUDE)
    turn.observe(TOKEN)
    pass(2)
    turn.observe({ kind: 'turn.ended', outcome, usage: USAGE })
    turn.observe(TOKEN)
  }
  for (const value of HOSTILE) {
    watch.startTurn({ threadId: value, turnId: value, provider: value, model: value, parentThreadId: value })
    watch.unclassified(value, value)
    watch.streamStarted(value)
  }
  watch.streamStarted('openai-responses')
  watch.streamStalled('openai-responses', 'first_content')
  watch.streamRetried('openai-responses', 'content')
  for (let i = 0; i < CROWD; i++) start(`one of many ${i}`, CLAUDE).observe({ kind: 'tool.started', id: `call ${i}` })
  await delivered(at)
  return at
}

/** Lets the messages arrive or fail, as far as they do without time. */
async function delivered({ watch }: Fixture): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  const tries = watch.metrics().find(({ name }) => name === 'turnwatch_notifications_failed_total')
  if (!tries?.points.some((point) => 'value' in point && point.value > 0)) throw new Error('no message has failed yet')
}

/** A host in thirty lines: two children of one boss, one of which falls silent. Run it with `node examples/embed.ts`. */

// In a project of your own: from 'turnwatch'.
import { createTurnwatch } from '../index.ts'

const watch = createTurnwatch({
  thresholds: { firstTokenMs: 3000, midStreamMs: 2000, afterToolMs: 2000 },
  notify: ({ parent, text }) => console.log(`to ${parent}: ${text}`),
}).start()

const good = watch.startTurn({ threadId: 'sub.boss.good', provider: 'demo' })
const bad = watch.startTurn({ threadId: 'sub.boss.bad', provider: 'demo' })
bad.observe({ kind: 'token', stream: 'text' })

const stream = setInterval(() => good.observe({ kind: 'token', stream: 'text' }), 500)

watch.on('stale', async ({ threadId, silenceMs }) => {
  console.log(`${threadId} has been silent for ${silenceMs} ms`)
  clearInterval(stream)
  good.observe({ kind: 'turn.ended', outcome: 'completed' })
  bad.observe({ kind: 'turn.ended', outcome: 'aborted' })
  await watch.stop()
})

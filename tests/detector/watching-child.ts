/**
 * A host of its own process, for tests that stop it: watches the turn `t`, gives it a token for each line on stdin, and
 * prints every verdict. Arguments: the threshold in ms.
 */

import { createInterface } from 'node:readline'
import { createTurnwatch } from '../../turnwatch.ts'

const thresholdMs = Number(process.argv[2])
const watch = createTurnwatch({
  thresholds: { firstTokenMs: thresholdMs, midStreamMs: thresholdMs, afterToolMs: thresholdMs },
})
for (const name of ['suspect', 'stale', 'recovered'] as const) {
  watch.on(name, ({ verdict, silenceMs }) => console.log(JSON.stringify({ verdict, silenceMs })))
}
const turn = watch.startTurn({ threadId: 't', turnId: 't', provider: 'codex' })
const keepAlive = setInterval(() => {}, 1000)
createInterface({ input: process.stdin })
  .on('line', () => turn.observe({ kind: 'token', stream: 'text' }))
  .on('close', () => {
    const { ticks, lateTicks, suspends, holds } = watch.self
    console.log(JSON.stringify({ ticks, lateTicks, suspends, holds }))
    clearInterval(keepAlive)
  })
watch.start()
console.log('up')

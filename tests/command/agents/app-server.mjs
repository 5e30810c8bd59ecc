// A `codex app-server` that asks for an approval and, once it has a reply, says nothing more.

import { once } from 'node:events'
import { writeSync } from 'node:fs'

const print = (message) => writeSync(1, `${JSON.stringify(message)}\n`)
const of = { threadId: 'thread-1', turnId: 'turn-1' }

print({ method: 'thread/started', params: { thread: { id: of.threadId } } })
print({
  method: 'turn/started',
  params: { threadId: of.threadId, turn: { id: of.turnId, items: [], status: 'inProgress' } },
})
print({ method: 'item/agentMessage/delta', params: { ...of, itemId: 'item-1', delta: 'May I?' } })
print({ id: 7, method: 'item/commandExecution/requestApproval', params: { ...of, itemId: 'item-2' } })
await once(process.stdin, 'data')
writeSync(2, 'replied\n')
process.stdin.resume()
await once(process.stdin, 'end')
process.exit(0)

/**
 * A provider of its own process, which nothing that blocks its client holds up: prints its port. `/ticking?ms=` sends a
 * word every 20 ms for so long, and ends well; `/dead` sends five and nothing more; `/closed` tells how many of those were
 * closed by who read them.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as passes } from 'node:timers/promises'

const EVERY_MS = 20
let closed = 0

const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
const word = (n: number) => event({ type: 'response.output_text.delta', item_id: 'm', delta: `${n}` })

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider')
  if (pathname === '/closed') return void response.end(String(closed))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (pathname === '/dead') {
    for (let n = 0; n < 5; n++) response.write(word(n))
    response.on('close', () => closed++)
    return
  }
  const end = performance.now() + Number(searchParams.get('ms'))
  for (let n = 0; performance.now() < end && !response.closed; n++) {
    response.write(word(n))
    await passes(EVERY_MS)
  }
  response.end(event({ type: 'response.completed', response: { id: 'r', status: 'completed' } }))
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))

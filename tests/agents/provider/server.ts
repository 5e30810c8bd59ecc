/** The scripted provider: it listens on loopback only, plays a scene in the wire format it is asked in, and logs what it did. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { anthropic } from './anthropic.ts'
import { chat } from './chat.ts'
import { type Entry, ProviderLog } from './log.ts'
import { Playing } from './playing.ts'
import { responses } from './responses.ts'
import type { Answer, Scene } from './scene.ts'
import type { Asked, Wire } from './wire.ts'

const WIRES: readonly Wire[] = [anthropic, responses, chat]

export interface Provider extends AsyncDisposable {
  /** Without a path. */
  readonly url: string
  readonly log: ProviderLog
}

export async function startProvider(scene: Scene, hears?: (entry: Entry) => void): Promise<Provider> {
  const log = new ProviderLog(hears)
  let calls = 0
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://provider').pathname
    const wire = WIRES.find((one) => path.endsWith(one.path))
    const asked = request.method === 'POST' && wire ? ((await json(request)) as Partial<Asked>) : undefined
    // A call that offers no tools asks for a title or the like, and is no part of the scene.
    if (wire === undefined || asked === undefined || !asked.tools?.length) return answerOther(request, response, log)
    const nth = calls++
    log.add('asked', nth, `${request.method} ${path}`)
    const answer = (scene[Math.min(nth, scene.length - 1)] ?? scene[0]) as Answer
    await new Playing(wire, asked as Asked, nth, response, log).play(answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function answerOther(request: IncomingMessage, response: ServerResponse, log: ProviderLog): void {
  log.add('other', -1, `${request.method} ${request.url}`)
  request.resume()
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error": {"message": "not in this scene"}}')
}

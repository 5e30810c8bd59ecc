/** The rest of the world, as agents see it: a proxy on loopback that notes what they want from it and gives nothing. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Outside extends AsyncDisposable {
  /** What makes a program go through here for everything but loopback. */
  readonly env: Readonly<Record<string, string>>
  /** Hosts that agents tried to reach, in order. */
  readonly wanted: string[]
}

export async function startOutside(): Promise<Outside> {
  const wanted: string[] = []
  const server = createServer((request, response) => {
    wanted.push(request.url ?? '')
    response.writeHead(502).end()
  })
  server.on('connect', (request, socket) => {
    wanted.push(request.url ?? '')
    // An agent that gives up may close it first.
    socket.on('error', () => {})
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const variables = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: '127.0.0.1,localhost' }
  const lowerCase = Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value])
  return {
    env: { ...variables, ...Object.fromEntries(lowerCase) },
    wanted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

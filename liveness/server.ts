/** Serves the liveness room on a port of this machine. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type LivenessOptions, type LivenessWatch, livenessApp } from './app.ts'

export interface ServeOptions extends LivenessOptions {
  /** 0 takes any free one. */
  readonly port: number
  /** 127.0.0.1, ::1 or localhost (which is 127.0.0.1). @default '127.0.0.1' */
  readonly host?: string
  /** Whether the process may end while this serves, open connections included. @default false */
  readonly unref?: boolean
}

export interface LivenessServer {
  /** Without a slash at its end. */
  readonly url: string
  readonly port: number
  /** Ends every connection, idle ones at once and others within a second, and frees the port. */
  close(): Promise<void>
}

/** Addresses by the host that was asked for. Anything else is refused until there are tokens. */
const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ['127.0.0.1', '127.0.0.1'],
  ['localhost', '127.0.0.1'],
  ['::1', '::1'],
  ['[::1]', '::1'],
])

/** How long answers under way may take when the server closes. */
const CLOSE_MS = 1000

/**
 * Resolves when the port is bound. Rejects with RangeError for a host that is not loopback or a bad port, and with
 * Node's own error, such as EADDRINUSE, when the port cannot be had.
 */
export async function serveLiveness(watch: LivenessWatch, options: ServeOptions): Promise<LivenessServer> {
  const { port, host = '127.0.0.1' } = options
  const address = LOOPBACK.get(host)
  if (address === undefined) {
    throw new RangeError(
      `host: ${JSON.stringify(host)} is none of 127.0.0.1, ::1 and localhost; without tokens only this machine is served`,
    )
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new RangeError(`port: ${JSON.stringify(port)} is not a whole number from 0 to 65535`)
  }
  const app = livenessApp(watch, options)
  const server = createServer(getRequestListener(app.fetch, { hostname: address, overrideGlobalObjects: false }))
  // A connection that a browser keeps open would hold the process as the listening socket does.
  if (options.unref) server.on('connection', (socket) => socket.unref())
  server.listen(port, address)
  await once(server, 'listening')
  // A connection that cannot be accepted is the client's loss; without a listener it would end the process.
  server.on('error', () => {})
  if (options.unref) server.unref()
  const bound = (server.address() as AddressInfo).port
  let closed: Promise<void> | null = null
  return {
    url: `http://${address === '::1' ? '[::1]' : address}:${bound}`,
    port: bound,
    close: () => {
      closed ??= closeServer(server)
      return closed
    },
  }
}

async function closeServer(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS)
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await closed
  clearTimeout(timer)
}

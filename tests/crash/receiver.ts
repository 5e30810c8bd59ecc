/** What messages are sent to: an HTTP server that takes most, is slow with some, and answers others with an error or a reset. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Message } from '../../notifier/message.ts'
import { type Answer, keysOf } from './kill-points.ts'
import type { Receipt } from './ledger.ts'

const SLOW_MS = 60

/** Decides what becomes of a request. */
export type Take = (request: Omit<Receipt, 'isTaken'>) => Answer

export class Receiver {
  readonly #server = createServer((request, response) => void this.#take(request, response))
  /** By the store whose messages they are. */
  readonly #takers = new Map<string, Take>()

  async listen(): Promise<void> {
    // A connection that is closed while a request is on its way is a failure that nobody has planned.
    this.#server.keepAliveTimeout = 600_000
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Where the messages of a channel of a store go. */
  url(store: string, channel: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${store}/${channel}`
  }

  serve(store: string, take: Take): void {
    this.#takers.set(store, take)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = await messageOf(request)
    // A host that was killed while it wrote has sent nothing.
    if (message === null) return
    const [, store = '', channel = ''] = request.url?.split('/') ?? []
    const wireKey = String(request.headers['webhook-id'])
    const run = String(request.headers['x-run'])
    const answer = this.#takers.get(store)?.({ run, channel, wireKey, keys: keysOf(message) })
    switch (answer) {
      case 'taken':
        response.end()
        return
      case 'slow':
        setTimeout(() => response.end(), SLOW_MS)
        return
      case 'error':
        response.writeHead(500).end()
        return
      case 'too many':
        response.writeHead(429, { 'retry-after': '1' }).end()
        return
      case 'reset':
        request.socket.destroy()
        return
      case undefined:
        response.writeHead(404).end()
        return
      default:
        answer satisfies never
    }
  }
}

async function messageOf(request: IncomingMessage): Promise<Message | null> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString()) as Message
  } catch {
    return null
  }
}

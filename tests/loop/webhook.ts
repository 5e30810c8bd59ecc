/** A receiver of webhooks on this machine that keeps what came and when, and can be made to fail. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface Post<T> {
  readonly body: T
  /** Epoch ms. */
  readonly at: number
}

export class Webhook<T> {
  readonly posts: Post<T>[] = []
  readonly url: string
  /** Ends every connection to these paths before its answer. */
  readonly broken = new Set<string>()
  readonly #server: Server

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start<T>(): Promise<Webhook<T>> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const webhook = new Webhook<T>(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    server.on('request', async (request, response) => {
      if (webhook.broken.has(request.url ?? '')) return request.socket.destroy()
      webhook.posts.push({ body: (await json(request)) as T, at: Date.now() })
      response.writeHead(204).end()
    })
    return webhook
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

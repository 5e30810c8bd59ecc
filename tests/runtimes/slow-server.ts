/** A server of streams that stall, and of an empty page. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const DELTA = 'data: {"type":"response.output_text.delta","delta":"Grüß di"}\n\n'
export const COMPLETED = 'data: {"type":"response.completed","response":{"status":"completed"}}\n\n'

export class SlowServer implements AsyncDisposable {
  /** Paths whose request was given up by the client, in the order of that. */
  readonly givenUp: string[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  static async start(): Promise<SlowServer> {
    const slow = new SlowServer()
    slow.#server.listen(0, '127.0.0.1')
    await once(slow.#server, 'listening')
    return slow
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    response.on('close', () => {
      if (!response.writableFinished) this.givenUp.push(url)
    })
    if (url === '/waits') return
    if (url !== '/stalls' && url !== '/whole') {
      response.setHeader('content-type', 'text/html').end('<!doctype html>')
      return
    }
    response.setHeader('content-type', 'text/event-stream')
    response.write(DELTA)
    if (url === '/whole') setTimeout(() => response.end(COMPLETED), 50)
  }
}

/** A receiver of messages on this machine, which answers as a test says. */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll } from 'vitest'
import { sleep } from './harness.ts'

/** In every URL. */
export const SECRET_PATH = 's3cret-path'

/** The fields of a message, in order. */
export const MESSAGE = [
  'verdict',
  'key',
  'thread',
  'turn',
  'parent',
  'provider',
  'model',
  'reason',
  'phase',
  'lastEventAt',
  'lastEventKind',
  'silenceMs',
  'thresholdMs',
  'thresholdSource',
  'text',
]

export interface Post {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came, to check its signature. */
  readonly raw: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came
  readonly body: any
  /** Monotonic ms at which it was there. */
  readonly at: number
}

/** A status, with headers; none is never an answer. */
export type Answer = readonly [status: number, headers?: Record<string, string>] | 'never'

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly posts: Post[]
  /** Answers what comes from now on, one after the other; the last goes on. */
  answer(...answers: readonly Answer[]): void
  /** Until so many have come. */
  gets(count: number): Promise<void>
  /** From now on nothing listens there. */
  close(): void
}

const servers: Server[] = []
afterAll(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

export async function receiver(...answers: readonly Answer[]): Promise<Receiver> {
  let left = answers
  const posts: Post[] = []
  const server = createServer(async (request, response) => {
    const raw = await text(request)
    posts.push({ path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw), at: performance.now() })
    const [next = 'never', ...rest] = left
    if (rest.length > 0) left = rest
    if (next !== 'never') response.writeHead(...next).end('{}')
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/${SECRET_PATH}`,
    port,
    posts,
    answer: (...next) => {
      left = next
    },
    gets: async (count) => {
      while (posts.length < count) await sleep(20)
    },
    close: () => server.close(),
  }
}

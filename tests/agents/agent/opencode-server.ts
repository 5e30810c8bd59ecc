/** A host that runs `opencode serve` and is its client: it prompts over HTTP, and reads the server's stream of events, watched. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { watchResponse } from '../../../instrumentation/sources/index.ts'
import type { ProviderLog } from '../provider/log.ts'
import type { Scene } from '../provider/scene.ts'
import type { Stage } from '../stage/stage.ts'
import type { EmbeddedWatch, Way } from '../watch/embedded-watch.ts'
import { PROMPT } from './agent.ts'
import { opencodeServe } from './opencode.ts'
import { eventsOf } from './sse.ts'

export interface OpencodeServerOptions {
  readonly stage: Stage
  readonly scene: Scene
  readonly watch: EmbeddedWatch
  /** @default tap */
  readonly way?: Way
  /** Settings of the project over those of the tests. */
  readonly settings?: object
}

export class OpencodeServer {
  readonly log: ProviderLog
  /** Says when. */
  readonly kill: () => number
  readonly #url: string
  readonly #awaited = new Map<string, (properties: { readonly id: string }) => void>()
  #session = ''

  static async start(options: OpencodeServerOptions): Promise<OpencodeServer> {
    const { stage, scene, watch, way = 'tap', settings } = options
    const { url, log } = await stage.provide(scene)
    const { command, env } = opencodeServe(stage, url, await freePort(), settings)
    const child = stage.start(command, env)
    child.stderr.resume()
    const lines = createInterface({ input: child.stdout })
    let address: string | undefined
    for await (const line of lines) {
      address = /listening on (http:\S+)/.exec(line)?.[1]
      if (address !== undefined) break
    }
    if (address === undefined) throw new Error('opencode serve ended without an address')
    child.stdout.resume()
    const server = new OpencodeServer(address, log, () => stage.kill(command))
    await server.#listen(watch, way)
    server.#session = ((await server.post('/session', {})) as { id: string }).id
    return server
  }

  private constructor(url: string, log: ProviderLog, kill: () => number) {
    this.#url = url
    this.log = log
    this.kill = kill
  }

  /** Begins a turn. */
  async prompt(): Promise<void> {
    await this.post(`/session/${this.#session}/prompt_async`, { parts: [{ type: 'text', text: PROMPT }] })
  }

  async abort(): Promise<void> {
    await this.post(`/session/${this.#session}/abort`, {})
  }

  /** The properties of the next event of a type. */
  until(type: string): Promise<{ readonly id: string }> {
    return new Promise((resolve) => this.#awaited.set(type, resolve))
  }

  async post(path: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.status === 204 ? null : response.json()
  }

  /** Resolves when the stream is open. */
  async #listen(watch: EmbeddedWatch, way: Way): Promise<void> {
    const plain = await fetch(`${this.#url}/event`)
    const response = way === 'tap' ? watchResponse(plain, watch.watcher, { source: 'opencode-sse' }) : plain
    const hears = way === 'tap' ? () => {} : watch.reader('opencode-sse')
    const { body, status } = response
    if (body === null) throw new Error(`/event: ${status}`)
    void (async () => {
      try {
        for await (const event of eventsOf(body)) {
          hears(event)
          const { type, properties } = event as { type: string; properties: { id: string } }
          this.#awaited.get(type)?.(properties)
        }
      } catch {
        // A server that was killed ends it so.
      }
      if (way === 'source') watch.disconnected()
    })()
  }
}

/** Asked for any free port, it takes its usual one where it can, so two of them would meet. */
async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

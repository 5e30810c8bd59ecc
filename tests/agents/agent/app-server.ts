/** A host that runs `codex app-server` and is its client: JSON-RPC over stdio, watched in both directions. */

import { createInterface } from 'node:readline'
import { watchProcess } from '../../../instrumentation/sources/index.ts'
import type { ProviderLog } from '../provider/log.ts'
import type { Scene } from '../provider/scene.ts'
import type { Child, Stage } from '../stage/stage.ts'
import type { EmbeddedWatch, Way } from '../watch/embedded-watch.ts'
import { PROMPT } from './agent.ts'
import { codexAppServer } from './codex.ts'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly thread?: { readonly id: string }; readonly turn?: { readonly id: string } }
  readonly error?: { readonly message: string }
}

export interface AppServerOptions {
  readonly stage: Stage
  readonly scene: Scene
  readonly watch: EmbeddedWatch
  /** @default tap */
  readonly way?: Way
  /** Answers a request of the server, such as one for approval. @default never asked */
  readonly approve?: () => Promise<void>
}

export class AppServer {
  readonly log: ProviderLog
  readonly #options: AppServerOptions
  readonly #child: Child
  readonly #hears: ReturnType<EmbeddedWatch['reader']>
  readonly #answers = new Map<number, (message: Message) => void>()
  #requests = 0
  #thread = ''
  #command: readonly string[] = []

  static async start(options: AppServerOptions): Promise<AppServer> {
    const { stage, scene } = options
    const { url, log } = await stage.provide(scene)
    const { command, env } = codexAppServer(stage, url)
    const server = new AppServer(options, stage.start(command, env), log)
    server.#command = command
    await server.#request('initialize', { clientInfo: { name: 'turnwatch', title: null, version: '0' } })
    server.#send({ method: 'initialized' })
    const approvalPolicy = options.approve ? 'untrusted' : 'never'
    const sandbox = options.approve ? 'read-only' : 'danger-full-access'
    const { result } = await server.#request('thread/start', { cwd: stage.work, approvalPolicy, sandbox })
    server.#thread = result?.thread?.id ?? ''
    return server
  }

  private constructor(options: AppServerOptions, child: Child, log: ProviderLog) {
    this.#options = options
    this.#child = child
    this.log = log
    const { watch, way = 'tap' } = options
    if (way === 'tap') watchProcess(child, watch.watcher, { source: 'codex-app-server' })
    else child.on('close', () => watch.disconnected())
    this.#hears = way === 'tap' ? () => {} : watch.reader('codex-app-server')
    child.stderr.resume()
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(JSON.parse(line) as Message))
    child.on('close', () => {
      for (const answer of this.#answers.values()) answer({ error: { message: 'the server is gone' } })
    })
  }

  /** Begins a turn; its id. */
  async prompt(): Promise<string> {
    const input = [{ type: 'text', text: PROMPT, text_elements: [] }]
    const { result } = await this.#request('turn/start', { threadId: this.#thread, input })
    return result?.turn?.id ?? ''
  }

  async interrupt(turnId: string): Promise<void> {
    await this.#request('turn/interrupt', { threadId: this.#thread, turnId })
  }

  /** Says when. */
  kill(): number {
    return this.#options.stage.kill(this.#command)
  }

  #request(method: string, params: object): Promise<Message> {
    const id = ++this.#requests
    return new Promise((resolve, reject) => {
      this.#answers.set(id, (message) => {
        if (message.error) reject(new Error(`${method}: ${message.error.message}`))
        else resolve(message)
      })
      this.#send({ id, method, params })
    })
  }

  #take(message: Message): void {
    this.#hears(message, 'in')
    const { id, method } = message
    if (id === undefined) return
    if (method === undefined) {
      this.#answers.get(id)?.(message)
      this.#answers.delete(id)
    } else {
      void this.#options.approve?.().then(() => this.#send({ id, result: { decision: 'accept' } }))
    }
  }

  #send(message: object): void {
    this.#hears(message, 'out')
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }
}

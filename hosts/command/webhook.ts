/** Stale verdicts as JSON to the URLs that the user named. The URLs may hold secrets, so no message shows one. */

import { Agent, request } from 'undici'
import type { StaleMessage } from '../../notifier/message.ts'

const TIMEOUT_MS = 10_000
/** What is under way at the end may take this long. */
const CLOSE_MS = 5000

export class Webhooks {
  readonly #urls: readonly URL[]
  readonly #onFault: (line: string) => void
  readonly #agent = new Agent({ connect: { timeout: TIMEOUT_MS } })
  readonly #underWay = new Set<Promise<void>>()
  #closed = false

  constructor(urls: readonly URL[], onFault: (line: string) => void) {
    this.#urls = urls
    this.#onFault = onFault
  }

  /** Posts to every URL once; returns at once. */
  send(message: StaleMessage): void {
    for (const [index, url] of this.#urls.entries()) {
      const post = this.#post(url, message).catch((error: unknown) => {
        if (!this.#closed) this.#onFault(`notify: URL ${index + 1} of ${this.#urls.length}: ${reasonOf(error)}`)
      })
      this.#underWay.add(post)
      void post.finally(() => this.#underWay.delete(post))
    }
  }

  /** Waits for what is under way, but not long. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS)
    })
    await Promise.race([Promise.all(this.#underWay), late])
    clearTimeout(timer)
    if (this.#underWay.size > 0) this.#onFault(`notify: ${this.#underWay.size} not delivered in time`)
    this.#closed = true
    await this.#agent.destroy()
  }

  async #post(url: URL, message: StaleMessage): Promise<void> {
    const { username, password } = url
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
    const { statusCode, body } = await request(new URL(url.pathname + url.search, url.origin), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(username ? { authorization: `Basic ${login}` } : {}) },
      body: JSON.stringify(message),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await body.dump()
    // A redirect is not followed: the message would go to a place that the user did not name.
    if (statusCode >= 300) throw new Refused(`HTTP ${statusCode}`)
  }
}

class Refused extends Error {}

/** Node's own messages name host and port. */
function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.message
  const { name, code } = error as { name?: string; code?: unknown }
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  return typeof code === 'string' ? code : 'failed'
}

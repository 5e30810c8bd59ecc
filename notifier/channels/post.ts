/** One receiver of POSTs: a few sockets, one reading of its answers, and nothing of its URL or headers ever shown. */

import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { type Dispatcher, errors, Pool } from 'undici'
import { DeliveryFailed } from '../channel.ts'

export interface ReceiverOptions {
  /** http or https. A user name and password in it are sent as Basic authorization; a fragment is dropped. */
  readonly url: string | URL
  /** Label of its metrics and its name on the page. @default the channel's kind */
  readonly name?: string
  /** How long a try may take, in ms. @default 15000 */
  readonly timeoutMs?: number
  /** Sent with every POST, such as a token. @default none */
  readonly headers?: Readonly<Record<string, string>>
}

type Answer = Dispatcher.ResponseData

export const DEFAULT_TIMEOUT_MS = 15_000
const MAX_TIMEOUT_MS = 3_600_000
const MAX_CONNECT_MS = 10_000
const MAX_HOPS = 3
/** How much of an answer's body is read, and for how long, before its socket is given up. */
const MAX_BODY_BYTES = 16_384
const MAX_BODY_MS = 1000
const MAX_RETRY_AFTER_MS = 3_600_000
const NO_ANSWER = 'no answer in time'

const OURS = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
const OF_THE_CONNECTION = ['connection', 'content-length', 'expect', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']

export class Receiver {
  /** A fingerprint of the URL. */
  readonly target: string
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #timeoutMs: number
  readonly #pool: Pool

  /** Throws TypeError or RangeError with the option's name and what it may be, never with a value of URL or headers. */
  constructor({ url, headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS }: ReceiverOptions, connections: number, path = '') {
    this.#url = httpUrl(url)
    if (path !== '') this.#url.pathname = this.#url.pathname.replace(/\/+$/, '') + path
    this.#timeoutMs = wholeNumber('timeoutMs', timeoutMs, MAX_TIMEOUT_MS)
    this.target = createHash('sha256').update(this.#url.href).digest('hex').slice(0, 16)
    this.#headers = { 'user-agent': 'turnwatch', ...headersOf(headers, this.#url), 'content-type': 'application/json' }
    this.#pool = new Pool(this.#url.origin, {
      connections,
      connect: { timeout: Math.min(timeoutMs, MAX_CONNECT_MS) },
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Resolves as soon as the receiver has said 2xx. Rejects with `DeliveryFailed`, also when `signal` is aborted. */
  async post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abandonedTry(signal)
    const stop = new AbortController()
    const abandoned = Promise.withResolvers<never>()
    const abandon = () => {
      abandoned.reject(abandonedTry(signal))
      stop.abort()
    }
    const timer = setTimeout(abandon, this.#timeoutMs)
    signal.addEventListener('abort', abandon)
    try {
      // undici rejects an aborted request only once it has a socket.
      await Promise.race([abandoned.promise, this.#follow(body, { ...this.#headers, ...headers }, stop.signal)])
    } catch (error) {
      throw error instanceof DeliveryFailed ? error : connectionFailure(error)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abandon)
    }
  }

  /** Ends what is under way; what comes later is refused. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #follow(body: string, headers: Record<string, string>, signal: AbortSignal): Promise<void> {
    let url = this.#url
    for (let hop = 0; ; hop += 1) {
      const path = url.pathname + url.search
      const answer = await this.#pool.request({ method: 'POST', path, headers, body, signal })
      const limits = { limit: MAX_BODY_BYTES, signal: AbortSignal.timeout(MAX_BODY_MS) }
      answer.body.dump(limits).catch(() => {})
      if (answer.statusCode < 300) return
      if (answer.statusCode >= 400) throw refusal(answer)
      url = redirected(answer, url)
      if (hop === MAX_HOPS) throw rejected(`HTTP ${answer.statusCode} more than ${MAX_HOPS} times, not followed`)
    }
  }
}

/** A try that ended before its answer, by its signal or in time: nobody knows whether it arrived. */
export function abandonedTry({ reason }: AbortSignal): DeliveryFailed {
  return reason instanceof DeliveryFailed ? reason : new DeliveryFailed('timeout', NO_ANSWER)
}

/** Throws RangeError with the option's name and value unless it is a whole number from 1 to `max`. */
export function wholeNumber(option: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  throw new RangeError(`${option}: ${inspect(value, { depth: 0 })} is not a whole number from 1 to ${max}`)
}

/** The entries of an option that maps names to texts. Throws TypeError with the option's name. */
export function textsOf(option: string, texts: Readonly<Record<string, string>>): [string, string][] {
  const entries = typeof texts === 'object' && texts !== null && !Array.isArray(texts) ? Object.entries(texts) : null
  if (entries === null || entries.some(([, text]) => typeof text !== 'string')) {
    throw new TypeError(`${option}: is not an object with a string for each name`)
  }
  return entries
}

function httpUrl(given: string | URL): URL {
  const url = URL.parse(given instanceof URL ? given.href : given)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TypeError('url: is not an http or https URL')
  url.hash = ''
  return url
}

function headersOf(given: Readonly<Record<string, string>>, url: URL): Record<string, string> {
  const headers = new Map<string, string>()
  const authorization = basicAuthorization(url)
  if (authorization !== null) headers.set('authorization', authorization)
  for (const [index, [name, value]] of textsOf('headers', given).entries()) {
    const lower = name.toLowerCase()
    const which = `headers: number ${index + 1}`
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw new TypeError(`${which} has a name that no header may have`)
    if (!/^[\t -~\x80-\xff]*$/.test(value)) throw new TypeError(`${which} has a value that no header may have`)
    if ([...OURS, ...OF_THE_CONNECTION].includes(lower)) throw new TypeError(`${which} is one that the channel sets`)
    if (headers.has(lower)) throw new TypeError(`${which} is there twice, or also in the url`)
    headers.set(lower, value)
  }
  return Object.fromEntries(headers)
}

function basicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  try {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return `Basic ${Buffer.from(login).toString('base64')}`
  } catch {
    throw new TypeError('url: its user name or password is not percent-encoded')
  }
}

function refusal(answer: Answer): DeliveryFailed {
  const { statusCode } = answer
  return new DeliveryFailed(statusCode >= 500 ? 'server_error' : 'client_error', `HTTP ${statusCode}`, {
    retry: statusCode >= 500 || statusCode === 408 || statusCode === 429,
    retryAfterMs: statusCode === 429 || statusCode === 503 ? retryAfterMs(answer) : null,
  })
}

function retryAfterMs({ headers }: Answer): number | null {
  const asked = headers['retry-after']
  if (typeof asked !== 'string') return null
  // The receiver's own clock, where it shows it: ours may be wrong.
  const now = httpDate(headers.date)
  const ms = /^\d+$/.test(asked) ? Number(asked) * 1000 : httpDate(asked) - (Number.isNaN(now) ? Date.now() : now)
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

/** Epoch ms of one of the three forms of RFC 9110; NaN of anything else. */
function httpDate(text: unknown): number {
  if (typeof text !== 'string' || !/^[SMTWF][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(text)) return Number.NaN
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

/** Where a redirect leads that may be followed: to the same origin, with the same method and body. */
function redirected({ statusCode, headers }: Answer, from: URL): URL {
  const to = typeof headers.location === 'string' ? URL.parse(headers.location, from.href) : null
  if (to?.origin === from.origin && (statusCode === 307 || statusCode === 308)) return to
  throw rejected(`HTTP ${statusCode}${to === null ? '' : ` to ${difference(to, from)}`}, not followed`)
}

function difference(to: URL, from: URL): string {
  if (to.hostname !== from.hostname) return 'another host'
  if (to.protocol !== from.protocol) return 'another scheme'
  return to.port === from.port ? 'the same host' : 'another port'
}

function rejected(message: string): DeliveryFailed {
  return new DeliveryFailed('rejected', message, { retry: false })
}

/** Messages of Node and undici name hosts and ports, their codes do not. */
function connectionFailure(error: unknown): DeliveryFailed {
  if (error instanceof errors.HTTPParserError) return new DeliveryFailed('connection', 'the answer is not HTTP')
  const { code } = error as { code?: unknown }
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return new DeliveryFailed('timeout', NO_ANSWER)
    case 'UND_ERR_SOCKET':
      return new DeliveryFailed('connection', 'closed without an answer')
    case 'UND_ERR_DESTROYED':
      return new DeliveryFailed('other', 'the channel is closed')
    default:
      return typeof code === 'string' ? new DeliveryFailed('connection', code) : new DeliveryFailed('other', 'failed')
  }
}

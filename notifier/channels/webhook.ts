/** HTTP webhook: a POST for each message, signed as Standard Webhooks are (https://www.standardwebhooks.com). */

import { createHash, createHmac } from 'node:crypto'
import type { Channel } from '../channel.ts'
import { channelName } from '../channel-options.ts'
import { DEFAULT_TIMEOUT_MS, Receiver, type ReceiverOptions, wholeNumber } from './post.ts'

export interface WebhookOptions extends ReceiverOptions {
  /**
   * What messages are signed with: base64, with or without `whsec_` before it. Several while one replaces another, each
   * with a signature of its own. @default unsigned
   */
  readonly secret?: string | readonly string[]
  /** Tries under way at a time, which is also how many sockets are open. @default 16 */
  readonly concurrency?: number
}

const MAX_CONCURRENCY = 256
const SECRET_PREFIX = 'whsec_'
const MAX_ID_START = 200

/**
 * A channel that POSTs every message as JSON. 2xx is delivered; 408, 429, 5xx and a broken connection are tried again,
 * any other answer is not. Redirects are followed within the same origin only. Throws TypeError or RangeError for an
 * option that cannot be used; no error of it ever shows the URL, a header, the secret or an answer.
 */
export function webhookChannel(options: WebhookOptions): Channel {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const concurrency = wholeNumber('concurrency', options.concurrency ?? 16, MAX_CONCURRENCY)
  const name = channelName(options.name ?? 'webhook')
  const signingKeys = signingKeysOf(options.secret)
  const receiver = new Receiver(options, concurrency)
  return {
    name,
    target: receiver.target,
    concurrency,
    timeoutMs,
    async deliver(message, { key, signal }) {
      const body = JSON.stringify(message)
      const id = webhookId(key)
      const timestamp = String(Math.floor(Date.now() / 1000))
      const headers: Record<string, string> = { 'webhook-id': id, 'webhook-timestamp': timestamp }
      if (signingKeys.length > 0) {
        const signed = `${id}.${timestamp}.${body}`
        headers['webhook-signature'] = signingKeys.map((signingKey) => signature(signingKey, signed)).join(' ')
      }
      await receiver.post(body, headers, signal)
    },
    close: () => receiver.close(),
  }
}

function signature(signingKey: Buffer, signed: string): string {
  return `v1,${createHmac('sha256', signingKey).update(signed).digest('base64')}`
}

function signingKeysOf(secret: WebhookOptions['secret']): Buffer[] {
  if (secret === undefined) return []
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0) throw new TypeError('secret: is an empty list; leave it out to send unsigned messages')
  return secrets.map((one) => {
    const base64 = typeof one === 'string' ? one.slice(one.startsWith(SECRET_PREFIX) ? SECRET_PREFIX.length : 0) : ''
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(base64) || base64 === '') {
      throw new TypeError(`secret: is not base64, with or without ${SECRET_PREFIX} before it`)
    }
    return Buffer.from(base64, 'base64')
  })
}

/** The key where a header can hold it, else as much of it as a person needs, and its hash. */
function webhookId(key: string): string {
  if (/^[!-~]{1,255}$/.test(key)) return key
  const visible = key.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)
  return `${visible.slice(0, MAX_ID_START)}~${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
}

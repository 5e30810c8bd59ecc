/** The channels that `--notify` and the environment name. URLs and keys hold secrets, so no error and no name shows one. */

import { BadInput } from '../bad-input.ts'
import type { Channel } from '../notifier/channel.ts'

export const NOTIFY = 'TURNWATCH_NOTIFY'
export const NOTIFY_SECRET = 'TURNWATCH_NOTIFY_SECRET'
/** Of a try. */
export const NOTIFY_TIMEOUT_MS = 10_000

type Kind = 'webhook' | 'alertmanager'

interface Target {
  readonly kind: Kind
  readonly url: URL
  /** Where it was named. */
  readonly from: string
}

/**
 * A channel for each URL, equal ones once, named by kind and order. What they load is loaded only where there is a URL.
 * Throws BadInput for a URL or a signing key that cannot be used.
 */
export async function channelsOf(
  given: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Channel[]> {
  const targets = [
    ...given.map((url) => targetOf('--notify', url)),
    ...wordsOf(env[NOTIFY]).map((url) => targetOf(NOTIFY, url)),
  ]
  if (targets.length === 0) return []
  const { alertmanagerChannel } = await import('../notifier/channels/alertmanager.ts')
  const { webhookChannel } = await import('../notifier/channels/webhook.ts')
  const secrets = wordsOf(env[NOTIFY_SECRET])
  const made: Record<Kind, number> = { webhook: 0, alertmanager: 0 }
  return distinct(targets).map(({ kind, url, from }) => {
    made[kind]++
    const options = { url, name: made[kind] === 1 ? kind : `${kind}-${made[kind]}`, timeoutMs: NOTIFY_TIMEOUT_MS }
    try {
      if (kind === 'alertmanager') return alertmanagerChannel(options)
      return webhookChannel(secrets.length > 0 ? { ...options, secret: secrets } : options)
    } catch (error) {
      // It names the option, and no value.
      throw new BadInput((error as Error).message.replace(/^secret/, NOTIFY_SECRET).replace(/^url/, from))
    }
  })
}

function wordsOf(list: string | undefined): string[] {
  return (list ?? '').split(/[\s,]+/).filter((word) => word !== '')
}

function targetOf(from: string, value: string): Target {
  const [, prefix, http = ''] = /^(alertmanager\+)?(https?:.*)$/i.exec(value) ?? []
  const url = URL.parse(http)
  if (url === null)
    throw new BadInput(`${from}: not an http or https URL, nor one of alertmanager+http or alertmanager+https`)
  url.hash = ''
  return { kind: prefix === undefined ? 'webhook' : 'alertmanager', url, from }
}

function distinct(targets: readonly Target[]): Target[] {
  const found = new Map<string, Target>()
  for (const target of targets) {
    const key = `${target.kind} ${target.url.href}`
    if (!found.has(key)) found.set(key, target)
  }
  return [...found.values()]
}

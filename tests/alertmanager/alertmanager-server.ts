/** A real Alertmanager with the example's configuration, for as long as a test lasts. */

import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { EXAMPLE, startAlertmanager } from './alertmanager-process.ts'

/** An alert as `GET /api/v2/alerts` shows it; it does not show those that are resolved. */
export interface ShownAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly startsAt: string
  readonly endsAt: string
  readonly fingerprint: string
  readonly status: {
    readonly state: 'unprocessed' | 'active' | 'suppressed'
    /** Fingerprints of the alerts that inhibit it. */
    readonly inhibitedBy: readonly string[]
    /** Ids of the silences that cover it. */
    readonly silencedBy: readonly string[]
  }
}

export interface NotifiedAlert {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  readonly startsAt: string
  readonly fingerprint: string
}

/** The body of its webhook. */
export interface Notification {
  /** The name in the example: `tickets`, `pages` or `notes`. */
  readonly receiver: string
  readonly groupKey: string
  readonly alerts: readonly NotifiedAlert[]
}

/** What is not as in the example. */
export interface Changes {
  /** Where the notifications of every receiver go; they say which one it was. */
  readonly receiverUrl: string
  /** Of every route. */
  readonly groupWait: string
  readonly groupInterval: string
}

export class AlertmanagerServer {
  /** Host and port. */
  readonly address: string

  private constructor(address: string) {
    this.address = address
  }

  /** Resolves when it listens. */
  static async start(changes: Changes): Promise<AlertmanagerServer> {
    const { address, stop } = await startAlertmanager((example) => changed(example, changes))
    onTestFinished(stop)
    return new AlertmanagerServer(address)
  }

  get url(): string {
    return `http://${this.address}`
  }

  /** Posts alerts that fire, by their labels. */
  async post(alerts: readonly ShownAlert['labels'][]): Promise<void> {
    const response = await fetch(`${this.url}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(alerts.map((labels) => ({ labels }))),
    })
    if (!response.ok) throw new Error(`Alertmanager answers ${response.status}: ${await response.text()}`)
  }

  async alerts(): Promise<ShownAlert[]> {
    const response = await fetch(`${this.url}/api/v2/alerts`)
    return (await response.json()) as ShownAlert[]
  }

  /** Looks at the alerts all the time. What it returns ends that, and says which different answers there were. */
  record<T>(what: (alerts: readonly ShownAlert[]) => T): () => Promise<T[]> {
    const answers = new Map<string, T>()
    const end = new AbortController()
    const look = async () => {
      while (!end.signal.aborted) {
        const answer = what(await this.alerts())
        answers.set(JSON.stringify(answer), answer)
        await sleep(50)
      }
    }
    const looking = look()
    looking.catch(() => {})
    onTestFinished(() => end.abort())
    return async () => {
      end.abort()
      await looking
      return [...answers.values()]
    }
  }
}

function changed(example: string, { receiverUrl, groupWait, groupInterval }: Changes): string {
  const values = { '- url': receiverUrl, group_wait: groupWait, group_interval: groupInterval }
  let config = example
  for (const [key, value] of Object.entries(values)) {
    const line = new RegExp(`^( *${key}:) .*$`, 'gm')
    if (!line.test(config)) throw new Error(`${EXAMPLE} has no ${key}`)
    config = config.replace(line, `$1 ${value}`)
  }
  return config
}

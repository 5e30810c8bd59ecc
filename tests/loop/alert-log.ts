/** Everything that fires and resolves while a stage stands: in Prometheus, and as Alertmanager tells it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { FiringAlert, PrometheusServer } from '../metrics/prometheus-server.ts'
import { until } from './until.ts'
import type { Webhook } from './webhook.ts'

const LOOK_MS = 250

type Labels = Readonly<Record<string, string>>

/** The body of Alertmanager's webhook. */
export interface Notification {
  readonly receiver: string
  readonly alerts: readonly { readonly status: 'firing' | 'resolved'; readonly labels: Labels }[]
}

/** What Alertmanager has told of an alert. Epoch ms. */
interface Told {
  readonly alert: string
  readonly status: 'firing' | 'resolved'
  readonly receiver: string
  readonly at: number
}

/** What an alert has done in Prometheus. Epoch ms; null while it fires. */
interface Fired {
  readonly firedAt: number
  resolvedAt: number | null
}

/** An alert in one line: its name, and its labels in the order of theirs. */
export function nameOf(alert: string, labels: Labels): string {
  const all = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  return [alert, ...all.map(([label, value]) => `${label}=${value}`)].join(' ')
}

export class AlertLog {
  readonly #prometheus: PrometheusServer
  readonly #webhook: Webhook<Notification>
  /** Names of hosts by where they are scraped. */
  readonly #hosts: ReadonlyMap<string, string>
  readonly #fired = new Map<string, Fired>()
  readonly #end = new AbortController()
  readonly #looking: Promise<void>

  constructor(prometheus: PrometheusServer, webhook: Webhook<Notification>, hosts: ReadonlyMap<string, string>) {
    this.#prometheus = prometheus
    this.#webhook = webhook
    this.#hosts = hosts
    this.#looking = this.#look()
  }

  /** As the scenes name it: with the name of the host for its address, without what every alert has. */
  name(all: Labels): string {
    const { alertname = '', instance, job: _job, severity: _severity, ...labels } = all
    const { __name__: _name, alertstate: _state, ...own } = labels
    return nameOf(alertname, instance === undefined ? own : { ...own, host: this.#hosts.get(instance) ?? instance })
  }

  /** Until it fires. Epoch ms. */
  async fires(alert: string): Promise<number> {
    return (await until(`${alert} fires`, () => this.#fired.get(alert))).firedAt
  }

  /** Until it fires no longer. Epoch ms. */
  resolves(alert: string): Promise<number> {
    return until(`${alert} resolves`, () => this.#fired.get(alert)?.resolvedAt ?? undefined)
  }

  /** Until Alertmanager has told it. Epoch ms. */
  async told(alert: string, status: Told['status']): Promise<number> {
    const is = (one: Told) => one.alert === alert && one.status === status
    return (await until(`${alert} is told as ${status}`, () => this.tellings().find(is))).at
  }

  firedAt(alert: string): number | undefined {
    return this.#fired.get(alert)?.firedAt
  }

  /** All that Alertmanager has told, in order. */
  tellings(): Told[] {
    return this.#webhook.posts.flatMap(({ at, body: { receiver, alerts } }) =>
      alerts.map(({ status, labels }) => ({ alert: this.name(labels), status, receiver, at })),
    )
  }

  /** Every alert that has fired at any evaluation, as Prometheus itself has recorded it. */
  async everFired(): Promise<string[]> {
    const all = await this.#prometheus.query('last_over_time(ALERTS{alertstate="firing"}[1d])')
    return all.map(({ metric }) => this.name(metric)).sort()
  }

  /** What fires now. */
  async firing(): Promise<string[]> {
    const response = await fetch(`${this.#prometheus.url}/api/v1/alerts`)
    const { data } = (await response.json()) as { data: { alerts: FiringAlert[] } }
    return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => this.name(labels))
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#looking
  }

  async #look(): Promise<void> {
    while (!this.#end.signal.aborted) {
      // Prometheus may not answer yet.
      const firing = await this.firing().catch(() => null)
      if (firing !== null) this.#note(new Set(firing), Date.now())
      await sleep(LOOK_MS)
    }
  }

  #note(firing: ReadonlySet<string>, now: number): void {
    for (const alert of firing) {
      const known = this.#fired.get(alert)
      // A scrape that failed makes it fire anew.
      if (known) known.resolvedAt = null
      else this.#fired.set(alert, { firedAt: now, resolvedAt: null })
    }
    for (const [alert, fired] of this.#fired) if (!firing.has(alert)) fired.resolvedAt ??= now
  }
}

/** Alertmanager, API v2: a stale episode is an alert that fires until the episode ends. */

import { dropOldest } from '../../instrumentation/drop-oldest.ts'
import { labelValue } from '../../instrumentation/metrics/label-value.ts'
import type { Channel, Try } from '../channel.ts'
import { channelName } from '../channel-options.ts'
import type { Message } from '../message.ts'
import { abandonedTry, DEFAULT_TIMEOUT_MS, Receiver, type ReceiverOptions, textsOf } from './post.ts'

export interface AlertmanagerOptions extends ReceiverOptions {
  /** Of every alert, beside alertname, thread, provider, model, reason and source. @default none */
  readonly labels?: Readonly<Record<string, string>>
  /** Of every alert, beside summary and description. @default none */
  readonly annotations?: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string>>

interface Alert {
  readonly labels: Texts
  readonly annotations: Texts
  readonly startsAt: string
  readonly endsAt: string
}

interface Waiting {
  readonly alert: Alert
  readonly signal: AbortSignal
  readonly settled: PromiseWithResolvers<void>
}

interface Episode {
  readonly labels: Texts
  /** Epoch ms at which Alertmanager first took it; null before. */
  firedAt: number | null
}

const OUR_LABELS = ['alertname', 'thread', 'provider', 'model', 'reason', 'source']
const OUR_ANNOTATIONS = ['summary', 'description']
const REPEAT_MS = 60_000
/** An alert that is not told again resolves by itself after this long. */
const FIRING_MS = 300_000
const MAX_ALERTS_PER_POST = 200
const CONNECTIONS = 4
const CONCURRENCY = 1000
const MAX_EPISODES = 5000

/**
 * A channel that shows every stale episode as the alert `TurnStale`, told again each minute while it lasts. Its labels
 * stay those of its first post, so a stronger reason is not another alert; a process that starts anew takes the message
 * as it comes. Throws TypeError or RangeError for an option that cannot be used, as the webhook does.
 */
export function alertmanagerChannel(options: AlertmanagerOptions): Channel {
  const name = channelName(options.name ?? 'alertmanager')
  const labels = namedTexts('labels', OUR_LABELS, options.labels)
  const annotations = namedTexts('annotations', OUR_ANNOTATIONS, options.annotations)
  const receiver = new Receiver(options, CONNECTIONS, '/api/v2/alerts')
  const alerts = new AlertQueue(receiver)
  const episodes = new Map<string, Episode>()
  /** When the newest episode of each label set began: a late end of the one before it must not resolve it. */
  const newest = new Map<string, string>()

  const episodeOf = (key: string, message: Message): Episode => {
    const episode = episodes.get(key) ?? { labels: { ...labels, ...labelsOf(message) }, firedAt: null }
    keep(episodes, key, episode)
    return episode
  }

  return {
    name,
    target: receiver.target,
    concurrency: CONCURRENCY,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    repeatMs: REPEAT_MS,
    async deliver(message, attempt) {
      if (message.verdict === 'recovered') return
      const episode = episodeOf(attempt.key, message)
      const id = JSON.stringify(episode.labels)
      const since = newest.get(id) ?? ''
      if (attempt.endedAt !== null && since > attempt.since) return
      if (since < attempt.since) keep(newest, id, attempt.since)
      await alerts.post(
        {
          labels: episode.labels,
          annotations: {
            ...annotations,
            summary: `Turn of ${labelValue(message.thread)} is stale: ${message.reason}`,
            description: message.text.toWellFormed(),
          },
          ...activity(attempt, message.reason === 'silence' ? null : (episode.firedAt ?? Date.now())),
        },
        attempt.signal,
      )
      episode.firedAt ??= Date.now()
    },
    close: () => receiver.close(),
  }
}

/**
 * Never an end before the start, which Alertmanager refuses and a clock that was set back would give. A provider's failure
 * often ends its turn in the same instant: so that it is seen at all, it fires for as long as an alert lasts by itself,
 * from `seenFrom`; null for a silence.
 */
function activity({ since, endedAt }: Try, seenFrom: number | null): Pick<Alert, 'startsAt' | 'endsAt'> {
  const start = Date.parse(since)
  const least = seenFrom === null ? start : Math.max(start, seenFrom + FIRING_MS)
  const end = endedAt === null ? Math.max(Date.now(), start) + FIRING_MS : Math.max(Date.parse(endedAt), least)
  return { startsAt: new Date(start).toISOString(), endsAt: new Date(end).toISOString() }
}

function keep<V>(remembered: Map<string, V>, key: string, value: V): void {
  remembered.delete(key)
  remembered.set(key, value)
  dropOldest(remembered, MAX_EPISODES)
}

function labelsOf({ thread, provider, model, reason }: Message): Texts {
  const labels = { alertname: 'TurnStale', thread, provider, model: model ?? '', reason, source: 'turnwatch' }
  const values = Object.entries(labels).map(([name, value]) => [name, labelValue(value)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== ''))
}

function namedTexts(option: string, ours: readonly string[], given: Texts = {}): Texts {
  const texts = textsOf(option, given)
  for (const [name] of texts) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) {
      throw new TypeError(
        `${option}: ${JSON.stringify(name)} is not a label name: letters, digits and _, no digit first`,
      )
    }
    if (ours.includes(name)) throw new TypeError(`${option}: ${name} is one that the channel sets`)
  }
  return Object.fromEntries(texts.map(([name, text]) => [name, option === 'labels' ? labelValue(text) : text]))
}

/** Alerts of one turn of the event loop go out together. */
class AlertQueue {
  readonly #receiver: Receiver
  #waiting: Waiting[] = []

  constructor(receiver: Receiver) {
    this.#receiver = receiver
  }

  /** Settles with the POST that carried it, or when its own signal is aborted. */
  post(alert: Alert, signal: AbortSignal): Promise<void> {
    const settled = Promise.withResolvers<void>()
    if (this.#waiting.push({ alert, signal, settled }) === 1) setImmediate(() => this.#flush())
    return settled.promise
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += MAX_ALERTS_PER_POST) {
      void this.#send(waiting.slice(from, from + MAX_ALERTS_PER_POST))
    }
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const stop = new AbortController()
    const onAbort = () => {
      for (const { signal, settled } of batch) if (signal.aborted) settled.reject(abandonedTry(signal))
      if (batch.every(({ signal }) => signal.aborted)) stop.abort()
    }
    for (const { signal } of batch) signal.addEventListener('abort', onAbort)
    onAbort()
    const alerts = batch.filter(({ signal }) => !signal.aborted).map(({ alert }) => alert)
    try {
      await this.#receiver.post(JSON.stringify(alerts), {}, stop.signal)
      for (const { settled } of batch) settled.resolve()
    } catch (error) {
      for (const { settled } of batch) settled.reject(error)
    } finally {
      for (const { signal } of batch) signal.removeEventListener('abort', onAbort)
    }
  }
}

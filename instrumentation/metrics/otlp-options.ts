/** What an export over OTLP can be told, and what is refused before it starts. */

import type { TimedSource } from './metric-producer.ts'
import { type CollectOptions, refuseBadCollectOptions } from './metric-source.ts'

export interface OtlpOptions extends CollectOptions {
  /** The whole URL, path included. @default OTEL_EXPORTER_OTLP_*, else `http://localhost:4318/v1/metrics` */
  readonly url?: string
  /** Sent with each request, over those of OTEL_EXPORTER_OTLP_*. @default none */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Attributes of this server, over those of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. `service.name` and
   * `service.instance.id` must be in one of them.
   */
  readonly resource?: Readonly<Record<string, string>>
  /** From one export to the next. @default 60000 */
  readonly intervalMs?: number
  /**
   * How long an export may take, tries and their pauses together; its last try may take as long again. At most half of
   * `intervalMs`: more is taken for that. @default OTEL_EXPORTER_OTLP_*, else 10000
   */
  readonly timeoutMs?: number
  /** Hears of each export that failed, and each time that the watch could not be read, in one line. @default prints to stderr */
  readonly onError?: (fault: Error) => void
}

/** Without them the series of two servers are one. */
const IDENTITY = ['service.name', 'service.instance.id'] as const
/** The longest time that a timer can wait. */
const MAX_MS = 2 ** 31 - 1
const TIMEOUT_MS = 10_000

/** Throws RangeError or TypeError with the option's name, or the variable's, and its value where that is no secret. */
export function refuseBadOptions(source: TimedSource, options: OtlpOptions): void {
  if (typeof source?.metrics !== 'function' || typeof source.now !== 'function') {
    throw new TypeError('source: has no metrics() and now(), as a watch has')
  }
  refuseBadCollectOptions(options)
  const { url, headers, intervalMs, timeoutMs, onError, resource } = options
  if (url !== undefined) refuseBadUrl('url', url)
  else refuseBadEndpoint()
  if (headers !== undefined) refuseBadHeaders(headers)
  for (const [name, ms] of Object.entries({ intervalMs, timeoutMs })) {
    if (ms !== undefined && !(typeof ms === 'number' && ms > 0 && ms <= MAX_MS)) {
      throw new RangeError(`${name}: ${JSON.stringify(ms) ?? ms} is not a positive number of ms`)
    }
  }
  if (onError !== undefined && typeof onError !== 'function') {
    throw new TypeError(`onError: ${JSON.stringify(onError)} is not a function`)
  }
  for (const [name, value] of Object.entries(resource ?? {})) {
    if (typeof value !== 'string') throw new TypeError(`resource: ${name} is ${JSON.stringify(value)}, not a string`)
  }
}

/** Refuses a server that could be any: the name that the SDK makes up is none. */
export function refuseNameless(attributes: Readonly<Record<string, unknown>>): void {
  const missing = IDENTITY.filter((name) => {
    const value = attributes[name]
    return typeof value !== 'string' || value.trim() === '' || /^unknown_service(:|$)/.test(value)
  })
  if (missing.length === 0) return
  throw new TypeError(
    `turnwatch: otlp: ${missing.join(' and ')} missing, without which two servers are one: set resource or OTEL_RESOURCE_ATTRIBUTES`,
  )
}

/** `timeoutMs` as the exporter is told it: at most half the interval, so that an export is over before the next one. */
export function exportMs(timeoutMs: number | undefined, intervalMs: number): number {
  return Math.min(timeoutMs ?? timeoutFromEnvironment() ?? TIMEOUT_MS, intervalMs / 2)
}

/** As the exporter reads it: the variable for metrics, else the one for all signals. */
function timeoutFromEnvironment(): number | undefined {
  return ['OTEL_EXPORTER_OTLP_METRICS_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT']
    .map((name) => Number(process.env[name]))
    .find((ms) => ms > 0 && ms <= MAX_MS)
}

/** Not quoted: it may hold a password. */
function refuseBadUrl(name: string, url: unknown): void {
  if (/^https?:$/.test(URL.parse(String(url))?.protocol ?? '')) return
  throw new TypeError(`${name}: not an http or https URL`)
}

/** The exporter passes over an endpoint that is none, and sends to the default one instead. */
function refuseBadEndpoint(): void {
  const name = ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find(
    (one) => (process.env[one] ?? '').trim() !== '',
  )
  if (name !== undefined) refuseBadUrl(name, process.env[name])
}

/** Their values are not quoted: they are secrets. */
function refuseBadHeaders(headers: unknown): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new TypeError('headers: not an object of strings')
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') throw new TypeError(`headers: ${JSON.stringify(name)} is not a string`)
    if (!isHeader(name, value)) throw new TypeError(`headers: ${JSON.stringify(name)} is not a header that HTTP takes`)
  }
}

function isHeader(name: string, value: string): boolean {
  // More than the constructor refuses, which cuts line breaks at the ends off.
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) return false
  try {
    new Headers({ [name]: value })
    return true
  } catch {
    return false
  }
}

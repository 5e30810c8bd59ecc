/**
 * What the liveness room answers over HTTP: the Prism route, every thread and every message that has not arrived,
 * health, metrics and the live page. A web-standard handler, so that any server can mount it; `serveLiveness` brings one.
 */

import { type Context, Hono } from 'hono'
import { refuseBadCollectOptions } from '../instrumentation/metrics/metric-source.ts'
import { isoTime } from '../instrumentation/turn-stats.ts'
import type { MetricsOptions, Turnwatch } from '../turnwatch.ts'
import { hostCheck } from './host-check.ts'
import { metricsText } from './metrics-text.ts'
import { PAGE_POLICY, readPageFiles } from './page-files.ts'
import { livenessResponse, READ_SCOPE } from './response.ts'

/** What is asked of a watch. */
export type LivenessWatch = Pick<
  Turnwatch,
  'liveness' | 'threads' | 'notifications' | 'now' | 'tickLateMs' | 'self' | 'metrics'
>

export interface LivenessOptions {
  /**
   * Host names that are answered besides 127.0.0.1, localhost and [::1]. With a port: with that port only.
   * @default none
   */
  readonly allowedHosts?: readonly string[]
  /** Which series `/metrics` has per running thread. @default 'all' */
  readonly perThread?: MetricsOptions['perThread']
}

/** A tick later than this, in ms, is no longer healthy. */
const UNHEALTHY_MS = 30_000

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/**
 * Makes the handler; `app.fetch` takes a Request and gives its Response. Nothing here changes the watch. Throws
 * TypeError for an allowed host that is none, and for a mode of `perThread` that is none.
 */
export function livenessApp(watch: LivenessWatch, options: LivenessOptions = {}): Hono {
  const knownHost = hostCheck(options.allowedHosts)
  refuseBadCollectOptions(options)
  const app = new Hono()

  app.use((c, next) => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value)
    if (knownHost(c.req.header('host') ?? new URL(c.req.url).host)) return next()
    return Promise.resolve(c.json({ error: 'host not allowed' }, 403))
  })

  app.get('/api/prism/liveness', (c) => {
    const { status, body } = livenessResponse((threadId) => watch.liveness(threadId), c.req.query('threadId'), [
      READ_SCOPE,
    ])
    return c.json(body, status)
  })

  app.get('/api/prism/threads', (c) =>
    orUnavailable(c, () => ({ now: watch.now(), threads: watch.threads(), notifications: watch.notifications() })),
  )

  app.get('/healthz', (c) => {
    const tickLateMs = Math.round(watch.tickLateMs())
    const late = tickLateMs > UNHEALTHY_MS
    const { ticks, lateTicks, lastTickWallMs, observedMs } = watch.self
    return c.json(
      {
        status: late ? 'late' : 'ok',
        tickLateMs,
        ticks,
        lateTicks,
        lastTickAt: isoTime(lastTickWallMs),
        observedMs: Math.round(observedMs),
      },
      late ? 503 : 200,
    )
  })

  app.get('/metrics', async (c) => {
    try {
      const { contentType, text } = await metricsText(c, () => watch.metrics({ perThread: options.perThread ?? 'all' }))
      return c.body(text, 200, { 'content-type': contentType })
    } catch {
      // The watch has counted and reported the fault; a scraper needs to know only that there is one.
      return c.text('collecting the metrics failed\n', 500)
    }
  })

  for (const [path, { contentType, text }] of readPageFiles()) {
    app.get(path, (c) => c.body(text, 200, { 'content-type': contentType, 'content-security-policy': PAGE_POLICY }))
  }

  for (const path of new Set(app.routes.filter((route) => route.method === 'GET').map((route) => route.path))) {
    app.all(path, (c) => c.json({ error: 'method not allowed' }, 405, { allow: 'GET, HEAD' }))
  }
  app.notFound((c) => c.json({ error: 'not found' }, 404))
  app.onError((_error, c) => c.json({ error: 'internal error' }, 500))
  return app
}

/** The object; 503 where the watch cannot tell, which is when its clock fails. */
function orUnavailable(c: Context, ask: () => object): Response {
  try {
    return c.json(ask())
  } catch {
    return c.json({ error: 'stream clock unavailable' }, 503)
  }
}

/**
 * A host whose metrics are scraped from another machine, with a secret that both know. turnwatch's own server binds loopback
 * only; here the host serves the same handler itself, behind its own check. Run it with
 * `METRICS_BEARER=secret node examples/metrics-behind-bearer.ts`; HOST=0.0.0.0 lets other machines in, behind TLS if they are far.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import { serve } from '@hono/node-server'
// In a project of your own: from 'turnwatch' and 'turnwatch/liveness'.
import { createTurnwatch } from '../index.ts'
import { livenessApp } from '../liveness/index.ts'

const { METRICS_BEARER, HOST = '127.0.0.1', PORT = '9464' } = process.env
if (!METRICS_BEARER) throw new Error('METRICS_BEARER: the secret is missing')

const digest = (text: string) => createHash('sha256').update(text).digest()
const expected = digest(`Bearer ${METRICS_BEARER}`)

/** Digests have one length, and comparing them takes one time, however much of the secret was right. */
const isKnown = (request: Request) => timingSafeEqual(digest(request.headers.get('authorization') ?? ''), expected)

const watch = createTurnwatch().start()
const app = livenessApp(watch)
const server = serve(
  {
    hostname: HOST,
    port: Number(PORT),
    fetch: (request: Request) => {
      if (!isKnown(request))
        return new Response('unauthorized\n', { status: 401, headers: { 'www-authenticate': 'Bearer' } })
      // Under a name that turnwatch knows: whoever has the secret may call this host what it likes.
      const { pathname, search } = new URL(request.url)
      const accept = request.headers.get('accept') ?? '*/*'
      return app.fetch(new Request(`http://localhost${pathname}${search}`, { headers: { accept } }))
    },
  },
  ({ port }) => console.log(`metrics: http://${HOST}:${port}/metrics`),
)

// What the host does besides: a turn that says something twice a second.
const turn = watch.startTurn({ threadId: 'sub.boss.one', provider: 'demo' })
const stream = setInterval(() => turn.observe({ kind: 'token', stream: 'text' }), 500)

process.once('SIGTERM', async () => {
  clearInterval(stream)
  server.close()
  await watch.stop()
})

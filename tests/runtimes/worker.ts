/** What a worker does upon each request. */

import { watchStream } from '../../detector/watchdog/index.ts'
import { overHttp, passesOn } from './over-http.ts'
import { type Copy, scenario } from './scenario.ts'
import { delta, readAll, served, wait } from './small-streams.ts'

const DEADLINE_MS = 6000

export function workerOf(copy: Copy) {
  return {
    async fetch(request: Request, { ORIGIN }: { ORIGIN: string }): Promise<Response> {
      switch (new URL(request.url).pathname) {
        case '/scenario':
          return Response.json(await scenario(copy))
        case '/over-http':
          return Response.json(await overHttp(ORIGIN))
        case '/ends-soon':
          return Response.json((await readAll(endsSoon())).end)
        case '/silent':
          return Response.json(await Promise.race([silent(), wait(DEADLINE_MS + 2000).then(() => 'nothing')]))
        default:
          return passesOn(ORIGIN)(request)
      }
    },
  }
}

const endsSoon = () => watchStream(served([[1000, delta('a')]], 'closes').stream, { firstContentMs: 60_000 })

async function silent(): Promise<string> {
  const { end } = await readAll(watchStream(served([], 'hangs').stream, { firstContentMs: DEADLINE_MS }))
  return (end as Error).name
}

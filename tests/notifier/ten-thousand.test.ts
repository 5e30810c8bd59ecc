import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DeliveryFailed } from '../../notifier/channel.ts'
import { webhookChannel } from '../../notifier/channels/webhook.ts'
import type { NotifierOptions } from '../../notifier/notifier-options.ts'
import { sqliteStore } from '../../storage/sqlite-store.ts'
import { completed, NotifiedHost, Receiver, settle, token } from './notified-host.ts'

const TURNS = 10_000

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwatch-many-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Ten thousand children of a hundred parents, stale in the next tick. */
async function aboutToBeStale(channels: NotifierOptions['channels'], stored: boolean): Promise<NotifiedHost> {
  const host = new NotifiedHost({
    channels,
    ...(stored ? { store: sqliteStore(join(folder, 'many.db')) } : {}),
  })
  for (let i = 0; i < TURNS; i++) host.start(`sub.boss-${i % 100}.${i}`, `t${i}`).observe(token)
  await host.leap(112)
  return host
}

const heapBytes = () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('ten thousand turns that are stale at once', () => {
  it('are all told by webhook, each once; the tick does not wait for it, and nothing is left behind', async () => {
    const ids = new Map<string, number>()
    const server = createServer((request, response) => {
      const id = String(request.headers['webhook-id'])
      ids.set(id, (ids.get(id) ?? 0) + 1)
      request.resume().on('end', () => response.writeHead(204).end())
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
    const host = await aboutToBeStale([webhookChannel({ url })], true)
    const before = heapBytes()
    host.virtual.run(host.virtual.now + 1000, () => host.watch.tick())
    // Most of it is done after the tick, in turns of the event loop.
    expect(host.metric('turns_stale')).toBe(TURNS)
    expect(host.watch.notifications().channels[0]?.pending).toBeLessThanOrEqual(16)
    while (ids.size < TURNS) await new Promise((resolve) => setTimeout(resolve, 20))
    await settle()
    expect([...ids.values()].every((count) => count === 1)).toBe(true)
    expect(ids.has('stale/sub.boss-7.107/t107/1')).toBe(true)
    for (let i = 0; i < TURNS; i++) host.watch.observe(`sub.boss-${i % 100}.${i}`, completed)
    await host.pass(3)
    await host.watch.stop()
    server.closeAllConnections()
    server.close()
    // A few hundred bytes a turn: what the route and restored turns need to know of the past.
    expect(heapBytes() - before).toBeLessThan(TURNS * 2000)
  })

  it('on a channel that is down wait, while another channel tells of all, and all arrive when it is back', async () => {
    const [down, up] = [new Receiver('down'), new Receiver('up')]
    down.answer = () => Promise.reject(new DeliveryFailed('connection', 'ECONNREFUSED'))
    const host = await aboutToBeStale([down, up], false)
    host.virtual.run(host.virtual.now + 1000, () => host.watch.tick())
    while (up.got.length < TURNS) await settle()
    expect(new Set(up.keys).size).toBe(TURNS)
    await host.pass(20)
    expect(host.metric('notifications_pending', { channel: 'down' })).toBe(TURNS)
    expect(host.watch.notifications().messages).toHaveLength(50)
    down.answer = () => {}
    down.got.length = 0
    while (host.metric('notifications_pending') > 0) await host.pass(5)
    expect(new Set(down.keys).size).toBe(TURNS)
    expect(down.got).toHaveLength(TURNS)
    expect(up.got).toHaveLength(TURNS)
  })
})

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { webhookChannel } from '../../notifier/channels/webhook.ts'
import { NotifiedHost, Receiver } from './notified-host.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

interface Got {
  readonly id: string
  readonly body: { readonly key: string; readonly thread: string }
}

/** A receiver on a port of its own: `answer` hears how often it has been asked. */
async function receiver(
  answer: (times: number, response: Parameters<RequestListener>[1], socket: Socket) => void,
  port = 0,
) {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    got.push({ id: String(request.headers['webhook-id']), body: JSON.parse(Buffer.concat(parts).toString()) })
    answer(got.length, response, request.socket)
  })
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as AddressInfo
  const close = () =>
    new Promise((resolve) => {
      server.closeAllConnections()
      server.close(resolve)
    })
  return { got, port: bound, url: `http://127.0.0.1:${bound}/hook`, close }
}

const KEY = 'stale/sub.boss.one/t/1'

describe('receivers as they are', () => {
  it('each get what they can take; none keeps the others, or a tick, waiting', async () => {
    const elsewhere = await receiver((_times, response) => response.end())
    const receivers = {
      healthy: await receiver((_times, response) => response.writeHead(204).end()),
      slow: await receiver((_times, response) => setTimeout(() => response.writeHead(204).end(), 60)),
      resets: await receiver((times, response, socket) =>
        times < 3 ? socket.resetAndDestroy() : response.writeHead(200).end(),
      ),
      fails: await receiver((times, response) => response.writeHead(times === 1 ? 500 : 200).end()),
      limits: await receiver((times, response) =>
        response.writeHead(times === 1 ? 429 : 200, times === 1 ? { 'retry-after': '90' } : {}).end(),
      ),
      moved: await receiver((_times, response) => response.writeHead(301, { location: elsewhere.url }).end()),
      endless: await receiver((_times, response) => {
        response.writeHead(200).write('and')
        const more = setInterval(() => response.write(' on'), 20)
        response.on('close', () => clearInterval(more))
      }),
    }
    const { port: deadPort, close } = await receiver(() => {})
    await close()
    const channels = Object.entries(receivers).map(([name, { url }]) => webhookChannel({ name, url }))
    const dead = webhookChannel({ name: 'dead', url: `http://127.0.0.1:${deadPort}/hook` })
    const host = new NotifiedHost({ channels: [...channels, dead] })
    const settled = (name: string) => host.metric('notifications_pending', { channel: name }) === 0
    /** Virtual seconds, with time for real sockets in each. */
    const pass = async (seconds: number, until = () => false) => {
      for (let second = 0; second < seconds && !until(); second++) {
        await host.pass(1)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    await host.stale()
    await pass(60, () => settled('healthy') && settled('endless'))
    expect(receivers.healthy.got.map(({ id }) => id)).toEqual([KEY])
    expect(settled('endless')).toBe(true)
    await pass(120, () => settled('slow') && settled('resets') && settled('fails') && settled('moved'))
    expect(receivers.slow.got.map(({ id }) => id)).toEqual([KEY])
    expect(receivers.resets.got.map(({ id }) => id)).toEqual([KEY, KEY, KEY])
    expect(receivers.fails.got.map(({ id, body }) => [id, body.key])).toEqual([
      [KEY, KEY],
      [KEY, KEY],
    ])
    expect([receivers.moved.got.length, elsewhere.got.length]).toEqual([1, 0])
    await pass(120, () => settled('limits'))
    expect(receivers.limits.got).toHaveLength(2)
    // An hour later the dead one is back.
    await host.leap(3600)
    expect(host.metric('notifications_pending', { channel: 'dead' })).toBe(1)
    const back = await receiver((_times, response) => response.writeHead(200).end(), deadPort)
    await pass(400, () => settled('dead'))
    expect(back.got.map(({ id, body }) => [id, body.thread])).toEqual([[KEY, 'sub.boss.one']])
    expect(host.watch.notifications()).toMatchObject({
      messages: [{ channel: 'moved', state: 'dead', failure: expect.stringContaining('HTTP 301') }],
    })
    expect(JSON.stringify([host.faults, host.watch.notifications()])).not.toContain('127.0.0.1')
    await host.watch.stop()
  })

  it('that are slow do not keep a tick waiting: every stale turn is found in its second', async () => {
    const slow = new Receiver('slow')
    slow.answer = () => new Promise((resolve) => setTimeout(resolve, 60_000).unref())
    const host = new NotifiedHost({ channels: [slow] })
    const at: number[] = []
    host.watch.on('stale', () => at.push(host.virtual.now))
    for (let child = 0; child < 200; child++) host.start(`sub.boss.${child}`)
    await host.leap(200)
    expect(new Set(at)).toEqual(new Set([151_000]))
    expect(at).toHaveLength(200)
    expect(slow.got.length).toBeLessThanOrEqual(16)
  })
})

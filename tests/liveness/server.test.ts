import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { type LivenessServer, type ServeOptions, serveLiveness } from '../../liveness/index.ts'
import { fixture } from './manual-clock.ts'

async function serving(options: Partial<ServeOptions>, use: (server: LivenessServer) => Promise<void>): Promise<void> {
  const server = await serveLiveness(fixture().watch, { port: 0, ...options })
  try {
    await use(server)
  } finally {
    await server.close()
  }
}

async function answerOf(url: string, options: { host?: string; agent?: Agent } = {}): Promise<number | undefined> {
  const { host, agent } = options
  const [response] = (await once(get(url, { agent, headers: host ? { host } : {} }), 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

describe('serveLiveness', () => {
  test.each([
    [undefined, /^http:\/\/127\.0\.0\.1:\d+$/],
    ['127.0.0.1', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['localhost', /^http:\/\/127\.0\.0\.1:\d+$/],
  ])('binds %s and says where', async (host, url) => {
    await serving(host === undefined ? {} : { host }, async (server) => {
      expect(server.url).toMatch(url)
      expect(server.url.endsWith(`:${server.port}`)).toBe(true)
      expect(await answerOf(`${server.url}/healthz`)).toBe(200)
    })
  })

  test.each(['0.0.0.0', '::', '192.168.0.7', 'watch.example', ''])('refuses to bind %j', async (host) => {
    const refused = serveLiveness(fixture().watch, { port: 0, host })
    await expect(refused).rejects.toThrow(RangeError)
    await expect(refused).rejects.toThrow(`host: ${JSON.stringify(host)}`)
  })

  test.each([-1, 65_536, 1.5, Number.NaN])('refuses port %d', async (port) => {
    await expect(serveLiveness(fixture().watch, { port })).rejects.toThrow(RangeError)
  })

  test('rejects with the error of Node when the port is taken', async () => {
    await serving({}, async ({ port }) => {
      await expect(serveLiveness(fixture().watch, { port })).rejects.toMatchObject({ code: 'EADDRINUSE', port })
    })
  })

  test('answers its own names, and no name that was pointed at it', async () => {
    await serving({ allowedHosts: ['watch.example'] }, async ({ url, port }) => {
      expect(await answerOf(url)).toBe(200)
      expect(await answerOf(url, { host: `localhost:${port}` })).toBe(200)
      expect(await answerOf(url, { host: `watch.example:${port}` })).toBe(200)
      expect(await answerOf(url, { host: `rebound.example:${port}` })).toBe(403)
    })
  })

  test('close ends idle and half-open connections, frees the port and may be called twice', async () => {
    const { watch } = fixture()
    const server = await serveLiveness(watch, { port: 0 })
    const agent = new Agent({ keepAlive: true })
    expect(await answerOf(server.url, { agent })).toBe(200)
    const silent = connect(server.port, '127.0.0.1')
    await once(silent, 'connect')
    silent.write('GET / HTTP/1.1\r\n')
    const gone = once(silent.resume(), 'close')
    await Promise.all([server.close(), server.close()])
    await gone
    await (await serveLiveness(watch, { port: server.port })).close()
    agent.destroy()
  })

  test.each([
    [true, 'the process ends while a connection is open'],
    [false, 'the process goes on'],
  ])('unref %s: %s', async (unref) => {
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { createTurnwatch } from './turnwatch.ts'
         import { serveLiveness } from './liveness/index.ts'
         const server = await serveLiveness(createTurnwatch().start(), { port: 0, unref: ${unref} })
         const hold = setInterval(() => {}, 1000)
         process.stdin.on('data', () => { clearInterval(hold); process.stdin.destroy(); console.log('released') })
         console.log(server.url)`,
      ],
      { stdio: ['pipe', 'pipe', 'ignore'], cwd: new URL('../..', import.meta.url) },
    )
    const exited = once(child, 'exit')
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    try {
      const url = String((await lines.next()).value)
      const open = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
      open.write('GET / HTTP/1.1\r\n')
      expect(await answerOf(`${url}/healthz`)).toBe(200)
      child.stdin.write('release\n')
      expect((await lines.next()).value).toBe('released')
      if (unref) expect(await exited).toEqual([0, null])
      else expect(await answerOf(`${url}/healthz`)).toBe(200)
    } finally {
      child.kill()
    }
    await exited
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { StreamFailedError, StreamStalledError } from '../../detector/watchdog/index.ts'
import { launchChromium } from '../setup/chromium.ts'
import { Built } from './built.ts'
import { EXPECTED, EXPECTED_OVER_HTTP } from './expected.ts'
import { OLDEST_NODE, OldestNode } from './oldest-node.ts'
import { BUN, deno, installRuntimes, NODE, type Runtime, run, Serving, serveWorker } from './runtimes.ts'
import { COMPLETED, DELTA, SlowServer } from './slow-server.ts'
import { readAll } from './small-streams.ts'

/** Minified and compressed by gzip. */
const MOST_BYTES = 50_000

const built = new Built()
const oldestNode = new OldestNode()
beforeAll(() => built.make())
afterAll(async () => {
  built.remove()
  await oldestNode.remove()
})

async function findsTheSame(runtime: Runtime, env?: Record<string, string>): Promise<void> {
  expect(JSON.parse(await run(runtime, built.folder, ['scenario.js'], env))).toEqual(EXPECTED)
}

async function livesNoLonger(runtime: Runtime): Promise<void> {
  const programs = [run(runtime, built.folder, ['leaves.js']), run(runtime, built.folder, ['stays.js'])]
  expect(await Promise.all(programs)).toEqual(['reads\n', 'reads\nstalled: first_content\n'])
}

async function endsRequests(runtime: Runtime): Promise<void> {
  await using slow = await SlowServer.start()
  const found = await run(runtime, built.folder, ['over-http.js', slow.origin])
  expect(JSON.parse(found)).toEqual(EXPECTED_OVER_HTTP)
  await hasGivenUp(slow, '/stalls', '/waits')
}

async function hasGivenUp(slow: SlowServer, ...paths: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(slow.givenUp).toEqual(paths), { timeout: 30_000 })
}

/** `origin`: of a server that passes on what the slow one streams. */
async function passesOn(slow: SlowServer, origin: string): Promise<void> {
  const whole = await fetch(`${origin}/whole`)
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(await whole.text()).toBe(DELTA + COMPLETED)
  const stalled = await fetch(`${origin}/stalls`)
  const { events, end } = await readAll(stalled.body)
  expect([Buffer.concat(events as Uint8Array[]).toString(), end]).toEqual([DELTA, expect.any(Error)])
  await hasGivenUp(slow, '/stalls')
}

async function servesAProxy(runtime: Runtime): Promise<void> {
  await using slow = await SlowServer.start()
  await using serving = new Serving(runtime, built.folder, ['serves.js', slow.origin])
  await passesOn(slow, await serving.origin())
}

describe('the watchdog, bundled', () => {
  it('needs nothing that is not the web’s', async () => {
    const { code, imports, dynamicImports, moduleIds } = await built.bundle('one/detector/watchdog/index.js', 'es')
    expect([imports, dynamicImports, moduleIds.filter((id) => !id.startsWith(built.folder))]).toEqual([[], [], []])
    expect(moduleIds.length).toBeGreaterThan(50)
    expect(code.match(/\bBuffer\b|\brequire\b|\bimport\s*[('"{*]/g)).toBeNull()
  })

  it('is small', async () => {
    const { code } = await built.bundle('one/detector/watchdog/index.js', 'es', true)
    const bytes = gzipSync(code).length
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(MOST_BYTES)
  })
})

describe.concurrent('the watchdog in Node', () => {
  it('does the same as everywhere', () => findsTheSame(NODE))

  it('keeps no process alive, unless that is asked', () => livesNoLonger(NODE))

  it('ends the requests of streams, and of responses that do not come', () => endsRequests(NODE))

  it('does the same in the oldest one that the package allows', async ({ skip }) => {
    if (!(await oldestNode.installed)) {
      expect(process.env.CI).not.toBe('true')
      skip()
    }
    expect(await run(oldestNode, built.folder, ['--version'])).toBe(`v${OLDEST_NODE}\n`)
    await Promise.all([findsTheSame(oldestNode), livesNoLonger(oldestNode), endsRequests(oldestNode)])
  }, 180_000)
})

describe('the watchdog in a realm with these globals of the web, and no others', () => {
  const { AbortController, DOMException, ReadableStream, Response, TextDecoder, TextDecoderStream, TextEncoder } =
    globalThis
  const web = {
    AbortController,
    DOMException,
    ReadableStream,
    Response,
    TextDecoder,
    TextDecoderStream,
    TextEncoder,
    performance: { now: () => performance.now() },
  }

  it('does the same as everywhere', async () => {
    const realm = createContext({
      ...web,
      // As in browsers, timers are numbers.
      setTimeout: (work: () => void, ms: number) => Number(globalThis.setTimeout(work, ms)),
      clearTimeout: (timer: number) => clearTimeout(timer),
      copyOfAnotherRealm: { StreamStalledError, StreamFailedError },
    })
    const { code } = await built.bundle('all.js', 'iife')
    const script = `${code}\nturnwatch.scenario(copyOfAnotherRealm).then(JSON.stringify)`
    expect(JSON.parse(await runInContext(script, realm))).toEqual(EXPECTED)
  })

  it('keeps no process of an older Deno alive, where timers are numbers, unless that is asked', async () => {
    let timers = 0
    const released: number[] = []
    const Deno = { unrefTimer: (timer: number) => released.push(timer) }
    const realm = createContext({ ...web, Deno, setTimeout: () => ++timers, clearTimeout: () => {} })
    const { code } = await built.bundle('one/detector/watchdog/index.js', 'iife')
    runInContext(code, realm)
    const read = async (keepAlive: boolean) => {
      timers = 0
      released.length = 0
      const options = `{ firstContentMs: 60_000, keepAlive: ${keepAlive} }`
      runInContext(`void turnwatch.watchStream(new ReadableStream(), ${options}).getReader().read()`, realm)
      // A stream begins in a turn of its own.
      await setImmediate()
      return [timers, released.length]
    }
    const [made, letGo] = await read(false)
    expect(made).toBeGreaterThan(0)
    expect(letGo).toBe(made)
    const [madeNow, letGoNow] = await read(true)
    expect(letGoNow).toBeLessThan(madeNow as number)
  })
})

describe.skipIf(inject('missing').includes('chromium'))('the watchdog in Chromium', () => {
  it('does the same as everywhere, and ends its requests', async () => {
    const { code } = await built.bundle('all.js', 'iife')
    await using slow = await SlowServer.start()
    await using browser = await launchChromium()
    const page = await browser.newPage()
    await page.goto(slow.origin)
    await page.addScriptTag({ content: code })
    const find = async (expression: string) => JSON.parse(await page.evaluate(`${expression}.then(JSON.stringify)`))
    expect(await find('turnwatch.scenario(turnwatch.copy)')).toEqual(EXPECTED)
    expect(await find('turnwatch.overHttp(location.origin)')).toEqual(EXPECTED_OVER_HTTP)
    await hasGivenUp(slow, '/stalls', '/waits')
  })
})

describe.skipIf(!(await installRuntimes()))('the watchdog in a runtime that is not Node', () => {
  describe.concurrent('Bun', () => {
    it('does the same as everywhere', () => findsTheSame(BUN))

    it('keeps no process alive, unless that is asked', () => livesNoLonger(BUN))

    it('ends the requests of streams, and of responses that do not come', () => endsRequests(BUN))

    it('passes on what streams', () => servesAProxy(BUN))
  })

  describe.concurrent('Deno', () => {
    it('does the same as everywhere, and asks for no permission', async () => {
      const asked = join(built.folder, 'asked.jsonl')
      await findsTheSame(deno(), { DENO_AUDIT_PERMISSIONS: asked })
      expect(readFileSync(asked, 'utf8')).toBe('')
    })

    it('keeps no process alive, unless that is asked', () => livesNoLonger(deno()))

    it('ends the requests of streams, and of responses that do not come', () => endsRequests(deno('--allow-net')))

    it('passes on what streams', () => servesAProxy(deno('--allow-net')))
  })

  describe.concurrent('a worker of Cloudflare’s', () => {
    let code: string
    beforeAll(async () => {
      code = (await built.bundle('worker.js', 'es')).code
    })

    const answer = async (serving: Serving, path: string) => (await fetch((await serving.origin()) + path)).json()

    it('does the same as everywhere', async () => {
      await using serving = serveWorker(built.folder, code, 'none')
      expect(await answer(serving, '/scenario')).toEqual(EXPECTED)
    })

    it('keeps the deadline of a stream when another request ends', async () => {
      await using serving = serveWorker(built.folder, code, 'none')
      const soon = answer(serving, '/ends-soon')
      await setTimeout(200)
      const silent = answer(serving, '/silent')
      expect(await Promise.all([soon, silent])).toEqual(['done', 'StreamStalledError'])
    })

    it('ends the requests of streams, and of responses that do not come', async () => {
      await using slow = await SlowServer.start()
      await using serving = serveWorker(built.folder, code, slow.origin)
      expect(await answer(serving, '/over-http')).toEqual(EXPECTED_OVER_HTTP)
      await hasGivenUp(slow, '/stalls', '/waits')
    })

    it('passes on what streams', async () => {
      await using slow = await SlowServer.start()
      await using serving = serveWorker(built.folder, code, slow.origin)
      await passesOn(slow, await serving.origin())
    })
  })
})

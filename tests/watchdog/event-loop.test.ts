import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as passes } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Longer than any pause of a machine that is busy with other things. */
const DEADLINE_MS = 1000
const WAYS = ['a Response of fetch', 'the body of one', 'a message of node:http']

function start(file: string, ...args: string[]): { child: ChildProcess; lines: Interface } {
  const script = join(import.meta.dirname, file)
  const child = spawn(process.execPath, ['--experimental-strip-types', '--no-warnings', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout as NodeJS.ReadableStream }) }
}

let server: ChildProcess
let url: string

beforeAll(async () => {
  const { child, lines } = start('ticking-server-child.ts')
  server = child
  const [port] = await once(lines, 'line')
  url = `http://127.0.0.1:${port}`
})

afterAll(() => server.kill('SIGKILL'))

interface Read {
  readonly outcome: string
  readonly words: number
  readonly inOrder: boolean
}

/** What became of every way of reading; the client lives on while `then` is done. */
async function client(path: string, blocks: readonly number[], work: Work = {}): Promise<Record<string, Read>> {
  const { child, lines } = start(
    'blocked-client-child.ts',
    `${url}${path}`,
    String(DEADLINE_MS),
    JSON.stringify(blocks),
  )
  try {
    const told = lines[Symbol.asyncIterator]()
    expect((await told.next()).value).toBe('reading')
    await work.meanwhile?.(child)
    const { value } = await told.next()
    await work.then?.()
    return JSON.parse(value ?? '{}')
  } finally {
    child.kill('SIGKILL')
  }
}

interface Work {
  readonly meanwhile?: (child: ChildProcess) => Promise<void>
  readonly then?: () => Promise<void>
}

describe('a process that reads a provider which sends every 20 ms', () => {
  const whole = (least: number) =>
    Object.fromEntries(
      WAYS.map((way) => [
        way,
        { outcome: 'completed', inOrder: true, words: expect.toSatisfy((words: number) => words >= least) },
      ]),
    )

  it('has no stall, however often its event loop is blocked for longer than the deadline', async () => {
    const blocks = [1500, 2500, 1200, 4000, 1100]
    expect(await client('/ticking?ms=14000', blocks)).toEqual(whole(100))
  })

  it.skipIf(process.platform === 'win32')('has no stall where it is stopped and continued', async () => {
    const meanwhile = async (child: ChildProcess) => {
      for (const ms of [1500, 2500]) {
        await passes(500)
        child.kill('SIGSTOP')
        await passes(ms)
        child.kill('SIGCONT')
      }
    }
    expect(await client('/ticking?ms=8000', [], { meanwhile })).toEqual(whole(50))
  })
})

describe('a process that reads a provider which is dead', () => {
  it('has a stall though its event loop is blocked again and again, and closes its request', async () => {
    let closed = ''
    const then = async () => {
      for (let poll = 0; poll < 150 && closed !== String(WAYS.length); poll++) {
        await passes(100)
        closed = await (await fetch(`${url}/closed`)).text()
      }
    }
    const told = await client('/dead', [1300, 1300, 1300], { then })
    const stalled = { outcome: 'between_content', isLongEnough: true, words: 5, inOrder: true }
    expect(told).toEqual(Object.fromEntries(WAYS.map((way) => [way, stalled])))
    expect(closed).toBe(String(WAYS.length))
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ProcessWatch } from '../../detector/process-watch.ts'
import { WatchedHost } from './watched-host.ts'

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return { ...real, readFile: vi.fn(real.readFile) }
})

const linux = process.platform === 'linux'
const children: ChildProcess[] = []
/** A pid that no process has any more. */
let gonePid = 0

beforeAll(async () => {
  gonePid = (await sleeper()).pid
  await kill(children.pop() as ChildProcess)
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => {
  vi.restoreAllMocks()
})

/** A child that runs until it is killed, and its first line. */
async function child(
  program: string,
  ...args: string[]
): Promise<{ process: ChildProcess; pid: number; line: string }> {
  const spawned = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(spawned)
  const [bytes] = await once(spawned.stdout, 'data')
  return { process: spawned, pid: spawned.pid as number, line: String(bytes).trim() }
}

const sleeper = () => child(process.execPath, '-e', 'setInterval(() => {}, 1000); console.log("up")')

async function kill(process: ChildProcess): Promise<void> {
  process.kill('SIGKILL')
  await once(process, 'exit')
}

function watching() {
  const gone: string[] = []
  const watch = new ProcessWatch((error) => gone.push(`fault: ${error}`))
  return {
    watch,
    gone,
    on: (pid: number, name: string, isOver?: () => boolean) => watch.watch(pid, () => gone.push(name), isOver),
    /** Looks once: a process that is gone, and was added last, is found when all others have been looked at. */
    look: async () => {
      await new Promise<void>((resolve) => {
        watch.watch(gonePid, resolve)
        watch.check()
      })
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('a watched process', () => {
  it('that lives is not gone; that is killed is, once for each watch', async () => {
    const { on, look, gone } = watching()
    const { process, pid } = await sleeper()
    on(pid, 'a')
    on(pid, 'b')
    await look()
    expect(gone).toEqual([])
    await kill(process)
    await look()
    await look()
    expect(gone).toEqual(['a', 'b'])
  })

  it.skipIf(process.platform === 'win32')('that is stopped is not gone', async () => {
    const { on, look, gone } = watching()
    const { process, pid } = await sleeper()
    on(pid, 'a')
    process.kill('SIGSTOP')
    await look()
    await look()
    expect(gone).toEqual([])
  })

  it('that is gone before the first look is found by it', async () => {
    const { on, look, gone } = watching()
    on(gonePid, 'a')
    await look()
    expect(gone).toEqual(['a'])
  })

  it.runIf(linux)('that is a zombie, because its parent does not reap it, is gone', async () => {
    const { on, look, gone } = watching()
    // The shell starts a child and becomes a program that never waits for it.
    const { line } = await child('sh', '-c', 'sleep 0 & echo $!; exec sleep 60')
    await vi.waitFor(() => expect(readFileSync(`/proc/${line}/stat`, 'utf8')).toMatch(/\) Z /), 5000)
    on(Number(line), 'zombie')
    await look()
    expect(gone).toEqual(['zombie'])
  })

  it.runIf(linux)(
    'is told from another that took its pid by the start time; who watches that one goes on',
    async () => {
      const { on, look, gone } = watching()
      const { process, pid } = await sleeper()
      on(pid, 'old')
      await look()
      // A pid cannot be had at will: the kernel's answer is given a later start time instead.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.split(' ')
      fields[21] = String(Number(fields[21]) + 500)
      vi.mocked(readFile).mockImplementation(async () => fields.join(' '))
      on(pid, 'new')
      await look()
      await look()
      expect(gone).toEqual(['old'])
      vi.mocked(readFile).mockReset()
      await kill(process)
      await look()
      expect(gone).toEqual(['old', 'new'])
    },
  )

  it.runIf(linux)('may have any name, brackets and spaces included', async () => {
    const { on, look, gone } = watching()
    const { pid } = await sleeper()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, '(a) Z (b c)')
    vi.mocked(readFile).mockImplementation(async () => stat)
    on(pid, 'a')
    await look()
    vi.mocked(readFile).mockReset()
    await look()
    expect(gone).toEqual([])
  })

  it.runIf(linux)('that cannot be looked at now is not gone', async () => {
    const { on, look, gone } = watching()
    const { pid } = await sleeper()
    on(pid, 'a')
    vi.mocked(readFile).mockRejectedValue(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
    await look()
    vi.mocked(readFile).mockReset()
    expect(gone).toEqual([])
  })

  it('that is watched while another is looked at is not forgotten', async () => {
    const { on, look, gone } = watching()
    const first = await sleeper()
    on(first.pid, 'a')
    const looking = look()
    on(first.pid, 'b')
    await looking
    await kill(first.process)
    await look()
    expect(gone).toEqual(['a', 'b'])
  })

  it('whose turn is over is watched no longer', async () => {
    const { on, look, gone } = watching()
    const { process, pid } = await sleeper()
    let over = false
    on(pid, 'over', () => over)
    on(pid, 'running')
    await look()
    over = true
    await kill(process)
    await look()
    expect(gone).toEqual(['running'])
  })

  it('is not looked at any more once the watch has stopped', async () => {
    const { watch, on, look, gone } = watching()
    const { process, pid } = await sleeper()
    on(pid, 'a')
    watch.stop()
    await kill(process)
    await look()
    expect(gone).toEqual([])
  })
})

describe('a turn with a pid', () => {
  it('is provider-dead when the process is gone, and lost 60 s later; turns that ended before are left alone', async () => {
    const { process, pid } = await sleeper()
    const host = new WatchedHost()
    const start = (turnId: string) =>
      host.watch.startTurn({ threadId: turnId, turnId, provider: 'codex', model: 'm', pid })
    start('done').observe({ kind: 'turn.ended', outcome: 'completed' })
    start('open').observe({ kind: 'tool.started', id: 'c' })
    host.run(3000)
    await kill(process)
    await vi.waitFor(() => expect(host.run(host.now + 1000).log).toHaveLength(2), 5000)
    const deadAt = Number.parseInt(host.log[1] as string, 10)
    host.run(deadAt + 70_000)
    expect(host.log.slice(0, 2)).toEqual(['0 done completed', `${deadAt} open stale provider-dead`])
    // It is heard of between two ticks.
    expect(host.log.slice(2)).toEqual([expect.stringMatching(/^\d+ open lost$/)])
    expect(Number.parseInt(host.log[2] as string, 10) - deadAt).toBe(60_000)
    expect(host.metric('events_total', { class: 'after-end' })).toBe(0)
  })
})

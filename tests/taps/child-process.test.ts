import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ProcessTapOptions, type WatchableProcess, watchProcess } from '../../instrumentation/sources/index.ts'
import { claude, HandTimers, ndjson, Recorder, turn, turnLines } from './recorder.ts'

let watch: Recorder
const agent: ProcessTapOptions = { source: claude.source, thread: 't' }
const children: ChildProcess[] = []

beforeEach(() => {
  watch = new Recorder()
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Runs a script of Node, in which `say` writes messages. */
function run(script: string, options: SpawnOptions = {}): ChildProcess {
  const say = 'const say = (...all) => { for (const one of all) process.stdout.write(JSON.stringify(one) + "\\n") };'
  const names = `const [init, text, result] = ${JSON.stringify(turn)};`
  const child = spawn(process.execPath, ['-e', `${say}${names}${script}`], { stdio: 'pipe', ...options })
  children.push(child)
  return child
}

const closed = (child: ChildProcess) => once(child, 'close')
const output = (child: ChildProcess) => text(child.stdout as NonNullable<ChildProcess['stdout']>)

/** Resolves when the watch was told a line. */
async function told(line: string): Promise<void> {
  while (!watch.lines.includes(line)) await new Promise((resolve) => setImmediate(resolve))
}

describe('a watched process', () => {
  const whole = 'say(init, text, result)'

  it.each([
    ['data events', (child: ChildProcess) => gathered(child)],
    ['data events of text', (child: ChildProcess) => gathered(child, 'utf8')],
    ['read()', byReading],
    ['for await', output],
    ['pipe()', (child: ChildProcess) => text((child.stdout as PassThrough).pipe(new PassThrough()))],
    ['a reader that pauses', (child: ChildProcess) => gathered(child, undefined, true)],
  ])('is read by its host as before, by %s', async (_, take) => {
    const child = run(whole)
    watchProcess(child, watch, agent)
    const done = closed(child)
    expect(await take(child)).toBe(ndjson(turn))
    await done
    expect(watch.lines).toEqual(turnLines)
  })

  function gathered(child: ChildProcess, encoding?: BufferEncoding, pauses = false): Promise<string> {
    const { stdout } = child
    if (stdout === null) throw new Error('no stdout')
    if (encoding !== undefined) stdout.setEncoding(encoding)
    let all = ''
    stdout.on('data', (chunk) => {
      expect(typeof chunk).toBe(encoding === undefined ? 'object' : 'string')
      all += chunk
      if (!pauses) return
      stdout.pause()
      setImmediate(() => stdout.resume())
    })
    return once(stdout, 'end').then(() => all)
  }

  async function byReading(child: ChildProcess): Promise<string> {
    const { stdout } = child
    let all = ''
    stdout?.on('readable', () => {
      for (let chunk = stdout.read(); chunk !== null; chunk = stdout.read()) all += chunk
    })
    if (stdout) await once(stdout, 'end')
    return all
  }

  it('can have readers from later on, and is seen before them', async () => {
    const child = run(`${whole}; process.stdin.resume()`)
    watchProcess(child, watch, agent)
    await told(claude.completed)
    const all = gathered(child)
    child.stdin?.end()
    expect(await all).toBe(ndjson(turn))
    expect(watch.lines).toEqual(turnLines)
  })

  it('can have readers from before', async () => {
    const child = run(whole)
    const all = gathered(child)
    watchProcess(child, watch, agent)
    expect(await all).toBe(ndjson(turn))
    await closed(child)
    expect(watch.lines).toEqual(turnLines)
  })

  it('does not begin to flow, and is the same object afterwards', async () => {
    const child = run(whole)
    const before = [child, child.stdout, child.stdin].map((one) => Reflect.ownKeys(one as object))
    const undo = watchProcess(child, watch, agent)
    expect(child.stdout?.readableFlowing).toBe(null)
    undo()
    expect([child, child.stdout, child.stdin].map((one) => Reflect.ownKeys(one as object))).toEqual(before)
    expect(child.eventNames()).toEqual([])
    expect(await output(child)).toBe(ndjson(turn))
    expect(watch.lines).toEqual([])
  })

  it('is let go when its exit was judged', async () => {
    const child = run(whole)
    watchProcess(child, watch, agent)
    await Promise.all([output(child), closed(child)])
    expect(child.eventNames()).toEqual([])
    expect(['push', '_read'].map((name) => Object.hasOwn(child.stdout as object, name))).toEqual([false, false])
    expect(['write', 'end'].map((name) => Object.hasOwn(child.stdin as object, name))).toEqual([false, false])
    expect(Object.hasOwn(child, 'kill')).toBe(false)
  })

  it('is read where its lines are cut, and where the last has no newline', async () => {
    const script = `
      const all = Buffer.from(${JSON.stringify(ndjson(turn).trimEnd())})
      const next = (at) => at < all.length && process.stdout.write(all.subarray(at, at + 50), () => next(at + 50))
      next(0)`
    const child = run(script)
    watchProcess(child, watch, agent)
    await Promise.all([output(child), closed(child)])
    expect(watch.lines).toEqual(turnLines)
  })

  it('passes over lines that are no JSON objects, and counts those that look like some', async () => {
    const child = run('say(init); console.log("Loading…\\n{ half\\n[1]"); say(text, result)')
    watchProcess(child, watch, agent)
    await Promise.all([output(child), closed(child)])
    expect(watch.lines).toEqual(turnLines)
    expect(watch.faults).toEqual(['claude-code-stream-json: not JSON'])
  })

  it('is not held up by a watch that throws', async () => {
    const broken = () => {
      throw new Error('broken watch')
    }
    const child = run(whole)
    watchProcess(child, { observe: broken, unclassified: broken, unreadable: broken }, agent)
    const [all] = await Promise.all([output(child), closed(child)])
    expect(all).toBe(ndjson(turn))
  })
})

describe('what a host writes to stdin', () => {
  const request = { method: 'item/commandExecution/requestApproval', id: 7, params: { threadId: 't', turnId: '1' } }
  const started = { method: 'turn/started', params: { threadId: 't', turn: { id: '1' } } }
  const echo = 'process.stdin.pipe(process.stdout)'

  it.each([
    ['by write()', true, (child: ChildProcess, reply: string) => child.stdin?.write(reply)],
    ['by end()', true, (child: ChildProcess, reply: string) => child.stdin?.end(reply)],
    [
      'in hex',
      true,
      (child: ChildProcess, reply: string) => child.stdin?.write(Buffer.from(reply).toString('hex'), 'hex'),
    ],
    [
      'by pipeline()',
      true,
      (child: ChildProcess, reply: string) => child.stdin && pipeline([Buffer.from(reply)], child.stdin),
    ],
    ['unless that is not wanted', false, (child: ChildProcess, reply: string) => child.stdin?.write(reply)],
  ])('is our side’s: %s', async (_, stdin, write) => {
    const child = run(`say(${JSON.stringify(started)}, ${JSON.stringify(request)});${echo}`)
    watchProcess(child, watch, { source: 'codex-app-server', stdin })
    child.stdout?.resume()
    await told('t wait.started id=7 reason=approval turn=1')
    const before = watch.lines.length
    const reply = `${JSON.stringify({ id: 7, result: {} })}\n`
    await write(child, reply)
    expect(watch.lines.slice(before)).toEqual(stdin ? ['t wait.ended id=7'] : [])
  })
})

describe('the exit of a process', () => {
  it('is told for the turn that it leaves open, after all that it wrote', async () => {
    const child = run('say(init, text); process.exitCode = 3')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await closed(child)
    expect(watch.lines).toEqual([claude.started, claude.token, 't exit code=3 signal=null'])
  })

  it('of a signal that the host did not send is the provider’s', async () => {
    const child = run('say(init); setInterval(() => {}, 1000)')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.started)
    process.kill(child.pid as number, 'SIGKILL')
    await closed(child)
    expect(watch.lines).toEqual([claude.started, 't exit code=null signal=SIGKILL'])
  })

  it.each([
    ['kill()', (child: ChildProcess) => child.kill(), 'SIGTERM'],
    ['kill() with a signal', (child: ChildProcess) => child.kill('SIGKILL'), 'SIGKILL'],
  ])('by the host’s own %s follows an interrupt', async (_, kill, signal) => {
    const child = run('say(init); setInterval(() => {}, 1000)')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.started)
    expect(kill(child)).toBe(true)
    expect(watch.lines).toEqual([claude.started, 't interrupt.requested'])
    await closed(child)
    expect(watch.lines.slice(2)).toEqual(['t interrupt.requested', `t exit code=null signal=${signal}`])
  })

  it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
    'by itself, after the clean-up that the host’s %s began, follows one however long that took',
    async (signal) => {
      const child =
        run(`process.on('${signal}', () => { say(text); process.stdin.on('data', () => process.exit(143)) });
        say(init); setInterval(() => {}, 1000)`)
      watchProcess(child, watch, agent)
      child.stdout?.resume()
      await told(claude.started)
      child.kill(signal)
      await told(claude.token)
      child.stdin?.write('done')
      await closed(child)
      expect(watch.lines.slice(1)).toEqual([
        't interrupt.requested',
        claude.token,
        't interrupt.requested',
        't exit code=143 signal=null',
      ])
    },
  )

  it('by itself is no answer to the host’s SIGINT, which may only interrupt it', async () => {
    const child = run(`process.on('SIGINT', () => { say(text); process.stdin.on('data', () => process.exit(1)) });
      say(init); setInterval(() => {}, 1000)`)
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.started)
    child.kill('SIGINT')
    await told(claude.token)
    child.stdin?.write('done')
    await closed(child)
    expect(watch.lines.slice(1)).toEqual(['t interrupt.requested', claude.token, 't exit code=1 signal=null'])
  })

  it('by the host’s own kill() follows one of each turn, sub-agents’ too', async () => {
    const helper = { ...claude.text, parent_tool_use_id: 'h' }
    const child = run(`say(init, ${JSON.stringify(helper)}); setInterval(() => {}, 1000)`)
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told('sub.t.h token stream=text turn=h')
    const before = watch.lines.length
    child.kill()
    expect(watch.lines.slice(before)).toEqual(['t interrupt.requested', 'sub.t.h interrupt.requested turn=h'])
    await closed(child)
  })

  it('by the host’s abort signal follows an interrupt', async () => {
    const stop = new AbortController()
    const child = run('say(init); setInterval(() => {}, 1000)', { signal: stop.signal })
    watchProcess(child, watch, agent)
    const errors: unknown[] = []
    child.on('error', (error) => errors.push(error.name))
    child.stdout?.resume()
    await told(claude.started)
    stop.abort()
    await closed(child)
    expect(errors).toEqual(['AbortError'])
    expect(watch.lines.slice(1)).toEqual([
      't interrupt.requested',
      't interrupt.requested',
      't exit code=null signal=SIGTERM',
    ])
  })

  it('is none of the host’s when that only asked whether it lives', async () => {
    const child = run('say(init); process.stdin.on("data", () => process.exit(9))')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.started)
    child.kill(0)
    child.stdin?.write('x')
    await closed(child)
    expect(watch.lines).toEqual([claude.started, 't exit code=9 signal=null'])
  })

  it('before any turn is a failed turn where it failed and the thread is known', async () => {
    for (const [code, thread] of [
      [0, 't'],
      [1, undefined],
      [1, 't'],
    ] as const) {
      const child = run(`process.exitCode = ${code}`)
      watchProcess(child, watch, { ...agent, thread })
      child.stdout?.resume()
      await closed(child)
    }
    expect(watch.lines).toEqual([
      't turn.started provider=claudeAgent',
      't error message=the process exited with code 1',
      't turn.ended outcome=error',
    ])
  })

  it('before any turn is none by the host’s own kill()', async () => {
    const child = run('setInterval(() => {}, 1000)')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    child.kill('SIGKILL')
    await closed(child)
    expect(watch.lines).toEqual([])
  })

  it('is judged though another process holds its pipe, when that is quiet', async () => {
    const heir = 'require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]'
    const script = `say(init, text); const heir = ${heir}, { stdio: ["ignore", "inherit", "ignore"] });
      say({ heir: heir.pid }); process.exit(1)`
    const child = run(script)
    watchProcess(child, watch, agent)
    let all = ''
    child.stdout?.on('data', (chunk) => {
      all += chunk
    })
    await once(child, 'exit')
    const pid = () => /"heir":(\d+)/.exec(all)?.[1]
    while (pid() === undefined) await new Promise((resolve) => setImmediate(resolve))
    try {
      await told('t exit code=1 signal=null')
      expect(watch.lines).toEqual([claude.started, claude.token, 't exit code=1 signal=null'])
    } finally {
      process.kill(Number(pid()), 'SIGKILL')
    }
  })

  it('is judged at the end of its output where that comes later', async () => {
    const child = run('say(init); process.exit(2)')
    watchProcess(child, watch, { ...agent, later: () => {} })
    await once(child, 'exit')
    child.stdout?.resume()
    await closed(child)
    expect(watch.lines).toEqual([claude.started, 't exit code=2 signal=null'])
  })

  it('is as good as happened when its output ends and it stays', async () => {
    const timers = new HandTimers()
    const child = run('say(init); require("fs").closeSync(1); setInterval(() => {}, 1000)')
    watchProcess(child, watch, { ...agent, later: timers.later })
    child.stdout?.resume()
    await once(child.stdout as PassThrough, 'end')
    expect(watch.lines).toEqual([claude.started])
    timers.pass(500)
    expect(watch.lines).toEqual([claude.started, 't exit code=null signal=null'])
  })

  it('is no news once the host destroyed its output', async () => {
    const child = run('say(init); setInterval(() => say(text), 50)')
    watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.token)
    child.stdout?.destroy()
    await closed(child)
    expect(watch.lines.slice(-1)).toEqual([claude.aborted])
  })

  it('of one that never started is a failed turn, and still an error of the host’s', async () => {
    const child = spawn('/nonexistent/agent', { stdio: 'pipe' })
    watchProcess(child, watch, agent)
    const [error] = await once(child, 'error')
    expect(error).toMatchObject({ code: 'ENOENT' })
    expect(child.listenerCount('error')).toBe(0)
    expect(watch.lines).toEqual([
      't turn.started provider=claudeAgent',
      't error message=spawn /nonexistent/agent ENOENT',
      't turn.ended outcome=error',
    ])
  })

  it('after the undo is no news; a turn still open ends as aborted', async () => {
    const child = run('say(init); process.stdin.on("data", () => { say(text); process.exit(1) })')
    const undo = watchProcess(child, watch, agent)
    child.stdout?.resume()
    await told(claude.started)
    undo()
    undo()
    child.stdin?.write('x')
    await closed(child)
    expect(watch.lines).toEqual([claude.started, claude.aborted])
  })
})

describe('a host that does not read', () => {
  it('makes the turn wait, and sees everything in the end', async () => {
    const timers = new HandTimers()
    const long = { ...claude.text, message: { content: [{ type: 'text', text: 'x'.repeat(1000) }] } }
    const child = run(`say(init); for (let i = 0; i < 1000; i++) say(${JSON.stringify(long)}); say(result)`)
    watchProcess(child, watch, { ...agent, later: timers.later })
    const { stdout } = child
    while ((stdout?.readableLength ?? 0) < (stdout?.readableHighWaterMark ?? 0)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    timers.pass(5000)
    const before = watch.lines
    expect(before.at(-1)).toBe('t wait.started id=consumer reason=queue')
    await Promise.all([output(child), closed(child)])
    expect(watch.lines[before.length]).toBe('t wait.ended id=consumer')
    expect(watch.lines.filter((line) => line === claude.token).length).toBe(1000)
    expect(watch.lines.at(-1)).toBe(claude.completed)
  })
})

describe('a process that has exited', () => {
  /** One whose pipe is ours. */
  function exited(stdout: PassThrough): WatchableProcess {
    const fields = { stdout, stdin: null, pid: 1, exitCode: 4, signalCode: null, kill: () => true }
    return Object.assign(new EventEmitter(), fields)
  }

  it('before it was watched is judged when its pipe is quiet', () => {
    const timers = new HandTimers()
    const stdout = new PassThrough()
    watchProcess(exited(stdout), watch, { ...agent, later: timers.later })
    stdout.write(ndjson([claude.init]))
    timers.pass(2000)
    expect(watch.lines).toEqual([claude.started, 't exit code=4 signal=null'])
  })

  it('is not judged before its host has read what it said', () => {
    const timers = new HandTimers()
    const stdout = new PassThrough({ highWaterMark: 100 })
    watchProcess(exited(stdout), watch, { ...agent, later: timers.later })
    stdout.write(ndjson([claude.init]))
    stdout.write(ndjson([claude.text]))
    stdout.write(ndjson([claude.result]))
    timers.pass(100_000)
    expect(watch.lines.filter((line) => !line.includes('consumer'))).toEqual([claude.started, claude.token])
    while (stdout.read() !== null);
    timers.pass(2000)
    expect(watch.lines.filter((line) => !line.includes('consumer'))).toEqual(turnLines)
    expect(stdout.write(ndjson(turn))).toBe(false)
    expect(watch.lines.length).toBe(turnLines.length + 2)
  })
})

describe('is refused at once', () => {
  it('an unknown source', () => {
    expect(() => watchProcess(run(''), watch, { source: 'x' } as never)).toThrow('source: "x" is none of ')
  })

  it('what is no process', () => {
    expect(() => watchProcess({} as never, watch, agent)).toThrow('child: an object is no child process')
  })

  it('a process without a stdout to read', async () => {
    const inherits = run('', { stdio: ['ignore', 'ignore', 'ignore'] })
    expect(() => watchProcess(inherits, watch, agent)).toThrow("child: its stdout is null; spawn it with stdout 'pipe'")
    const over = run('')
    await Promise.all([output(over), closed(over)])
    expect(() => watchProcess(over, watch, agent)).toThrow('child: its stdout has ended')
  })
})

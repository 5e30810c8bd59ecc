import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent, anonymous, claude, exists, metric, newPath, node, root, run, samples, sleep } from './harness.ts'

const linux = process.platform === 'linux'

describe.concurrent('what goes through', () => {
  it('is the same byte for byte, from stdin to the command and from it to stdout', async () => {
    const bytes = randomBytes(20 * 1024 * 1024 + 17)
    const { code, stdout, notes } = await run(['--', 'cat'], { input: bytes }).ended
    expect(stdout.equals(bytes)).toBe(true)
    expect(code).toBe(0)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('no known format')
  })

  it('includes stderr, and stdout can be opened by name', async () => {
    const { stdout, stderr } = await run(['--', 'sh', '-c', 'cat > /dev/stdout; echo oops >&2'], {
      input: 'in and out',
    }).ended
    expect(stdout.toString()).toBe('in and out')
    expect(stderr).toMatch(/^oops$/m)
  })

  it('includes the prompt that an agent reads from stdin', async () => {
    const { code, stderr } = await run(claude('stdin init text result'), { input: 'a prompt' }).ended
    expect(stderr).toBe('read a prompt\n')
    expect(code).toBe(0)
  })

  it('comes at once, not when the command ends', async () => {
    const gate = newPath()
    const one = run(anonymous(`init until:${gate}`))
    await one.shows('"init"')
    writeFileSync(gate, '')
    expect((await one.ended).code).toBe(0)
  })

  it('keeps options that come after -- for the command, its own -- too', async () => {
    const { stdout } = await run([
      '--',
      node,
      '-p',
      'process.argv.slice(1).join()',
      '--',
      '--port',
      'x',
      '--help',
      '--',
    ]).ended
    expect(stdout.toString()).toBe('--port,x,--help,--\n')
  })

  it('is parsed although characters are split over reads and the last line has no newline', async () => {
    const store = newPath('.db')
    const metrics = newPath('.prom')
    const steps = 'session:sé😀ssion init bytewise:grüße😀 resultWithoutNewline'
    const { code, stdout } = await run(['--store', store, '--metrics-file', metrics, ...anonymous(steps)]).ended
    expect(code).toBe(0)
    expect(stdout.toString()).toContain('grüße😀')
    expect(stdout.at(-1)).not.toBe(0x0a)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
    expect(samples(store)).toEqual([{ thread: 'sé😀ssion', provider: 'claudeAgent', model: 'claude-test-1' }])
  })

  it('may be a line of any length without a newline, in bounded memory', async () => {
    const script = `const part = Buffer.alloc(1 << 20, 'x'); require('fs').writeSync(1, '{')
      for (let i = 0; i < 500; i++) for (let at = 0; at < part.length; ) at += require('fs').writeSync(1, part, at)`
    const child = spawn(node, [join(root, 'cli', 'main.ts'), 'run', '--store', 'off', '--', node, '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let bytes = 0
    let peakKb = 0
    let looked = 0
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (!linux || bytes < looked) return
      looked = bytes + 10_000_000
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      peakKb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1])
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(code).toBe(0)
    expect(bytes).toBe(500 * 1024 * 1024 + 1)
    if (linux) expect(peakKb).toBeGreaterThan(0)
    expect(peakKb).toBeLessThan(420_000)
  })
})

describe.concurrent('a reader', () => {
  it('that is slow loses nothing and causes no verdict when the agent prints its result and exits at once', async () => {
    const gone = newPath()
    const metrics = newPath('.prom')
    const limits = ['--mid-stream', '1s', '--metrics-file', metrics]
    // More than our reader's buffer takes, so that we are held up; the rest fits into the pipe, so that the agent is gone.
    const one = run([...limits, ...claude(`init ${'big:9000 '.repeat(44)}result mark:${gone}`)], {
      slow: true,
    })
    // Where the buffers are smaller, it goes only when we read.
    await Promise.race([exists(gone), sleep(8000)])
    await sleep(3500)
    one.read()
    const { code, stdout, notes } = await one.ended
    expect(notes).toEqual([])
    expect(code).toBe(0)
    const lines = stdout.toString().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(['system', ...Array(44).fill('stream_event'), 'result'])
    expect(metric(metrics, 'turns_ended_total')).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('that is slow does not keep an agent from being told dead once its output was read', async () => {
    const one = run(claude(`init ${'big:90000 '.repeat(8)}exit:4`), { slow: true })
    await sleep(2000)
    one.read()
    const { code, stdout, notes } = await one.ended
    expect(stdout.toString().trimEnd().split('\n')).toHaveLength(9)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('provider-dead')
    expect(code).toBe(4)
  })

  const pipeline = async (command: string[]) => {
    const codeFile = newPath()
    const words = [node, join(root, 'cli', 'main.ts'), 'run', '--store', 'off', ...command]
    const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    const child = spawn('sh', ['-c', `{ ${line}; echo $? > '${codeFile}'; } | head -n 1`])
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    await new Promise((resolve) => child.on('close', resolve))
    return { code: Number(readFileSync(codeFile, 'utf8')), stdout, stderr }
  }

  it('that has seen enough ends the command as a pipe does', async () => {
    const { code, stdout } = await pipeline(['--', 'sh', '-c', 'exec yes'])
    expect(stdout).toBe('y\n')
    expect(code).toBe(128 + 13)
  })

  it('that has seen enough is no failure of the agent', async () => {
    const { code, stdout, stderr } = await pipeline(claude('init forever'))
    expect(JSON.parse(stdout).subtype).toBe('init')
    expect(stderr).toBe('')
    // What the agent itself does when nobody reads it.
    expect(code).toBe(3)
  })
})

describe.concurrent('stdin', () => {
  it('that the command closes ends whoever writes it', async () => {
    const codeFile = newPath()
    const main = join(root, 'cli', 'main.ts')
    const child = spawn('sh', [
      '-c',
      `{ yes; echo $? > '${codeFile}'; } | '${node}' '${main}' run --store off -- head -n 1`,
    ])
    let stdout = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    await new Promise((resolve) => child.on('close', resolve))
    expect(stdout).toBe('y\n')
    expect(existsSync(codeFile)).toBe(true)
  })

  it('carries replies to the source: an approval is no silence, what follows it is', async () => {
    const limits = ['--mid-stream', '1s']
    const one = run([...limits, '--', node, agent('app-server'), 'app-server', '--source', 'x'], { input: 'open' })
    await one.shows('requestApproval')
    await sleep(2500)
    one.process.stdin?.write(`${JSON.stringify({ id: 7, result: { decision: 'accept' } })}\n`)
    await one.sees(/replied/)
    await one.sees(/turnwatch: stale: thread-1 \(codex\): reason silence: .*after-tool/)
    one.process.stdin?.end()
    const { stderr } = await one.ended
    expect(stderr.indexOf('stale')).toBeGreaterThan(stderr.indexOf('replied'))
  })
})

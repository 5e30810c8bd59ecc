import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { claude, newPath, run } from './harness.ts'

describe.concurrent('bad input is one line and exit code 2, and nothing is started', () => {
  it.each([
    [['--first-token', 'soon'], '--first-token'],
    [['--port', '70000'], '--port'],
    [['--notify', 'ftp://user:s3cret@host/s3cret'], '--notify'],
    [['--unknown'], '--unknown'],
  ])('%s', async (options, named) => {
    const mark = newPath()
    const { code, stdout, stderr } = await run([...options, ...claude(`mark:${mark}`)]).ended
    expect(code).toBe(2)
    expect(stdout.length).toBe(0)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toContain(named)
    expect(stderr).not.toContain('s3cret')
    expect(existsSync(mark)).toBe(false)
  })

  it('without a command', async () => {
    const { code, stderr } = await run(['--thread', 'x', '--']).ended
    expect(code).toBe(2)
    expect(stderr).toBe('turnwatch: run: no COMMAND: turnwatch run [options] -- COMMAND...\n')
  })

  it('in the environment', async () => {
    const { code, stderr } = await run(claude('exit:0'), { env: { TURNWATCH_NOTIFY: 'http://ok.test s3cret' } }).ended
    expect(code).toBe(2)
    expect(stderr).toBe('turnwatch: TURNWATCH_NOTIFY: not an http or https URL\n')
  })

  it('for a port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const mark = newPath()
    const { code, stderr } = await run(['--port', String(port), ...claude(`mark:${mark}`)]).ended
    server.close()
    expect(code).toBe(2)
    expect(stderr).toBe(`turnwatch: --port ${port}: already in use\n`)
    expect(existsSync(mark)).toBe(false)
  })
})

describe.concurrent('--port', () => {
  it('0 takes a free one, prints it, and serves the turn that runs', async () => {
    const one = run(['--port', '0', ...claude('init text hang')])
    await one.shows('hello')
    await one.sees(/turnwatch: live page at \S+\n/)
    const url = /live page at (\S+)\//.exec(one.stderr())?.[1]
    const answer = (await (await fetch(`${url}/api/prism/threads`)).json()) as { threads: { threadId: string }[] }
    expect(answer.threads.map(({ threadId }) => threadId)).toEqual(['session-1'])
    one.process.kill('SIGTERM')
    expect((await one.ended).code).toBe(143)
  })
})

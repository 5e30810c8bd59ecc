import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defaultStoreFile } from '../../cli/options.ts'
import { claude, newPath, run, turnwatch } from './harness.ts'

describe.concurrent('bad input is one line and exit code 2, and nothing is started', () => {
  it.each([
    [['--first-token', 'soon'], '--first-token'],
    [['--port', '70000'], '--port'],
    [['--port', 'of'], 'or off'],
    [['--notify', 'ftp://user:s3cret@host/s3cret'], '--notify'],
    [['--notify', 'alertmanager+ftp://host/s3cret'], '--notify'],
    [['--notify', 'http://user:%s3cret@host'], '--notify'],
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
    expect(stderr).toBe(
      'turnwatch: TURNWATCH_NOTIFY: not an http or https URL, nor one of alertmanager+http or alertmanager+https\n',
    )
  })

  it('as a signing key', async () => {
    const mark = newPath()
    const env = { TURNWATCH_NOTIFY_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, whsec_s3cret!' }
    const { code, stderr } = await run(['--notify', 'http://ok.test', ...claude(`mark:${mark}`)], { env }).ended
    expect(code).toBe(2)
    expect(stderr).toBe('turnwatch: TURNWATCH_NOTIFY_SECRET: is not base64, with or without whsec_ before it\n')
    expect(existsSync(mark)).toBe(false)
  })

  it.each(['off', '0', 'soon', '60d'])('as a round of the demo that does not end: %s', async (round) => {
    const { code, stderr } = await turnwatch(['demo', '--round', round]).ended
    expect(stderr).toMatch(/^turnwatch: option '--round <duration>' argument '\w+' is invalid\. A duration .*\n$/)
    expect(code).toBe(2)
  })

  it('as a name that nobody knows, with those that are known', async () => {
    const option = await run(['--notfy=http://s3cret.test', ...claude('exit:0')]).ended
    expect(option.stderr).toMatch(/^turnwatch: unknown option '--notfy'; allowed: --source, .*--notify, .*--help\n$/)
    const command = await turnwatch(['watch']).ended
    expect(command.stderr).toBe(
      "turnwatch: unknown command 'watch'; allowed: run, demo, replay, classify, learn, thresholds, notify, rules, dashboards\n",
    )
    expect([option.code, command.code]).toEqual([2, 2])
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
  it('off is none', async () => {
    const { code, stderr } = await run(['--port', 'off', ...claude('init text result')]).ended
    expect([code, stderr]).toEqual([0, ''])
  })

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

describe('the default --store', () => {
  it.each<[NodeJS.ProcessEnv, NodeJS.Platform, RegExp]>([
    [{ XDG_STATE_HOME: '/state' }, 'linux', /^\/state\/turnwatch\/turnwatch\.db$/],
    [{ XDG_STATE_HOME: 'state' }, 'linux', /[\\/]\.local[\\/]state[\\/]turnwatch[\\/]turnwatch\.db$/],
    [{}, 'linux', /[\\/]\.local[\\/]state[\\/]turnwatch[\\/]turnwatch\.db$/],
    [{}, 'darwin', /[\\/]Library[\\/]Application Support[\\/]turnwatch[\\/]turnwatch\.db$/],
    [{ LOCALAPPDATA: 'C:\\Local' }, 'win32', /^C:\\Local[\\/]turnwatch[\\/]turnwatch\.db$/],
    [{}, 'win32', /[\\/]AppData[\\/]Local[\\/]turnwatch[\\/]turnwatch\.db$/],
  ])('with %j on %s is %s', (env, platform, file) => {
    expect(defaultStoreFile(env, platform)).toMatch(file)
  })
})

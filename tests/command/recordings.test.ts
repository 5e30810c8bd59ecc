import { existsSync, lstatSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent, anonymous, claude, folder, metric, newPath, node, run, samples, trace } from './harness.ts'

const SESSIONS = {
  claude: '11111111-1111-4111-8111-111111111111',
  codex: '01a22b9e-07a1-7533-b2a9-c7c27d5bedd7',
  opencode: 'ses_dd46088d2ffen2AZyJOO7O57X6',
}

describe.concurrent('the recorded output of', () => {
  it.each([
    ['claude', ['-p', '--output-format', 'stream-json'], 'claudeAgent', 'claude-opus-4-6'],
    ['codex', ['exec', '--json', '-m', 'gpt-5.2-codex'], 'codex', 'gpt-5.2-codex'],
    ['opencode', ['run', '--format=json', '--model', 'fake/model-1'], 'opencode', 'fake/model-1'],
  ] as const)('%s gives one completed turn in the thread of its session', async (name, args, provider, model) => {
    const store = newPath('.db')
    const metrics = newPath('.prom')
    // The scripted claude plays scripts, so its recording is recognised by its lines.
    const program = name === 'claude' ? [agent('play'), trace(name)] : [agent(name)]
    const { code, notes } = await run([
      '--store',
      store,
      '--metrics-file',
      metrics,
      '--',
      node,
      ...program,
      ...args,
      trace(name),
    ]).ended
    expect(code).toBe(0)
    expect(notes).toEqual([])
    expect(samples(store)).toEqual([{ thread: SESSIONS[name], provider, model }])
    expect(metric(metrics, 'turns_started_total')).toBe(1)
    expect(metric(metrics, 'turns_ended_total')).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { provider, model, outcome: 'completed' })).toBe(1)
  })

  it.each([
    ['claude-err400', 'claudeAgent'],
    ['codex-fail', 'codex'],
    ['opencode-err', 'opencode'],
  ])('%s is a provider error, one line', async (name, provider) => {
    const metrics = newPath('.prom')
    const { notes } = await run(['--metrics-file', metrics, '--', node, agent('play'), trace(name)]).ended
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('reason provider-error')
    expect(metric(metrics, 'turns_ended_total', { provider, outcome: 'error' })).toBe(1)
    expect(metric(metrics, 'turns_ended_total')).toBe(1)
  })

  it('an agent goes under the thread, model and parent that the command line names', async () => {
    const store = newPath('.db')
    const names = ['--thread', 'sub.boss.mine', '--model', 'my-model']
    await run(['--store', store, ...names, '--', node, agent('codex'), 'exec', '--json', trace('codex')]).ended
    expect(samples(store)).toEqual([{ thread: 'sub.boss.mine', provider: 'codex', model: 'my-model' }])
  })

  it('opencode has the limits of a wire that hides open tools from its start on', async () => {
    const metrics = newPath('.prom')
    const command = [node, agent('opencode'), 'run', '--format', 'json', trace('opencode')]
    await run(['--metrics-file', metrics, '--', ...command]).ended
    expect(metric(metrics, 'threshold_seconds', { provider: 'opencode', phase: 'first-token' })).toBe(300)
  })
})

describe.concurrent('output of another kind', () => {
  it('than the command line says is watched as what it is', async () => {
    const metrics = newPath('.prom')
    const command = [node, agent('codex'), 'exec', '--json', trace('claude')]
    const { notes } = await run(['--metrics-file', metrics, '--', ...command]).ended
    expect(notes).toEqual([])
    expect(metric(metrics, 'turns_ended_total', { provider: 'codex', outcome: 'aborted' })).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { provider: 'claudeAgent', outcome: 'completed' })).toBe(1)
    expect(metric(metrics, 'healthy_samples', { provider: 'codex' })).toBe(0)
  })

  it('between the events is passed over', async () => {
    const metrics = newPath('.prom')
    const { notes } = await run(['--metrics-file', metrics, ...anonymous('noise:150 init noise:300 text result')]).ended
    expect(notes).toEqual([])
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it.each([
    ['many lines', anonymous('noise:300 sleep:300 init text')],
    ['few lines', anonymous('noise:3')],
    ['much binary', ['--', 'head', '-c', '3000000', '/dev/urandom']],
    [
      'JSON of something else',
      ['--', node, '-e', 'for (let i = 0; i < 300; i++) console.log(JSON.stringify({ type: "log" }))'],
    ],
  ])('is passed through unwatched, and one line says so: %s', async (_, command) => {
    const { code, notes, stdout } = await run(command).ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('no known format')
    expect(stdout.length).toBeGreaterThan(0)
  })

  it('from a command that looks like an agent drops the turn that began with it', async () => {
    const metrics = newPath('.prom')
    const { notes } = await run(['--metrics-file', metrics, ...claude('noise:250 sleep:200 exit:0')]).ended
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('no known format')
    expect(metric(metrics, 'turns_ended_total', { outcome: 'aborted' })).toBe(1)
    expect(metric(metrics, 'healthy_samples')).toBe(0)
  })
})

describe.concurrent('the store', () => {
  it('is a file in the state folder, and off leaves nothing', async () => {
    const state = newPath()
    const env = { XDG_STATE_HOME: state }
    await run(['--store', 'off', ...claude('init text result')], { env }).ended
    expect(existsSync(state)).toBe(false)
    await run(claude('init text result'), { env }).ended
    expect(samples(join(state, 'turnwatch', 'turnwatch.db'))).toHaveLength(1)
  })

  it('that is broken is one line, and the agent goes on', async () => {
    const store = newPath('.db')
    writeFileSync(store, 'not a database, but longer than the header that one would have. '.repeat(20))
    const { code, notes } = await run(['--store', store, ...claude('init text sleep:1500 result')]).ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('going on from memory')
  })
})

describe.concurrent('the metrics file', () => {
  it('is complete, and nothing is left beside it', async () => {
    const metrics = newPath('.prom')
    await run(['--metrics-file', metrics, ...claude('init text result')]).ended
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('that must not be replaced, or has no folder, is bad input before the agent starts', async () => {
    const link = newPath()
    symlinkSync('/dev/null', link)
    for (const file of [join(newPath(), 'no', 'folder.prom'), '/dev/null', link, folder, '']) {
      const { code, notes } = await run(['--metrics-file', file, ...claude('init text result')]).ended
      expect(code).toBe(2)
      expect(notes).toHaveLength(1)
      expect(notes[0]).toContain('--metrics-file')
    }
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  })

  it('behind a link is replaced there, and the link stays', async () => {
    const metrics = newPath('.prom')
    const link = newPath('.link')
    writeFileSync(metrics, '')
    symlinkSync(metrics, link)
    await run(['--metrics-file', link, ...claude('init text result')]).ended
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
  })
})

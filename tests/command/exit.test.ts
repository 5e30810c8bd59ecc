import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anonymous, claude, metric, newPath, node, root, run } from './harness.ts'

describe.concurrent('the exit code', () => {
  it.each([
    ['its own', ['sh', '-c', 'exit 7'], 7],
    ['128 and the signal that ended it', ['sh', '-c', 'kill -USR1 $$; sleep 60'], 128 + 10],
  ])('is the command’s: %s', async (_, command, expected) => {
    const { code, notes } = await run(['--', ...command]).ended
    expect(code).toBe(expected)
    expect(notes).toEqual([])
  })

  it('is 127 for a command that is not found, 126 for one that is no program, with one line', async () => {
    const file = newPath('.txt')
    writeFileSync(file, 'no program')
    const missing = await run(['--', 'no-such-agent', '-p']).ended
    expect([missing.code, missing.stderr]).toEqual([127, 'turnwatch: no-such-agent: command not found\n'])
    const empty = await run(['--', '']).ended
    expect([empty.code, empty.stderr]).toEqual([127, "turnwatch: '': command not found\n"])
    const unusable = await run(['--', file]).ended
    expect([unusable.code, unusable.stderr]).toEqual([126, `turnwatch: ${file}: cannot be executed\n`])
  })
})

describe.concurrent('what cannot be watched', () => {
  it('because an agent lacks the flags is said at once, and only then', async () => {
    const { notes } = await run(['--', 'sh', '-c', 'exec "$@"', '-', 'true']).ended
    expect(notes).toEqual([])
    const claude = newPath()
    mkdirSync(claude)
    writeFileSync(join(claude, 'claude'), '#!/bin/sh\necho text\n', { mode: 0o755 })
    const told = await run(['--', join(claude, 'claude'), '-p', 'hi']).ended
    expect(told.notes).toEqual(['turnwatch: this agent can be watched only with --output-format stream-json --verbose'])
  })

  it('because it has said nothing is said after a while', async () => {
    const running = run(['--first-token', '500ms', '--', 'sh', '-c', 'read line'], { input: 'open' })
    await running.sees(/nothing is watched so far/)
    running.process.stdin?.end()
    expect((await running.ended).notes).toHaveLength(1)
  })

  it('is flagged all the same when its wire is named and it never says anything', async () => {
    const running = run(['--source', 'codex-exec-json', '--first-token', '1s', '--', 'sleep', '600'])
    await running.sees(/stale: codex-\d+ \(codex\): reason silence/)
    running.process.kill('SIGTERM')
    expect((await running.ended).code).toBe(128 + 15)
  })
})

it.skipIf(!existsSync('/dev/full'))('output that was lost is no success', () => {
  const command = '"$0" cli/main.ts run --store off -- echo hi > /dev/full'
  const { status, stderr } = spawnSync('sh', ['-c', command, node], { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^turnwatch: stdout: ENOSPC.*\n$/)])
})

describe.concurrent('an agent that ends', () => {
  it('without a result is told dead at once, and leaves no turn behind in the metrics', async () => {
    const metrics = newPath('.prom')
    const { code, notes } = await run(['--metrics-file', metrics, ...claude('init text die:SIGKILL')]).ended
    expect(code).toBe(128 + 9)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toMatch(
      /^turnwatch: stale: session-1 \(claudeAgent claude-test-1\): reason provider-dead: .*mid-stream/,
    )
    expect(metric(metrics, 'turns_stale_total', { reason: 'provider-dead', phase: 'mid-stream' })).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'lost' })).toBe(1)
    expect(metric(metrics, 'turns_running')).toBe(0)
  })

  it('before it printed anything is told dead too', async () => {
    const { code, notes } = await run(claude('exit:1')).ended
    expect(code).toBe(1)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toMatch(
      /stale: claudeAgent-\d+ \(claudeAgent\): reason provider-dead: .*no progress since the turn started/,
    )
  })

  it('leaving a process that holds its stdout does not keep us, and its result counts', async () => {
    const metrics = newPath('.prom')
    const started = performance.now()
    const { code, stdout, notes } = await run([
      '--metrics-file',
      metrics,
      ...claude('init leave:50000 text result exit:3'),
    ]).ended
    expect(performance.now() - started).toBeLessThan(40_000)
    expect(code).toBe(3)
    expect(notes).toEqual([])
    expect(stdout.toString().trimEnd().split('\n')).toHaveLength(3)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('leaving such a process without a result is told dead', async () => {
    const one = run(claude('init leave:50000 text exit:0'))
    await one.sees(/provider-dead/)
    expect((await one.ended).code).toBe(0)
  })

  it('its stdout is told dead while it lives on, and its exit code is kept', async () => {
    const gate = newPath()
    const one = run(claude(`init text closeStdout until:${gate} exit:5`))
    await one.sees(/stale: session-1 .*provider-dead/)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect(code).toBe(5)
    expect(notes).toHaveLength(1)
  })
})

describe.concurrent('signals', () => {
  it('reach the command', async () => {
    const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const
    const one = run(claude(`${signals.map((signal) => `ignore:${signal} `).join('')}init text say:ready sleep:60000`))
    await one.sees(/ready/)
    for (const signal of signals) {
      one.process.kill(signal)
      await one.sees(new RegExp(`ignored ${signal}`))
    }
    process.kill(Number(/ready (\d+)/.exec(one.stderr())?.[1]), 'SIGKILL')
    expect((await one.ended).code).toBe(137)
  })

  it('that stop the agent abort its turn without a verdict and without a sample', async () => {
    const metrics = newPath('.prom')
    const one = run(['--metrics-file', metrics, ...claude('init text hang')])
    await one.shows('hello')
    one.process.kill('SIGTERM')
    const { code, notes } = await one.ended
    expect(code).toBe(143)
    expect(notes).toEqual([])
    expect(metric(metrics, 'turns_ended_total', { outcome: 'aborted' })).toBe(1)
    expect(metric(metrics, 'healthy_samples')).toBe(0)
  })

  it('that the agent ignores do not end us: it goes on to its result', async () => {
    const gate = newPath()
    const metrics = newPath('.prom')
    const one = run([
      '--metrics-file',
      metrics,
      ...anonymous(`ignore:SIGTERM init text say:ready until:${gate} result`),
    ])
    await one.sees(/ready/)
    one.process.kill('SIGTERM')
    await one.sees(/ignored SIGTERM/)
    expect(existsSync(gate)).toBe(false)
    writeFileSync(gate, '')
    const { code, notes, stdout } = await one.ended
    expect(code).toBe(0)
    expect(notes).toEqual([])
    expect(stdout.toString()).toContain('"result":"done"')
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })
})

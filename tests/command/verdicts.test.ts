import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { claude, exists, metric, newPath, run, sleep } from './harness.ts'
import { MESSAGE, receiver } from './receiver.ts'

// The first token is only limited where that is what is tested: an agent may take its time to start here.
const LIMITS = ['--mid-stream', '2s']

describe.concurrent('an agent that stalls', () => {
  it('is stale once, told to every URL once, and recovered when it goes on', async () => {
    const [a, b, gate, metrics] = [await receiver([204]), await receiver([200]), newPath(), newPath('.prom')]
    const names = ['--parent', 'boss', '--metrics-file', metrics, '--notify', a.url]
    const one = run([...LIMITS, ...names, ...claude(`init text until:${gate} text result`)], {
      env: { TURNWATCH_NOTIFY: `${b.url}, ${a.url}` },
    })
    await one.sees(/stale: session-1 .*reason silence/)
    await Promise.all([a.gets(1), b.gets(1)])
    // Nothing more comes of the same episode.
    await sleep(2500)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(2)
    expect(notes[0]).toMatch(
      /^turnwatch: stale: session-1 \(claudeAgent claude-test-1\): reason silence: silent for \d+\.\d s \(threshold 2\.0 s default, standard, mid-stream\); last progress \S+Z \(text\)$/,
    )
    expect(notes[1]).toMatch(/^turnwatch: recovered: session-1/)
    for (const { posts } of [a, b]) {
      expect(posts).toHaveLength(1)
      expect(posts[0]?.headers['content-type']).toBe('application/json')
      expect(Object.keys(posts[0]?.body ?? {})).toEqual(MESSAGE)
      expect(posts[0]?.body).toMatchObject({
        verdict: 'stale',
        thread: 'session-1',
        parent: 'boss',
        provider: 'claudeAgent',
        model: 'claude-test-1',
        reason: 'silence',
        phase: 'mid-stream',
        thresholdMs: 2000,
        thresholdSource: 'default',
      })
      expect(posts[0]?.body.key).toBe(`stale/session-1/${posts[0]?.body.turn}/1`)
      expect(posts[0]?.body.text).toMatch(
        /^Child thread session-1 \(claudeAgent, claude-test-1\) has stopped streaming: no progress for \d+\.\d s \(reason silence; threshold 2\.0 s default, preset standard, mid-stream\)\. .* Nothing was cancelled or retried\. .*start its work again\.$/,
      )
    }
    for (const channel of ['webhook', 'webhook-2']) {
      expect(metric(metrics, 'notifications_total', { channel })).toBe(1)
    }
    expect(metric(metrics, 'notifications_suppressed_total')).toBe(0)
    expect(metric(metrics, 'turns_stale_total')).toBe(1)
    expect(metric(metrics, 'turns_recovered_total', { reason: 'silence' })).toBe(1)
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('is stale although it never printed anything, under the thread that it was given', async () => {
    const one = run(['--first-token', '2s', '--thread', 'mine', ...claude('hang')])
    await one.sees(
      /turnwatch: stale: mine \(claudeAgent\): reason silence: .*first-token\); no progress since the turn started/,
    )
    one.process.kill('SIGTERM')
    const { code, notes } = await one.ended
    expect(code).toBe(143)
    expect(notes).toHaveLength(1)
  })

  it('because it was stopped is stale, and recovered when it is continued', async () => {
    const [pidFile, metrics] = [newPath(), newPath('.prom')]
    const steps = `init text mark:${pidFile} ${'text sleep:200 '.repeat(10)}result`
    const one = run([...LIMITS, '--metrics-file', metrics, ...claude(steps)])
    await exists(pidFile)
    await sleep(100)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    process.kill(pid, 'SIGSTOP')
    await one.sees(/stale: session-1 .*reason silence/)
    process.kill(pid, 'SIGCONT')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toHaveLength(2)
    expect(notes[1]).toContain('recovered')
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })
})

describe.concurrent('no verdict', () => {
  it('comes of a pause in which we were stopped together with the agent', async () => {
    const [gate, metrics] = [newPath(), newPath('.prom')]
    const steps = `init text say:ready until:${gate} text result`
    const one = run([...LIMITS, '--metrics-file', metrics, ...claude(steps)], { detached: true })
    await one.sees(/ready/)
    process.kill(-(one.process.pid as number), 'SIGSTOP')
    await sleep(4500)
    process.kill(-(one.process.pid as number), 'SIGCONT')
    // Together with what the pause counts for, longer than the limit.
    await sleep(2500)
    writeFileSync(gate, '')
    const { code, notes } = await one.ended
    expect(code).toBe(0)
    expect(notes).toEqual([])
    expect(metric(metrics, 'turns_ended_total', { outcome: 'completed' })).toBe(1)
  })

  it('comes of a silence below the limit, or with a limit that is off', async () => {
    const { notes } = await run([...LIMITS, '--mid-stream', 'off', ...claude('init text sleep:4500 text result')]).ended
    expect(notes).toEqual([])
  })
})
